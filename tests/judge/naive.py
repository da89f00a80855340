"""The naive scorer: one plain pytest process per (case, tree, seed). The oracle of the judge.

No fork, no reach, no pruning, no stages: what anybody would write first, and far too slow to use. It
runs without a sandbox, so it is for our own answer files only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from pbtbench.images.base import PreparedProblem
from pbtbench.problems.tree import BUGGY, CLEAN, fixed, only

Row = tuple[str, str, int]
"""(tree, case, seed)"""


@dataclass
class NaiveRun:
    """Statuses by (tree, case, seed), and what they cost."""

    statuses: dict[Row, str] = field(default_factory=dict)
    processes: int = 0

    def credits(self, bugs: Sequence[str]) -> set[tuple[str, str, str, int]]:
        """(rule, function, bug, seed), from the definitions of the rules and nothing else."""
        cases = {(case, seed) for _tree, case, seed in self.statuses}
        found = set()
        for bug in bugs:
            seen: dict[int, list[str]] = {}
            for case, seed in cases:
                function = case.split("[")[0]
                if self._pair(BUGGY, fixed(bug), case, seed, {"passed"}):
                    found.add(("f2p", function, bug, seed))
                if self._pair(BUGGY, fixed(bug), case, seed, {"passed", "skipped"}):
                    found.add(("paper", function, bug, seed))
                    seen.setdefault(seed, []).append(function)
            # Isolation is asked only where removal found nothing.
            found |= {
                ("paper", case.split("[")[0], bug, seed)
                for case, seed in cases
                if seed not in seen and self._pair(only(bug), CLEAN, case, seed, {"passed", "skipped"})
            }
        return found

    def _pair(self, failing: str, passing: str, case: str, seed: int, passes: set[str]) -> bool:
        return (
            self.statuses.get((failing, case, seed)) == "failed"
            and self.statuses.get((passing, case, seed)) in passes
        )


class NaiveScorer:
    """Judges answers on one problem; trees are unpacked once."""

    def __init__(
        self, prepared: PreparedProblem, dependencies: Path, folder: Path, *, limit: float = 30.0
    ) -> None:
        """``dependencies``: site-packages with pytest, Hypothesis and what the library needs."""
        self.prepared = prepared
        self.dependencies = dependencies
        self.folder = folder
        self.limit = limit
        for tree, archive in prepared.archives.items():
            with tarfile.open(archive) as tar:
                tar.extractall(self._site(tree), filter="data")

    def collect(self, answer: Path) -> list[str]:
        """Case ids, collected on ``buggy``."""
        done = self._pytest(BUGGY, [str(answer), "--collect-only"], self.folder)
        lines = done.stdout.decode().splitlines()
        return [line.split("::", 1)[1] for line in lines if line.startswith(f"{answer.name}::")]

    def judge(self, answer: Path, *, trees: Sequence[str], seeds: Sequence[int], workers: int) -> NaiveRun:
        """Run every case on every tree under every seed."""
        run = NaiveRun()
        rows = [(tree, case, seed) for case in self.collect(answer) for tree in trees for seed in seeds]
        with ThreadPoolExecutor(workers) as pool:
            for row, status in zip(rows, pool.map(lambda row: self._status(answer, *row), rows), strict=True):
                run.statuses[row] = status
        run.processes = len(rows)
        return run

    def _site(self, tree: str) -> Path:
        return self.folder / tree.replace(":", "_") / "site-packages"

    def _status(self, answer: Path, tree: str, case: str, seed: int) -> str:
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            report = Path(scratch, "report.xml")
            arguments = [f"{answer}::{case}", f"--hypothesis-seed={seed}", f"--junitxml={report}"]
            try:
                done = self._pytest(tree, arguments, Path(scratch))
            except subprocess.TimeoutExpired:
                return "failed"
            if done.returncode != 0:
                return "failed"
            skipped = ET.parse(report).getroot().find(".//skipped") is not None
            return "skipped" if skipped else "passed"

    def _pytest(self, tree: str, arguments: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[bytes]:
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{self._site(tree)}:{self.dependencies}",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(cwd),
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
            # Hypothesis' own profile for machines like this: no deadline, no database, no too_slow.
            "CI": "true",
        }
        command = [sys.executable, "-S", "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest"]
        command += [f"--rootdir={cwd}" if "--collect-only" not in arguments else f"--rootdir={self.folder}"]
        return subprocess.run(
            [*command, *arguments],
            cwd=cwd,
            env=environment,
            capture_output=True,
            timeout=self.limit + 30,
            check=False,
        )
