"""The built-in agents: what they leave in the sandbox, and what they say when they cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pbtbench.agents import BUILT_IN, NAMES, make_agent
from pbtbench.agents.base import ANSWER, MAX_ANSWER, Task
from pbtbench.agents.replay import find_answers, read_answer
from pbtbench.errors import AgentError, AnswerError, ConfigurationError, ProblemError, SelectionError
from pbtbench.sandbox.base import PYTHON, CommandResult
from tests.agents.fakes import FakeSandbox, make_problem


def task(**kwargs) -> Task:
    return Task(problem=make_problem(**kwargs), mode="pbt", prompt="", python="3.13")


def run(name: str, sandbox: FakeSandbox, task_: Task | None = None, **kwargs):
    return make_agent(name, **kwargs).run(task_ or task(), sandbox, lambda _: None)


def test_every_built_in_agent_loads_and_knows_its_name():
    assert [make_agent(name).name for name in BUILT_IN] == list(BUILT_IN)


def test_an_unknown_agent_is_refused_with_those_there_are():
    with pytest.raises(SelectionError, match="no agent 'referense'") as caught:
        make_agent("referense")
    assert all(name in str(caught.value) for name in NAMES)


def test_agents_that_use_a_model_say_when_they_come():
    with pytest.raises(ConfigurationError, match="openhands comes with the next release"):
        make_agent("openhands")


def test_nop_leaves_nothing():
    sandbox = FakeSandbox()
    assert run("nop", sandbox).end == "finished"
    assert not sandbox.files


def test_reference_hands_in_the_reference_byte_for_byte(tmp_path):
    reference = tmp_path / "pbt_test.py"
    reference.write_bytes(b"# \xff not utf-8\r\n")
    sandbox = FakeSandbox()
    run("reference", sandbox, task(reference=reference))
    assert sandbox.files == {ANSWER: reference.read_bytes()}


def test_a_problem_without_reference_is_no_result():
    with pytest.raises(ProblemError, match="DEMO-001: there is no reference"):
        run("reference", FakeSandbox())


class TestPrograms:
    """Agents that run a program inside the sandbox."""

    def sandbox(self, stdout: str, exit_code: int | None = 0, stderr: str = "", **kwargs) -> FakeSandbox:
        self.commands: list[list[str]] = []

        def answer(argv):
            self.commands.append(list(argv))
            return CommandResult(exit_code, stdout.encode(), stderr.encode(), 0.1, **kwargs)

        return FakeSandbox(answer)

    def test_ghostwriter_says_what_it_wrote_and_left_out(self):
        report = {"written": 3, "dropped": 1, "left_out": 2, "why": "at most 3 are taken"}
        sandbox = self.sandbox("noise\n" + json.dumps(report) + "\n")
        result = run("ghostwriter", sandbox)
        assert result.notes == (
            "3 test functions written, 1 dropped because they cannot run.",
            "2 more were left out: at most 3 are taken.",
        )
        program, module, target = self.commands[0][1:4]
        assert self.commands[0][0] == PYTHON
        assert b"ghostwriter" in sandbox.files[program]
        assert (module, target) == ("demo_lib", ANSWER)

    def test_existing_names_the_files_that_did_not_fit(self):
        result = run("existing", self.sandbox(json.dumps({"tests": 1, "left_out": ["test_big.py"]})))
        assert result.notes == ("Left out because the file would be too large: test_big.py.",)

    def test_existing_without_a_suite_says_so(self):
        result = run("existing", self.sandbox(json.dumps({"tests": 0, "left_out": []})))
        assert result.notes == ("There are no upstream test files.",)

    @pytest.mark.parametrize(
        ("kwargs", "message"),
        [
            (
                {"stdout": "", "exit_code": 1, "stderr": "Traceback\nImportError: no x\n"},
                "failed: ImportError",
            ),
            ({"stdout": "not json", "exit_code": 0}, "failed: exit code 0"),
            ({"stdout": "[1]", "exit_code": 0}, "failed: exit code 0"),
            ({"stdout": "", "exit_code": None, "timed_out": True}, "was not done after"),
        ],
    )
    def test_a_program_that_fails_is_an_agent_error(self, kwargs, message):
        with pytest.raises(AgentError, match=message):
            run("ghostwriter", self.sandbox(**kwargs))


def answers(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name / "pbt_test.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"# {name}\n")
    return folder


class TestReplay:
    def test_it_takes_the_answer_to_the_problem_at_any_depth(self, tmp_path):
        sandbox = FakeSandbox()
        run("replay", sandbox, answers=answers(tmp_path, "deep/er/DEMO-001", "deep/er/DEMO-002"))
        assert sandbox.files == {ANSWER: b"# deep/er/DEMO-001\n"}

    def test_a_problem_without_an_answer_gets_none(self, tmp_path):
        sandbox = FakeSandbox()
        result = run("replay", sandbox, answers=answers(tmp_path, "OTHER-1"))
        assert not sandbox.files
        assert "no answer to this problem" in result.notes[0]

    def test_two_answers_to_one_problem_are_refused(self, tmp_path):
        with pytest.raises(SelectionError, match="two answers to DEMO-001"):
            make_agent("replay", answers=answers(tmp_path, "a/DEMO-001", "b/DEMO-001"))

    def test_a_link_is_no_answer(self, tmp_path):
        (tmp_path / "DEMO-001").mkdir()
        (tmp_path / "DEMO-001" / "pbt_test.py").symlink_to("/etc/hostname")
        sandbox = FakeSandbox()
        result = run("replay", sandbox, answers=tmp_path)
        assert not sandbox.files
        assert "a link" in result.notes[0]

    def test_it_needs_a_folder(self):
        with pytest.raises(ConfigurationError, match="--answers"):
            make_agent("replay")


def test_answers_are_grouped_by_the_folders_above_the_problem(tmp_path):
    answers(tmp_path, "m1/pbt/A-1", "m1/pbt/B-1", "m2/A-1", "C-1")
    found = find_answers(tmp_path)
    assert {cell: sorted(problems) for cell, problems in found.items()} == {
        "m1/pbt": ["A-1", "B-1"],
        "m2": ["A-1"],
        ".": ["C-1"],
    }


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_folder_without_answers_is_refused(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SelectionError, match=name):
        find_answers(tmp_path / name)


class TestReadAnswer:
    def test_bytes_are_kept_as_they_are(self, tmp_path):
        (tmp_path / "a.py").write_bytes(b"\xff\x00\r\n")
        assert read_answer(tmp_path / "a.py") == b"\xff\x00\r\n"

    def test_the_cap_is_exact(self, tmp_path):
        (tmp_path / "a.py").write_bytes(b"#" * MAX_ANSWER)
        assert len(read_answer(tmp_path / "a.py")) == MAX_ANSWER
        (tmp_path / "a.py").write_bytes(b"#" * (MAX_ANSWER + 1))
        with pytest.raises(AnswerError, match="larger than 1 MiB"):
            read_answer(tmp_path / "a.py")

    def test_anything_but_a_file_is_named(self, tmp_path):
        import os

        (tmp_path / "link").symlink_to(tmp_path)
        (tmp_path / "folder").mkdir()
        os.mkfifo(tmp_path / "pipe")
        for name, word in [
            ("link", "a link"),
            ("folder", "a folder"),
            ("pipe", "special"),
            ("no", "no such"),
        ]:
            with pytest.raises(AnswerError, match=word):
                read_answer(tmp_path / name)
