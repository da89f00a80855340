"""``pbtbench run`` from options to table and exit code."""

from __future__ import annotations

import json


def test_a_run_prints_a_table_and_where_everything_is(world):
    result = world.run("-a", "reference", "-a", "nop", "--mode", "pbt", "-o", "out")
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()]
    assert ["reference", "pbt", "2/2", "50.0", "[50", "50]"] in [words[:6] for words in lines]
    assert ["nop", "pbt", "2/2", "0.0", "[0", "0]"] in [words[:6] for words in lines]
    assert result.out.endswith("Everything is in out\n")
    assert "\x1b" not in result.out + result.err
    assert "[4/4]" in result.err


def test_json_is_one_document_on_stdout(world):
    result = world.run("-a", "reference", "-o", "out", "--json")
    assert result.json["folder"] == "out"
    assert result.json["cells"][0]["metrics"]["recall"]["estimate"] == 0.5
    assert result.json["cells"][0]["title"] == "reference pbt"


def test_quiet_says_nothing_on_stderr(world):
    assert world.run("-a", "reference", "-q").err == ""


def test_without_o_the_folder_is_named_by_time_and_cells(world):
    world.run("-a", "nop")
    (folder,) = (world.root / "runs").iterdir()
    assert folder.name.endswith("-nop--pbt")


def test_globs_select_problems(world):
    assert [name for name, _ in world.judge.judged] == []
    world.run("-a", "reference", "-p", "*-002")
    assert [name for name, _ in world.judge.judged] == ["DEMO-002"]


def test_the_same_command_resumes_and_another_one_is_refused(world):
    world.run("-a", "reference", "-o", "out")
    judged = len(world.judge.judged)
    assert world.run("-a", "reference", "-o", "out").code == 0
    assert len(world.judge.judged) == judged
    result = world.run("-a", "reference", "-o", "out", "--seeds", "5")
    assert result.code == 2
    assert "seeds: was 3, now 5" in result.err


def test_settings_come_from_file_environment_and_options_in_that_order(world, monkeypatch):
    (world.root / "c.yaml").write_text("agent: [reference, nop]\nrepeats: 2\nseeds: 7\nout: from-file\n")
    monkeypatch.setenv("PBTBENCH_AGENT", "nop reference")
    monkeypatch.setenv("PBTBENCH_SEEDS", "5")
    assert world.run("-c", "c.yaml", "--seeds", "2").code == 0
    config = json.loads((world.root / "from-file" / "run.json").read_text())["config"]
    assert (config["agent"], config["repeats"], config["seeds"]) == (["nop", "reference"], 2, 2)


def test_trials_that_could_not_be_judged_are_exit_code_1_and_named(world, monkeypatch):
    monkeypatch.setattr("pbtbench.runs.pipeline.ATTEMPTS", 1)
    world.fail_judging()
    result = world.run("-a", "reference", "-o", "out", "-p", "DEMO-001")
    assert result.code == 1
    assert "not judged: DEMO-001/reference--pbt/r1: the machine hiccuped" in result.err
    assert "0/1" in result.out


def test_replay_hands_in_what_lies_in_a_folder(world):
    (world.root / "answers" / "DEMO-001").mkdir(parents=True)
    (world.root / "answers" / "DEMO-001" / "pbt_test.py").write_bytes(b"def test_x(): pass\n")
    assert world.run("-a", "replay", "--answers", "answers", "-n", "1").code == 0
    assert sorted(world.judge.judged) == [("DEMO-001", b"def test_x(): pass\n"), ("DEMO-002", None)]
