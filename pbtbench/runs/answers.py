"""Judging answers that belong to no run: files on this machine, grouped in cells by their folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pbtbench.agents.replay import read_answer
from pbtbench.errors import AnswerError, PbtbenchError
from pbtbench.images.base import PreparedProblem
from pbtbench.judge.outcome import Judgement
from pbtbench.runs.observer import Observer
from pbtbench.runs.summary import CellSummary
from pbtbench.runs.work import Tools
from pbtbench.score import Rule, TrialScore, cell_metrics, decide, score_document, verdict_document


@dataclass(frozen=True)
class LooseAnswer:
    """One answer file."""

    cell: str
    problem: str
    path: Path

    @property
    def name(self) -> str:
        """How the display calls it."""
        return f"{self.cell}/{self.problem}" if self.cell != "." else self.problem


@dataclass(frozen=True)
class JudgedAnswer:
    """What judging it gave: a judgement, or the reason why there is none."""

    answer: LooseAnswer
    prepared: PreparedProblem
    judgement: Judgement | None
    reason: str = ""
    """Why the machine could not judge it, or why the file is no answer."""

    def document(self, rule: Rule) -> dict[str, Any]:
        """The published JSON object of the answer."""
        assert self.judgement is not None
        return score_document(self.judgement, decide(self.judgement), self._levels, rule=rule)

    def score(self, rule: Rule) -> TrialScore:
        """The answer as aggregation sees it."""
        assert self.judgement is not None
        document = verdict_document(self.judgement, decide(self.judgement), self._levels)
        return TrialScore.from_document(document, rule=rule)

    @property
    def _levels(self) -> Mapping[str, Any]:
        return {bug.id: bug.difficulty for bug in self.prepared.problem.bugs}


def judge_answers(
    answers: Sequence[LooseAnswer],
    prepared: Mapping[str, PreparedProblem],
    tools: Tools,
    observer: Observer,
    *,
    label: str,
    workers: int,
) -> list[JudgedAnswer]:
    """Judge every answer, several at a time.

    A file that is no answer (a link, a folder, too large) is judged as none. Raises MachineError when this
    machine cannot go on.
    """

    def judge(answer: LooseAnswer) -> JudgedAnswer:
        problem = prepared[answer.problem]
        reason, content = "", None
        try:
            content = read_answer(answer.path)
        except AnswerError as error:
            reason = str(error)
        try:
            judgement = tools.judge(
                problem, content, label=label, on_text=lambda text: observer.phase(answer.name, text)
            )
        except PbtbenchError as error:
            if not error.retry:
                raise
            observer.gave_up(answer.name, str(error))
            return JudgedAnswer(answer, problem, None, str(error))
        judged = JudgedAnswer(answer, problem, judgement, reason)
        observer.finished(answer.name, judged.score("f2p").recall)
        return judged

    observer.planned(len(answers), 0)
    pool = ThreadPoolExecutor(workers, "judge")
    try:
        return list(pool.map(judge, answers))
    except BaseException:
        tools.backend.close_all()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def cell_summaries(judged: Iterable[JudgedAnswer], *, rule: Rule) -> list[CellSummary]:
    """One row for each cell, in order of name."""
    cells: dict[str, list[JudgedAnswer]] = {}
    for item in judged:
        cells.setdefault(item.answer.cell, []).append(item)
    return [
        CellSummary(
            title=name,
            metrics=cell_metrics(
                [item.score(rule) for item in items if item.judgement is not None],
                trials=len(items),
                problems=len({item.answer.problem for item in items}),
            ),
        )
        for name, items in sorted(cells.items())
    ]
