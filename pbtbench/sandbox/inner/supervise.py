"""Runs one command to its end: own session, resource limits, a time limit that nothing escapes.

The supervisor adopts the command's orphans, so "everything the command started" is simply everything
below the supervisor, however often it forked and whichever session it moved to.
"""

from __future__ import annotations

import fcntl
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
CHUNK = 65536


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
    hangups: Sequence[int],
    outputs: Mapping[int, Callable[[bytes], None]] | None = None,
) -> tuple[int | None, float]:
    """Fork, do ``action`` in the child with ``stdio`` as its descriptors 0 to 2, and wait for its end.

    Returns its exit code (128 + number for a signal, None for the time limit) and its CPU seconds.
    At ``timeout`` seconds, or when the other end of a descriptor in ``hangups`` is closed, everything below
    this process is killed; at a normal end that is so unless ``keep_orphans``. The descriptors in
    ``stdio`` are closed here. Meanwhile what comes from the pipes in ``outputs`` is handed to its function.
    """
    kernel.adopt_orphans()
    awake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _wake_up)
    child = os.fork()
    if child == 0:
        _become(action, stdio)
    for fd in set(stdio):
        os.close(fd)
    deadline = None if timeout is None else time.monotonic() + timeout
    poll = select.poll()
    poll.register(awake, select.POLLIN)
    for fd in hangups:
        poll.register(fd, select.POLLRDHUP)
    sinks = dict(outputs or {})
    for fd in sinks:
        poll.register(fd, select.POLLIN)
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        ready = {fd for fd, _ in poll.poll(left)}
        for fd in ready & sinks.keys():
            data = os.read(fd, CHUNK)
            if data:
                sinks[fd](data)
            else:
                poll.unregister(fd)
                del sinks[fd]
        if awake in ready:
            os.read(awake, CHUNK)
        ended = processes.reap()
        over = (deadline is not None and time.monotonic() >= deadline) or not ready.isdisjoint(hangups)
        if child not in ended and not over:
            continue
        if over or not keep_orphans:
            ended.update(processes.kill_descendants())
        for fd, sink in sinks.items():
            drain(fd, sink)
        status, cpu_seconds = ended.get(child, (0, 0.0))
        return (None if over else _exit_code(status)), cpu_seconds


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def drain(fd: int, sink: Callable[[bytes], None]) -> None:
    """What the command wrote before it ended: one pipe full at most; the rest is a background process's."""
    os.set_blocking(fd, False)
    left = fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ)
    try:
        while left > 0 and (data := os.read(fd, min(left, CHUNK))):
            sink(data)
            left -= len(data)
    except BlockingIOError:
        pass


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
