"""``summary.json``: the figures of a run, recomputed from the trials' own files every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from pbtbench.runs.files import read_json
from pbtbench.runs.folder import RunFolder
from pbtbench.runs.journal import read_journal
from pbtbench.runs.outcomes import read_judgement
from pbtbench.runs.trial import Cell, TrialDocument, TrialKey, read_trial
from pbtbench.runs.work import store_verdicts
from pbtbench.score import CellMetrics, Rule, TrialScore, cell_metrics
from pbtbench.score.documents import SCHEMA as VERDICT_SCHEMA
from pbtbench.score.intervals import RESAMPLES, SEED

SCHEMA = 1


@dataclass(frozen=True)
class CellSummary:
    """One row of the results table."""

    title: str
    metrics: CellMetrics
    cost: float | None = None
    """US dollars of all judged trials; None where one of them does not know."""
    agent_seconds: float | None = None
    """Mean wall time of the agent phase."""


@dataclass(frozen=True)
class Summary:
    """All figures of a run."""

    rule: Rule
    cells: tuple[CellSummary, ...]
    unjudged: tuple[tuple[TrialKey, str], ...]
    """Trials that are not done, and why."""
    retries: int = 0

    def to_json(self) -> dict[str, Any]:
        """The content of ``summary.json``."""
        return {
            "schema": SCHEMA,
            "rule": self.rule,
            "interval": {"level": 0.95, "resamples": RESAMPLES, "seed": SEED, "cluster": "problem"},
            "cells": [asdict(cell) for cell in self.cells],
            "unjudged": {key.name: reason for key, reason in self.unjudged},
            "retries": self.retries,
        }


def summarise(folder: RunFolder, *, rule: Rule = "f2p", rescore: bool = False) -> Summary:
    """Read every trial of the run; with ``rescore`` apply the rules to its stored outcomes again.

    Raises ConfigurationError for a damaged file.
    """
    done: dict[Cell, list[tuple[TrialDocument, TrialScore]]] = {}
    planned: dict[Cell, list[TrialKey]] = {}
    unjudged = []
    for key in folder.planned:
        planned.setdefault(key.cell, []).append(key)
        paths = folder.trial(key)
        trial = read_trial(paths)
        if trial is None or trial.state != "done":
            unjudged.append((key, _reason(trial)))
            continue
        if rescore:
            verdicts = store_verdicts(paths, read_judgement(paths.outcomes), folder.levels(key.problem))
        else:
            verdicts = read_json(paths.verdicts, schema=VERDICT_SCHEMA)
        done.setdefault(key.cell, []).append((trial, TrialScore.from_document(verdicts, rule=rule)))
    return Summary(
        rule=rule,
        cells=tuple(_cell(cell, keys, done.get(cell, [])) for cell, keys in planned.items()),
        unjudged=tuple(unjudged),
        retries=sum(event.get("event") == "retry" for event in read_journal(folder.paths.journal)),
    )


def _reason(document: TrialDocument | None) -> str:
    if document is None:
        return "not run yet"
    return document.error or "answered, not judged yet"


def _cell(
    cell: Cell, keys: Sequence[TrialKey], done: Sequence[tuple[TrialDocument, TrialScore]]
) -> CellSummary:
    agents = [document.agent for document, _ in done if document.agent is not None]
    costs = [agent.cost for agent in agents if agent.cost is not None]
    return CellSummary(
        title=cell.title,
        metrics=cell_metrics(
            [score for _, score in done], trials=len(keys), problems=len({key.problem for key in keys})
        ),
        cost=sum(costs) if costs and len(costs) == len(agents) else None,
        agent_seconds=fmean(agent.seconds for agent in agents) if agents else None,
    )
