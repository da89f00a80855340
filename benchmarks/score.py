"""How long it takes to score a finished run of 300 trials again from its stored outcomes.

The outcomes are made up (12 functions a trial, 3 seeds, 5 rows each); the run folder is made by the
ordinary run code, and what is timed is the command itself. Run: ``python benchmarks/score.py``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pbtbench.judge.outcome import Judgement  # noqa: E402
from tests.agents.fakes import make_problem  # noqa: E402
from tests.runs.parts import FakeJudge, Parts  # noqa: E402
from tests.score.builders import BUGS, SEEDS, every_seed  # noqa: E402

FUNCTIONS = tuple(f"test_{number}" for number in range(12))


class BusyJudge(FakeJudge):
    """Gives every answer as many rows as a real one has."""

    def __call__(self, prepared: Any, answer: Any, **_options: Any) -> Judgement:  # noqa: ARG002
        """A judgement with some bug found by every function."""
        rows = [row for name in FUNCTIONS for row in every_seed(BUGS[len(name) % 2], case=name)]
        return Judgement(
            problem=prepared.problem.id, seeds=SEEDS, bugs=BUGS, functions=FUNCTIONS, outcomes=tuple(rows)
        )


def main() -> None:
    """Make the run, then score it three times."""
    with tempfile.TemporaryDirectory() as folder:
        parts = Parts(Path(folder) / "run")
        parts.judge = BusyJudge()
        parts.problems = tuple(make_problem(f"DEMO-{number:03}") for number in range(100))
        parts.run(agent=("reference",), repeats=3)
        rows = sum(len(path.read_bytes().splitlines()) - 1 for path in parts.root.rglob("outcomes.jsonl"))
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "pbtbench", "score", str(parts.root), "-q"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            print(f"300 trials, {rows} rows: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
