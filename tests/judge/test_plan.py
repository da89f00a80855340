"""The judge's shortcuts change what runs, never what is found."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from pbtbench.judge.dispatch import Dispatch
from pbtbench.judge.outcome import Judgement
from pbtbench.judge.plan import PASSING, removed
from pbtbench.judge.slots import Slots
from pbtbench.problems.tree import BUGGY, CLEAN, fixed, only

from .model import BUGS, Behaviour, ModelOpener, ModelReach, behaviours, run

SEEDS = (0, 1)

worlds = st.dictionaries(
    st.sampled_from(["test_a", "test_b", "test_c"]),
    st.fixed_dictionaries(dict.fromkeys(SEEDS, behaviours)),
    min_size=1,
)


def judge(
    world: dict[str, dict[int, Behaviour]], *, full: bool, **options: Any
) -> tuple[Judgement, ModelOpener]:
    opener = ModelOpener(world, **options)
    prepared = SimpleNamespace(problem=SimpleNamespace(id="TOY-001", bug_ids=BUGS), trees={})
    dispatch = Dispatch(
        cast(Any, prepared),
        b"the answer",
        cast(Any, opener),
        seeds=SEEDS,
        slots=Slots(1),
        limit=30.0,
        full=full,
        on_event=lambda _event: None,
        reach_on=lambda _tree: cast(Any, ModelReach()),
    )
    return dispatch.judge(), opener


def found_by_removal(judgement: Judgement) -> set[tuple[str, str, int]]:
    rows = {(r.tree, r.case, r.seed): r for r in judgement.outcomes if r.stage == "decide"}
    pairs = {(case, seed) for _tree, case, seed in rows}
    return {(bug, *pair) for bug in BUGS for pair in pairs if removed(rows, bug, pair)}


def found_by_isolation(judgement: Judgement, bug: str, seed: int) -> set[str]:
    clean = {r.case for r in judgement.outcomes if r.tree == CLEAN and r.seed == seed and r.status in PASSING}
    return {
        r.case
        for r in judgement.outcomes
        if r.tree == only(bug) and r.seed == seed and r.status not in PASSING and r.case in clean
    }


@settings(max_examples=40, deadline=None)
@given(worlds)
def test_pruned_and_full_judging_credit_the_same_by_removal(world: dict[str, dict[int, Behaviour]]) -> None:
    pruned, _ = judge(world, full=False)
    full, _ = judge(world, full=True)
    assert found_by_removal(pruned) == found_by_removal(full)


@settings(max_examples=40, deadline=None)
@given(worlds)
def test_removal_credits_are_what_the_model_says(world: dict[str, dict[int, Behaviour]]) -> None:
    pruned, _ = judge(world, full=False)
    expected = {
        (bug, case, seed)
        for case, by_seed in world.items()
        for seed, behaviour in by_seed.items()
        for bug in BUGS
        if run(behaviour, BUGGY)["status"] not in PASSING and run(behaviour, fixed(bug))["status"] == "passed"
    }
    assert found_by_removal(pruned) == expected


@settings(max_examples=40, deadline=None)
@given(worlds)
def test_pruned_and_full_judging_agree_on_isolation_of_bugs_that_removal_missed(
    world: dict[str, dict[int, Behaviour]],
) -> None:
    pruned, _ = judge(world, full=False)
    full, _ = judge(world, full=True)
    by_removal = {(bug, seed) for bug, _case, seed in found_by_removal(pruned)}
    for bug in BUGS:
        for seed in SEEDS:
            if (bug, seed) not in by_removal:
                assert found_by_isolation(pruned, bug, seed) == found_by_isolation(full, bug, seed)


@settings(max_examples=40, deadline=None)
@given(worlds)
def test_every_tree_of_the_deciding_stage_gets_the_same_plan(world: dict[str, dict[int, Behaviour]]) -> None:
    judgement, _ = judge(world, full=False)
    plans: dict[str, list[tuple[str, int]]] = {}
    for row in judgement.outcomes:
        if row.stage == "decide":
            plans.setdefault(row.tree, []).append((row.case, row.seed))
    assert all(plan == plans[BUGGY] for plan in plans.values())


@settings(max_examples=40, deadline=None)
@given(worlds)
def test_nothing_that_passed_on_buggy_is_run_on_a_fixed_tree(world: dict[str, dict[int, Behaviour]]) -> None:
    _, opener = judge(world, full=False)
    passed = {
        (case, seed)
        for case, by_seed in world.items()
        for seed, behaviour in by_seed.items()
        if run(behaviour, BUGGY)["status"] in PASSING
    }
    assert not [ran for ran in opener.ran if ran[0].startswith("fixed") and ran[1:] in passed]


def test_a_case_that_kills_its_sandbox_is_run_alone_and_does_not_take_others_with_it() -> None:
    world: dict[str, dict[int, Behaviour]] = {
        "test_a": dict.fromkeys(SEEDS, "passed"),
        "test_b": dict.fromkeys(SEEDS, "passed"),
        "test_c": dict.fromkeys(SEEDS, "failed"),
    }
    judgement, _ = judge(world, full=False, dies=frozenset({"test_a"}))
    rows = {(r.tree, r.case, r.seed): r for r in judgement.outcomes if r.stage == "screen"}
    for tree in (BUGGY, CLEAN):
        for seed in SEEDS:
            assert rows[tree, "test_a", seed].status == "crashed"
            assert rows[tree, "test_b", seed].status == "passed"
            assert rows[tree, "test_c", seed].status == "failed"
