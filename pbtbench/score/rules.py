"""Verdict rules: which bugs an answer found, decided from stored outcomes alone.

Everything here is a pure function of a `Judgement`. A rule is evaluated per *case* (one parametrised
variant) and seed, and reported per *function*, because cases are an accident of notation while a
function is what somebody wrote.

=========  ==================================================================================
rule       a case earns the credit for bug i under a seed when it ...
=========  ==================================================================================
``f2p``    does not pass on ``buggy`` and passes on ``fixed:i``
``paper``  the same with skip and xfail counted as passing, or does not pass on ``only:i`` and
           passes on ``clean``
=========  ==================================================================================

No rule credits a bug whose code the case never entered: a difference that cannot come from the bug is
chance, and is reported as instability instead.

A credit is *confirmed* when one case earns it under every seed, by failing in its call phase, passes on
``clean`` under every seed, never skips, never looks at the library's source, and failed alike each time
it ran on ``buggy``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pbtbench.judge.outcome import Judgement, Outcome, Status
from pbtbench.problems.tree import BUGGY, CLEAN, fixed, only

Rule = Literal["f2p", "paper"]
RULES: tuple[Rule, ...] = ("f2p", "paper")

NOT_PASSING: frozenset[Status] = frozenset({"failed", "timeout", "crashed", "exited", "import_error"})
SKIPPING: frozenset[Status] = frozenset({"skipped", "xfailed"})

_PASSES: Mapping[Rule, frozenset[Status]] = {
    "f2p": frozenset({"passed"}),
    "paper": frozenset({"passed", "skipped", "xfailed"}),
}


@dataclass(frozen=True)
class BugVerdict:
    """What one rule says about one bug."""

    credits: tuple[tuple[str, ...], ...]
    """Per seed, in the judgement's order: the functions that found the bug, in file order."""
    confirmed_by: tuple[str, ...]
    """Functions whose credit is confirmed, in file order."""

    @property
    def found(self) -> tuple[bool, ...]:
        """Per seed: whether some function found the bug."""
        return tuple(bool(functions) for functions in self.credits)

    @property
    def rate(self) -> float:
        """Share of seeds under which the bug is found, 0 to 1."""
        return sum(self.found) / len(self.credits) if self.credits else 0.0

    @property
    def by(self) -> tuple[str, ...]:
        """Functions that found the bug under at least one seed."""
        return tuple(dict.fromkeys(name for functions in self.credits for name in functions))

    @property
    def confirmed(self) -> bool:
        """Whether at least one credit is confirmed."""
        return bool(self.confirmed_by)


@dataclass(frozen=True)
class Verdicts:
    """All that scoring says about one answer."""

    rules: Mapping[Rule, Mapping[str, BugVerdict]]
    """Rule -> bug id -> verdict; every bug of the problem is there."""
    clean: Mapping[str, bool | None]
    """Function -> whether it passes on ``clean`` under every seed; None where it was not run there."""
    unstable: tuple[str, ...]
    """Functions that behaved differently under one seed, on one tree or on trees that are alike to them."""


def decide(judgement: Judgement) -> Verdicts:
    """Apply every rule to an answer's outcomes."""
    cases: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in judgement.outcomes:
        cases[outcome.function, outcome.case].append(outcome)
    histories = [_Case(function, rows) for (function, _), rows in cases.items()]
    order = {name: position for position, name in enumerate(judgement.functions)}

    def in_order(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(set(names), key=lambda name: (order.get(name, len(order)), name)))

    failing = [case for case in histories if case.ever_fails]
    rules: dict[Rule, dict[str, BugVerdict]] = {rule: {} for rule in RULES}
    for rule in RULES:
        for bug in judgement.bugs:
            earned = {case: [case.credit(rule, bug, seed) for seed in judgement.seeds] for case in failing}
            rules[rule][bug] = BugVerdict(
                credits=tuple(
                    in_order(case.function for case, by_seed in earned.items() if by_seed[position])
                    for position in range(len(judgement.seeds))
                ),
                confirmed_by=in_order(
                    case.function
                    for case, by_seed in earned.items()
                    if all(by_seed) and case.confirms(by_seed, judgement.seeds)
                ),
            )
    return Verdicts(
        rules=rules,
        clean=_clean(judgement, histories),
        unstable=in_order(
            case.function for case in histories if case.unstable(judgement.bugs, judgement.seeds)
        ),
    )


def _clean(judgement: Judgement, histories: Sequence[_Case]) -> dict[str, bool | None]:
    known: dict[str, bool | None] = dict.fromkeys(judgement.functions)
    for case in histories:
        verdict = case.passes_on_clean(judgement.seeds)
        if verdict is not None:
            known[case.function] = verdict and known.get(case.function) is not False
    return known


class _Case:
    """The rows of one case, by where and when they were made."""

    def __init__(self, function: str, rows: Sequence[Outcome]) -> None:
        self.function = function
        self.rows = rows
        self._at: dict[tuple[str, str, int], list[Outcome]] = defaultdict(list)
        for row in rows:
            self._at[row.stage, row.tree, row.seed].append(row)

    def at(self, stage: str, tree: str, seed: int) -> Sequence[Outcome]:
        return self._at.get((stage, tree, seed), ())

    def on_clean(self, seed: int) -> Sequence[Outcome]:
        """Rows of the latest stage that ran the case on the clean library."""
        return (
            self.at("isolate", CLEAN, seed)
            or self.at("decide", CLEAN, seed)
            or self.at("screen", CLEAN, seed)
        )

    def credit(self, rule: Rule, bug: str, seed: int) -> Sequence[Outcome]:
        """The failing rows that earn the credit; empty when it is not earned."""
        failing = self.at("decide", BUGGY, seed)
        if _reaches(failing, bug) and _differs(failing, self.at("decide", fixed(bug), seed), rule):
            return failing
        if rule == "paper":
            failing = self.at("isolate", only(bug), seed)
            if _reaches(failing, bug) and _differs(failing, self.on_clean(seed), rule):
                return failing
        return ()

    @property
    def ever_fails(self) -> bool:
        """Whether any run did not pass; a case without one can earn nothing."""
        return any(row.status in NOT_PASSING for row in self.rows)

    def confirms(self, earned: Sequence[Sequence[Outcome]], seeds: Sequence[int]) -> bool:
        """Whether credits earned under every seed (the failing rows of each) are confirmed."""
        return (
            bool(earned)
            and all(_fails_in_call(row) for rows in earned for row in rows)
            and self.passes_on_clean(seeds) is True
            and not any(row.status in SKIPPING or row.read_source for row in self.rows)
            and not any(self._buggy_runs_differ(seed) for seed in seeds)
        )

    def passes_on_clean(self, seeds: Sequence[int]) -> bool | None:
        """Whether every run on clean passed; None unless there is one under each seed."""
        runs = [self.on_clean(seed) for seed in seeds]
        if not runs or not all(runs):
            return None
        return all(row.status == "passed" for rows in runs for row in rows)

    def unstable(self, bugs: Sequence[str], seeds: Sequence[int]) -> bool:
        if len({row.status for row in self.rows}) == 1:
            return False
        statuses: dict[tuple[str, int], set[Status]] = defaultdict(set)
        for row in self.rows:
            statuses[row.tree, row.seed].add(row.status)
        if any(len(seen) > 1 for seen in statuses.values()):
            return True
        return any(
            _differs(failing, self.at("decide", fixed(bug), seed), "f2p") and not _reaches(failing, bug)
            for seed in seeds
            if (failing := self.at("decide", BUGGY, seed))
            for bug in bugs
        )

    def _buggy_runs_differ(self, seed: int) -> bool:
        runs = (*self.at("screen", BUGGY, seed), *self.at("decide", BUGGY, seed))
        return len({row.status for row in runs}) > 1


def _reaches(rows: Sequence[Outcome], bug: str) -> bool:
    return any(bug in row.reached for row in rows)


def _differs(failing: Sequence[Outcome], passing: Sequence[Outcome], rule: Rule) -> bool:
    """Fail-to-pass. A case that ran more than once must have done the same each time."""
    return (
        bool(failing)
        and bool(passing)
        and all(row.status in NOT_PASSING for row in failing)
        and all(row.status in _PASSES[rule] for row in passing)
    )


def _fails_in_call(row: Outcome) -> bool:
    """Only a failure that the test body raised is evidence; a limit met or a dead process is not."""
    return row.status == "failed" and row.phase == "call"
