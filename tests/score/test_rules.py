"""The verdict rules, clause by clause."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbtbench.judge.outcome import Outcome
from pbtbench.problems.tree import BUGGY, CLEAN, fixed, only
from pbtbench.score.rules import NOT_PASSING, RULES, decide
from tests.score.builders import BUGS, SEEDS, every_seed, finds, isolation, judgement, replace, row

STATUSES = ("passed", "failed", "skipped", "xfailed", "timeout", "crashed", "import_error", "exited")


def found(rows, rule="f2p", bug="bug_1", seeds=(0,)):
    return decide(judgement(rows, seeds=seeds)).rules[rule][bug].found


class TestFailToPass:
    @pytest.mark.parametrize("status", sorted(NOT_PASSING))
    def test_every_way_not_to_pass_on_buggy_counts(self, status):
        rows = [row(BUGGY, status), row(fixed("bug_1"), "passed")]
        assert found(rows) == (True,)

    @pytest.mark.parametrize("status", ["passed", "skipped", "xfailed"])
    def test_a_case_that_passes_or_skips_on_buggy_finds_nothing(self, status):
        rows = [row(BUGGY, status), row(fixed("bug_1"), "passed")]
        assert found(rows) == (False,)

    @pytest.mark.parametrize("status", [s for s in STATUSES if s != "passed"])
    def test_only_a_real_pass_on_the_fixed_tree_counts(self, status):
        rows = [row(BUGGY, "failed"), row(fixed("bug_1"), status)]
        assert found(rows) == (False,)

    def test_each_bug_needs_its_own_fixed_tree(self):
        verdicts = decide(judgement(finds("bug_2"), seeds=(0,)))
        assert verdicts.rules["f2p"]["bug_1"].found == (False,)
        assert verdicts.rules["f2p"]["bug_2"].by == ("test_a",)

    def test_seeds_are_never_mixed(self):
        rows = [row(BUGGY, "failed", seed=0), row(fixed("bug_1"), "passed", seed=1)]
        assert found(rows, seeds=(0, 1)) == (False, False)

    def test_cases_of_one_function_are_never_mixed(self):
        rows = [row(BUGGY, "failed", case="test_a[1]"), row(fixed("bug_1"), "passed", case="test_a[2]")]
        assert found(rows) == (False,)

    def test_one_case_is_enough_for_its_function(self):
        rows = [*finds("bug_1", case="test_a[1]"), row(BUGGY, "passed", case="test_a[2]")]
        assert decide(judgement(rows, seeds=(0,))).rules["f2p"]["bug_1"].by == ("test_a",)

    def test_the_screening_run_alone_decides_nothing(self):
        rows = [row(BUGGY, "failed", stage="screen"), row(fixed("bug_1"), "passed")]
        assert found(rows) == (False,)

    def test_rate_is_the_share_of_seeds(self):
        rows = [*finds("bug_1", seed=0), *finds("bug_1", seed=2), row(BUGGY, "passed", seed=1)]
        verdict = decide(judgement(rows)).rules["f2p"]["bug_1"]
        assert verdict.rate == pytest.approx(2 / 3)
        assert verdict.credits == (("test_a",), (), ("test_a",))

    def test_functions_are_named_in_file_order(self):
        rows = [*finds("bug_1", case="test_z"), *finds("bug_1", case="test_b")]
        verdict = decide(judgement(rows, seeds=(0,), functions=("test_z", "test_b"))).rules["f2p"]["bug_1"]
        assert verdict.by == ("test_z", "test_b")


class TestCodeThatNeverRan:
    @pytest.mark.parametrize("rule", RULES)
    def test_a_bug_whose_code_never_ran_is_not_credited_but_called_unstable(self, rule):
        rows = [row(BUGGY, "failed", reached=("bug_2",)), row(fixed("bug_1"), "passed")]
        verdicts = decide(judgement(rows, seeds=(0,)))
        assert not verdicts.rules[rule]["bug_1"].by
        assert verdicts.unstable == ("test_a",)

    def test_isolation_needs_it_too(self):
        rows = replace(isolation("bug_1", "failed", "passed"), {"tree": only("bug_1")}, reached=())
        assert found(rows, "paper") == (False,)


class TestPaperRule:
    @pytest.mark.parametrize("status", ["passed", "skipped", "xfailed"])
    def test_skip_and_xfail_count_as_passing_on_the_fixed_tree(self, status):
        rows = [row(BUGGY, "failed"), row(fixed("bug_1"), status)]
        assert found(rows, "paper") == (True,)

    @pytest.mark.parametrize("status", ["skipped", "xfailed"])
    def test_and_on_the_buggy_tree(self, status):
        rows = [row(BUGGY, status), row(fixed("bug_1"), "passed")]
        assert found(rows, "paper") == (False,)

    @pytest.mark.parametrize("on_clean", ["passed", "skipped", "xfailed"])
    def test_isolation_finds_what_other_bugs_mask(self, on_clean):
        rows = isolation("bug_1", "failed", on_clean)
        assert found(rows, "paper") == (True,)
        assert found(rows, "f2p") == (False,)

    @pytest.mark.parametrize(("on_only", "on_clean"), [("passed", "passed"), ("failed", "failed")])
    def test_isolation_needs_a_difference(self, on_only, on_clean):
        assert found(isolation("bug_1", on_only, on_clean), "paper") == (False,)

    def test_isolation_falls_back_to_the_screening_run_on_clean(self):
        rows = [*isolation("bug_1", "failed", None), row(CLEAN, "passed", stage="screen")]
        assert found(rows, "paper") == (True,)

    def test_isolation_without_any_clean_run_finds_nothing(self):
        assert found(isolation("bug_1", "failed", None), "paper") == (False,)


class TestConfirmed:
    def confirmed(self, rows, rule="f2p"):
        return decide(judgement(rows)).rules[rule]["bug_1"].confirmed_by

    def test_a_plain_find_under_every_seed_is_confirmed(self):
        assert self.confirmed(every_seed("bug_1")) == ("test_a",)
        assert self.confirmed(every_seed("bug_1"), "paper") == ("test_a",)

    def test_not_when_one_seed_misses(self):
        rows = [*finds("bug_1", seed=0), *finds("bug_1", seed=1), row(BUGGY, "passed", seed=2)]
        assert self.confirmed(rows) == ()

    def test_not_when_two_functions_share_the_seeds(self):
        rows = [
            *finds("bug_1", case="test_a", seed=0),
            *finds("bug_1", case="test_b", seed=1),
            *finds("bug_1", case="test_b", seed=2),
        ]
        verdict = decide(judgement(rows)).rules["f2p"]["bug_1"]
        assert verdict.rate == 1
        assert verdict.confirmed is False

    @pytest.mark.parametrize(
        ("match", "change"),
        [
            ({"tree": BUGGY, "stage": "decide", "seed": 1}, {"phase": "setup"}),
            ({"tree": BUGGY, "seed": 1}, {"status": "timeout", "phase": ""}),
            ({"tree": BUGGY, "seed": 1}, {"status": "crashed", "phase": ""}),
            ({"tree": CLEAN, "seed": 2}, {"status": "failed"}),
            ({"tree": CLEAN, "seed": 2}, {"status": "skipped"}),
            ({"tree": fixed("bug_2"), "seed": 0}, {"status": "skipped"}),
            ({"tree": fixed("bug_1"), "seed": 0}, {"read_source": True}),
            ({"tree": BUGGY, "stage": "screen", "seed": 0}, {"status": "passed"}),
        ],
    )
    def test_one_doubtful_row_under_one_seed_is_enough_to_refuse(self, match, change):
        rows = replace(every_seed("bug_1"), match, **change)
        assert self.confirmed(rows) == ()

    def test_a_clean_run_under_every_seed_is_needed(self):
        rows = [r for r in every_seed("bug_1") if not (r.tree == CLEAN and r.seed == 1)]
        assert self.confirmed(rows) == ()

    def test_isolation_alone_can_confirm_the_paper_rule(self):
        rows = [r for seed in SEEDS for r in isolation("bug_1", "failed", "passed", seed=seed)]
        assert self.confirmed(rows, "paper") == ("test_a",)
        assert self.confirmed(rows, "f2p") == ()

    def test_no_seeds_confirm_nothing(self):
        assert decide(judgement([], seeds=())).rules["f2p"]["bug_1"].confirmed is False


class TestStability:
    def test_two_runs_under_one_seed_that_differ_are_unstable_and_earn_nothing(self):
        rows = [*finds("bug_1"), row(fixed("bug_1"), "failed")]
        verdicts = decide(judgement(rows, seeds=(0,)))
        assert verdicts.unstable == ("test_a",)
        assert not verdicts.rules["f2p"]["bug_1"].by

    def test_different_results_under_different_seeds_are_not_unstable(self):
        rows = [*finds("bug_1", seed=0), row(BUGGY, "passed", seed=1)]
        assert decide(judgement(rows, seeds=(0, 1))).unstable == ()


class TestCleanRuns:
    def test_a_function_is_clean_when_all_cases_pass_under_all_seeds(self):
        rows = [
            *(row(CLEAN, "passed", stage="screen", seed=s, case="test_a[1]") for s in SEEDS),
            *(
                row(CLEAN, "passed" if s else "failed", stage="screen", seed=s, case="test_a[2]")
                for s in SEEDS
            ),
            *(row(CLEAN, "passed", stage="screen", seed=s, case="test_b") for s in SEEDS),
            row(BUGGY, "passed", stage="screen", case="test_c"),
        ]
        assert decide(judgement(rows)).clean == {"test_a": False, "test_b": True, "test_c": None}


def outcomes():
    return st.lists(
        st.builds(
            Outcome,
            function=st.just("test_a"),
            case=st.sampled_from(["test_a[0]", "test_a[1]"]),
            tree=st.sampled_from([BUGGY, CLEAN, *map(fixed, BUGS), *map(only, BUGS)]),
            seed=st.sampled_from([0, 1]),
            status=st.sampled_from(STATUSES),
            stage=st.sampled_from(["screen", "decide", "isolate"]),
            phase=st.sampled_from(["", "setup", "call"]),
            reached=st.sets(st.sampled_from(BUGS)).map(tuple),
            read_source=st.booleans(),
        ),
        max_size=40,
    )


@given(outcomes())
def test_f2p_credits_are_paper_credits_and_confirmed_ones_hold_under_every_seed(rows):
    verdicts = decide(judgement(rows, seeds=(0, 1)))
    for bug in BUGS:
        f2p, paper = verdicts.rules["f2p"][bug], verdicts.rules["paper"][bug]
        for strict, lenient in zip(f2p.credits, paper.credits, strict=True):
            assert set(strict) <= set(lenient)
        for verdict in (f2p, paper):
            assert not verdict.confirmed or verdict.rate == 1
            assert set(verdict.confirmed_by) <= set(verdict.by)


@given(outcomes(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert decide(judgement(rows, functions=("test_a",))) == decide(
        judgement(shuffled, functions=("test_a",))
    )
