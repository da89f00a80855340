"""Scoring a run again from what it stored."""

from __future__ import annotations

import json
import time

import pytest

from pbtbench.errors import ConfigurationError, SelectionError
from pbtbench.runs.folder import open_run
from pbtbench.runs.summary import summarise
from tests.runs.parts import Parts


@pytest.fixture
def parts(tmp_path) -> Parts:
    return Parts(tmp_path / "run")


def test_scoring_again_repairs_verdicts_from_outcomes(parts):
    folder = parts.run().folder
    path = folder.trial(folder.planned[0]).verdicts
    good = path.read_bytes()
    path.write_text("{}")
    summarise(open_run(parts.root), rescore=True)
    assert path.read_bytes() == good


def test_scoring_again_writes_nothing_that_is_right_already(parts):
    folder = parts.run().folder
    path = folder.trial(folder.planned[0]).verdicts
    before = path.stat().st_mtime_ns
    summarise(folder, rescore=True)
    assert path.stat().st_mtime_ns == before


def test_both_rules_can_be_asked_for(parts):
    folder = parts.run().folder
    assert summarise(folder, rule="paper").rule == "paper"
    assert summarise(folder, rule="paper").cells[0].metrics.recall.estimate == 0.5


def test_trials_that_were_never_run_are_named(parts):
    folder = parts.run().folder
    folder.trial(folder.planned[0]).trial_json.unlink()
    summary = summarise(open_run(parts.root))
    assert summary.unjudged == ((folder.planned[0], "not run yet"),)
    assert json.loads(json.dumps(summary.to_json()))["unjudged"] == {folder.planned[0].name: "not run yet"}


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(SelectionError, match="no run here"):
        open_run(tmp_path)


def test_a_folder_with_other_things_in_it_is_refused(parts):
    parts.root.mkdir()
    (parts.root / "thesis.tex").write_text("")
    with pytest.raises(ConfigurationError, match="is not empty and holds no run"):
        parts.run()


def test_three_hundred_trials_are_scored_again_in_seconds(parts):
    from tests.agents.fakes import make_problem

    parts.problems = tuple(make_problem(f"DEMO-{n:03}") for n in range(30))
    folder = parts.run(repeats=10).folder
    begin = time.process_time()
    summarise(folder, rescore=True)
    assert time.process_time() - begin < 4
