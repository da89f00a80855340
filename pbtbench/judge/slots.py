"""How many test processes run at once on this machine, shared by everything that judges."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Slots:
    """``count`` places for work; ``alone`` takes the whole machine for one piece of work.

    Work that waits to be alone has precedence over new shared work, so it cannot starve.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"need at least one slot, not {count}")
        self.count = count
        self._free = count
        self._waiting_alone = 0
        self._condition = threading.Condition()

    @contextmanager
    def one(self) -> Iterator[bool]:
        """Hold one slot. Yields whether other slots may be in use meanwhile."""
        with self._condition:
            self._condition.wait_for(lambda: self._free > 0 and not self._waiting_alone)
            self._free -= 1
        try:
            yield self.count > 1
        finally:
            self._release(1)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold all slots: nothing else of ours runs meanwhile."""
        with self._condition:
            self._waiting_alone += 1
            self._condition.wait_for(lambda: self._free == self.count)
            self._waiting_alone -= 1
            self._free = 0
        try:
            yield
        finally:
            self._release(self.count)

    def _release(self, count: int) -> None:
        with self._condition:
            self._free += count
            self._condition.notify_all()
