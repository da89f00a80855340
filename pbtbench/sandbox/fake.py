"""A sandbox in memory, for tests of what uses sandboxes: no process is ever started."""

from __future__ import annotations

import itertools
import posixpath
import select
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pbtbench.errors import AnswerError, SandboxDiedError
from pbtbench.sandbox.base import Channel, Check, CommandResult, Sandbox, SandboxSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DONE = CommandResult(exit_code=0, stdout=b"", stderr=b"", seconds=0.0)


@dataclass(frozen=True)
class Call:
    """One ``run`` or ``open`` as the sandbox got it."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    timeout: float | None = None
    cwd: str | None = None
    env: Mapping[str, str] | None = None


class FakeSandbox:
    """Files in a dictionary, commands answered by functions."""

    def __init__(
        self,
        spec: SandboxSpec,
        name: str,
        answer: Callable[[FakeSandbox, Call], CommandResult],
        talk: Callable[[Call, socket.socket], None],
    ) -> None:
        self.spec = spec
        self.name = name
        self.files: dict[str, bytes] = {}
        """Absolute path -> content; tests may change it."""
        self.calls: list[Call] = []
        self.closed = False
        self._answer = answer
        self._talk = talk

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """Whatever the backend's ``answer`` returns."""
        return self._answer(self, self._called(Call(tuple(argv), stdin, timeout, cwd, env)))

    def open(
        self, argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> Channel:
        """A channel to the backend's ``talk``, which runs in a thread."""
        call = self._called(Call(tuple(argv), cwd=cwd, env=env))
        ours, theirs = socket.socketpair()

        def talk() -> None:
            with theirs:
                self._talk(call, theirs)

        threading.Thread(target=talk, daemon=True).start()
        return FakeChannel(ours)

    def put(self, path: str, data: bytes) -> None:
        """Keep ``data``."""
        self._called(None)
        self.files[posixpath.join(self.spec.workdir, path)] = data

    def get(self, path: str, *, max_bytes: int) -> bytes:
        """What was kept. Raises AnswerError when it is missing or too large."""
        self._called(None)
        path = posixpath.join(self.spec.workdir, path)
        if path not in self.files:
            raise AnswerError("no such file or directory", where=path)
        if len(self.files[path]) > max_bytes:
            raise AnswerError(f"has {len(self.files[path])} bytes, at most {max_bytes} are taken", where=path)
        return self.files[path]

    def alive(self) -> bool:
        """Whether ``close`` has not been called."""
        return not self.closed

    def close(self) -> None:
        """End it."""
        self.closed = True

    def _called[T: (Call, None)](self, call: T) -> T:
        if self.closed:
            raise SandboxDiedError("the sandbox is closed", where=self.name)
        if call is not None:
            self.calls.append(call)
        return call


class FakeChannel:
    """The host's end of a socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def send(self, data: bytes) -> None:
        """Raises SandboxDiedError when ``talk`` has ended."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise SandboxDiedError("the command at the other end has ended") from error

    def receive(self, timeout: float | None) -> bytes:
        """Raises TimeoutError."""
        try:
            if not select.select([self._socket], [], [], timeout)[0]:
                raise TimeoutError(f"nothing came within {timeout} s")
            return self._socket.recv(65536)
        except (ConnectionError, ValueError):
            return b""

    def fileno(self) -> int:
        """The socket's descriptor."""
        return self._socket.fileno()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


class FakeBackend:
    """Starts fake sandboxes; ``started`` holds them in order.

    ``answer`` does what a command would do (it may change ``sandbox.files`` or raise);
    ``talk`` is the other end of a channel.
    """

    name = "fake"

    def __init__(
        self,
        answer: Callable[[FakeSandbox, Call], CommandResult] = lambda _sandbox, _call: DONE,
        talk: Callable[[Call, socket.socket], None] = lambda _call, _socket: None,
    ) -> None:
        self.started: list[FakeSandbox] = []
        self._answer = answer
        self._talk = talk
        self._numbers = itertools.count(1)

    def check(self) -> list[Check]:
        """All is well."""
        return [Check("fake sandbox", ok=True, detail="in memory")]

    def start(self, spec: SandboxSpec) -> Sandbox:
        """A new fake sandbox."""
        sandbox = FakeSandbox(spec, f"fake-{next(self._numbers)}", self._answer, self._talk)
        self.started.append(sandbox)
        return sandbox

    def sweep(self, label: str | None = None, *, dry_run: bool = False) -> list[str]:
        """Nothing is ever left over."""
        del label, dry_run
        return []
