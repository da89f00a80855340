"""Slots bound what runs at once, and work that must be alone is alone and is not starved."""

from __future__ import annotations

import threading
import time

import pytest

from pbtbench.judge.slots import Slots


def test_never_more_holders_than_slots() -> None:
    slots, lock, live, peak = Slots(3), threading.Lock(), 0, 0

    def work() -> None:
        nonlocal live, peak
        with slots.one():
            with lock:
                live += 1
                peak = max(peak, live)
            time.sleep(0.005)
            with lock:
                live -= 1

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert peak == 3


def test_work_that_is_alone_overlaps_with_nothing_and_is_not_starved() -> None:
    slots, stop, live, overlaps = Slots(2), threading.Event(), [0], []

    def share() -> None:
        while not stop.is_set():
            with slots.one():
                live[0] += 1
                time.sleep(0.001)
                live[0] -= 1

    threads = [threading.Thread(target=share) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            with slots.alone():
                overlaps.append(live[0])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert overlaps == [0] * 5


def test_no_slot_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        Slots(0)
