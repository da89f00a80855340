"""What a run tells whoever watches it; trials go by their names. Called from several threads at once."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Receives the progress of a run; must not raise."""

    def step(self, name: str, detail: str = "") -> None:
        """A step of the run begins: plan, prepare, trials, summary."""

    def planned(self, total: int, done: int) -> None:
        """How many trials there are, and how many were finished by an earlier session."""

    def phase(self, trial: str, text: str) -> None:
        """A trial runs and is in this phase."""

    def finished(self, trial: str, recall: float) -> None:
        """A trial is judged."""

    def retrying(self, trial: str, error: str, seconds: float) -> None:
        """Something around a trial failed; it is tried again in ``seconds``."""

    def gave_up(self, trial: str, error: str) -> None:
        """A trial could not be judged in this session."""

    def idle(self, trial: str) -> None:
        """A trial waits for its next phase."""

    def stopping(self, running: int) -> None:
        """No new trial starts; ``running`` jobs are still at work."""


class Silent:
    """Watches without a word."""

    def step(self, name: str, detail: str = "") -> None:
        """Ignored."""

    def planned(self, total: int, done: int) -> None:
        """Ignored."""

    def phase(self, trial: str, text: str) -> None:
        """Ignored."""

    def finished(self, trial: str, recall: float) -> None:
        """Ignored."""

    def retrying(self, trial: str, error: str, seconds: float) -> None:
        """Ignored."""

    def gave_up(self, trial: str, error: str) -> None:
        """Ignored."""

    def idle(self, trial: str) -> None:
        """Ignored."""

    def stopping(self, running: int) -> None:
        """Ignored."""
