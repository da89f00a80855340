"""The work on one trial: the agent phase, then judging. Each ends with a document on disk."""

from __future__ import annotations

import atexit
import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pbtbench.agents.base import Agent, AgentEvent, AgentResult, Task, take_answer
from pbtbench.agents.prompts import render_prompt
from pbtbench.errors import AnswerError, InfraError, PbtbenchError
from pbtbench.images.base import ImageBuilder, PreparedProblem
from pbtbench.judge.outcome import Judgement
from pbtbench.problems.model import Level
from pbtbench.runs.config import RunConfig
from pbtbench.runs.files import dump_json, write_atomic
from pbtbench.runs.folder import RunFolder
from pbtbench.runs.journal import now
from pbtbench.runs.observer import Observer
from pbtbench.runs.outcomes import write_judgement
from pbtbench.runs.paths import TrialPaths
from pbtbench.runs.tracked import TrackedBackend
from pbtbench.runs.trial import (
    AgentRecord,
    AnswerRecord,
    JudgeRecord,
    TrialDocument,
    TrialKey,
    read_trial,
)
from pbtbench.sandbox.base import Limits, Sandbox, SandboxBackend
from pbtbench.score import decide, verdict_document


class Judge(Protocol):
    """Judges one answer (``pbtbench.judge`` with backend, seeds and workers settled)."""

    def __call__(
        self,
        prepared: PreparedProblem,
        answer: bytes | None,
        *,
        label: str,
        on_text: Callable[[str], None],
    ) -> Judgement:
        """Raises InfraError or MachineError; nothing that the answer does is an error."""


def make_judge(backend: SandboxBackend, *, seeds: int, workers: int, full: bool) -> Judge:
    """The judge with ``seeds`` seeds (0, 1, ...) and ``workers`` test processes at a time."""
    from pbtbench.judge import ForkServers, Slots, judge_answer

    slots, servers = Slots(workers), ForkServers()
    # They would end with this process in any case; this way they end before its threads do.
    atexit.register(servers.close)

    def judge(
        prepared: PreparedProblem, answer: bytes | None, *, label: str, on_text: Callable[[str], None]
    ) -> Judgement:
        return judge_answer(
            prepared,
            answer,
            backend=backend,
            seeds=range(seeds),
            slots=slots,
            label=label,
            full=full,
            servers=servers,
            on_event=lambda event: on_text(
                f"{event.text} {event.done}/{event.total}" if event.total else event.text
            ),
        )

    return judge


@dataclass(frozen=True)
class Tools:
    """What a run works with: the parts that reach outside of it."""

    backend: TrackedBackend
    builder: ImageBuilder
    judge: Judge
    agent: Callable[[str], Agent]
    """Agent by name."""
    backoff: float = 2.0
    """Seconds before the first retry; doubles from there."""


@dataclass(frozen=True)
class Bench:
    """All that the trials of one session share."""

    folder: RunFolder
    config: RunConfig
    tools: Tools
    prepared: Mapping[str, PreparedProblem]
    observer: Observer

    def answer(self, key: TrialKey) -> None:
        """The agent phase. Afterwards the trial is ``answered``.

        Raises InfraError (to be tried again) and MachineError.
        """
        paths, prepared, started = self.folder.trial(key), self.prepared[key.problem], now()
        task = self._task(key, prepared)
        write_atomic(paths.prompt, task.prompt.encode())
        paths.answer.unlink(missing_ok=True)
        self.observer.phase(key.name, "sandbox")
        begin = time.monotonic()
        sandbox = self.tools.backend.start(prepared.agent_spec(label=self.folder.label, limits=Limits()))
        try:
            result = self._run_agent(key, task, sandbox)
            seconds = time.monotonic() - begin
            self.observer.phase(key.name, "copy out")
            answer = _store_answer(sandbox, paths)
        finally:
            sandbox.close()
        if result.log:
            write_atomic(paths.agent_log, result.log)
        TrialDocument.of(
            key,
            state="answered",
            image=prepared.problem_image.digest,
            started=started,
            finished=now(),
            agent=_record(result, seconds),
            answer=answer,
        ).write(paths)

    def judge(self, key: TrialKey) -> float:
        """Judge the stored answer and return its recall. Afterwards the trial is ``done``.

        Raises InfraError and MachineError.
        """
        paths, prepared = self.folder.trial(key), self.prepared[key.problem]
        document = read_trial(paths)
        assert document is not None
        assert document.answer is not None
        answer = paths.answer.read_bytes() if document.answer.status == "ok" else None
        judgement = self.tools.judge(
            prepared,
            answer,
            label=self.folder.label,
            on_text=lambda text: self.observer.phase(key.name, f"judge {text}"),
        )
        write_judgement(paths.outcomes, judgement)
        verdicts = store_verdicts(paths, judgement, self.folder.levels(key.problem))
        done = {
            "state": "done",
            "error": "",
            "finished": now(),
            "judge": JudgeRecord(
                file_status=judgement.file_status,
                seconds=round(judgement.seconds, 3),
                body_cpu_seconds=round(judgement.body_cpu_seconds, 3),
            ),
        }
        document.model_copy(update=done).write(paths)
        return float(verdicts["metrics"]["recall"])

    def failed(self, key: TrialKey, error: PbtbenchError) -> None:
        """Record that a trial could not be finished; what it has so far stays."""
        paths = self.folder.trial(key)
        document = read_trial(paths) or TrialDocument.of(
            key, state="infra_error", started=now(), finished=now()
        )
        document.model_copy(update={"error": str(error), "finished": now()}).write(paths)

    def _task(self, key: TrialKey, prepared: PreparedProblem) -> Task:
        config, cell = self.config, key.cell
        return Task(
            problem=prepared.problem,
            mode=cell.mode,
            prompt=render_prompt(
                cell.mode,
                prepared.problem,
                max_tool_calls=config.max_tool_calls,
                time_limit=config.time_limit,
            ),
            python=prepared.problem_image.python,
            model=cell.model,
            max_tool_calls=config.max_tool_calls,
            time_limit=config.time_limit,
        )

    def _run_agent(self, key: TrialKey, task: Task, sandbox: Sandbox) -> AgentResult:
        def show(event: AgentEvent) -> None:
            self.observer.phase(key.name, event.text)

        try:
            result = self.tools.agent(key.cell.agent).run(task, sandbox, show)
        except PbtbenchError as error:
            if not error.judge_anyway:
                raise
            return AgentResult(end="agent_error", message=str(error))
        if result.end == "infra_error":
            raise InfraError(result.message or "the agent met an infrastructure error", where=key.name)
        return result


def store_verdicts(paths: TrialPaths, judgement: Judgement, levels: Mapping[str, Level]) -> dict[str, Any]:
    """Score a judgement and store ``verdicts.json`` unless it says so already; the document."""
    document = verdict_document(judgement, decide(judgement), levels)
    data = dump_json(document)
    if not paths.verdicts.exists() or paths.verdicts.read_bytes() != data:
        write_atomic(paths.verdicts, data)
    return document


def _store_answer(sandbox: Sandbox, paths: TrialPaths) -> AnswerRecord:
    try:
        answer = take_answer(sandbox)
    except AnswerError as error:
        return AnswerRecord(status="no_file", reason=str(error))
    write_atomic(paths.answer, answer)
    return AnswerRecord(status="ok", size=len(answer), sha256=hashlib.sha256(answer).hexdigest())


def _record(result: AgentResult, seconds: float) -> AgentRecord:
    return AgentRecord(
        end=result.end,
        message=result.message,
        seconds=round(seconds, 3),
        tool_calls=result.tool_calls,
        turns=result.turns,
        input_tokens=result.input_tokens,
        output_tokens=result.output_tokens,
        cost=result.cost,
        notes=result.notes,
    )
