"""The supervisor: starts the template, passes requests on, enforces limits, reports rows to the host.

It never imports the library or the test file and never unpickles or evaluates anything that comes
from below; what it reads from a case is bytes that must be one JSON object. It cannot be traced or
have its descriptors opened by the processes it watches (``PR_SET_DUMPABLE``), and where it is
process 1 of its namespace no signal from inside reaches it.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import frames
from .processes import children_of, close_all_but, protect_process

ROW_LIMIT = 4 * 1024 * 1024
"""Bytes of one row; what writes more is not a row."""
WATCH_INTERVAL = 0.1
"""Seconds between two looks at memory and processes."""
SCRATCH = "/tmp/case"  # noqa: S108 -- inside the sandbox


@dataclass
class _Run:
    """A case that was requested and has not been reported yet."""

    id: int
    pipe: int
    limit: float
    deadline: float
    scratch: str
    data: bytearray = field(default_factory=bytearray)
    pid: int | None = None
    timed_out: bool = False
    closed: bool = False


class Supervisor:
    """Runs one tree's session; ``channel`` is a (readable, writable) pair of descriptors.

    ``watch`` is called ten times a second while foreign code may be running, to enforce what the
    kernel does not (memory and processes of the whole sandbox); None where something else does.
    """

    def __init__(
        self, channel: tuple[int, int], config: dict[str, Any], watch: Callable[[], None] | None = None
    ) -> None:
        self.watch = watch
        self.reader, self.writer = channel
        self.config = config
        self.decoder = frames.Decoder()
        self.selector = selectors.DefaultSelector()
        self.runs: dict[int, _Run] = {}
        self.exits: dict[int, tuple[int, float]] = {}
        self.template: int | None = None
        self.requests: socket.socket | None = None
        self.collection = bytearray()
        self.collecting_since = 0.0
        self.collecting_until: float | None = None
        self.collect_seconds = 0.0
        self.threaded = False
        """The template has threads, which a fork would lose: every case gets a template of its own."""
        self.done = False
        self.next_watch = 0.0

    # -- main loop ---------------------------------------------------------------------------

    def serve(self) -> None:
        """Handle events until the host says ``bye`` or closes the channel; then kill everything."""
        protect_process()
        self._watch_children()
        self.selector.register(self.reader, selectors.EVENT_READ, self._on_channel)
        while not self.done:
            for key, _mask in self.selector.select(self._next_timeout()):
                key.data(key.fd)
            self._reap()
            self._enforce_deadlines()
            if self.watch is not None and time.monotonic() >= self.next_watch:
                self.watch()
                self.next_watch = time.monotonic() + WATCH_INTERVAL
        self._kill_all()

    def _next_timeout(self) -> float | None:
        deadlines = [run.deadline for run in self.runs.values()]
        if self.collecting_until is not None:
            deadlines.append(self.collecting_until)
        if self.watch is not None and self.template is not None:
            deadlines.append(self.next_watch)
        return max(0.0, min(deadlines) - time.monotonic()) + 0.001 if deadlines else None

    def _watch_children(self) -> None:
        """SIGCHLD must end a select: it is what says that a case is over."""
        woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        self.selector.register(woken, selectors.EVENT_READ, _drain)

    # -- messages from the host --------------------------------------------------------------

    def _on_channel(self, fd: int) -> None:
        data = os.read(fd, 65536)
        if not data:
            self.done = True
            return
        for message in self.decoder.feed(data):
            operation = message["op"]
            if operation == "collect":
                self._start_template(message)
            elif operation == "run":
                self._start_run(message)
            elif operation == "bye":
                self.done = True

    def _send(self, message: dict[str, Any]) -> None:
        data = memoryview(frames.encode(message))
        while data:
            data = data[os.write(self.writer, data) :]

    # -- the template ------------------------------------------------------------------------

    def _start_template(self, message: dict[str, Any]) -> None:
        test_file = Path(self.config["test_file"])
        test_file.write_bytes(bytes.fromhex(message["answer"]))
        self.requests, theirs = _socket_pair()
        report, report_writer = os.pipe()
        self.template = self._fork_template(theirs, report_writer, self.config)
        ours = self.requests
        os.set_blocking(report, False)
        self.collecting_since = time.monotonic()
        self.collecting_until = self.collecting_since + message["limit"]
        self.selector.register(report, selectors.EVENT_READ, self._on_collection)
        self.selector.register(ours.fileno(), selectors.EVENT_READ, self._on_template)

    def _fork_template(self, requests: socket.socket, report: int, config: dict[str, Any]) -> int:
        """Process id of a new template; closes its ends of socket and pipe here."""
        pid = os.fork()
        if pid == 0:
            self._become_template(requests, report, config)
        requests.close()
        os.close(report)
        return pid

    def _become_template(self, requests: socket.socket, report: int, config: dict[str, Any]) -> None:
        from . import template

        status = 1
        try:
            os.setsid()
            # The test's first SIGCHLD handler must not be ours.
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.selector.close()
            for fd in {self.reader, self.writer} - {0, 1, 2}:
                os.close(fd)
            template.redirect_output()
            keep = {0, 1, 2, requests.fileno(), report}
            close_all_but(keep)
            with contextlib.suppress(OSError):
                Path("/proc/self/oom_score_adj").write_text("500")
            os.chdir(Path(self.config["test_file"]).parent)
            template.serve(requests, report, config)
            status = 0
        finally:
            os._exit(status)

    def _on_collection(self, fd: int) -> None:
        data = os.read(fd, 1 << 20)
        if data:
            self.collection += data
            if len(self.collection) <= frames.MAX_FRAME:
                return
        self._finish_collection(fd)

    def _finish_collection(self, fd: int) -> None:
        self.selector.unregister(fd)
        os.close(fd)
        self.collecting_until = None
        self.collect_seconds = time.monotonic() - self.collecting_since
        messages: list[Any] = []
        with contextlib.suppress(frames.FrameError):
            messages = frames.Decoder().feed(bytes(self.collection))
        self.collection.clear()
        if (
            len(messages) == 1
            and isinstance(messages[0], dict)
            and isinstance(messages[0].get("cases"), list)
        ):
            self.threaded = messages[0].get("threads") != 1
            self._send({"event": "collected", **messages[0]})
        else:
            self._send({"event": "collected", "cases": [], "error": "", "reach": [], "died": True})

    def _on_template(self, fd: int) -> None:
        assert self.requests is not None
        try:
            data = self.requests.recv(4096)
        except ConnectionError:
            data = b""
        if not data:
            self.selector.unregister(fd)
            return
        with contextlib.suppress(ValueError, KeyError, TypeError, frames.FrameError):
            (message,) = frames.Decoder().feed(data)
            run, pid = self.runs.get(message["id"]), int(message["pid"])
            if run is not None and run.pid is None and pid > 1 and pid != self.template:
                run.pid = pid

    # -- cases -------------------------------------------------------------------------------

    def _start_run(self, message: dict[str, Any]) -> None:
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        scratch = f"{SCRATCH}-{message['case']}-{message['seed']}"
        shutil.rmtree(scratch, ignore_errors=True)
        limit = float(message["limit"])
        run = _Run(message["id"], reader, limit, time.monotonic() + limit, scratch)
        self.runs[run.id] = run
        request = {"id": run.id, "case": message["case"], "seed": message["seed"], "scratch": scratch}
        try:
            if self.threaded:
                run.pid = self._start_direct(request, writer)
                run.deadline += 2 + 3 * self.collect_seconds  # it has to import everything once more
            else:
                assert self.requests is not None
                socket.send_fds(self.requests, [frames.encode(request)], [writer])
        except (OSError, AssertionError):
            self._finish_run(run, {"status": "crashed", "message": "the test process is gone", "gone": True})
            return
        finally:
            os.close(writer)
        self.selector.register(reader, selectors.EVENT_READ, lambda _fd, run=run: self._on_row(run))

    def _start_direct(self, request: dict[str, Any], writer: int) -> int:
        """Process id of a template made for this one case, which runs it without forking."""
        ours, theirs = _socket_pair()
        with ours:
            socket.send_fds(ours, [frames.encode(request)], [writer])
            return self._fork_template(
                theirs, os.open(os.devnull, os.O_WRONLY), {**self.config, "direct": True}
            )

    def _on_row(self, run: _Run) -> None:
        try:
            data = os.read(run.pipe, 1 << 20)
        except BlockingIOError:
            return
        run.data += data
        if not data or len(run.data) > ROW_LIMIT:
            # The pipe may be closed by a case that goes on running: its exit decides, not this.
            self.selector.unregister(run.pipe)
            run.closed = True
            self._finish_if_over(run)

    def _finish_if_over(self, run: _Run) -> None:
        if run.pid is None or run.pid not in self.exits:
            return
        if not run.closed:
            with contextlib.suppress(BlockingIOError):
                while data := os.read(run.pipe, 1 << 20):
                    run.data += data
                    if len(run.data) > ROW_LIMIT:
                        break
        status, cpu = self.exits.pop(run.pid)
        row = {**_read_row(run, status), "process_cpu_seconds": cpu}
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(run.pid, signal.SIGKILL)
        self._finish_run(run, row)

    def _finish_run(self, run: _Run, row: dict[str, Any]) -> None:
        del self.runs[run.id]
        with contextlib.suppress(KeyError, ValueError):
            self.selector.unregister(run.pipe)
        os.close(run.pipe)
        self._kill_strays()
        shutil.rmtree(run.scratch, ignore_errors=True)
        self._send({"event": "row", "id": run.id, "row": row})

    # -- limits ------------------------------------------------------------------------------

    def _enforce_deadlines(self) -> None:
        now = time.monotonic()
        if self.collecting_until is not None and now >= self.collecting_until:
            self.collecting_until = None
            self.collection.clear()
            self._kill_template()
            self._send({"event": "collected", "cases": [], "error": "", "reach": [], "timeout": True})
        for run in [run for run in self.runs.values() if now >= run.deadline]:
            if run.timed_out or run.pid is None:
                # It never started, or it could not be killed in time: report and go on.
                self._finish_run(run, {"status": "timeout", "seconds": run.limit, "gone": run.pid is None})
            else:
                run.timed_out = True
                run.deadline = now + 5.0
                for kill in (os.killpg, os.kill):
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        kill(run.pid, signal.SIGKILL)

    def _reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid == self.template:
                self.template = None
                for run in [run for run in self.runs.values() if run.pid is None]:
                    self._finish_run(
                        run, {"status": "crashed", "message": "the test process is gone", "gone": True}
                    )
            else:
                self.exits[pid] = (status, round(usage.ru_utime + usage.ru_stime, 4))
        for run in list(self.runs.values()):
            self._finish_if_over(run)
        live = {run.pid for run in self.runs.values()}
        unclaimed = any(run.pid is None for run in self.runs.values())
        if not unclaimed:
            for pid in [pid for pid in self.exits if pid not in live]:
                del self.exits[pid]

    def _kill_strays(self) -> None:
        """Kill what finished cases left behind: children of ours that are neither template nor case."""
        if any(run.pid is None for run in self.runs.values()):
            return  # one of them may be a case whose start has not been reported yet
        known = {self.template, *(run.pid for run in self.runs.values())}
        for pid in children_of(os.getpid()):
            if pid not in known:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    def _kill_template(self) -> None:
        if self.template is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.template, signal.SIGKILL)

    def _kill_all(self) -> None:
        for pid in children_of(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _socket_pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _read_row(run: _Run, status: int) -> dict[str, Any]:
    """The row that a finished case sent, or what its end says when it sent none."""
    if run.timed_out:
        return {"status": "timeout", "seconds": run.limit}
    try:
        row = json.loads(bytes(run.data))
        if isinstance(row, dict) and isinstance(row.get("status"), str):
            return row
    except ValueError:
        pass
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return {"status": "crashed", "exception": name, "message": f"ended by {name}"}
    return {"status": "exited", "message": f"left the process with status {os.WEXITSTATUS(status)}"}


def _drain(fd: int) -> None:
    with contextlib.suppress(BlockingIOError):
        os.read(fd, 4096)
