"""Short notation for judgements: what each case did on each tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pbtbench.judge.outcome import Judgement, Outcome
from pbtbench.problems.tree import BUGGY, CLEAN, fixed, only

BUGS = ("bug_1", "bug_2")
SEEDS = (0, 1, 2)
LEVELS = {"bug_1": "L1", "bug_2": "L3"}


def row(tree: str, status: str, *, seed: int = 0, case: str = "test_a", **kwargs: Any) -> Outcome:
    """One outcome; a failure is in the call phase and reaches both bugs unless said otherwise."""
    kwargs.setdefault("stage", "decide")
    kwargs.setdefault("phase", "call" if status == "failed" else "")
    kwargs.setdefault("reached", BUGS)
    function = kwargs.pop("function", case.split("[", maxsplit=1)[0])
    return Outcome(function=function, case=case, tree=tree, seed=seed, status=status, **kwargs)


def judgement(rows: Sequence[Outcome], *, seeds: Sequence[int] = SEEDS, **kwargs: Any) -> Judgement:
    functions = tuple(dict.fromkeys(r.function for r in rows))
    kwargs.setdefault("functions", functions)
    return Judgement(problem="DEMO-001", seeds=tuple(seeds), bugs=BUGS, outcomes=tuple(rows), **kwargs)


def finds(bug: str, *, case: str = "test_a", seed: int = 0, **failing: Any) -> list[Outcome]:
    """Rows of a case that finds ``bug`` alone under one seed, and is clean."""
    rows = [
        row(BUGGY, "failed", stage="screen", case=case, seed=seed, **failing),
        row(CLEAN, "passed", stage="screen", case=case, seed=seed),
        row(BUGGY, "failed", case=case, seed=seed, **failing),
    ]
    return rows + [
        row(fixed(other), "passed" if other == bug else "failed", case=case, seed=seed) for other in BUGS
    ]


def every_seed(bug: str, *, case: str = "test_a", **failing: Any) -> list[Outcome]:
    return [r for seed in SEEDS for r in finds(bug, case=case, seed=seed, **failing)]


def isolation(bug: str, on_only: str, on_clean: str | None, *, seed: int = 0) -> list[Outcome]:
    """Rows of a case that is masked under f2p and was then run on the trees of the isolation stage."""
    rows = [row(BUGGY, "failed", seed=seed), row(fixed(bug), "failed", seed=seed)]
    rows.append(row(only(bug), on_only, stage="isolate", seed=seed))
    if on_clean:
        rows.append(row(CLEAN, on_clean, stage="isolate", seed=seed))
    return rows


def replace(rows: Sequence[Outcome], match: Mapping[str, Any], **changes: Any) -> list[Outcome]:
    """The rows, with ``changes`` made to those whose fields equal ``match``."""
    from dataclasses import replace as dataclass_replace

    out = [
        dataclass_replace(r, **changes) if all(getattr(r, k) == v for k, v in match.items()) else r
        for r in rows
    ]
    assert out != list(rows), "nothing matched"
    return out
