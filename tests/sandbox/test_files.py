"""Files go in whole, and come out only if they are regular and small enough."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbtbench.errors import AnswerError, InfraError
from pbtbench.sandbox.base import MIB, Sandbox
from tests.sandbox.conftest import Start
from tests.sandbox.inside import shell


@settings(max_examples=8, deadline=None)
@given(st.binary(max_size=100))
def test_what_is_put_can_be_got(sandbox: Sandbox, data: bytes) -> None:
    sandbox.put("/workspace/file", data)
    assert sandbox.get("/workspace/file", max_bytes=100) == data


def test_large_files_go_both_ways(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * (5 * MIB // 256)
    sandbox.put("/tmp/large", data)
    assert sandbox.get("/tmp/large", max_bytes=len(data)) == data
    shell(sandbox, "rm /tmp/large")


def test_put_makes_folders_and_replaces(sandbox: Sandbox) -> None:
    sandbox.put("a/new/folder/file", b"first and longer")
    sandbox.put("/workspace/a/new/folder/file", b"second")
    assert shell(
        sandbox, "cat a/new/folder/file; stat -c '%u %a' a/new/folder/file; ls -A a/new/folder"
    ).stdout == (b"second1000 644\nfile\n")


def test_put_replaces_a_link_and_does_not_write_through_it(sandbox: Sandbox) -> None:
    shell(sandbox, "echo kept > /tmp/target; ln -sf /tmp/target link")
    sandbox.put("link", b"new")
    assert shell(sandbox, "cat /tmp/target link").stdout == b"kept\nnew"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        ("true", "no such file"),
        ("ln -s /etc/passwd odd", "link"),
        ("ln -s odd odd", "link"),
        ("mkdir odd", "not a regular file"),
        ("mkfifo odd", "not a regular file"),
        ("python -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"odd\")'", "no such device"),
        ("head -c 1001 /dev/zero > odd", "1001 bytes, at most 1000"),
        ("truncate -s 10G odd || head -c 2000 /dev/zero > odd", "at most 1000"),
        ("echo x > odd; chmod 000 odd", "permission denied"),
    ],
)
def test_get_refuses_what_is_not_a_small_regular_file(sandbox: Sandbox, make: str, reason: str) -> None:
    shell(sandbox, f"cd /workspace; rm -rf odd; {make}")
    begun = time.monotonic()
    with pytest.raises(AnswerError, match=reason) as refused:
        sandbox.get("odd", max_bytes=1000)
    assert "/workspace/odd" in str(refused.value)
    assert time.monotonic() - begun < 10


def test_get_takes_exactly_the_largest_allowed(sandbox: Sandbox) -> None:
    sandbox.put("exact", b"x" * 1000)
    assert len(sandbox.get("exact", max_bytes=1000)) == 1000
    with pytest.raises(AnswerError):
        sandbox.get("exact", max_bytes=999)


def test_get_of_a_device_does_not_wait(sandbox: Sandbox) -> None:
    with pytest.raises(AnswerError, match="not a regular file"):
        sandbox.get("/dev/zero", max_bytes=1000)


def test_a_full_disk_is_said(start: Start) -> None:
    sandbox = start(disk=MIB)
    with pytest.raises(InfraError, match="no space left"):
        sandbox.put("too-large", bytes(2 * MIB))
    assert shell(sandbox, "ls").stdout == b"docs\n"


def test_put_onto_a_folder_is_said(sandbox: Sandbox) -> None:
    with pytest.raises(InfraError, match="directory"):
        sandbox.put("/workspace/docs", b"")
