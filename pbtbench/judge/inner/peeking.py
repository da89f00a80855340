"""Notices a test that looks at the library's source or bytecode instead of its behaviour.

Such a test could tell trees apart without testing anything, so what it finds is never confirmed. An
audit hook (PEP 578) sees the read; the nearest frame that is not the standard library tells on whose
behalf it happened. pytest and Hypothesis read sources for their reports, and a library may read its
own data files: neither counts. Tests that spawn processes are noted too, since what the child
does is invisible from here.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable
from typing import Any

_SPAWN_EVENTS = frozenset(
    {"subprocess.Popen", "os.posix_spawn", "os.exec", "os.fork", "os.forkpty", "os.system"}
)
_IMPORTING = frozenset({"_find_and_load", "exec_module"})
_CODE_ATTRIBUTES = frozenset({"__code__", "co_code", "func_code"})


class PeekDetector:
    """One audit hook for the life of the process; ``reset`` starts a new observation."""

    def __init__(self, site_packages: str, top_levels: Iterable[str], test_file: str) -> None:
        root = site_packages.rstrip("/") + "/"
        self._library = tuple(root + name for name in top_levels)
        self._test_file = test_file
        self._stdlib = os.path.realpath(sysconfig.get_path("stdlib")) + "/"
        self._site_packages = root
        self.peeked = False
        self.spawned = False
        self._active = False

    def install(self) -> None:
        """Add the hook (it cannot be removed; the detector starts inactive)."""
        sys.addaudithook(self._hook)

    def reset(self) -> None:
        """Forget what was seen and start observing."""
        self.peeked = self.spawned = False
        self._active = True

    def pause(self) -> None:
        """Stop observing; ``peeked`` and ``spawned`` keep their values."""
        self._active = False

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._active:
            return
        if event == "open":
            path = args[0]
            if isinstance(path, str) and path.startswith(self._library) and self._for_test():
                self.peeked = True
        elif event == "object.__getattr__":
            if args[1] in _CODE_ATTRIBUTES and self._is_library_code(args[0]) and self._for_test():
                self.peeked = True
        elif event in ("os.listdir", "os.scandir"):
            path = args[0]
            if isinstance(path, str) and path.startswith(self._library) and self._for_test():
                self.peeked = True
        elif event in _SPAWN_EVENTS:
            self.spawned = True

    def _is_library_code(self, obj: object) -> bool:
        module = getattr(obj, "__module__", None)
        if not isinstance(module, str):
            return False
        file = getattr(sys.modules.get(module), "__file__", None)
        return isinstance(file, str) and file.startswith(self._library)

    def _for_test(self) -> bool:
        """Whether the nearest caller outside the standard library is the test file (or code it made)."""
        frame = sys._getframe(2)  # noqa: SLF001 -- there is no public way without its cost
        while frame is not None:
            filename = frame.f_code.co_filename
            if filename.startswith("<frozen importlib") and frame.f_code.co_name in _IMPORTING:
                return False  # an import is how the library is meant to be read
            outside_stdlib = filename.startswith(self._site_packages) or not (
                filename.startswith((self._stdlib, "<frozen ")) or filename == __file__
            )
            if outside_stdlib:
                return filename == self._test_file or filename.startswith("<")
            frame = frame.f_back  # type: ignore[assignment]
        return False
