"""The in-memory fake refuses what the real sandboxes refuse."""

from __future__ import annotations

import socket

import pytest

from pbtbench.errors import AnswerError, SandboxDiedError
from pbtbench.sandbox.base import CommandResult, SandboxSpec
from pbtbench.sandbox.fake import Call, FakeBackend, FakeSandbox

SPEC = SandboxSpec(image="any", label="fake")


def test_files_are_kept_and_missing_or_large_ones_refused() -> None:
    sandbox = FakeBackend().start(SPEC)
    sandbox.put("file", b"12345")
    assert sandbox.get("/workspace/file", max_bytes=5) == b"12345"
    with pytest.raises(AnswerError):
        sandbox.get("file", max_bytes=4)
    with pytest.raises(AnswerError):
        sandbox.get("other", max_bytes=4)


def test_commands_are_recorded_and_answered() -> None:
    def answer(sandbox: FakeSandbox, call: Call) -> CommandResult:
        sandbox.files["/workspace/made"] = call.stdin
        return CommandResult(exit_code=5, stdout=b"out", stderr=b"", seconds=0.1)

    backend = FakeBackend(answer)
    sandbox = backend.start(SPEC)
    assert sandbox.run(["make"], timeout=3, stdin=b"data").exit_code == 5
    assert backend.started[0].calls == [Call(("make",), b"data", 3)]
    assert sandbox.get("made", max_bytes=10) == b"data"


def test_a_channel_reaches_its_other_end() -> None:
    def talk(call: Call, sock: socket.socket) -> None:
        while data := sock.recv(100):
            sock.sendall(data.upper())

    channel = FakeBackend(talk=talk).start(SPEC).open(["upper"])
    channel.send(b"abc")
    assert channel.receive(5) == b"ABC"
    with pytest.raises(TimeoutError):
        channel.receive(0.01)
    channel.close()


def test_a_closed_one_is_dead() -> None:
    sandbox = FakeBackend().start(SPEC)
    sandbox.close()
    assert not sandbox.alive()
    with pytest.raises(SandboxDiedError):
        sandbox.run(["true"], timeout=1)
