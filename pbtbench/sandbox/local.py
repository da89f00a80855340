"""The local backend: one bubblewrap per sandbox, our own init as its process 1. Linux only.

``SandboxSpec.image`` is a folder as ``bwrap.LocalImage`` describes it. ``Limits.cpus`` is not enforced.
For another program as process 1 (the judge's fork server), see ``bwrap.spawn_bwrap``.
"""

from __future__ import annotations

import contextlib
import os
import platform
import posixpath
import selectors
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbtbench.errors import AnswerError, InfraError, PbtbenchError, SandboxDiedError
from pbtbench.sandbox import modules
from pbtbench.sandbox.base import MIB, Channel, Check, CommandResult, Limits, Sandbox, SandboxSpec
from pbtbench.sandbox.bwrap import Bubblewrap, LocalImage, find_bwrap, spawn_bwrap
from pbtbench.sandbox.inner import files, supervise, wire
from pbtbench.sandbox.layout import (
    COPY_SECONDS,
    GID,
    GRACE_SECONDS,
    UID,
    WRITABLE,
    check_archives,
    environment,
    process_limits,
)
from pbtbench.sandbox.output import CappedOutput
from pbtbench.sandbox.pipes import LocalChannel, Pipes, write_some
from pbtbench.sandbox.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LocalBackend", "LocalImage", "spawn_bwrap"]

_START_SECONDS = 60.0
_END_SECONDS = 5.0
_CHUNK = 65536


class LocalBackend:
    """Starts sandboxes with bubblewrap."""

    name = "local"

    def __init__(self, registry: Registry | None = None) -> None:
        self._registry = registry or Registry()

    def check(self) -> list[Check]:
        """Whether some bubblewrap can isolate here."""
        try:
            return [Check("local sandbox", ok=True, detail=f"{find_bwrap()} isolates")]
        except PbtbenchError as error:
            return [Check("local sandbox", ok=False, detail=error.message, hint=error.hint or "")]

    def start(self, spec: SandboxSpec) -> Sandbox:
        """Start a sandbox. Raises SandboxUnavailableError or InfraError."""
        check_archives(spec)
        image = LocalImage.load(Path(spec.image))
        ours, theirs = socket.socketpair()
        with theirs:
            bubblewrap = spawn_bwrap(
                image,
                module="pbtbench.sandbox.inner.init",
                sources=modules.INNER,
                arguments=[str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                folders=[a.destination for a in spec.archives if _in_bare_root(a.destination)],
            )
        try:
            _set_up(ours, spec, bubblewrap)
            note = self._registry.record(bubblewrap.pid, spec.label)
        except BaseException:
            ours.close()
            bubblewrap.close()
            raise
        return LocalSandbox(spec, bubblewrap, ours, environment(spec, image.environment), note)

    def sweep(self, label: str | None = None, *, dry_run: bool = False) -> list[str]:
        """Kill sandboxes (with ``label``) whose owner is dead."""
        return self._registry.sweep(label, dry_run=dry_run)


def _in_bare_root(path: str) -> bool:
    """Whether ``path`` lies outside everything that is mounted, so that its folder must be made at start."""
    mounted = ("/usr", "/opt/venv", "/proc", "/dev", *WRITABLE)
    return not any(path == place or path.startswith(f"{place}/") for place in mounted)


def _set_up(control: socket.socket, spec: SandboxSpec, bubblewrap: Bubblewrap) -> None:
    """Have init do its set-up stage."""
    settings = session_settings(spec.limits)
    settings["archives"] = [{"destination": a.destination, "writable": a.writable} for a in spec.archives]
    control.settimeout(_START_SECONDS)
    try:
        with contextlib.ExitStack() as stack:
            tars = [stack.enter_context(archive.path.open("rb")) for archive in spec.archives]
            wire.send_message(control, settings, [tar.fileno() for tar in tars])
            reply, _ = wire.receive_message(control)
    except (OSError, EOFError) as error:
        reason = bubblewrap.complaint() or str(error) or "process 1 ended"
        raise InfraError(f"the sandbox did not start: {reason}") from error
    if reply["error"]:
        raise InfraError(f"the sandbox did not start: {' '.join(reply['error'].split())}")
    control.settimeout(None)


def session_settings(limits: Limits) -> dict[str, Any]:
    """What a trusted process inside must know to set up places, limits and user for foreign code."""
    rlimits = process_limits(limits)
    # Before Linux 5.14 the kernel counted all processes of the user on this host, not just the sandbox's.
    major, minor = platform.release().split(".")[:2]
    if (int(major), int("".join(filter(str.isdigit, minor)) or 0)) >= (5, 14):
        rlimits["RLIMIT_NPROC"] = limits.processes
    return {
        "uid": UID,
        "gid": GID,
        "writable": WRITABLE,
        "disk": limits.disk,
        "memory": limits.memory,
        "processes": limits.processes,
        "rlimits": rlimits,
    }


class LocalSandbox:
    """A started local sandbox."""

    def __init__(
        self,
        spec: SandboxSpec,
        bubblewrap: Bubblewrap,
        control: socket.socket,
        environment: Mapping[str, str],
        note: Path,
    ) -> None:
        self._spec = spec
        self._bubblewrap = bubblewrap
        self._control = control
        self._environment = environment
        self._note = note
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The host's number for process 1."""
        return f"local-{self._bubblewrap.pid}"

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """Run a command to its end or to ``timeout`` seconds. Raises SandboxDiedError."""
        request = self._command(argv, cwd, env, timeout=timeout, keep_orphans=True)
        return self._exchange(request, stdin, timeout=timeout, output=self._spec.limits.output)

    def open(
        self, argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> Channel:
        """Start a command and talk to it over its stdin and stdout. Raises SandboxDiedError."""
        request = self._command(argv, cwd, env, timeout=None, keep_orphans=False)
        with Pipes() as pipes, Path(os.devnull).open("wb") as nowhere:
            stdin, stdout = pipes.to_child(), pipes.from_child()
            connection = self._request(request, [*pipes.child_ends, nowhere.fileno()])
            pipes.keep(stdin, stdout)
        return LocalChannel(connection, stdin, stdout)

    def put(self, path: str, data: bytes) -> None:
        """Write a regular file. Raises InfraError when it cannot be written (disk full, a folder there)."""
        path = posixpath.join(self._spec.workdir, path)
        result = self._exchange(_copy("put", path), data, timeout=COPY_SECONDS, output=MIB)
        if result.exit_code != 0:
            reason = result.stderr.decode(errors="replace") or "not copied"
            raise InfraError(f"cannot write it: {reason}", where=path)

    def get(self, path: str, *, max_bytes: int) -> bytes:
        """Content of a regular file. Raises AnswerError for anything else, or larger than ``max_bytes``."""
        path = posixpath.join(self._spec.workdir, path)
        request = _copy("get", path, str(max_bytes))
        result = self._exchange(request, b"", timeout=COPY_SECONDS, output=2 * max_bytes + MIB)
        if result.exit_code == files.NOT_TAKEN:
            raise AnswerError(result.stderr.decode(errors="replace"), where=path)
        if result.exit_code != 0 or result.stdout_dropped:
            raise SandboxDiedError("the file could not be copied out", where=path)
        return result.stdout

    def alive(self) -> bool:
        """Whether process 1 still runs."""
        return self._bubblewrap.alive()

    def close(self) -> None:
        """Kill everything inside."""
        with self._lock:
            self._bubblewrap.close()
            self._control.close()
            self._note.unlink(missing_ok=True)

    def _command(
        self,
        argv: Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        *,
        timeout: float | None,
        keep_orphans: bool,
    ) -> dict[str, Any]:
        return {
            "op": "run",
            "argv": list(argv),
            "cwd": cwd or self._spec.workdir,
            "env": {**self._environment, **(env or {})},
            "timeout": timeout,
            "keep_orphans": keep_orphans,
        }

    def _request(self, request: Mapping[str, Any], stdio: Sequence[int]) -> socket.socket:
        """Hand init a request; the connection over which the answer will come."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                wire.send_message(self._control, {}, [theirs.fileno()])
            wire.send_message(ours, request, stdio)
        except OSError as error:
            ours.close()
            raise self._died() from error
        return ours

    def _exchange(
        self, request: Mapping[str, Any], stdin: bytes, *, timeout: float, output: int
    ) -> CommandResult:
        started = time.monotonic()
        stdout, stderr = CappedOutput(output), CappedOutput(output)
        with Pipes() as pipes:
            feed, out, err = pipes.to_child(), pipes.from_child(), pipes.from_child()
            connection = self._request(request, pipes.child_ends)
            with connection:
                pipes.close_child_ends()
                deadline = started + timeout + GRACE_SECONDS
                reply = self._pump(connection, pipes, feed, stdin, {out: stdout, err: stderr}, deadline)
        return CommandResult(
            exit_code=reply["exit_code"],
            stdout=stdout.value(),
            stderr=stderr.value(),
            seconds=time.monotonic() - started,
            timed_out=reply["exit_code"] is None,
            stdout_dropped=stdout.dropped,
            stderr_dropped=stderr.dropped,
            limit=reply["limit"],
        )

    def _pump(
        self,
        connection: socket.socket,
        pipes: Pipes,
        feed: int,
        stdin: bytes,
        sinks: Mapping[int, CappedOutput],
        deadline: float,
    ) -> dict[str, Any]:
        """Move bytes until init reports the end of the command; its report."""
        unsent = memoryview(stdin)
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            for fd in sinks:
                selector.register(fd, selectors.EVENT_READ)
            if unsent:
                selector.register(feed, selectors.EVENT_WRITE)
            else:
                pipes.close(feed)
            while True:
                ready = {key.fd for key, _ in selector.select(max(0.0, deadline - time.monotonic()))}
                if time.monotonic() >= deadline:
                    self.close()
                    raise SandboxDiedError("a command outlived its time limit; the sandbox was killed")
                if feed in ready:
                    unsent = unsent[write_some(feed, unsent) :]
                    if not unsent:
                        selector.unregister(feed)
                        pipes.close(feed)
                for fd in ready & sinks.keys():
                    data = os.read(fd, _CHUNK)
                    sinks[fd].feed(data)
                    if not data:
                        selector.unregister(fd)
                if connection.fileno() in ready:
                    try:
                        reply, _ = wire.receive_message(connection)
                    except (EOFError, OSError) as error:
                        raise self._died() from error
                    for fd, sink in sinks.items():
                        supervise.drain(fd, sink.feed)
                    return reply

    def _died(self) -> SandboxDiedError:
        # Streams end a moment before the process that held them is gone.
        ended = self._bubblewrap.ended(within=_END_SECONDS)
        reason = " (process 1 has ended)" if ended else ""
        return SandboxDiedError(f"{self.name} no longer answers{reason}")


def _copy(*argv: str) -> dict[str, Any]:
    return {"op": "files", "argv": argv, "timeout": COPY_SECONDS, "keep_orphans": True}
