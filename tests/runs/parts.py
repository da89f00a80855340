"""A run without Docker, library or judge: fakes, and what they can be told to do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from pbtbench.agents.base import ANSWER, AgentResult
from pbtbench.judge.outcome import Judgement
from pbtbench.runs.config import RunConfig
from pbtbench.runs.observer import Silent
from pbtbench.runs.pipeline import RunResult, execute
from pbtbench.runs.plan import Plan, plan_cells
from pbtbench.runs.tracked import TrackedBackend
from pbtbench.runs.work import Tools
from tests.agents.fakes import FakeBackend, FakeBuilder, make_problem
from tests.score.builders import BUGS, SEEDS, every_seed


class FakeAgent:
    """Writes one line; ``act`` may do more, or raise."""

    def __init__(self, name: str, act: Callable[[], AgentResult | None] | None = None) -> None:
        self.name = name
        self.runs: list[str] = []
        self._act = act

    def run(self, task, sandbox, events) -> AgentResult:
        self.runs.append(task.problem.id)
        sandbox.put(ANSWER, b"def test_a(): pass\n")
        result = self._act() if self._act else None
        return result or AgentResult(end="finished", log=b"done\n")


class FakeJudge:
    """Finds bug_1 in every answer and nothing without one; ``act`` may do more, or raise."""

    def __init__(self, act: Callable[[], None] | None = None) -> None:
        self.judged: list[tuple[str, bytes | None]] = []
        self._act = act

    def __call__(self, prepared, answer, *, label, on_text) -> Judgement:
        self.judged.append((prepared.problem.id, answer))
        on_text("screen 1/1")
        if self._act:
            self._act()
        rows = every_seed("bug_1") if answer else []
        return Judgement(
            problem=prepared.problem.id,
            seeds=SEEDS,
            bugs=BUGS,
            functions=("test_a",) if answer else (),
            outcomes=tuple(rows),
            file_status="ok" if answer else "no_file",
        )


class Recorder(Silent):
    """Keeps what a run tells."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.given_up: list[tuple[str, str]] = []
        self.retries = 0
        self.running_at_stop: list[int] = []
        self.lock = threading.Lock()

    def finished(self, trial, recall) -> None:
        self.done.append(trial)

    def gave_up(self, trial, error) -> None:
        self.given_up.append((trial, error))

    def retrying(self, trial, error, seconds) -> None:
        with self.lock:
            self.retries += 1

    def stopping(self, running) -> None:
        self.running_at_stop.append(running)


class Parts:
    """Everything a run is made of, and a way to start it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.backend = FakeBackend()
        self.builder = FakeBuilder()
        self.judge = FakeJudge()
        self.agents = {name: FakeAgent(name) for name in ("reference", "nop")}
        self.observer = Recorder()
        self.problems = tuple(make_problem(f"DEMO-{n:03}") for n in (1, 2))
        self.sandbox = "local"

    def plan(self, **settings) -> Plan:
        settings.setdefault("agent", ("reference",))
        settings.setdefault("workers", 2)
        config = RunConfig(**settings)
        return Plan(config, self.problems, plan_cells(config), self.sandbox)

    def tools(self) -> Tools:
        return Tools(
            TrackedBackend(self.backend), self.builder, self.judge, self.agents.__getitem__, backoff=0
        )

    def run(self, **settings) -> RunResult:
        return execute(self.plan(**settings), self.root, self.tools(), self.observer)
