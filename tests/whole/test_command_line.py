"""The main job through the command line, with nothing replaced: real problems, sandboxes, verdicts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.local_sandbox, pytest.mark.network]

RUN = ["run", "-a", "reference", "-a", "nop", "--sandbox", "local", "-p", "HTTP-001", "--seeds", "2"]


def pbtbench(*arguments: str, cwd: Path, expect: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pbtbench", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def recalls(document: dict[str, Any]) -> dict[str, float]:
    return {cell["title"]: cell["metrics"]["recall"]["estimate"] for cell in document["cells"]}


def test_run_score_and_resume(tmp_path: Path) -> None:
    document = json.loads(pbtbench(*RUN, "-o", "out", "--json", cwd=tmp_path))
    assert recalls(document) == {"reference pbt": 1.0, "nop pbt": 0.0}
    again = json.loads(pbtbench("score", "out", "--json", cwd=tmp_path))
    assert again["cells"] == document["cells"]
    trial = next((tmp_path / "out" / "trials" / "HTTP-001").glob("reference*/r1"))
    before = {path.name: path.stat().st_mtime_ns for path in trial.iterdir()}
    pbtbench(*RUN, "-o", "out", "--json", cwd=tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in trial.iterdir()} == before


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "pbtbench", *RUN, "-o", "out", "-q"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    answer = "out/trials/HTTP-001/*/r1/answer/pbt_test.py"
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob(answer)) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    document = json.loads(pbtbench(*RUN, "-o", "out", "--json", cwd=tmp_path))
    assert recalls(document) == {"reference pbt": 1.0, "nop pbt": 0.0}


def test_one_file_is_judged_as_documented(tmp_path: Path) -> None:
    answer = tmp_path / "mine.py"
    answer.write_text("import h11\ndef test_nothing():\n    assert h11.Connection(h11.CLIENT)\n")
    document = json.loads(
        pbtbench(
            *("score", "--problem", "HTTP-001", "--tests", "mine.py", "--json", "--seeds", "1"),
            *("--sandbox", "local"),
            cwd=tmp_path,
        )
    )
    assert set(document) == {"schema", "problem", "seeds", "functions", "bugs", "metrics"}
    assert document["functions"]["test_nothing"]["outcomes"]["buggy"] == ["passed"]
    assert set(document["bugs"]["bug_1"]) == {"level", "f2p", "paper"}
    assert set(document["bugs"]["bug_1"]["paper"]) == {"rate", "by", "confirmed", "confirmed_by"}
    assert document["metrics"] == {
        "recall": 0.0,
        "coverage": 0.0,
        "perfect": 0.0,
        "confirmed_recall": 0.0,
        "paper_recall": 0.0,
    }


@pytest.mark.parametrize("folder", ["file/out", "file"])
def test_a_place_that_cannot_hold_a_run_is_one_line(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("")
    arguments = ["run", "-a", "nop", "-p", "HTTP-001", "--sandbox", "local", "-o", folder]
    done = subprocess.run(
        [sys.executable, "-m", "pbtbench", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.splitlines()[-1]
    assert done.returncode in (2, 3)
    assert "file" in last
    assert "defect" not in last


def test_closed_output_is_no_defect(tmp_path: Path) -> None:
    command = f"{sys.executable} -m pbtbench problems list >&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
