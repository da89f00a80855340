"""A sandbox backend that knows what it has started, so that all of it can be ended at once."""

from __future__ import annotations

import threading
import weakref

from pbtbench.errors import SandboxDiedError
from pbtbench.sandbox.base import Check, Sandbox, SandboxBackend, SandboxSpec


class TrackedBackend:
    """Wraps a backend; everything else in a run starts its sandboxes through it."""

    def __init__(self, backend: SandboxBackend) -> None:
        self.name = backend.name
        self._backend = backend
        self._lock = threading.Lock()
        self._started: weakref.WeakSet[Sandbox] = weakref.WeakSet()
        self._closed = False

    def check(self) -> list[Check]:
        """As the backend does."""
        return self._backend.check()

    def start(self, spec: SandboxSpec) -> Sandbox:
        """As the backend does. Raises SandboxDiedError after `close_all`."""
        sandbox = self._backend.start(spec)
        with self._lock:
            if not self._closed:
                self._started.add(sandbox)
                return sandbox
        sandbox.close()
        raise SandboxDiedError("pbtbench is stopping")

    def sweep(self, label: str | None = None, *, dry_run: bool = False) -> list[str]:
        """As the backend does."""
        return self._backend.sweep(label, dry_run=dry_run)

    def close_all(self) -> None:
        """Close every sandbox that is still open, and any that is being started."""
        with self._lock:
            self._closed = True
            started = list(self._started)
        for sandbox in started:
            sandbox.close()
