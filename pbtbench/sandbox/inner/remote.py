"""Does one request that comes over stdin: what ``docker exec`` starts.

The request is a message (see ``wire``), followed by ``stdin`` bytes for the command. A command run to its
end has its output collected here, so that a flood of it never leaves the sandbox; the answer on
stdout is a message with the result, followed by the bytes kept of stdout and stderr. A command that
is talked to ("open") gets our own stdin and stdout instead; the only answer is our process id. Hanging up
ends it, and so does "end" with that id: Docker does not see a hang-up while input is waiting.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from pbtbench.sandbox.inner import files, kernel, processes, supervise, unpack, wire
from pbtbench.sandbox.output import CappedOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_EVENTS = {
    "memory": (
        ("/sys/fs/cgroup/memory.events", b"oom_kill"),
        ("/sys/fs/cgroup/memory/memory.oom_control", b"oom_kill"),
    ),
    "processes": (
        ("/sys/fs/cgroup/pids.events", b"max"),
        ("/sys/fs/cgroup/pids/pids.events", b"max"),
    ),
}
"""Where the kernel counts how often a limit was enforced (control groups version 2 and 1)."""


def main() -> None:
    """Serve the one request."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kernel.forbid_tracing()
    request = wire.read_message(0)
    if request["op"] == "confirm":
        files.write_all(1, wire.encode({}))
    elif request["op"] == "end":
        _end(request["pid"])
    elif request["op"] == "open":
        _talk(_action(request))
    else:
        _run(request, _action(request))


def _action(request: dict[str, Any]) -> Callable[[], int]:
    argv = request["argv"]
    if request["op"] == "files":
        return lambda: files.main(argv)
    if request["op"] == "unpack":
        return lambda: unpack.main(argv)
    return supervise.executor(argv, cwd=request["cwd"], env=request["env"], rlimits=request["rlimits"])


def _talk(action: Callable[[], int]) -> None:
    ended, ending = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: os.close(ending))
    files.write_all(1, wire.encode({"pid": os.getpid()}))
    stdio = (os.dup(0), os.dup(1), os.open(os.devnull, os.O_WRONLY))
    os.close(1)
    supervise.supervise(action, stdio=stdio, timeout=None, keep_orphans=False, hangups=[0, ended])


def _end(pid: int) -> None:
    processes.kill(pid, signal.SIGTERM)
    while any(process.pid == pid and process.alive for process in processes.table()):
        time.sleep(0.01)


def _run(request: dict[str, Any], action: Callable[[], int]) -> None:
    stdin = _collect(request["stdin"])
    (stdout, to_stdout), (stderr, to_stderr) = os.pipe(), os.pipe()
    kept = {stdout: CappedOutput(request["output"]), stderr: CappedOutput(request["output"])}
    before = _counts()
    exit_code, cpu_seconds = supervise.supervise(
        action,
        stdio=(stdin, to_stdout, to_stderr),
        timeout=request["timeout"],
        keep_orphans=True,
        hangups=[0],
        outputs={fd: output.feed for fd, output in kept.items()},
    )
    limit = next((name for name, count in _counts().items() if count > before[name]), "")
    out, err = kept[stdout], kept[stderr]
    reply = {
        "exit_code": exit_code,
        "cpu_seconds": cpu_seconds,
        "limit": limit,
        "stdout": len(out.value()),
        "stderr": len(err.value()),
        "stdout_dropped": out.dropped,
        "stderr_dropped": err.dropped,
    }
    with os.fdopen(1, "wb") as stream:
        stream.write(wire.encode(reply) + out.value() + err.value())


def _collect(count: int) -> int:
    """A descriptor to read the next ``count`` bytes of our stdin from; only memory holds them."""
    held = os.memfd_create("stdin")
    while count:
        data = os.read(0, min(count, supervise.CHUNK))
        if not data:
            sys.exit("the request was cut off")
        files.write_all(held, data)
        count -= len(data)
    os.lseek(held, 0, os.SEEK_SET)
    return held


def _counts() -> dict[str, int]:
    return {limit: max(_count(*place) for place in places) for limit, places in _EVENTS.items()}


def _count(path: str, word: bytes) -> int:
    try:
        with open(path, "rb") as file:
            rows = dict(line.split()[:2] for line in file if b" " in line)
    except OSError:
        return 0
    return int(rows.get(word, 0))
