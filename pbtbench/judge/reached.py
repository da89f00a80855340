"""From the code objects that ran to the bugs whose code ran."""

from __future__ import annotations

from collections.abc import Mapping

from pbtbench.problems.reach import touched_code
from pbtbench.problems.tree import Tree

Key = tuple[str, str, int]


class BugReach:
    """Tells, for one tree, which bugs a run entered.

    Sound by construction: a run that enters no code object whose content differs between two trees
    does the same on both, so a bug that is not reached cannot be the reason for an outcome.
    """

    def __init__(self, trees: Mapping[str, Tree], bugs: tuple[str, ...], tree: str) -> None:
        self._bugs = bugs
        self._always: set[str] = set()
        self._by_key: dict[Key, set[str]] = {}
        for bug in bugs:
            touched = touched_code(trees, bug, tree)
            if touched.at_import:
                self._always.add(bug)
            for key in touched.keys:
                self._by_key.setdefault((key.path, key.qualname, key.firstlineno), set()).add(bug)

    def of(self, *runs: frozenset[Key]) -> tuple[str, ...]:
        """Bugs whose code is among the code objects in ``runs``, in file order."""
        found = set(self._always)
        for run in runs:
            for key in run & self._by_key.keys():
                found |= self._by_key[key]
        return tuple(bug for bug in self._bugs if bug in found)

    def unknown(self) -> tuple[str, ...]:
        """What must be assumed where it is not known what ran: every bug."""
        return self._bugs
