"""What judging one answer costs, against the obvious ways of doing it. Run: ``make bench``.

One problem, one answer, the same seeds and the same number of workers for every way; each way must give the
same credits. Figures are ratios within this one run: single times on a shared machine mean little.

``ours``             the judge: local sandbox, fork server
``ours, full``       the same with every case on every tree
``ours, no server``  a sandbox of its own for every tree
``docker``           the same in containers (with ``--docker``)
``per function``     one pytest process per (function, tree), all trees, no sandbox
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pbtbench.images import image_builder  # noqa: E402
from pbtbench.images.base import PreparedProblem  # noqa: E402
from pbtbench.judge import ForkServers, Judgement, Slots, judge_answer  # noqa: E402
from pbtbench.problems.load import load_problems  # noqa: E402
from pbtbench.sandbox.backends import select_backend  # noqa: E402
from pbtbench.score import decide  # noqa: E402
from tests.judge.naive import NaiveScorer  # noqa: E402

Credits = set[tuple[str, str, str, int]]
"""(rule, function, bug, seed)"""


@dataclass(frozen=True)
class Way:
    """One way of judging: wall seconds, CPU seconds of test bodies (None: unknown), credits."""

    name: str
    wall: float
    bodies: float | None
    runs: int
    credits: Credits


def measure(name: str, work: Callable[[], tuple[float | None, int, Credits]]) -> Way:
    """Time ``work``."""
    start = time.perf_counter()
    bodies, runs, found = work()
    return Way(name, time.perf_counter() - start, bodies, runs, found)


def credits_of(judgement: Judgement) -> Credits:
    """What both rules credit."""
    return {
        (rule, function, bug, seed)
        for rule, verdicts in decide(judgement).rules.items()
        for bug, verdict in verdicts.items()
        for seed, functions in zip(judgement.seeds, verdict.credits, strict=True)
        for function in functions
    }


def ours(
    prepared: PreparedProblem,
    answer: Path,
    seeds: Sequence[int],
    workers: int,
    sandbox: str,
    *,
    full: bool,
    warm: bool,
) -> tuple[float | None, int, Credits]:
    """Judge once; the fork server's start counts."""
    servers = ForkServers()
    try:
        judgement = judge_answer(
            prepared,
            answer.read_bytes(),
            backend=select_backend(sandbox),
            seeds=seeds,
            slots=Slots(workers),
            label="benchmark",
            full=full,
            servers=servers if warm else None,
        )
    finally:
        servers.close()
    return judgement.body_cpu_seconds, len(judgement.outcomes), credits_of(judgement)


def main() -> None:
    """Measure every way and print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problem", default="CTLS-001")
    parser.add_argument("--answer", type=Path, default=ROOT / "benchmarks/answers/CTLS-001_12.py")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--docker", action="store_true")
    parser.add_argument("--skip-naive", action="store_true")
    options = parser.parse_args()
    seeds, workers = range(options.seeds), options.workers

    (problem,) = load_problems(ROOT / "problems", [options.problem])
    prepared = image_builder("local").prepare(problem)
    ways = []

    def add(
        name: str, sandbox: str, image: PreparedProblem, *, full: bool = False, warm: bool = True
    ) -> None:
        ways.append(
            measure(
                name,
                lambda: ours(image, options.answer, seeds, workers, sandbox, full=full, warm=warm),
            )
        )

    add("ours", "local", prepared)
    add("ours, full", "local", prepared, full=True)
    add("ours, no server", "local", prepared, warm=False)
    if options.docker:
        add("docker", "docker", image_builder("docker").prepare(problem), warm=False)
    if not options.skip_naive:
        with tempfile.TemporaryDirectory() as folder:
            site = Path(prepared.library_image.reference, "venv", "lib")
            scorer = NaiveScorer(prepared, next(site.glob("python*/site-packages")), Path(folder))
            copy = Path(folder, "pbt_test.py")
            copy.write_bytes(options.answer.read_bytes())
            trees = list(prepared.trees)

            def naive() -> tuple[float | None, int, Credits]:
                run = scorer.judge(copy, trees=trees, seeds=seeds, workers=workers)
                return None, run.processes, run.credits(problem.bug_ids)

            ways.append(measure("per function", naive))
    report(ways, workers, len(seeds))


def report(ways: Sequence[Way], workers: int, seeds: int) -> None:
    """One line a way.

    Bodies: CPU seconds of the tests. Ratio: wall time to the first way's. Overhead: wall time to
    bodies / workers.
    """
    first = ways[0]
    print(f"{workers} workers, {seeds} seeds, load {os.getloadavg()[0]:.1f} at the end")
    print(f"{'way':18}{'wall s':>9}{'bodies':>9}{'runs':>7}{'ratio':>8}{'overhead':>10}  credits")
    for way in ways:
        bodies = "-" if way.bodies is None else f"{way.bodies:.1f}"
        bound = "-" if way.bodies is None else f"{way.wall / (way.bodies / workers):.2f}"
        same = "same" if way.credits == first.credits else f"DIFFER {way.credits ^ first.credits}"
        print(
            f"{way.name:18}{way.wall:9.1f}{bodies:>9}{way.runs:>7}"
            f"{way.wall / first.wall:8.1f}{bound:>10}  {same}"
        )


if __name__ == "__main__":
    main()
