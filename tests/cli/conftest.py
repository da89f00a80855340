"""The command line over fake sandboxes, images and judge, and real problem files."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pbtbench import cli
from pbtbench.errors import InfraError
from tests.agents.fakes import FakeBackend, FakeBuilder
from tests.runs.parts import FakeJudge

BUG = """\
  - id: bug_{n}
    difficulty: L{n}
    description: something is wrong
"""
PATCH = b"--- a/demo/x.py\n+++ b/demo/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"


def write_problem(folder: Path, id_: str) -> None:
    """A problem in the public format with two bugs."""
    place = folder / "demo" / "problems" / id_
    (place / "ground_truth").mkdir(parents=True)
    (place / "docs").mkdir()
    (place / "docs" / "api.md").write_text("# API\n")
    (place / "ground_truth" / "pbt_test.py").write_text("def test_a(): pass\n")
    text = f"id: {id_}\nlibrary: demo\nlibrary_version: '1.0'\ndescription: d\ndocs_provided: [docs/api.md]\n"
    text += "provides_base_tests: false\nbugs:\n" + "".join(BUG.format(n=n) for n in (1, 2))
    (place / "problem.yaml").write_text(text)
    for n in (1, 2):
        (place / f"bug_{n}.patch").write_bytes(PATCH)


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class World:
    """A machine whose parts the tests can replace."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.problems = root / "problems"
        self.backend = FakeBackend()
        self.builder = FakeBuilder()
        self.judge = FakeJudge()
        self._capsys = capsys
        for id_ in ("DEMO-001", "DEMO-002"):
            write_problem(self.problems, id_)

    def __call__(self, *argv: object) -> Result:
        self._capsys.readouterr()
        code = cli.run_command([str(word) for word in argv])
        captured = self._capsys.readouterr()
        return Result(code, captured.out, captured.err)

    def run(self, *argv: object) -> Result:
        return self("run", "--problems-dir", self.problems, *argv)

    def score(self, *argv: object) -> Result:
        return self("score", "--problems-dir", self.problems, *argv)

    def fail_judging(self, times: int = 1000) -> None:
        left = [times]

        def act() -> None:
            left[0] -= 1
            if left[0] >= 0:
                raise InfraError("the machine hiccuped")

        self.judge = FakeJudge(act)


@pytest.fixture
def world(tmp_path, capsys, monkeypatch) -> World:
    it = World(tmp_path, capsys)
    monkeypatch.chdir(tmp_path)
    for module in ("work", "build_images"):
        monkeypatch.setattr(f"pbtbench.cli.{module}.select_backend", lambda _name: it.backend)
        monkeypatch.setattr(f"pbtbench.cli.{module}.image_builder", lambda *_, **__: it.builder)
    monkeypatch.setattr("pbtbench.cli.work.make_judge", lambda *_, **__: it.judge)
    monkeypatch.setattr("pbtbench.runs.work.Tools.backoff", 0, raising=False)
    return it


def pbtbench(*argv: str, **kwargs) -> subprocess.CompletedProcess[str]:
    """The real program in a process of its own."""
    command = [sys.executable, "-c", "from pbtbench.cli import main; main()", *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)
