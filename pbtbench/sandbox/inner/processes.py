"""The process table: who descends from whom, what they use, and killing them all."""

from __future__ import annotations

import os
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PAGE = os.sysconf("SC_PAGESIZE")
_KILL_SECONDS = 1.0
"""How long descendants are hunted one by one before every process of the sandbox is killed."""


class Process:
    """One line of the table. ``resident`` in bytes, pages shared with others counted in full."""

    __slots__ = ("alive", "parent", "pid", "resident", "threads")

    def __init__(self, pid: int, stat: bytes) -> None:
        # The name in parentheses may hold anything, parentheses and spaces included.
        fields = stat[stat.rindex(b")") + 2 :].split()
        self.pid = pid
        self.alive = fields[0] not in (b"Z", b"X")
        self.parent = int(fields[1])
        self.threads = int(fields[17]) if self.alive else 0
        self.resident = int(fields[21]) * _PAGE


def table() -> Iterator[Process]:
    """Every process that is visible from here, zombies included."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                yield Process(int(name), file.read())
        except (OSError, ValueError):
            continue  # it has ended meanwhile


def proportional_size(pid: int) -> int | None:
    """Memory of a process in bytes, each shared page divided among its users; None if it cannot be read."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def descendants(of: int, processes: Iterable[Process] | None = None) -> list[int]:
    """Living processes below ``of``, nearest first."""
    children: dict[int, list[Process]] = {}
    for process in table() if processes is None else processes:
        children.setdefault(process.parent, []).append(process)
    found: list[int] = []
    queue = [of]
    for pid in queue:
        below = children.get(pid, [])
        queue.extend(process.pid for process in below)
        found.extend(process.pid for process in below if process.alive)
    return found


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal; a process that is gone already is fine."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def reap() -> dict[int, tuple[int, float]]:
    """Collect ended children: pid -> (wait status, CPU seconds)."""
    ended: dict[int, tuple[int, float]] = {}
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = (status, usage.ru_utime + usage.ru_stime)


def kill_descendants() -> dict[int, tuple[int, float]]:
    """Kill and reap everything below this process, which must adopt orphans; what ``reap`` collected.

    A tree that breeds faster than it is killed takes the rest of the sandbox with it: only
    ``kill(-1)`` is atomic. Pid 1 and the caller survive that.
    """
    ended: dict[int, tuple[int, float]] = {}
    deadline = time.monotonic() + _KILL_SECONDS
    pause = 0.001
    while living := descendants(os.getpid()):
        if time.monotonic() > deadline:
            kill(-1)
        for pid in living:
            kill(pid)
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
        ended.update(reap())
    ended.update(reap())
    return ended
