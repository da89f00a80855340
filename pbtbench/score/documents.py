"""The JSON documents that hold verdicts.

`score_document` is what ``pbtbench score --json`` prints for one answer; `verdict_document` is
``verdicts.json`` of a trial: the same, and what aggregation and reports need besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pbtbench.judge.outcome import Judgement, Outcome, Stage
from pbtbench.problems.model import Level
from pbtbench.problems.tree import BUGGY, CLEAN, fixed, only
from pbtbench.score.metrics import answer_metrics
from pbtbench.score.rules import NOT_PASSING, RULES, BugVerdict, Rule, Verdicts

SCHEMA = 1

NOT_REACHED = "not_reached"
"""Stands for an outcome that was not produced because the function never enters the bug's code."""

_WORST_FIRST = ("crashed", "exited", "timeout", "import_error", "failed", "passed", "xfailed", "skipped")
_SHOWN_LAST: tuple[Stage, ...] = ("screen", "again", "decide", "isolate")
"""Of a case that ran in several stages, the row of the last of these is shown: verdicts rest on it."""


def score_document(
    judgement: Judgement, verdicts: Verdicts, levels: Mapping[str, Level], *, rule: Rule = "f2p"
) -> dict[str, Any]:
    """Verdicts of one answer as a JSON object; ``rule`` decides what ``metrics`` is computed from."""
    return {
        "schema": SCHEMA,
        "problem": judgement.problem,
        "seeds": list(judgement.seeds),
        "functions": _functions(judgement),
        "bugs": {
            bug: {"level": levels[bug], **{name: _bug(verdicts.rules[name][bug]) for name in RULES}}
            for bug in judgement.bugs
        },
        "metrics": answer_metrics(verdicts, rule=rule),
    }


def verdict_document(judgement: Judgement, verdicts: Verdicts, levels: Mapping[str, Level]) -> dict[str, Any]:
    """The content of a trial's ``verdicts.json``."""
    return {
        **score_document(judgement, verdicts, levels),
        "by_seed": {
            rule: {bug: list(verdict.found) for bug, verdict in verdicts.rules[rule].items()}
            for rule in RULES
        },
        "file": {"status": judgement.file_status, "message": judgement.file_message},
        "clean": dict(verdicts.clean),
        "unstable": list(verdicts.unstable),
        "notes": list(judgement.notes),
    }


def tree_label(tree: str) -> str:
    """How a tree is called in documents: ``fixed:bug_1`` is ``fixed_bug_1``."""
    return tree.replace(":", "_")


def _bug(verdict: BugVerdict) -> dict[str, Any]:
    return {
        "rate": verdict.rate,
        "by": list(verdict.by),
        "confirmed": verdict.confirmed,
        "confirmed_by": list(verdict.confirmed_by),
    }


def _functions(judgement: Judgement) -> dict[str, Any]:
    latest: dict[tuple[str, str, int], dict[str, Outcome]] = {}
    for row in judgement.outcomes:
        cases = latest.setdefault((row.function, row.tree, row.seed), {})
        seen = cases.get(row.case)
        if seen is None or _SHOWN_LAST.index(row.stage) >= _SHOWN_LAST.index(seen.stage):
            cases[row.case] = row
    status = {place: _worst(row.status for row in cases.values()) for place, cases in latest.items()}
    trees = (BUGGY, CLEAN, *map(fixed, judgement.bugs), *map(only, judgement.bugs))
    functions: dict[str, dict[str, list[str | None]]] = {
        function: {tree: [None] * len(judgement.seeds) for tree in trees}
        for function in _all_functions(judgement)
    }
    position = {seed: index for index, seed in enumerate(judgement.seeds)}
    for (function, tree, seed), cases in latest.items():
        if tree == BUGGY and status[function, tree, seed] in NOT_PASSING:
            reached = {bug for row in cases.values() if row.status in NOT_PASSING for bug in row.reached}
            for bug in set(judgement.bugs) - reached:
                if (function, fixed(bug), seed) not in status:
                    functions[function][fixed(bug)][position[seed]] = NOT_REACHED
        functions[function][tree][position[seed]] = status[function, tree, seed]
    return {
        function: {"outcomes": {tree_label(tree): entries for tree, entries in outcomes.items()}}
        for function, outcomes in functions.items()
    }


def _all_functions(judgement: Judgement) -> Sequence[str]:
    return tuple(dict.fromkeys((*judgement.functions, *(row.function for row in judgement.outcomes))))


def _worst(statuses: Iterable[str]) -> str:
    return min(statuses, key=_WORST_FIRST.index)
