"""Tables of results, for a terminal and as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from rich import box
from rich.console import Console
from rich.table import Table

from pbtbench.problems.model import LEVELS
from pbtbench.runs.answers import JudgedAnswer
from pbtbench.runs.summary import CellSummary
from pbtbench.score import Rule, decide
from pbtbench.score.intervals import Interval

NONE = "-"
_WIDE = 1000
"""Plain text is never folded."""


def make_console(stream: IO[str]) -> Console:
    """A console for ``stream``; colours and box drawing only on a terminal, NO_COLOR respected."""
    terminal = stream.isatty()
    return Console(file=stream, width=None if terminal else _WIDE, highlight=False, soft_wrap=not terminal)


def cells_table(cells: Sequence[CellSummary], rule: Rule) -> Table:
    """One row a cell; shares in per cent, with 95 % intervals over problems."""
    table = _table(f"Results, rule {rule} (per cent; 95 % intervals over problems)")
    table.add_column("cell")
    for name in (
        "judged",
        "recall",
        "confirmed",
        "coverage",
        "perfect",
        *LEVELS,
        "tests",
        "clean",
        "no file",
    ):
        table.add_column(name, justify="right")
    for cell in cells:
        m = cell.metrics
        table.add_row(
            cell.title,
            f"{m.trials_judged}/{m.trials}",
            _with_ends(m.recall),
            _with_ends(m.confirmed_recall),
            _point(m.coverage),
            _point(m.perfect),
            *(_point(m.levels[level]) for level in LEVELS),
            NONE if m.functions is None else f"{m.functions:.1f}",
            _percent(m.precision),
            _percent(m.no_file),
        )
    return table


def answer_table(judged: JudgedAnswer) -> Table:
    """One row a bug of one answer."""
    assert judged.judgement is not None
    verdicts = decide(judged.judgement)
    table = _table(f"{judged.answer.problem}: {len(judged.judgement.functions)} test functions")
    for name in ("bug", "level", "f2p", "paper", "confirmed", "found by"):
        table.add_column(name)
    for bug in judged.prepared.problem.bugs:
        f2p, paper = verdicts.rules["f2p"][bug.id], verdicts.rules["paper"][bug.id]
        by = paper.by or f2p.by
        table.add_row(
            bug.id,
            bug.difficulty,
            _seeds(f2p.found),
            _seeds(paper.found),
            "yes" if f2p.confirmed else "no",
            ", ".join(by[:3]) + (f" and {len(by) - 3} more" if len(by) > 3 else ""),
        )
    return table


def _table(title: str) -> Table:
    return Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)


def _seeds(found: Sequence[bool]) -> str:
    return f"{sum(found)}/{len(found)} seeds"


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.0f}"


def _point(interval: Interval | None) -> str:
    return NONE if interval is None else f"{100 * interval.estimate:.0f}"


def _with_ends(interval: Interval | None) -> str:
    if interval is None:
        return NONE
    low, high = round(100 * interval.low), round(100 * interval.high)
    return f"{100 * interval.estimate:.1f} [{low} {high}]"
