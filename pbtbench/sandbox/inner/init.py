"""Process 1 of a local sandbox: sets it up, gives up every privilege, then starts what it is told to.

It holds one unix socket. The first message on it describes the sandbox (see ``SetUp``); after that,
each message carries one connected socket, and a supervisor is forked for the request that comes over
it. The kernel lets nothing inside kill or stop process 1, and it is not dumpable, so nothing inside can
read or change it. When the socket closes, because the host wants it or is dead, it exits, and with
it every process of the sandbox.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import socket
import struct
import sys
import time

from pbtbench.sandbox.inner import files, kernel, processes, setup, supervise, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TICK = 0.1
"""Seconds between two looks at what the sandbox uses."""
_KILLED = 128 + signal.SIGKILL


class Ledger:
    """How often each limit had to be enforced; shared with the supervisors, which report it."""

    _LIMITS = ("memory", "processes")
    _COUNTS = struct.Struct("2Q")

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, self._COUNTS.size)

    def read(self) -> tuple[int, ...]:
        """One count for each limit."""
        return self._COUNTS.unpack_from(self._memory)

    def count(self, limit: str) -> None:
        """Note that ``limit`` was enforced once more."""
        counts = list(self.read())
        counts[self._LIMITS.index(limit)] += 1
        self._COUNTS.pack_into(self._memory, 0, *counts)

    def since(self, before: tuple[int, ...]) -> str:
        """The limit enforced since ``before`` was read; "" for none."""
        changed = zip(self._LIMITS, before, self.read(), strict=True)
        return next((name for name, old, new in changed if new > old), "")


class Watcher:
    """Enforces what the kernel does not: memory and processes of the whole sandbox."""

    def __init__(self, memory: int, process_count: int, ledger: Ledger) -> None:
        self._memory = memory
        self._process_count = process_count
        self._ledger = ledger
        self._dying: set[int] = set()

    def look(self, own: set[int]) -> None:
        """Kill what exceeds a limit; processes in ``own`` are not counted."""
        found = [process for process in processes.table() if process.pid not in own]
        if sum(process.threads for process in found) > self._process_count:
            self._ledger.count("processes")
            processes.kill(-1)
        elif sum(process.resident for process in found) > self._memory:
            self._free(found)

    def _free(self, found: list[processes.Process]) -> None:
        """Like the kernel would: the largest process dies first.

        Resident sizes count shared pages many times over, so they only call for a closer look.
        """
        self._dying &= {p.pid for p in found}
        living = [p for p in found if p.pid not in self._dying]
        sizes = {p.pid: processes.proportional_size(p.pid) or p.resident for p in living}
        excess = sum(sizes.values()) - self._memory
        for pid, size in sorted(sizes.items(), key=lambda item: -item[1]):
            if excess <= 0:
                break
            self._ledger.count("memory")
            processes.kill(pid)
            self._dying.add(pid)
            excess -= size


class Init:
    """The service loop."""

    def __init__(self, control: socket.socket, settings: dict[str, Any]) -> None:
        self._control = control
        self._rlimits: dict[str, int] = settings["rlimits"]
        self._ledger = Ledger()
        self._watcher = Watcher(settings["memory"], settings["processes"], self._ledger)
        self._supervisors: dict[int, tuple[socket.socket, tuple[int, ...]]] = {}

    def serve(self) -> None:
        """Take requests until the host hangs up."""
        awake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        next_look = time.monotonic()
        while True:
            wait = max(0.0, next_look - time.monotonic())
            ready, _, _ = select.select([self._control.fileno(), awake], [], [], wait)
            if awake in ready:
                os.read(awake, 4096)
                self._collect()
            if self._control.fileno() in ready:
                try:
                    _, fds = wire.receive_message(self._control)
                except (EOFError, OSError):
                    return
                self._accept(socket.socket(fileno=fds[0]))
            if time.monotonic() >= next_look:
                self._watcher.look({os.getpid(), *self._supervisors})
                next_look = time.monotonic() + TICK

    def _accept(self, connection: socket.socket) -> None:
        before = self._ledger.read()
        pid = os.fork()
        if pid == 0:
            try:
                self._control.close()
                self._handle(connection, before)
            finally:
                os._exit(0)
        self._supervisors[pid] = (connection, before)

    def _handle(self, connection: socket.socket, before: tuple[int, ...]) -> None:
        """In the supervisor: do the one request of this connection."""
        try:
            request, stdio = wire.receive_message(connection)
        except (EOFError, OSError):
            return
        if request["op"] == "files":
            action = lambda: files.main(request["argv"])  # noqa: E731
        else:
            action = supervise.executor(
                request["argv"], cwd=request["cwd"], env=request["env"], rlimits=self._rlimits
            )
        exit_code, cpu_seconds = supervise.supervise(
            action,
            stdio=(stdio[0], stdio[1], stdio[2]),
            timeout=request["timeout"],
            keep_orphans=request["keep_orphans"],
            hangups=[connection.fileno()],
        )
        limit = self._ledger.since(before)
        _send(connection, {"exit_code": exit_code, "cpu_seconds": cpu_seconds, "limit": limit})

    def _collect(self) -> None:
        """Reap; answer for a supervisor that was killed, which takes its command along."""
        for pid, (status, cpu_seconds) in processes.reap().items():
            connection, before = self._supervisors.pop(pid, (None, ()))
            if connection is None:
                continue  # an orphan
            if os.waitstatus_to_exitcode(status) != 0:
                self._kill_orphans()
                limit = self._ledger.since(before)
                _send(connection, {"exit_code": _KILLED, "cpu_seconds": cpu_seconds, "limit": limit})
            connection.close()

    def _kill_orphans(self) -> None:
        found = list(processes.table())
        kept = {pid for top in self._supervisors for pid in (top, *processes.descendants(top, found))}
        for pid in processes.descendants(os.getpid(), found):
            if pid not in kept:
                processes.kill(pid)


def _send(connection: socket.socket, message: dict[str, Any]) -> None:
    try:
        wire.send_message(connection, message)
    except OSError:
        pass  # the host has stopped waiting


def _set_up(settings: dict[str, Any], archives: list[int]) -> None:
    kernel.private_mounts()
    setup.mount_writable(settings["writable"], settings["disk"])
    for fd, archive in zip(archives, settings["archives"], strict=True):
        unpack = setup.unpack_writable if archive["writable"] else setup.unpack_read_only
        try:
            unpack(fd, archive["destination"])
        except Exception as error:
            raise OSError(f"cannot unpack into {archive['destination']}: {error}") from error
        os.close(fd)


def main() -> int:
    """Serve the socket whose descriptor number is the only argument."""
    control_fd = int(sys.argv[1])
    os.closerange(3, control_fd)
    os.closerange(control_fd + 1, 65536)
    os.set_inheritable(control_fd, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Python's own handler would let it in
    control = socket.socket(fileno=control_fd)
    try:
        settings, archives = wire.receive_message(control)
    except (EOFError, OSError):
        return 1
    try:
        _set_up(settings, archives)
        kernel.become_user(settings["uid"], settings["gid"])
        kernel.forbid_tracing()
        kernel.drop_privileges()
    except (OSError, ImportError) as error:
        wire.send_message(control, {"error": str(error)})
        return 1
    wire.send_message(control, {"error": ""})
    Init(control, settings).serve()
    return 0
