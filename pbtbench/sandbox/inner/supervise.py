"""Runs one command to its end: own session, resource limits, a time limit that nothing escapes.

The supervisor adopts the command's orphans, so "everything the command started" is simply everything
below the supervisor, however often it forked and whichever session it moved to.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import time

from pbtbench.sandbox.inner import kernel, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

CANNOT_EXECUTE = 126
NOT_FOUND = 127


def executor(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], rlimits: Mapping[str, int]
) -> Callable[[], int]:
    """What the child does to become the command; returns an exit code only if that fails.

    ``rlimits``: name in ``resource`` (``RLIMIT_NOFILE``) -> soft and hard limit.
    """

    def execute() -> int:
        try:
            os.chdir(cwd)
            limit_resources(rlimits)
            os.execvpe(argv[0], list(argv), dict(env))  # noqa: S606
        except OSError as error:
            message = f"cannot run {argv[0]!r} in {cwd!r}: {os.strerror(error.errno or 0)}\n"
            os.write(2, message.encode(errors="backslashreplace"))
            return NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_EXECUTE

    return execute


def limit_resources(rlimits: Mapping[str, int]) -> None:
    """Set soft and hard limits of this process, never above what it has."""
    for name, value in rlimits.items():
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)  # noqa: PLW2901
        resource.setrlimit(number, (value, value))


def supervise(
    action: Callable[[], int],
    *,
    stdio: tuple[int, int, int],
    timeout: float | None,
    keep_orphans: bool,
    hangup: int | None = None,
) -> tuple[int | None, float]:
    """Fork, do ``action`` in the child with ``stdio`` as its descriptors 0 to 2, and wait for its end.

    Returns its exit code (128 + number for a signal, None for the time limit) and its CPU seconds.
    At ``timeout`` seconds, on SIGTERM to this process, or when the descriptor ``hangup`` reads as
    closed, everything below this process is killed; at a normal end that is so unless
    ``keep_orphans``. The descriptors in ``stdio`` are closed here.
    """
    kernel.adopt_orphans()
    awake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, _wake_up)
    child = os.fork()
    if child == 0:
        _become(action, stdio)
    for fd in set(stdio):
        os.close(fd)
    deadline = None if timeout is None else time.monotonic() + timeout
    watched = [awake] if hangup is None else [awake, hangup]
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select(watched, [], [], left)
        signals = _read(awake)
        ended = processes.reap()
        if child in ended:
            status, cpu_seconds = ended[child]
            code = os.waitstatus_to_exitcode(status)
            if not keep_orphans:
                processes.kill_descendants()
            return (code if code >= 0 else 128 - code), cpu_seconds
        expired = deadline is not None and time.monotonic() >= deadline
        if expired or signal.SIGTERM in signals or hangup in ready:
            ended.update(processes.kill_descendants())
            return None, ended[child][1] if child in ended else 0.0


def _become(action: Callable[[], int], stdio: tuple[int, int, int]) -> None:
    """In the child: session, descriptors, signals as a fresh process has them, then ``action``."""
    code = CANNOT_EXECUTE
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        # Out of the way first: a descriptor in ``stdio`` may itself be one of 0 to 2.
        held = [os.dup(fd) for fd in stdio]
        while min(held) < len(stdio):
            held = [os.dup(fd) for fd in held]
        for target, fd in enumerate(held):
            os.dup2(fd, target)
        os.closerange(len(stdio), 65536)
        code = action()
    finally:
        os._exit(code)


def _wake_up(number: int, frame: object) -> None:
    """Only there so that the signal reaches the wake-up descriptor."""


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 4096)
    except BlockingIOError:
        return b""
