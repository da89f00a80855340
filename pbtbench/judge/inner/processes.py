"""What the supervisor needs of the kernel: protection for itself, the process table, open descriptors."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36


def protect_process() -> None:
    """Become untraceable for processes of the same user, and the reaper of all orphans below."""
    libc = ctypes.CDLL(None, use_errno=True)
    for option, value in ((PR_SET_DUMPABLE, 0), (PR_SET_CHILD_SUBREAPER, 1)):
        if libc.prctl(option, value, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def children_of(pid: int) -> list[int]:
    """Ids of the processes whose parent is ``pid``."""
    children = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                stat = Path(entry.path, "stat").read_bytes()
                if int(stat.rpartition(b")")[2].split()[1]) == pid:
                    children.append(int(entry.name))
    return children


def close_all_but(keep: set[int]) -> None:
    """Close every descriptor of this process that is not in ``keep``."""
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd not in keep:
            with contextlib.suppress(OSError):
                os.close(fd)
