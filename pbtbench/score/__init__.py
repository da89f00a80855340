"""Verdict rules and metrics: pure functions over outcomes (no files, no sandbox)."""

from pbtbench.score.documents import score_document, verdict_document
from pbtbench.score.metrics import CellMetrics, TrialScore, cell_metrics
from pbtbench.score.rules import RULES, BugVerdict, Rule, Verdicts, decide

__all__ = [
    "RULES",
    "BugVerdict",
    "CellMetrics",
    "Rule",
    "TrialScore",
    "Verdicts",
    "cell_metrics",
    "decide",
    "score_document",
    "verdict_document",
]
