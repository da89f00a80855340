"""Files and journal survive crashes at any point."""

from __future__ import annotations

import errno
import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pbtbench.errors import ConfigurationError, DiskFullError
from pbtbench.judge.outcome import Judgement, Outcome
from pbtbench.runs.files import read_json, write_atomic, write_json
from pbtbench.runs.journal import Journal, read_journal
from pbtbench.runs.outcomes import read_judgement, write_judgement
from tests.score.builders import every_seed, judgement


@pytest.mark.parametrize("step", ["os.fsync", "Path.replace"])
def test_a_write_that_fails_leaves_the_old_content(tmp_path, monkeypatch, step):
    path = tmp_path / "trial.json"
    write_json(path, {"schema": 1, "n": 1})

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "disk failure")

    monkeypatch.setattr(f"pbtbench.runs.files.{step}", fail)
    with pytest.raises(OSError, match="disk failure"):
        write_json(path, {"schema": 1, "n": 2})
    assert read_json(path, schema=1)["n"] == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named(tmp_path, monkeypatch, number):
    def fail(*_: object) -> None:
        raise OSError(number, "full")

    monkeypatch.setattr("pbtbench.runs.files.os.fsync", fail)
    with pytest.raises(DiskFullError, match=r"x\.json: no space left.*Free some"):
        write_atomic(tmp_path / "x.json", b"")


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 2}', "{}"])
def test_a_document_of_another_kind_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ConfigurationError, match=r"a\.json"):
        read_json(tmp_path / "a.json", schema=1)


class TestJournal:
    @given(cut=st.integers(0, 200))
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_wherever_a_crash_cuts_it_whole_events_remain_and_new_ones_follow(self, tmp_path, cut):
        path = tmp_path / f"journal-{cut}.jsonl"
        path.unlink(missing_ok=True)
        with Journal(path) as journal:
            for n in range(3):
                journal.write("event", n=n)
        whole = path.read_bytes()
        path.write_bytes(whole[:cut])
        kept = whole[:cut].count(b"\n")
        with Journal(path) as journal:
            journal.write("after")
        events = list(read_journal(path))
        assert events[-1]["event"] == "after"
        # A cut just before a newline leaves a whole event.
        assert [event.get("n") for event in events[:-1]] in ([*range(kept)], [*range(kept + 1)])

    def test_nothing_is_written_after_the_end(self, tmp_path):
        # A thread that was left behind must not write into whatever file has the descriptor now.
        with Journal(tmp_path / "j.jsonl") as journal:
            pass
        with (tmp_path / "other").open("wb") as other:
            with pytest.raises(ValueError, match="closed"):
                journal.write("late")
            assert other.tell() == 0

    def test_no_file_has_no_events(self, tmp_path):
        assert list(read_journal(tmp_path / "none")) == []


class TestOutcomes:
    def test_a_judgement_comes_back_as_it_was(self, tmp_path):
        rows = [
            *every_seed("bug_1"),
            Outcome("f", "f[\ud800\n\u2028\x85]", "buggy", 1, "crashed", extra={"a": [1]}),
        ]
        stored = replace(judgement(rows), file_message="é", notes=("one", "two"), seconds=1.5)
        write_judgement(tmp_path / "o.jsonl", stored)
        assert read_judgement(tmp_path / "o.jsonl") == stored

    def test_unknown_fields_of_a_later_version_do_no_harm(self, tmp_path):
        path = tmp_path / "o.jsonl"
        header = {"schema": 1, "problem": "P", "seeds": [0], "bugs": [], "functions": [], "new": 1}
        row = {"function": "f", "case": "f", "tree": "buggy", "seed": 0, "status": "passed", "new": 2}
        path.write_text(f"{json.dumps(header)}\n{json.dumps(row)}\n")
        assert read_judgement(path) == Judgement(
            "P", (0,), (), (), (Outcome("f", "f", "buggy", 0, "passed"),)
        )

    @pytest.mark.parametrize("text", ["", "{}\n", '{"schema": 1}\n', "{\n", "[]\n", '{"schema": 9}\n'])
    def test_damage_is_named(self, tmp_path, text):
        (tmp_path / "o.jsonl").write_text(text)
        with pytest.raises(ConfigurationError, match=r"o\.jsonl: damaged outcomes.*--rejudge"):
            read_judgement(tmp_path / "o.jsonl")
