"""A channel is a two-way stream to a running command, and closing it ends the command."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time

import pytest

from pbtbench.errors import SandboxDiedError
from pbtbench.sandbox.base import MIB, PYTHON, Channel, Sandbox
from tests.sandbox.inside import shell
from tests.sandbox.test_limits import living


def read_all(channel: Channel, count: int | None = None) -> bytes:
    """Up to ``count`` bytes, or all there are."""
    received = bytearray()
    while count is None or len(received) < count:
        data = channel.receive(60)
        if not data:
            break
        received += data
    return bytes(received)


def test_many_megabytes_go_both_ways_at_once(sandbox: Sandbox) -> None:
    data = os.urandom(MIB) * 20
    channel = sandbox.open(["cat"])
    try:
        sender = threading.Thread(target=channel.send, args=(data,))
        sender.start()
        assert read_all(channel, len(data)) == data
        sender.join(10)
    finally:
        channel.close()


def test_messages_arrive_without_delay_and_selectable(sandbox: Sandbox) -> None:
    channel = sandbox.open(["cat"])
    try:
        assert not select.select([channel], [], [], 0)[0]
        for message in (b"one", b"two\n", b"\0" * 3):
            channel.send(message)
            assert select.select([channel], [], [], 60)[0]
            assert read_all(channel, len(message)) == message
    finally:
        channel.close()


def test_waiting_ends_at_its_time_limit(sandbox: Sandbox) -> None:
    channel = sandbox.open(["cat"])
    try:
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            channel.receive(0.2)
        assert time.monotonic() - begun < 5
        channel.send(b"still there")
        assert read_all(channel, 11) == b"still there"
    finally:
        channel.close()


def test_the_end_of_the_command_ends_the_stream(sandbox: Sandbox) -> None:
    channel = sandbox.open(["sh", "-c", "echo out; echo err >&2; (sleep 4243 &)"])
    try:
        assert read_all(channel) == b"out\n"
        assert channel.receive(60) == b""
        with pytest.raises(SandboxDiedError):
            channel.send(b"x")
    finally:
        channel.close()
    assert living(sandbox, "4243") == 0


def test_closing_kills_the_command_and_all_it_started(sandbox: Sandbox) -> None:
    script = "trap '' TERM HUP PIPE; setsid sleep 9431 & sleep 9431 & echo up; while :; do sleep 1; done"
    channel = sandbox.open(["sh", "-c", script])
    assert read_all(channel, 3) == b"up\n"
    channel.close()
    channel.close()
    assert living(sandbox, "9431") == 0


def test_closing_does_not_wait_for_a_command_that_does_not_read(sandbox: Sandbox) -> None:
    channel = sandbox.open(["sleep", "600"])
    sender = threading.Thread(target=_send_quietly, args=(channel, bytes(4 * MIB)))
    sender.start()
    time.sleep(0.3)
    begun = time.monotonic()
    channel.close()
    assert time.monotonic() - begun < 10
    sender.join(10)
    assert not sender.is_alive()


def _send_quietly(channel: Channel, data: bytes) -> None:
    with contextlib.suppress(SandboxDiedError):
        channel.send(data)


def test_commands_run_beside_an_open_channel(sandbox: Sandbox) -> None:
    channel = sandbox.open([PYTHON, "-c", "print(input())"], env={"PYTHONUNBUFFERED": "1"})
    try:
        assert shell(sandbox, "echo beside").stdout == b"beside\n"
        channel.send(b"hello\n")
        assert read_all(channel) == b"hello\n"
    finally:
        channel.close()
