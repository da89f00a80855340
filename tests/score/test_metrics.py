"""Aggregation over trials and problems, and its intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbtbench.score import TrialScore, cell_metrics
from pbtbench.score.intervals import cluster_interval


def trial(problem, rates, *, levels=None, no_file=False, **kwargs):
    bugs = {f"bug_{i}": ((levels or ["L1"] * len(rates))[i], rate) for i, rate in enumerate(rates)}
    recall = sum(rates) / len(rates)
    defaults = {
        "coverage": float(any(rates)),
        "perfect": float(all(rates)),
        "confirmed_recall": recall / 2,
        "paper_recall": recall,
        "functions": 4,
        "clean": 3,
        "checked": 4,
        "useful": 1,
    }
    return TrialScore(problem=problem, recall=recall, bugs=bugs, no_file=no_file, **{**defaults, **kwargs})


def test_problems_weigh_alike_however_many_bugs_or_repeats_they_have():
    scores = [trial("A-1", [1.0]), trial("A-1", [0.0]), trial("B-1", [1.0, 1.0, 1.0, 1.0])]
    metrics = cell_metrics(scores, trials=3, problems=2)
    assert metrics.recall.estimate == pytest.approx(0.75)
    assert metrics.bug_recall.estimate == pytest.approx(4.5 / 5)
    assert metrics.bugs == 5


def test_levels_are_means_over_bugs():
    scores = [
        trial("A-1", [1.0, 0.0], levels=["L1", "L3"]),
        trial("B-1", [0.5, 1.0], levels=["L3", "L3"]),
    ]
    metrics = cell_metrics(scores, trials=2, problems=2)
    assert metrics.levels["L1"].estimate == 1.0
    assert metrics.levels["L2"] is None
    assert metrics.levels["L3"].estimate == pytest.approx(0.5)
    assert metrics.level_bugs == {"L1": 1, "L2": 0, "L3": 3}


def test_missing_is_not_zero_and_both_counts_are_given():
    metrics = cell_metrics([trial("A-1", [1.0])], trials=4, problems=2)
    assert metrics.recall.estimate == 1.0
    assert (metrics.trials, metrics.trials_judged) == (4, 1)
    assert (metrics.problems, metrics.problems_judged) == (2, 1)


def test_an_answer_without_a_file_is_a_zero():
    scores = [
        trial("A-1", [1.0]),
        trial("B-1", [0.0], no_file=True, functions=0, clean=0, checked=0, useful=0),
    ]
    metrics = cell_metrics(scores, trials=2, problems=2)
    assert metrics.recall.estimate == 0.5
    assert metrics.no_file == 0.5
    assert metrics.functions == 4


def test_shares_over_functions():
    metrics = cell_metrics([trial("A-1", [1.0]), trial("B-1", [0.0])], trials=2, problems=2)
    assert metrics.precision == 0.75
    assert metrics.efficiency == 0.25


def test_a_cell_without_any_judged_trial_has_no_figures():
    metrics = cell_metrics([], trials=3, problems=3)
    assert metrics.recall is None
    assert metrics.precision is None
    assert metrics.levels == {"L1": None, "L2": None, "L3": None}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_an_interval_holds_its_estimate_and_is_the_same_again(totals):
    interval = cluster_interval(totals, resamples=400)
    assert interval == cluster_interval(totals, resamples=400)
    assert interval.low - 1e-9 <= interval.estimate <= interval.high + 1e-9 or len(set(totals)) > 1
    assert min(totals) - 1e-9 <= interval.low <= interval.high <= max(totals) + 1e-9


def test_one_problem_has_no_spread_and_none_has_no_interval():
    assert cluster_interval([0.4]).low == cluster_interval([0.4]).high == pytest.approx(0.4)
    assert cluster_interval([]) is None


def test_the_interval_is_as_wide_as_problems_make_it():
    # 100 problems, half found: the standard error of the mean is 0.05, the interval +- 1.96 of it.
    interval = cluster_interval([0.0, 1.0] * 50)
    assert interval.low == pytest.approx(0.40, abs=0.015)
    assert interval.high == pytest.approx(0.60, abs=0.015)


def test_weights_make_it_a_ratio_of_sums():
    interval = cluster_interval([1, 0, 2], [1, 4, 3])
    assert interval.estimate == pytest.approx(3 / 8)
