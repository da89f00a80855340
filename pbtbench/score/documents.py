"""The JSON documents that hold verdicts.

`score_document` is what ``pbtbench score --json`` prints for one answer; `verdict_document` is
``verdicts.json`` of a trial: the same, and what aggregation and reports need besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pbtbench.judge.outcome import Judgement, Outcome
from pbtbench.problems.model import Level
from pbtbench.problems.tree import BUGGY, CLEAN, fixed, only
from pbtbench.score.metrics import answer_metrics
from pbtbench.score.rules import NOT_PASSING, RULES, BugVerdict, Rule, Verdicts

SCHEMA = 1

NOT_REACHED = "not_reached"
"""Stands for an outcome that was not produced because the function never enters the bug's code."""

_WORST_FIRST = ("crashed", "exited", "timeout", "import_error", "failed", "passed", "xfailed", "skipped")
_LATEST_FIRST = ("isolate", "decide", "screen")


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
    rank = {stage: position for position, stage in enumerate(_LATEST_FIRST)}
    for row in judgement.outcomes:
        cases = latest.setdefault((row.function, row.tree, row.seed), {})
        seen = cases.get(row.case)
        if seen is None or rank[row.stage] <= rank[seen.stage]:
            cases[row.case] = row

    def entry(function: str, tree: str, seed: int, bug: str | None) -> str | None:
        rows = latest.get((function, tree, seed))
        if rows:
            return _worst(row.status for row in rows.values())
        failing = [
            row for row in latest.get((function, BUGGY, seed), {}).values() if row.status in NOT_PASSING
        ]
        if bug is not None and failing and not any(bug in row.reached for row in failing):
            return NOT_REACHED
        return None

    trees: list[tuple[str, str | None]] = [(BUGGY, None), (CLEAN, None)]
    trees += [(fixed(bug), bug) for bug in judgement.bugs]
    trees += [(only(bug), None) for bug in judgement.bugs]
    return {
        function: {
            "outcomes": {
                tree_label(tree): [entry(function, tree, seed, bug) for seed in judgement.seeds]
                for tree, bug in trees
            }
        }
        for function in _all_functions(judgement)
    }


def _all_functions(judgement: Judgement) -> Sequence[str]:
    return tuple(dict.fromkeys((*judgement.functions, *(row.function for row in judgement.outcomes))))


def _worst(statuses: Iterable[str]) -> str:
    return min(statuses, key=_WORST_FIRST.index)
