"""The attached stream of a ``docker exec``, and a channel over it."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from pbtbench.errors import SandboxDiedError
from pbtbench.sandbox.inner import wire

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 65536
_STDOUT = 1
_HANG_UP_SECONDS = 1.0
"""How long a command may take to die of a hang-up before it is killed by another one."""


class ExecStream:
    """The attached stream of one exec: raw towards the command; from it, frames of stdout and stderr.

    It never reads beyond what it returns, so the socket selects as readable whenever something is left.
    """

    def __init__(self, attached: Any) -> None:
        self._attached = attached  # also keeps the HTTP response, which owns the connection, alive
        self._socket: socket.socket = getattr(attached, "_sock", attached)
        self._socket.settimeout(None)
        self._kind = 0
        self._left = 0
        self.errors = b""
        """What our own code inside wrote to stderr, its end."""

    def fileno(self) -> int:
        """The descriptor of the connection; -1 when it is closed."""
        return self._socket.fileno()

    def limit(self, seconds: float) -> None:
        """Let no single call wait longer than this; without it they wait for ever."""
        self._socket.settimeout(seconds)

    def send(self, data: bytes) -> None:
        """Write all of ``data``. Raises OSError."""
        self._socket.sendall(data)

    def receive(self, deadline: float | None) -> bytes:
        """Some bytes of stdout, ``b""`` at the end. Raises TimeoutError at ``deadline`` (monotonic)."""
        while True:
            if not self._left:
                header = self._exactly(8, deadline)
                if len(header) < 8:
                    return b""
                self._kind, self._left = header[0], int.from_bytes(header[4:], "big")
                continue
            data = self._some(min(self._left, _CHUNK), deadline)
            self._left -= len(data)
            if self._kind == _STDOUT or not data:
                return data
            self.errors = (self.errors + data)[-_CHUNK:]

    def answer(self, timeout: float) -> tuple[dict[str, Any], bytes, bytes]:
        """The result of a command, its stdout and stderr. Raises TimeoutError, and EOFError without one."""
        deadline = time.monotonic() + timeout
        received = bytearray()
        while data := self.receive(deadline):
            received += data
        reply, rest = wire.decode(bytes(received))
        out, err = reply["stdout"], reply["stderr"]
        if len(rest) != out + err:
            raise EOFError
        return reply, rest[:out], rest[out:]

    def message(self, timeout: float) -> dict[str, Any]:
        """A message at the start of stdout. Raises TimeoutError, and EOFError when there is none."""
        deadline = time.monotonic() + timeout
        received = b""
        while data := self.receive(deadline):
            received += data
            with contextlib.suppress(EOFError):
                return wire.decode(received)[0]
        raise EOFError

    def hang_up(self, timeout: float) -> bool:
        """Say that nothing more will be sent, and whether the other end then came to its end in time."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
            deadline = time.monotonic() + timeout
            while self.receive(deadline):
                pass
        except TimeoutError:
            return False
        except (OSError, ValueError):
            pass
        return True

    def close(self) -> None:
        """Close the connection, which is a hang-up too. Never raises."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError, ValueError):
            self._attached._response.close()  # noqa: SLF001 - where the client keeps it
            self._socket.close()

    def _some(self, count: int, deadline: float | None) -> bytes:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        if not poll.poll(left):
            raise TimeoutError("nothing came in time")
        return self._socket.recv(count)

    def _exactly(self, count: int, deadline: float | None) -> bytes:
        data = self._some(count, deadline)
        while data and len(data) < count and (more := self._socket.recv(count - len(data))):
            data += more
        return data


class DockerChannel:
    """A running command of a container."""

    def __init__(self, stream: ExecStream, end: Callable[[], None]) -> None:
        self._stream = stream
        self._end = end
        self._ended = False
        self._lock = threading.Lock()

    def send(self, data: bytes) -> None:
        """Write all of ``data``. Raises SandboxDiedError."""
        try:
            if self._ended:
                raise BrokenPipeError
            self._stream.send(data)
        except OSError as error:
            raise SandboxDiedError("the command at the other end has ended") from error

    def receive(self, timeout: float | None) -> bytes:
        """Some bytes, ``b""`` at end of stream. Raises TimeoutError."""
        try:
            data = self._stream.receive(None if timeout is None else time.monotonic() + timeout)
        except TimeoutError:
            raise
        except (OSError, ValueError):  # closed
            data = b""
        self._ended = not data
        return data

    def fileno(self) -> int:
        """Descriptor of the connection."""
        return self._stream.fileno()

    def close(self) -> None:
        """Kill the command and all it started, and wait until that is done."""
        with self._lock:
            if not self._ended and not self._stream.hang_up(_HANG_UP_SECONDS):
                self._end()
            self._ended = True
            self._stream.close()
