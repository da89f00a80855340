"""A run, step by step: plan, prepare, agents, judging, summary.

Agents and judging work in thread pools of their own, so that a slow model does not hold up the judge;
the main thread hands a trial from one to the other. All state is on disk: whoever starts the same run
again gets what is there and continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tenacity

from pbtbench.errors import PbtbenchError
from pbtbench.images.base import PreparedProblem
from pbtbench.problems.model import Problem
from pbtbench.runs.files import write_json
from pbtbench.runs.folder import RunFolder, start_or_resume
from pbtbench.runs.interrupt import Interrupts
from pbtbench.runs.journal import Journal
from pbtbench.runs.observer import Observer
from pbtbench.runs.plan import Plan
from pbtbench.runs.summary import Summary, summarise
from pbtbench.runs.trial import TrialKey, read_trial
from pbtbench.runs.work import Bench, Tools

ATTEMPTS = 3
"""How often one phase of a trial is tried in one session."""

Phase = Literal["answer", "judge"]


@dataclass(frozen=True)
class RunResult:
    """Where a session left its run."""

    folder: RunFolder
    summary: Summary
    interrupted: bool


def execute(plan: Plan, root: Path, tools: Tools, observer: Observer) -> RunResult:
    """Start or resume the run ``plan`` in ``root`` and work until all is done, or the user stops it.

    Raises UsageError before anything runs, MachineError when this machine cannot go on; all that was
    finished until then is kept.
    """
    observer.step("plan", f"{len(plan.problems)} problems, {len(plan.trials)} trials")
    folder = start_or_resume(root, plan)
    for cell in plan.cells:
        tools.agent(cell.agent)  # an agent that cannot work says so before anything is built or spent
    return _session(folder, plan, tools, observer, _left_to_do(folder, plan.trials))


def rejudge(folder: RunFolder, plan: Plan, tools: Tools, observer: Observer) -> RunResult:
    """Judge every stored answer of a run again; no agent runs.

    Raises ConfigurationError when the problems are not those of the run any more; MachineError.
    """
    folder.refuse_other(plan.identity)
    answered: dict[TrialKey, Phase] = {}
    for key in plan.trials:
        document = read_trial(folder.trial(key))
        if document is not None and document.answer is not None:
            document.model_copy(update={"state": "answered"}).write(folder.trial(key))
            answered[key] = "judge"
    return _session(folder, plan, tools, observer, answered)


def _session(
    folder: RunFolder, plan: Plan, tools: Tools, observer: Observer, todo: Mapping[TrialKey, Phase]
) -> RunResult:
    with folder.locked(), Journal(folder.paths.journal) as journal, Interrupts() as interrupts:
        journal.write("session", todo=len(todo), sandbox=plan.sandbox)
        tools.backend.sweep()
        observer.planned(len(plan.trials), len(plan.trials) - len(todo))
        wanted = {key.problem for key in todo}
        prepared = _prepare(
            [problem for problem in plan.problems if problem.id in wanted], tools, observer, interrupts
        )
        folder.record_images({name: item.problem_image.digest for name, item in prepared.items()})
        bench = Bench(folder, plan.config, tools, prepared, observer)
        if not interrupts.stop.is_set():
            observer.step("trials")
            _Scheduler(bench, journal, interrupts).work(todo)
        observer.step("summary")
        summary = summarise(folder)
        write_json(folder.paths.summary, summary.to_json())
        journal.write("session_end", unjudged=len(summary.unjudged), interrupted=interrupts.by_user)
        return RunResult(folder, summary, interrupts.by_user)


def _left_to_do(folder: RunFolder, trials: Iterable[TrialKey]) -> dict[TrialKey, Phase]:
    todo: dict[TrialKey, Phase] = {}
    for key in trials:
        document = read_trial(folder.trial(key))
        state = document.state if document else None
        if state != "done":
            todo[key] = "judge" if state == "answered" else "answer"
    return todo


def _prepare(
    problems: Iterable[Problem], tools: Tools, observer: Observer, interrupts: Interrupts
) -> dict[str, PreparedProblem]:
    """Build every image before any agent runs: what cannot be judged must not be paid for."""
    prepared = {}
    for problem in problems:
        if interrupts.stop.is_set():
            break
        observer.step("prepare", f"{problem.id} ({problem.library.key})")
        prepared[problem.id] = _retrying(tools, interrupts)(tools.builder.prepare, problem)
    return prepared


def _retrying(
    tools: Tools,
    interrupts: Interrupts,
    before_sleep: Callable[[tenacity.RetryCallState], None] | None = None,
) -> tenacity.Retrying:
    return tenacity.Retrying(
        stop=tenacity.stop_after_attempt(ATTEMPTS) | tenacity.stop_when_event_set(interrupts.stop),
        wait=tenacity.wait_exponential(multiplier=tools.backoff, max=60),
        retry=tenacity.retry_if_exception(_worth_retrying),
        sleep=tenacity.sleep_using_event(interrupts.stop),
        before_sleep=before_sleep,
        reraise=True,
    )


def _worth_retrying(error: BaseException) -> bool:
    return isinstance(error, PbtbenchError) and error.retry


class _Scheduler:
    """Keeps both pools busy until nothing is left, the user stops it, or the machine fails."""

    def __init__(self, bench: Bench, journal: Journal, interrupts: Interrupts) -> None:
        self._bench = bench
        self._journal = journal
        self._interrupts = interrupts
        workers = bench.config.workers
        self._pools: dict[Phase, ThreadPoolExecutor] = {
            "answer": ThreadPoolExecutor(workers, "agent"),
            "judge": ThreadPoolExecutor(workers, "judge"),
        }
        self._pending: dict[Future[float | None], tuple[TrialKey, Phase]] = {}
        self._error: BaseException | None = None

    def work(self, todo: Mapping[TrialKey, Phase]) -> None:
        """Raises the first error that is not a trial's own, after what ran beside it has finished."""
        try:
            for key, phase in todo.items():
                self._submit(key, phase)
            while self._pending:
                done, _ = wait(self._pending, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    self._settle(future)
                if self._interrupts.stop.is_set():
                    self._withdraw()
        except KeyboardInterrupt:
            self._bench.tools.backend.close_all()
            raise
        finally:
            for pool in self._pools.values():
                pool.shutdown(wait=False, cancel_futures=True)
        if self._error is not None:
            raise self._error

    def _submit(self, key: TrialKey, phase: Phase) -> None:
        future = self._pools[phase].submit(self._job, key, phase)
        self._pending[future] = key, phase

    def _job(self, key: TrialKey, phase: Phase) -> float | None:
        """One phase of one trial, in a pool's thread."""

        def note(state: tenacity.RetryCallState) -> None:
            error = str(state.outcome.exception() if state.outcome else "")
            self._journal.write("retry", trial=key.name, phase=phase, error=error)
            self._bench.observer.retrying(key.name, error, state.upcoming_sleep)

        if self._interrupts.stop.is_set():  # it was queued when the stop came
            raise CancelledError
        self._journal.write("start", trial=key.name, phase=phase)
        call: Callable[[TrialKey], float | None] = (
            self._bench.answer if phase == "answer" else self._bench.judge
        )
        result = _retrying(self._bench.tools, self._interrupts, note)(call, key)
        self._journal.write("end", trial=key.name, phase=phase)
        return result

    def _settle(self, future: Future[float | None]) -> None:
        key, phase = self._pending.pop(future)
        observer = self._bench.observer
        error = future.exception()
        if isinstance(error, CancelledError):
            return
        if isinstance(error, PbtbenchError) and error.retry:
            self._bench.failed(key, error)
            self._journal.write("gave_up", trial=key.name, phase=phase, error=str(error))
            observer.gave_up(key.name, str(error))
        elif error is not None:
            self._error = self._error or error
            self._interrupts.stop.set()
            observer.idle(key.name)
        elif phase == "answer":
            observer.idle(key.name)
            if not self._interrupts.stop.is_set():
                self._submit(key, "judge")
        else:
            observer.finished(key.name, future.result() or 0.0)

    def _withdraw(self) -> None:
        """Take back what has not started; tell how much still runs."""
        withdrawn = [future for future in self._pending if future.cancel()]
        for future in withdrawn:
            del self._pending[future]
        if withdrawn or self._pending:
            self._bench.observer.stopping(len(self._pending))
