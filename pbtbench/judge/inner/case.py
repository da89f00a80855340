"""One test case under one seed, in a process of its own: run it, and put one row into a pipe.

The row is JSON; what it says is the answer's word (its code runs in this process). It is read as
such: only whole rows count, and a verdict needs rows of several trees and seeds that agree.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

MESSAGE_LIMIT = 4000
"""Characters kept of messages and examples."""

_BLOB_MARK = "@reproduce_failure"


class Recorder:
    """Collects what pytest says about the item that is run (a pytest plugin)."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything; called before each run."""
        self.failure: tuple[str, pytest.CallInfo[Any] | None, str] | None = None
        self.skipped = False
        self.xfailed = False
        self.call_passed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[Any]) -> Any:
        """Keep the exception of the first phase that failed."""
        report = yield
        self.note(report, call)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Reports that do not come out of ``makereport``: failed subtests."""
        self.note(report, None)

    def note(self, report: pytest.TestReport, call: pytest.CallInfo[Any] | None) -> None:
        """Fold one report into the state."""
        if report.failed:
            if self.failure is None:
                self.failure = (report.when or "call", call, str(report.longrepr)[-MESSAGE_LIMIT:])
        elif report.skipped:
            if hasattr(report, "wasxfail"):
                self.xfailed = True
            else:
                self.skipped = True
        elif report.when == "call":
            self.call_passed = True

    def row(self) -> dict[str, Any]:
        """Status, phase and evidence of the run so far."""
        if self.failure is not None:
            phase, call, text = self.failure
            return {"status": "failed", "phase": phase, **_evidence(call, text)}
        if self.xfailed:
            return {"status": "xfailed"}
        if self.skipped:
            return {"status": "skipped"}
        if self.call_passed:
            return {"status": "passed"}
        return {"status": "exited", "message": "the test ended without a result"}


def _evidence(call: pytest.CallInfo[Any] | None, text: str) -> dict[str, Any]:
    if call is None or call.excinfo is None:
        return {"exception": "", "message": clip(text)}
    error = call.excinfo.value
    notes = [str(note) for note in getattr(error, "__notes__", ())]
    try:
        message = str(error)
    except BaseException:  # noqa: BLE001 -- the exception class is the answer's own
        message = "<unprintable>"
    return {
        "exception": type(error).__name__[:200],
        "message": clip(message),
        # Hypothesis prints the falsifying example, and each step of a state machine, as notes.
        "example": clip("\n".join(note for note in notes if _BLOB_MARK not in note)),
        "blob": clip(next((note.strip() for note in notes if _BLOB_MARK in note), "")),
    }


def clip(text: str) -> str:
    """``text``, or its beginning and end when it is longer than ``MESSAGE_LIMIT``."""
    if len(text) <= MESSAGE_LIMIT:
        return text
    half = MESSAGE_LIMIT // 2
    return f"{text[:half]}\n[{len(text) - MESSAGE_LIMIT} characters left out]\n{text[-half:]}"


def fresh_folders(base: str) -> None:
    """Give this process its own empty cwd, HOME and TMP under ``base``."""
    for name, variable in (("home", "HOME"), ("tmp", "TMPDIR"), ("work", None)):
        path = Path(base, name)
        path.mkdir(parents=True)
        if variable:
            os.environ[variable] = str(path)
    tempfile.tempdir = None
    os.chdir(Path(base, "work"))


def seed_everything(seed: int) -> None:
    """Start every pseudo-random source that a test may use from the same state on every tree."""
    from . import hypothesis_setup

    hypothesis_setup.force_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)


def run_item(item: pytest.Item, recorder: Recorder) -> dict[str, Any]:
    """Run one collected item with its fixtures, from set-up to full tear-down; its row."""
    recorder.clear()
    started = time.perf_counter()
    cpu_before = _cpu_seconds()
    try:
        # The hook, not pytest's runner alone: warning filters and assertion messages wrap around it.
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        row = recorder.row()
    except BaseException as error:  # noqa: BLE001 -- pytest.exit and KeyboardInterrupt end up here
        row = {"status": "exited", "exception": type(error).__name__, "message": clip(str(error))}
    row["seconds"] = round(time.perf_counter() - started, 4)
    row["cpu_seconds"] = round(_cpu_seconds() - cpu_before, 4)
    return row


def _cpu_seconds() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def send_row(row: dict[str, Any], pipe: int) -> None:
    """Write the row as one JSON document."""
    view = memoryview(json.dumps(row, default=str).encode())
    while view:
        view = view[os.write(pipe, view) :]
