"""Which code of the library ran, at the granularity of code objects (``sys.monitoring``, PEP 669).

Each code object fires once and is then disabled at that location, so the cost is one callback per
distinct code object and run, whatever the run does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import CodeType

Key = tuple[str, str, int]
"""(path relative to site-packages, qualified name, first line)"""

_TOOL_ID = 4  # not one of the ids that PEP 669 reserves for debuggers, coverage and profilers


class ReachRecorder:
    """Records the library's code objects that start running in this process (all threads)."""

    def __init__(self, site_packages: str, top_levels: Iterable[str]) -> None:
        """``top_levels``: the library's own entries in site-packages (``simpy``, ``six.py``)."""
        self._root = site_packages.rstrip("/") + "/"
        self._prefixes = tuple(
            self._root + (name if name.endswith(".py") else name + "/") for name in top_levels
        )
        self._seen: set[Key] = set()

    def start(self) -> None:
        """Begin recording; code that already ran once fires again."""
        monitoring = sys.monitoring
        if monitoring.get_tool(_TOOL_ID) is None:
            monitoring.use_tool_id(_TOOL_ID, "pbtbench-reach")
        monitoring.register_callback(_TOOL_ID, monitoring.events.PY_START, self._on_start)
        monitoring.set_events(_TOOL_ID, monitoring.events.PY_START)
        self._seen.clear()
        monitoring.restart_events()

    def stop(self) -> list[Key]:
        """End recording; what ran since ``start``, sorted."""
        sys.monitoring.set_events(_TOOL_ID, 0)
        return sorted(self._seen)

    def _on_start(self, code: CodeType, _offset: int) -> object:
        if code.co_filename.startswith(self._prefixes):
            self._seen.add((code.co_filename[len(self._root) :], code.co_qualname, code.co_firstlineno))
        return sys.monitoring.DISABLE
