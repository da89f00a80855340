"""The streams of a command in a local sandbox: plain pipes, one end of which the command has."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading

from pbtbench.errors import SandboxDiedError
from pbtbench.sandbox.inner import wire
from pbtbench.sandbox.layout import GRACE_SECONDS

CHUNK = 65536


class Pipes:
    """The pipes of one command: closed at the end whatever happens."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self.child_ends: list[int] = []

    def __enter__(self) -> Pipes:
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._open:
            os.close(fd)

    def to_child(self) -> int:
        """A pipe to write to; our end does not block."""
        theirs, ours = os.pipe()
        return self._add(ours, theirs)

    def from_child(self) -> int:
        """A pipe to read from; our end does not block."""
        ours, theirs = os.pipe()
        return self._add(ours, theirs)

    def close(self, fd: int) -> None:
        """Close one of our ends early."""
        self._open.discard(fd)
        os.close(fd)

    def close_child_ends(self) -> None:
        """Once they are handed over: only then does the end of the command end the streams."""
        for fd in self.child_ends:
            self.close(fd)

    def keep(self, *fds: int) -> None:
        """Leave these to the caller."""
        self._open.difference_update(fds)

    def _add(self, ours: int, theirs: int) -> int:
        os.set_blocking(ours, False)
        self._open |= {ours, theirs}
        self.child_ends.append(theirs)
        return ours


def write_some(fd: int, data: memoryview) -> int:
    """Bytes taken; all of them when nobody reads any more."""
    try:
        return os.write(fd, data[:CHUNK])
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(data)


class LocalChannel:
    """A running command of a local sandbox."""

    def __init__(self, connection: socket.socket, stdin: int, stdout: int) -> None:
        self._connection = connection
        self._stdin = os.fdopen(stdin, "wb", buffering=0)
        self._stdout = os.fdopen(stdout, "rb", buffering=0)
        self._lock = threading.Lock()
        self._ended = False
        os.set_blocking(stdin, True)

    def send(self, data: bytes) -> None:
        """Write all of ``data``. Raises SandboxDiedError."""
        view = memoryview(data)
        try:
            if self._ended:  # the pipe may break a moment later only
                raise BrokenPipeError
            while view:
                view = view[self._stdin.write(view) or 0 :]
        except (OSError, ValueError) as error:
            raise SandboxDiedError("the command at the other end has ended") from error

    def receive(self, timeout: float | None) -> bytes:
        """Some bytes, ``b""`` at end of stream. Raises TimeoutError."""
        try:
            poll = select.poll()
            poll.register(self._stdout, select.POLLIN)
            if not poll.poll(None if timeout is None else timeout * 1000):
                raise TimeoutError(f"nothing came within {timeout} s")
            data = self._stdout.read(CHUNK) or b""
        except ValueError:  # closed
            data = b""
        self._ended = not data
        return data

    def fileno(self) -> int:
        """Descriptor of the command's stdout."""
        return self._stdout.fileno()

    def close(self) -> None:
        """Kill the command and all it started, and wait until that is done."""
        with self._lock, contextlib.suppress(OSError, EOFError):
            try:
                self._connection.settimeout(GRACE_SECONDS)
                self._connection.shutdown(socket.SHUT_WR)
                wire.receive_message(self._connection)
            finally:
                self._connection.close()
                self._stdin.close()
                self._stdout.close()
