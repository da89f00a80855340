"""Metrics of one answer, and of a cell (all trials of one agent, model and mode).

A rule is applied per seed, and a metric is the mean over seeds. A cell's recall, coverage and perfect
share are means over problems, each problem's trials averaged first; level and per-bug recall are
means over bugs. Trials that could not be judged are missing, not zero: they leave the average, and
both counts are given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pbtbench.problems.model import LEVELS, Level

if TYPE_CHECKING:
    from pbtbench.score.intervals import Interval
    from pbtbench.score.rules import Rule, Verdicts


def answer_metrics(verdicts: Verdicts, *, rule: Rule = "f2p") -> dict[str, float]:
    """Recall, coverage, perfect, confirmed recall (under ``rule``) and paper recall of one answer, 0 to 1."""
    bugs = verdicts.rules[rule].values()
    by_seed = list(zip(*(bug.found for bug in bugs), strict=True))
    return {
        "recall": _mean([bug.rate for bug in bugs]),
        "coverage": _mean([any(found) for found in by_seed]),
        "perfect": _mean([all(found) for found in by_seed]),
        "confirmed_recall": _mean([bug.confirmed for bug in bugs]),
        "paper_recall": _mean([bug.rate for bug in verdicts.rules["paper"].values()]),
    }


@dataclass(frozen=True)
class TrialScore:
    """One judged trial, as aggregation sees it."""

    problem: str
    recall: float
    coverage: float
    perfect: float
    confirmed_recall: float
    paper_recall: float
    bugs: Mapping[str, tuple[Level, float]]
    """Bug id -> level and share of seeds under which it was found."""
    functions: int
    clean: int
    """Functions that pass on the clean library under every seed ..."""
    checked: int
    """... of those that were run there."""
    useful: int
    """Functions that found at least one bug under at least one seed."""
    no_file: bool

    @classmethod
    def from_document(cls, document: Mapping[str, Any], *, rule: Rule = "f2p") -> TrialScore:
        """Read a trial's ``verdicts.json`` (see `documents.verdict_document`)."""
        bugs = document["bugs"]
        by_seed = list(zip(*document["by_seed"][rule].values(), strict=True))
        clean = list(document["clean"].values())
        return cls(
            problem=document["problem"],
            recall=_mean([bug[rule]["rate"] for bug in bugs.values()]),
            coverage=_mean([any(found) for found in by_seed]),
            perfect=_mean([all(found) for found in by_seed]),
            confirmed_recall=_mean([bug[rule]["confirmed"] for bug in bugs.values()]),
            paper_recall=_mean([bug["paper"]["rate"] for bug in bugs.values()]),
            bugs={name: (bug["level"], bug[rule]["rate"]) for name, bug in bugs.items()},
            functions=len(document["functions"]),
            clean=clean.count(True),
            checked=len(clean) - clean.count(None),
            useful=len({name for bug in bugs.values() for name in bug[rule]["by"]}),
            no_file=document["file"]["status"] == "no_file",
        )


@dataclass(frozen=True)
class CellMetrics:
    """A cell's figures; shares are 0 to 1, None where nothing was there to average."""

    trials: int
    trials_judged: int
    problems: int
    problems_judged: int
    bugs: int
    """Bugs of the problems judged."""
    recall: Interval | None
    confirmed_recall: Interval | None
    paper_recall: Interval | None
    coverage: Interval | None
    perfect: Interval | None
    bug_recall: Interval | None
    levels: Mapping[Level, Interval | None]
    level_bugs: Mapping[Level, int]
    precision: float | None
    efficiency: float | None
    functions: float | None
    """Test functions per answer that has a file."""
    no_file: float | None
    """Share of judged trials without an answer file."""


def cell_metrics(
    scores: Sequence[TrialScore], *, trials: int, problems: int, resamples: int | None = None
) -> CellMetrics:
    """Aggregate the judged trials of one cell.

    ``trials`` and ``problems`` are how many the cell was planned with, judged or not.
    """
    from pbtbench.score.intervals import RESAMPLES, cluster_interval

    by_problem: dict[str, list[TrialScore]] = defaultdict(list)
    for score in scores:
        by_problem[score.problem].append(score)
    clusters = [by_problem[name] for name in sorted(by_problem)]
    count = RESAMPLES if resamples is None else resamples

    def over_problems(value: Callable[[TrialScore], float]) -> Interval | None:
        totals = [fmean(value(score) for score in cluster) for cluster in clusters]
        return cluster_interval(totals, resamples=count)

    def over_bugs(level: Level | None) -> Interval | None:
        totals = [
            fmean(sum(rate for _, rate in _bugs(score, level)) for score in cluster) for cluster in clusters
        ]
        return cluster_interval(totals, [_count(cluster, level) for cluster in clusters], resamples=count)

    return CellMetrics(
        trials=trials,
        trials_judged=len(scores),
        problems=problems,
        problems_judged=len(clusters),
        bugs=sum(_count(cluster, None) for cluster in clusters),
        recall=over_problems(lambda score: score.recall),
        confirmed_recall=over_problems(lambda score: score.confirmed_recall),
        paper_recall=over_problems(lambda score: score.paper_recall),
        coverage=over_problems(lambda score: score.coverage),
        perfect=over_problems(lambda score: score.perfect),
        bug_recall=over_bugs(None),
        levels={level: over_bugs(level) for level in LEVELS},
        level_bugs={level: sum(_count(cluster, level) for cluster in clusters) for level in LEVELS},
        precision=_share(sum(s.clean for s in scores), sum(s.checked for s in scores)),
        efficiency=_share(sum(s.useful for s in scores), sum(s.functions for s in scores)),
        functions=_share(sum(s.functions for s in scores), sum(not s.no_file for s in scores)),
        no_file=_share(sum(s.no_file for s in scores), len(scores)),
    )


def _bugs(score: TrialScore, level: Level | None) -> list[tuple[Level, float]]:
    return [bug for bug in score.bugs.values() if level is None or bug[0] == level]


def _count(cluster: Sequence[TrialScore], level: Level | None) -> int:
    return len(_bugs(cluster[0], level))


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
