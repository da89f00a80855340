"""What has to run next, from what is known (pure functions over outcomes).

Four stages. *Screen* runs everything on ``buggy`` and on ``clean``. *Decide* runs what did not pass
on ``buggy`` again, on ``buggy`` and on every ``fixed:<bug>`` tree; verdicts of rule ``f2p`` rest on
these rows alone. All trees of this stage get the same cases, seeds and order, so that an answer finds
the same circumstances in each and can tell them apart only by how the library behaves. *Again* runs what
would be confirmed a second time, on the trees that decided it, once more with one plan for all. *Isolate*
adds ``only:<bug>`` for the bugs that removal did not show, as rule ``paper`` wants.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from pbtbench.judge.outcome import Outcome, Stage
from pbtbench.problems.tree import BUGGY, CLEAN, fixed, only

Pair = tuple[str, int]
"""(case, seed)"""

PASSING = frozenset({"passed", "skipped", "xfailed"})
"""Statuses that are no failure; of these only ``passed`` says that the property held."""

UNSURE = frozenset({"timeout", "crashed"})
"""Statuses that other work on the machine, or another test, can have caused."""


def clean_pairs(buggy: Iterable[Outcome], collected: Container[str]) -> tuple[list[Pair], list[Outcome]]:
    """What must run on ``clean``, and rows that follow without running.

    A case that enters no bug's code on ``buggy`` does the same on every tree where it exists; ``collected``
    are the cases of ``clean``.
    """
    pairs: list[Pair] = []
    inferred: list[Outcome] = []
    for row in buggy:
        if row.reached or row.status in UNSURE or row.case not in collected:
            pairs.append((row.case, row.seed))
        else:
            inferred.append(_same_as_buggy(row, CLEAN, row.stage))
    return pairs, inferred


def deciding_pairs(screen: Iterable[Outcome]) -> list[Pair]:
    """What did not pass on ``buggy`` after entering code of some bug: nothing else can be credited."""
    return [
        (row.case, row.seed)
        for row in screen
        if row.tree == BUGGY and row.status not in PASSING and row.reached
    ]


def deciding_bugs(screen: Iterable[Outcome], bugs: Sequence[str]) -> list[str]:
    """Bugs whose code some deciding pair entered; the fixed trees of the others cannot differ."""
    reached = {
        bug for row in screen if row.tree == BUGGY and row.status not in PASSING for bug in row.reached
    }
    return [bug for bug in bugs if bug in reached]


def removed(decide: Mapping[tuple[str, str, int], Outcome], bug: str, pair: Pair) -> bool:
    """Whether removal of ``bug`` alone turns the pair from not passing into passing."""
    case, seed = pair
    buggy = decide.get((BUGGY, case, seed))
    fixed_row = decide.get((fixed(bug), case, seed))
    return (
        buggy is not None
        and fixed_row is not None
        and buggy.status not in PASSING
        and bug in buggy.reached
        and fixed_row.status == "passed"
    )


def again_cases(
    decide: Mapping[tuple[str, str, int], Outcome], bugs: Sequence[str], seeds: Sequence[int]
) -> dict[str, list[str]]:
    """Cases that may be confirmed, by the bugs they are credited with under every seed.

    These are run a second time: what a fail-to-pass owes to chance seldom happens twice.
    """
    found: dict[str, list[str]] = {}
    for case in dict.fromkeys(case for _tree, case, _seed in decide):
        for bug in bugs:
            rows = [decide.get((BUGGY, case, seed)) for seed in seeds]
            if all(removed(decide, bug, (case, seed)) for seed in seeds) and not any(
                row is None or row.read_source or row.phase != "call" for row in rows
            ):
                found.setdefault(case, []).append(bug)
    return found


def isolation_pairs(
    screen: Iterable[Outcome], bug: str, missed_seeds: Iterable[int], *, full: bool = False
) -> tuple[list[Pair], list[Outcome]]:
    """What must run on ``only:<bug>``, and rows that follow without running.

    A case that passes on ``clean`` without entering the bug's code does the same on ``only:<bug>``.
    One that enters no other bug's code on ``buggy`` does there what it does on ``only:<bug>``.
    """
    seeds = set(missed_seeds)
    rows = {(row.tree, row.case, row.seed): row for row in screen}
    pairs: list[Pair] = []
    inferred: list[Outcome] = []
    for (tree, case, seed), row in rows.items():
        if tree != CLEAN or seed not in seeds or row.status not in PASSING:
            continue
        if full:
            pairs.append((case, seed))
            continue
        if bug not in row.reached:
            continue
        buggy = rows.get((BUGGY, case, seed))
        if buggy is not None and set(buggy.reached) <= {bug} and buggy.status not in UNSURE:
            inferred.append(_same_as_buggy(buggy, only(bug), "isolate"))
        else:
            pairs.append((case, seed))
    return pairs, inferred


def _same_as_buggy(row: Outcome, tree: str, stage: Stage) -> Outcome:
    return replace(row, tree=tree, stage=stage, seconds=0.0, cpu_seconds=0.0, extra={"same_as": BUGGY})


def repeats(
    decide: Mapping[tuple[str, str, int], Outcome], bugs: Sequence[str], pairs: Sequence[Pair]
) -> list[tuple[str, Pair]]:
    """(tree, pair) whose unsure status decides a credit: to be run again with nothing beside it."""
    again: list[tuple[str, Pair]] = []
    for pair in pairs:
        case, seed = pair
        buggy = decide[BUGGY, case, seed]
        fixed_rows = {bug: decide[fixed(bug), case, seed] for bug in bugs if bug in buggy.reached}
        if buggy.status in PASSING:
            continue
        if buggy.status in UNSURE and any(row.status == "passed" for row in fixed_rows.values()):
            again.append((BUGGY, pair))
        if buggy.status not in UNSURE:
            again += [(fixed(bug), pair) for bug, row in fixed_rows.items() if row.status in UNSURE]
    return again
