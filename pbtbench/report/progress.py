"""The display of a run while it goes on: live on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import IO, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from pbtbench.report.table import make_console
from pbtbench.runs.observer import Silent

MAX_LINES = 20
"""Live trials shown at once."""


class Display(Silent):
    """An observer that is on between ``with`` and its end; this one shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def make_display(stream: IO[str], *, quiet: bool, verbose: bool) -> Display:
    """The display that suits ``stream`` (progress belongs on stderr)."""
    if quiet:
        return Display()
    if stream.isatty():
        return LiveDisplay(make_console(stream))
    return PlainDisplay(stream, verbose=verbose)


class PlainDisplay(Display):
    """One line an event; ``verbose`` adds every phase of every trial."""

    def __init__(self, stream: IO[str], *, verbose: bool) -> None:
        self._stream = stream
        self._verbose = verbose
        self._lock = threading.Lock()
        self._phases: dict[str, str] = {}
        self._count = _Count()
        self._begin = time.monotonic()

    def _say(self, text: str) -> None:
        with self._lock:
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def step(self, name: str, detail: str = "") -> None:
        """A line."""
        self._say(f"{name}: {detail}" if detail else name)

    def planned(self, total: int, done: int) -> None:
        """A line when earlier sessions did some of it."""
        self._count.planned(total, done)
        if done:
            self._say(f"{done} of {total} trials are done already")

    def phase(self, trial: str, text: str) -> None:
        """A line only when verbose, and when the phase is another one."""
        if not self._verbose:
            return
        with self._lock:
            again = self._phases.get(trial) == text
            self._phases[trial] = text
        if not again:
            self._say(f"  {trial}: {text}")

    def finished(self, trial: str, recall: float) -> None:
        """A line with the running mean."""
        with self._lock:
            self._count.finished(recall)
        seconds = time.monotonic() - self._begin
        self._say(
            f"[{self._count.text}] {trial} recall {recall:.2f} (mean {self._count.recall}, {seconds:.0f} s)"
        )

    def retrying(self, trial: str, error: str, seconds: float) -> None:
        """A line."""
        self._say(f"{trial}: {error}; trying again in {seconds:.0f} s")

    def gave_up(self, trial: str, error: str) -> None:
        """A line."""
        self._say(f"{trial}: not judged: {error}")

    def stopping(self, running: int) -> None:
        """A line each time the number changes."""
        with self._lock:
            again = self._count.stopping == running
            self._count.stopping = running
        if not again:
            self._say(_stopping(running))


class LiveDisplay(Display):
    """An overall bar, and one line for each trial at work."""

    def __init__(self, console: Console) -> None:
        self._lock = threading.Lock()
        self._count = _Count()
        self._phases: dict[str, tuple[str, float]] = {}
        self._message = ""
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("recall {task.fields[recall]}  cost {task.fields[cost]}"),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._bar.add_task("plan", total=None, recall="-", cost="n/a")
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._phases.clear()
        self._live.stop()

    def _render(self) -> RenderableType:
        lines = Table.grid(padding=(0, 2))
        now = time.monotonic()
        with self._lock:
            trials = sorted(self._phases.items(), key=lambda item: item[1][1])
            message = self._message
        for trial, (text, since) in trials[:MAX_LINES]:
            lines.add_row(f"  {trial}", text, f"{now - since:.0f} s")
        if len(trials) > MAX_LINES:
            lines.add_row(f"  and {len(trials) - MAX_LINES} more", "", "")
        return Group(self._bar, lines, *([message] if message else []))

    def step(self, name: str, detail: str = "") -> None:
        """Named before the bar."""
        self._bar.update(self._task, description=f"{name} {detail}".strip())

    def planned(self, total: int, done: int) -> None:
        """The bar's length."""
        self._bar.update(self._task, total=total, completed=done)

    def phase(self, trial: str, text: str) -> None:
        """Its line."""
        with self._lock:
            _, since = self._phases.get(trial, ("", time.monotonic()))
            self._phases[trial] = text, since

    def finished(self, trial: str, recall: float) -> None:
        """The bar moves, its line goes."""
        self.idle(trial)
        with self._lock:
            self._count.finished(recall)
        self._bar.update(self._task, advance=1, recall=self._count.recall)

    def retrying(self, trial: str, error: str, seconds: float) -> None:
        """Its line says so."""
        self.phase(trial, f"again in {seconds:.0f} s: {error}")

    def gave_up(self, trial: str, error: str) -> None:
        """A line above the display that stays."""
        self.idle(trial)
        self._live.console.print(f"{trial}: not judged: {error}", markup=False)

    def idle(self, trial: str) -> None:
        """Its line goes."""
        with self._lock:
            self._phases.pop(trial, None)

    def stopping(self, running: int) -> None:
        """The last line says so."""
        with self._lock:
            self._message = _stopping(running)


class _Count:
    """How far the run is."""

    def __init__(self) -> None:
        self._total = self._done = self._judged = 0
        self._sum = 0.0
        self.stopping = -1

    def planned(self, total: int, done: int) -> None:
        self._total, self._done = total, done

    def finished(self, recall: float) -> None:
        self._done += 1
        self._judged += 1
        self._sum += recall

    @property
    def text(self) -> str:
        return f"{self._done}/{self._total}"

    @property
    def recall(self) -> str:
        """Mean recall of what was judged in this session."""
        return f"{self._sum / self._judged:.2f}" if self._judged else "-"


def _stopping(running: int) -> str:
    return f"Stopping: {running} still at work. Ctrl-C again stops at once; with -o FOLDER it goes on later."
