"""Ctrl-C: the first one lets running work finish, the second stops at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Self


class Interrupts:
    """While entered, turns signals into ``stop``; outside the main thread it changes nothing.

    SIGINT sets ``stop`` the first time and raises KeyboardInterrupt in the main thread the second;
    SIGTERM raises it at once.
    """

    def __init__(self) -> None:
        self.stop = threading.Event()
        """Set: start nothing new."""
        self.by_user = False
        self._previous: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = {
                signal.SIGINT: signal.signal(signal.SIGINT, self._interrupt),
                signal.SIGTERM: signal.signal(signal.SIGTERM, self._terminate),
            }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self.by_user:
            raise KeyboardInterrupt
        self.by_user = True
        self.stop.set()

    def _terminate(self, _number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt
