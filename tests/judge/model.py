"""A model of a library with bugs: what a test does is a decision tree over which bugs are present.

Each inner node is a code object that one bug changes: entering it is reach, and what happens next
may depend on whether that bug is in the tree. It is exactly the assumption that the judge's
shortcuts rest on (code that is the same on two trees does the same), so any shortcut can be checked
against running everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from pbtbench.errors import SandboxDiedError
from pbtbench.judge.session import Case, Collection
from pbtbench.problems.tree import BUGGY, CLEAN

BUGS = ("bug_1", "bug_2", "bug_3")


@dataclass(frozen=True)
class Node:
    """Code of ``bug``: goes on with ``present`` where the bug is in the tree, else with ``absent``."""

    bug: str
    present: Node | str
    absent: Node | str


Behaviour = Node | str

statuses = st.sampled_from(["passed", "failed", "skipped", "xfailed", "exited", "import_error"])
behaviours = st.recursive(
    statuses, lambda inner: st.builds(Node, st.sampled_from(BUGS), inner, inner), max_leaves=8
)


def bugs_in(tree: str) -> frozenset[str]:
    """Which bugs a tree holds."""
    kind, _, bug = tree.partition(":")
    if kind == BUGGY:
        return frozenset(BUGS)
    if kind == CLEAN:
        return frozenset()
    return frozenset({bug}) if kind == "only" else frozenset(BUGS) - {bug}


def run(behaviour: Behaviour, tree: str) -> dict[str, Any]:
    """The raw row that this behaviour gives on ``tree``."""
    reach = []
    present = bugs_in(tree)
    while isinstance(behaviour, Node):
        reach.append([behaviour.bug, behaviour.bug, 1])
        behaviour = behaviour.present if behaviour.bug in present else behaviour.absent
    return {"status": behaviour, "reach": reach, "phase": "call", "process_cpu_seconds": 0.01}


class ModelReach:
    """Stands in for ``BugReach``: in the model a code object is named after its bug."""

    def of(self, *runs: frozenset[tuple[str, str, int]]) -> tuple[str, ...]:
        entered = {path for keys in runs for path, _name, _line in keys}
        return tuple(bug for bug in BUGS if bug in entered)

    def unknown(self) -> tuple[str, ...]:
        return BUGS


class ModelOpener:
    """Opens sessions that answer from the model; counts what was run."""

    def __init__(
        self, world: Mapping[str, Mapping[int, Behaviour]], *, dies: frozenset[str] = frozenset()
    ) -> None:
        self.world = world
        self.dies = dies
        self.ran: list[tuple[str, str, int]] = []

    def open(self, tree: str) -> ModelSession:
        return ModelSession(self, tree)


class ModelSession:
    """One session on one tree of the model."""

    def __init__(self, opener: ModelOpener, tree: str) -> None:
        self.opener = opener
        self.tree = tree
        self.collection = Collection({})
        self.dead = False

    def collect(self, answer: bytes, *, limit: float) -> Collection:
        cases = {name: Case(i, name, name, i + 1, True) for i, name in enumerate(self.opener.world)}
        self.collection = Collection(cases)
        return self.collection

    def run(self, case: Case, seed: int, *, limit: float) -> dict[str, Any]:
        if self.dead:
            raise SandboxDiedError("dead")
        self.opener.ran.append((self.tree, case.name, seed))
        if case.name in self.opener.dies:
            self.dead = True
            raise SandboxDiedError("died")
        return run(self.opener.world[case.name][seed], self.tree)

    def close(self) -> None:
        pass
