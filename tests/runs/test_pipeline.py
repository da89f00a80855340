"""A run from plan to summary: resume, retry, stop, and what never happens."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import pytest

from pbtbench.agents.base import AgentResult
from pbtbench.errors import (
    AgentError,
    ConfigurationError,
    DiskFullError,
    InfraError,
    SandboxDiedError,
    SandboxUnavailableError,
)
from pbtbench.runs.journal import read_journal
from pbtbench.runs.pipeline import ATTEMPTS, rejudge
from pbtbench.runs.trial import read_trial
from tests.runs.parts import FakeAgent, FakeJudge, Parts


@pytest.fixture
def parts(tmp_path) -> Parts:
    return Parts(tmp_path / "run")


def raise_times(error: Exception, times: int):
    """Raises the first ``times`` calls."""
    left = [times]
    lock = threading.Lock()

    def act():
        with lock:
            left[0] -= 1
            if left[0] >= 0:
                raise error

    return act


def test_every_trial_is_answered_judged_and_stored(parts):
    result = parts.run(agent=("reference", "nop"), mode=("pbt", "baseline"), repeats=2)
    keys = result.folder.planned
    assert len(keys) == 2 * 2 * 2 * 2
    assert sorted(parts.observer.done) == sorted(key.name for key in keys)
    for key in keys:
        paths = result.folder.trial(key)
        document = read_trial(paths)
        assert document.state == "done"
        assert document.image == f"digest-{key.problem}"
        assert document.agent.end == "finished"
        assert paths.answer.read_bytes() == b"def test_a(): pass\n"
        assert paths.agent_log.read_bytes() == b"done\n"
        assert "demo_lib" in paths.prompt.read_text()
        assert json.loads(paths.verdicts.read_text())["metrics"]["recall"] == 0.5
    assert all(sandbox.closed for sandbox in parts.backend.started)
    summary = json.loads(result.folder.paths.summary.read_text())
    assert [cell["metrics"]["recall"]["estimate"] for cell in summary["cells"]] == [0.5] * 4
    assert summary["unjudged"] == {}


def test_the_same_run_again_does_nothing(parts):
    parts.run()
    before = len(parts.backend.started), len(parts.judge.judged), len(parts.builder.prepared)
    again = parts.run()
    assert (len(parts.backend.started), len(parts.judge.judged), len(parts.builder.prepared)) == before
    assert again.summary.unjudged == ()


def test_more_repeats_are_another_run(parts):
    parts.run()
    with pytest.raises(ConfigurationError) as caught:
        parts.run(repeats=3, mode=("baseline",))
    text = str(caught.value)
    assert "repeats: was 1, now 3" in text
    assert 'cells: was ["reference pbt"], now ["reference baseline"]' in text


def test_a_changed_problem_is_another_run(parts):
    parts.run()
    parts.problems = (parts.problems[0], parts.problems[1].model_copy(update={"title": "other"}))
    with pytest.raises(ConfigurationError, match=r"problem DEMO-002: was [0-9a-f]+, now [0-9a-f]+"):
        parts.run()


def test_workers_and_place_do_not_make_another_run(parts):
    parts.run(workers=1)
    assert parts.run(workers=2).summary.unjudged == ()


def test_an_answer_survives_a_session_that_dies_while_judging(parts):
    parts.judge = FakeJudge(raise_times(RuntimeError("bug in the judge"), 1000))
    with pytest.raises(RuntimeError, match="bug in the judge"):
        parts.run(workers=1)
    runs = len(parts.agents["reference"].runs)
    parts.judge = FakeJudge()
    result = parts.run(workers=1)
    assert result.summary.unjudged == ()
    assert len(parts.agents["reference"].runs) <= max(runs, len(parts.problems))
    assert sorted(name for name, _ in parts.judge.judged) == ["DEMO-001", "DEMO-002"]


class TestInfrastructure:
    def test_a_failure_that_passes_is_retried_and_leaves_no_trace_in_the_score(self, parts):
        parts.agents["reference"] = FakeAgent("reference", raise_times(SandboxDiedError("gone"), 2))
        result = parts.run(workers=1)
        assert result.summary.unjudged == ()
        assert parts.observer.retries == 2
        assert result.summary.retries == 2

    def test_an_end_that_says_infra_error_is_a_failure_too(self, parts):
        ends = iter([AgentResult(end="infra_error", message="429"), *[None] * 9])
        parts.agents["reference"] = FakeAgent("reference", lambda: next(ends))
        assert parts.run(workers=1).summary.unjudged == ()
        assert parts.observer.retries == 1

    @pytest.mark.parametrize("where", ["agent", "judge"])
    def test_one_that_stays_is_unjudged_and_missing_never_zero(self, parts, where):
        act = raise_times(InfraError("no service"), ATTEMPTS)
        if where == "agent":
            parts.agents["reference"] = FakeAgent("reference", act)
        else:
            parts.judge = FakeJudge(act)
        result = parts.run(workers=1)
        ((key, reason),) = result.summary.unjudged
        assert reason == "no service"
        metrics = result.summary.cells[0].metrics
        assert (metrics.problems, metrics.problems_judged) == (2, 1)
        assert metrics.recall.estimate == 0.5
        assert [given_up for given_up, _ in parts.observer.given_up] == [key.name]
        again = parts.run(workers=1)
        assert again.summary.unjudged == ()
        assert again.summary.cells[0].metrics.problems_judged == 2

    def test_a_machine_that_cannot_go_on_ends_the_run_and_keeps_what_is_done(self, parts):
        calls = iter([None, SandboxUnavailableError("Docker has gone")])

        def act():
            error = next(calls)
            if error:
                raise error

        parts.judge = FakeJudge(act)
        with pytest.raises(SandboxUnavailableError, match="Docker has gone"):
            parts.run(workers=1)
        parts.judge = FakeJudge()
        assert parts.run(workers=1).summary.unjudged == ()
        assert len(parts.judge.judged) == 1

    def test_a_full_disk_ends_the_run_with_its_name(self, parts, monkeypatch):
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        result = parts.run()
        monkeypatch.setattr("pbtbench.runs.files.os.fsync", full)
        parts.root = parts.root.with_name("other")
        with pytest.raises(DiskFullError, match="no space left"):
            parts.run()
        assert result.summary.unjudged == ()


def test_an_agent_that_fails_is_judged_by_what_it_left(parts):
    def act():
        raise AgentError("it crashed")

    parts.agents["reference"] = FakeAgent("reference", act)
    result = parts.run()
    document = read_trial(result.folder.trial(result.folder.planned[0]))
    assert (document.agent.end, document.agent.message) == ("agent_error", "it crashed")
    assert result.summary.cells[0].metrics.recall.estimate == 0.5


def test_no_answer_is_a_zero_with_its_reason(parts):
    class Nothing(FakeAgent):
        def run(self, task, sandbox, events):
            return AgentResult(end="time_limit")

    parts.agents["nop"] = Nothing("nop")
    result = parts.run(agent=("nop",))
    document = read_trial(result.folder.trial(result.folder.planned[0]))
    assert document.answer.status == "no_file"
    assert "no such file" in document.answer.reason
    assert parts.judge.judged[0][1] is None
    metrics = result.summary.cells[0].metrics
    assert (metrics.recall.estimate, metrics.no_file) == (0.0, 1.0)


def test_two_processes_never_work_in_one_folder(parts):
    folder = parts.run().folder
    with folder.locked(), pytest.raises(ConfigurationError, match="another pbtbench process"):
        parts.run()


def test_leftovers_of_dead_runs_are_swept_at_start(parts):
    parts.run()
    assert parts.backend.swept == 1


class TestInterrupt:
    def test_the_first_one_finishes_what_runs_and_starts_nothing_new(self, parts):
        def act():
            os.kill(os.getpid(), signal.SIGINT)
            while not parts.observer.running_at_stop:
                time.sleep(0.01)

        parts.agents["reference"] = FakeAgent("reference", act)
        result = parts.run(workers=1)
        assert result.interrupted
        assert len(parts.agents["reference"].runs) == 1
        assert len(result.summary.unjudged) == 2
        parts.agents["reference"] = FakeAgent("reference")
        again = parts.run(workers=1)
        assert again.summary.unjudged == ()
        assert len(parts.agents["reference"].runs) == 1

    def test_the_second_one_kills_the_sandboxes_and_stops(self, parts):
        release = threading.Event()

        def act():
            os.kill(os.getpid(), signal.SIGINT)
            while not parts.observer.running_at_stop:
                release.wait(0.05)
            os.kill(os.getpid(), signal.SIGINT)
            release.wait(10)

        parts.agents["reference"] = FakeAgent("reference", act)
        with pytest.raises(KeyboardInterrupt):
            parts.run(workers=1)
        assert all(sandbox.closed for sandbox in parts.backend.started)
        assert parts.backend.started
        release.set()

    def test_afterwards_signals_mean_what_they_did(self, parts):
        before = signal.getsignal(signal.SIGINT)
        parts.run()
        assert signal.getsignal(signal.SIGINT) is before


def test_rejudging_uses_the_stored_answers_and_no_agent(parts):
    result = parts.run()
    parts.agents.clear()
    parts.judge = FakeJudge()
    rejudge(result.folder, parts.plan(), parts.tools(), parts.observer)
    assert sorted(parts.judge.judged) == [(p.id, b"def test_a(): pass\n") for p in parts.problems]


def test_the_journal_tells_the_story(parts):
    folder = parts.run(workers=1).folder
    events = [event["event"] for event in read_journal(folder.paths.journal)]
    assert events[0] == "session"
    assert events[-1] == "session_end"
    assert events.count("start") == events.count("end") == 4
