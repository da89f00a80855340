"""``pbtbench score``: a run, a file, a folder of files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.cli.conftest import World
from tests.runs.parts import FakeJudge


@pytest.fixture
def answer(world):
    path = world.root / "my_test.py"
    path.write_bytes(b"def test_a(): pass\n")
    return path


class StatusJudge(FakeJudge):
    """Says of every file what it is told to say."""

    def __init__(self, status: str, message: str = "") -> None:
        super().__init__()
        self._changes = {"file_status": status, "file_message": message, "outcomes": (), "functions": ()}

    def __call__(self, prepared, answer, **kwargs):
        return replace(super().__call__(prepared, answer, **kwargs), **self._changes)


class TestFile:
    def score(self, world: World, *argv: object):
        return world.score("--problem", "DEMO-001", "--tests", *argv)

    def test_json_is_the_published_document_and_nothing_else(self, world, answer):
        result = self.score(world, answer, "--json")
        assert result.code == 0
        assert set(result.json) == {"schema", "problem", "seeds", "functions", "bugs", "metrics"}
        assert result.json["bugs"]["bug_1"]["f2p"]["confirmed_by"] == ["test_a"]
        assert world.judge.judged == [("DEMO-001", b"def test_a(): pass\n")]

    def test_the_table_names_bugs_and_their_finders(self, world, answer):
        result = self.score(world, answer)
        rows = [line.split() for line in result.out.splitlines()]
        assert ["bug_1", "L1", "3/3", "seeds", "3/3", "seeds", "yes", "test_a"] in rows
        assert "recall 0.50" in result.out

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda path: None, "no such file"),
            (lambda path: path.symlink_to("/etc/hostname"), "is a link"),
            (lambda path: path.write_bytes(b"#" * 2 * 1024 * 1024), "larger than 1 MiB"),
        ],
    )
    def test_what_is_no_answer_is_exit_code_2(self, world, make, message):
        path = world.root / "bad_test.py"
        make(path)
        result = self.score(world, path, "--json")
        assert (result.code, result.out) == (2, "")
        assert f"bad_test.py: {message}" in result.err
        assert not world.judge.judged

    def test_a_folder_without_answers_is_exit_code_2(self, world):
        (world.root / "folder").mkdir()
        result = self.score(world, world.root / "folder")
        assert result.code == 2
        assert "folder: no <PROBLEM-ID>/pbt_test.py" in result.err

    @pytest.mark.parametrize(
        ("status", "message", "said"),
        [
            ("empty", "", "the file is empty"),
            ("import_error", "", "the file cannot be imported"),
            (
                "import_error",
                'x\nE     File "/workspace/pbt_test.py", line 3\nE   SyntaxError: no \x1b[31m',
                "the file cannot be imported: SyntaxError: no ?[31m (line 3)",
            ),
            (
                "import_error",
                "pbt_test.py:1: in <module>\n    import x\nE   ModuleNotFoundError: No module named 'x'",
                "the file cannot be imported: ModuleNotFoundError: No module named 'x' (line 1)",
            ),
            ("no_tests", "", "there is no test in the file"),
        ],
    )
    def test_a_file_that_finds_nothing_says_why_in_one_line_and_is_judged(
        self, world, answer, status, message, said
    ):
        world.judge = StatusJudge(status, message)
        result = self.score(world, answer, "--json", "-q")
        assert result.code == 0
        assert result.json["metrics"]["recall"] == 0
        assert result.err == f"{answer}: {said}; it finds nothing\n"

    def test_one_problem_must_be_named(self, world, answer):
        assert "Name it with --problem" in world.score("--tests", answer).err
        result = world.score("--tests", answer, "--problem", "DEMO-*")
        assert (result.code, "'DEMO-*' selects 2 problems" in result.err) == (2, True)

    def test_a_machine_that_fails_is_exit_code_1(self, world, answer):
        world.fail_judging()
        result = self.score(world, answer, "--json")
        assert (result.code, result.out) == (1, "")
        assert "not judged: the machine hiccuped" in result.err


class TestFolder:
    @pytest.fixture
    def answers(self, world):
        for cell in ("gpt/pbt", "gpt/baseline"):
            for name in ("DEMO-001", "DEMO-002", "OTHER-9"):
                path = world.root / "answers" / cell / name / "pbt_test.py"
                path.parent.mkdir(parents=True)
                path.write_text("def test_a(): pass\n")
        return world.root / "answers"

    def test_cells_are_the_folders_above_the_problems(self, world, answers):
        result = world.score("--tests", answers, "--json")
        assert result.code == 0
        assert [(c["title"], c["metrics"]["trials_judged"]) for c in result.json["cells"]] == [
            ("gpt/baseline", 2),
            ("gpt/pbt", 2),
        ]
        assert [(a["cell"], a["problem"]) for a in result.json["answers"]] == [
            ("gpt/baseline", "DEMO-001"),
            ("gpt/baseline", "DEMO-002"),
            ("gpt/pbt", "DEMO-001"),
            ("gpt/pbt", "DEMO-002"),
        ]
        assert "passed over, no such problem: OTHER-9" in result.err

    def test_each_problem_is_prepared_once(self, world, answers):
        world.score("--tests", answers)
        assert sorted(world.builder.prepared) == ["DEMO-001", "DEMO-002"]

    def test_one_bad_file_counts_as_none_and_stops_nothing(self, world, answers):
        bad = answers / "gpt" / "pbt" / "DEMO-001" / "pbt_test.py"
        bad.unlink()
        bad.symlink_to("/etc/hostname")
        result = world.score("--tests", answers, "--json")
        assert result.code == 0
        assert ("DEMO-001", None) in world.judge.judged
        assert "is a link, not a regular file; it finds nothing" in result.err

    def test_answers_that_could_not_be_judged_are_missing(self, world, answers):
        world.fail_judging(1)
        result = world.score("--tests", answers, "--json", "-n", "1")
        assert result.code == 1
        assert result.json["unjudged"] == {"gpt/baseline/DEMO-001": "the machine hiccuped"}
        assert result.json["cells"][0]["metrics"]["trials_judged"] == 1


class TestRun:
    def test_a_finished_run_is_scored_without_judge_or_sandbox(self, world):
        world.run("-a", "reference", "-o", "out")
        judged = len(world.judge.judged)
        (world.root / "out" / "summary.json").unlink()
        result = world.score("out", "--json", "--rule", "paper")
        assert result.code == 0
        assert result.json["rule"] == "paper"
        assert len(world.judge.judged) == judged
        assert (world.root / "out" / "summary.json").exists()

    def test_rejudge_runs_the_stored_answers_again(self, world):
        world.run("-a", "reference", "-o", "out")
        judged = len(world.judge.judged)
        assert world.score("out", "--rejudge").code == 0
        assert len(world.judge.judged) == 2 * judged

    def test_a_run_with_missing_trials_is_exit_code_1(self, world, monkeypatch):
        monkeypatch.setattr("pbtbench.runs.pipeline.ATTEMPTS", 1)
        world.fail_judging(1)
        world.run("-a", "reference", "-o", "out")
        result = world.score("out")
        assert result.code == 1
        assert "not judged: DEMO-00" in result.err
