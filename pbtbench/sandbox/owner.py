"""Who started a sandbox, in a form that outlives the process and never names another one."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path


def identify(pid: int | None = None) -> str:
    """``host/namespace:pid:start time`` of a living process (default: this one).

    Raises ProcessLookupError for a process that does not exist.
    """
    pid = os.getpid() if pid is None else pid
    return f"{_place()}:{pid}:{start_time(pid)}"


def is_dead(identity: str) -> bool:
    """Whether that process has certainly ended. False for one of another machine or container."""
    place, _, rest = identity.partition(":")
    pid, _, started = rest.partition(":")
    if place != _place() or not pid.isdigit():
        return False
    try:
        return start_time(int(pid)) != started
    except ProcessLookupError:
        return True


def start_time(pid: int) -> str:
    """Clock ticks between boot and the start of a process; "" where the system has no ``/proc``.

    Raises ProcessLookupError.
    """
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        with contextlib.suppress(PermissionError):
            os.kill(pid, 0)
        if not Path("/proc/self/stat").exists():
            return ""
        raise ProcessLookupError(pid) from None
    fields = line[line.rindex(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X"):
        raise ProcessLookupError(pid)
    return fields[19].decode()


def _place() -> str:
    try:
        namespace = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        namespace = 0
    return f"{socket.gethostname()}/{namespace}"
