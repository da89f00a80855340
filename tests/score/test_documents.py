"""The JSON that ``pbtbench score --json`` prints, and what aggregation reads back."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from pbtbench.judge.outcome import Judgement, Outcome, Stage
from pbtbench.problems.tree import BUGGY, CLEAN, fixed
from pbtbench.score import TrialScore, decide, score_document, verdict_document
from tests.score.builders import LEVELS, SEEDS, every_seed, finds, judgement, replace, row


def document(rows, **kwargs):
    j = judgement(rows, **kwargs)
    return score_document(j, decide(j), LEVELS)


def test_the_document_has_exactly_the_published_shape():
    rows = every_seed("bug_1")
    assert document(rows) == {
        "schema": 1,
        "problem": "DEMO-001",
        "seeds": [0, 1, 2],
        "functions": {
            "test_a": {
                "outcomes": {
                    "buggy": ["failed"] * 3,
                    "clean": ["passed"] * 3,
                    "fixed_bug_1": ["passed"] * 3,
                    "fixed_bug_2": ["failed"] * 3,
                    "only_bug_1": [None] * 3,
                    "only_bug_2": [None] * 3,
                }
            }
        },
        "bugs": {
            "bug_1": {
                "level": "L1",
                "f2p": {"rate": 1.0, "by": ["test_a"], "confirmed": True, "confirmed_by": ["test_a"]},
                "paper": {"rate": 1.0, "by": ["test_a"], "confirmed": True, "confirmed_by": ["test_a"]},
            },
            "bug_2": {
                "level": "L3",
                "f2p": {"rate": 0.0, "by": [], "confirmed": False, "confirmed_by": []},
                "paper": {"rate": 0.0, "by": [], "confirmed": False, "confirmed_by": []},
            },
        },
        "metrics": {
            "recall": 0.5,
            "coverage": 1.0,
            "perfect": 0.0,
            "confirmed_recall": 0.5,
            "paper_recall": 0.5,
        },
    }


def test_a_tree_left_out_because_the_bug_was_not_reached_says_so():
    rows = [row(BUGGY, "failed", reached=("bug_1",)), row(fixed("bug_1"), "passed")]
    outcomes = document(rows, seeds=(0,))["functions"]["test_a"]["outcomes"]
    assert outcomes["fixed_bug_2"] == ["not_reached"]
    assert outcomes["only_bug_2"] == [None]


def test_a_tree_left_out_because_the_function_passed_is_null():
    outcomes = document([row(BUGGY, "passed", stage="screen", reached=())], seeds=(0,))["functions"]["test_a"]
    assert outcomes["outcomes"]["fixed_bug_1"] == [None]


def test_cases_show_the_worst_and_stages_the_latest():
    rows = [
        row(BUGGY, "timeout", stage="screen", case="test_a[1]"),
        row(BUGGY, "failed", case="test_a[1]"),
        row(BUGGY, "passed", stage="screen", case="test_a[2]"),
        row(CLEAN, "skipped", stage="screen", case="test_a[1]"),
        row(CLEAN, "passed", stage="screen", case="test_a[2]"),
    ]
    outcomes = document(rows, seeds=(0,))["functions"]["test_a"]["outcomes"]
    assert outcomes["buggy"] == ["failed"]
    assert outcomes["clean"] == ["passed"]


def test_an_answer_without_functions_finds_nothing():
    assert document([], file_status="no_tests")["metrics"] == {
        "recall": 0.0,
        "coverage": 0.0,
        "perfect": 0.0,
        "confirmed_recall": 0.0,
        "paper_recall": 0.0,
    }


def test_coverage_and_perfect_are_means_over_seeds():
    rows = [
        *finds("bug_1", case="test_a", seed=0),
        *finds("bug_2", case="test_b", seed=0),
        *finds("bug_1", case="test_a", seed=1),
        row(BUGGY, "passed", seed=2),
    ]
    metrics = document(rows)["metrics"]
    assert metrics["recall"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert metrics["coverage"] == pytest.approx(2 / 3)
    assert metrics["perfect"] == pytest.approx(1 / 3)


def test_what_aggregation_reads_back_from_a_stored_document_is_what_was_scored():
    rows = replace(every_seed("bug_1"), {"tree": CLEAN, "seed": 1}, status="failed")
    rows += every_seed("bug_1", case="test_b")
    j = judgement(rows, file_message="fine")
    verdicts = verdict_document(j, decide(j), LEVELS)
    score = TrialScore.from_document(json.loads(json.dumps(verdicts)))
    assert {key: getattr(score, key) for key in verdicts["metrics"]} == verdicts["metrics"]
    assert score.bugs == {"bug_1": ("L1", 1.0), "bug_2": ("L3", 0.0)}
    assert (score.functions, score.useful, score.clean, score.checked) == (2, 2, 1, 2)
    assert score.no_file is False
    assert len(SEEDS) == len(verdicts["by_seed"]["f2p"]["bug_1"])


def test_a_document_can_be_made_of_rows_of_every_stage_and_shows_the_deciding_one() -> None:
    rows = [
        Outcome(function="test_x", case="test_x", tree=BUGGY, seed=0, status=status, stage=stage)
        for stage, status in zip(get_args(Stage), ("passed", "failed", "crashed", "skipped"), strict=True)
        if stage != "isolate"
    ]
    judgement = Judgement(
        problem="TOYB-001", seeds=(0,), bugs=("bug_1",), functions=("test_x",), outcomes=tuple(rows)
    )
    document = score_document(judgement, decide(judgement), {"bug_1": "L1"})
    assert document["functions"]["test_x"]["outcomes"]["buggy"] == ["failed"]
