"""What ``run`` promises about a command, its streams and its end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from pbtbench.sandbox.base import MIB, Sandbox
from tests.sandbox.inside import python, shell


def test_streams_and_exit_code_arrive(sandbox: Sandbox) -> None:
    result = shell(sandbox, "cat; echo bad >&2; exit 7", stdin=b"\0\xff\n")
    assert (result.exit_code, result.stdout, result.stderr) == (7, b"\0\xff\n", b"bad\n")
    assert not result.timed_out
    assert result.limit == ""


@pytest.mark.parametrize(("signal", "code"), [("KILL", 137), ("TERM", 143), ("SEGV", 139)])
def test_death_by_a_signal_is_128_and_its_number(sandbox: Sandbox, signal: str, code: int) -> None:
    assert shell(sandbox, f"kill -{signal} $$").exit_code == code


def test_a_command_that_does_not_exist_is_no_error_of_the_sandbox(sandbox: Sandbox) -> None:
    missing = sandbox.run(["no-such-command"], timeout=60)
    assert missing.exit_code == 127
    assert b"no-such-command" in missing.stderr
    assert sandbox.run(["/etc/passwd"], timeout=60).exit_code == 126
    assert sandbox.run(["true"], timeout=60, cwd="/nowhere").exit_code == 127


def test_input_may_be_larger_than_any_buffer_and_need_not_be_read(sandbox: Sandbox) -> None:
    data = b"x" * (3 * MIB)
    assert shell(sandbox, "wc -c", stdin=data).stdout.strip() == str(len(data)).encode()
    assert shell(sandbox, "exit 3", stdin=data).exit_code == 3


def test_arguments_may_be_long_and_odd(sandbox: Sandbox) -> None:
    odd = ["", " ", "ünï", "a\nb", "$HOME", "x" * 100_000]
    result = sandbox.run(["printf", "%s|", *odd], timeout=60)
    assert b"|" + "ünï|a\nb|$HOME|".encode() in result.stdout
    assert len(result.stdout) + result.stdout_dropped > 100_000


def test_the_working_folder_can_be_chosen(sandbox: Sandbox) -> None:
    assert sandbox.run(["pwd"], timeout=60).stdout == b"/workspace\n"
    assert sandbox.run(["pwd"], timeout=60, cwd="/tmp").stdout == b"/tmp\n"


def test_signals_are_as_in_a_fresh_process(sandbox: Sandbox) -> None:
    ignored = shell(sandbox, "grep -E 'Sig(Ign|Blk)' /proc/self/status").stdout.decode().split()
    internal = 3 << 31  # posix_spawn ignores those of the C library for good
    assert [int(value, 16) & ~internal for value in ignored[1::2]] == [0, 0]


def test_a_command_holds_no_descriptor_but_the_standard_ones(sandbox: Sandbox) -> None:
    assert shell(sandbox, "ls /proc/$$/fd").stdout.split() == [b"0", b"1", b"2"]


def test_a_background_process_neither_delays_the_end_nor_dies_with_it(sandbox: Sandbox) -> None:
    result = shell(sandbox, "(sleep 3; echo late; sleep 600) & echo started")
    assert result.stdout == b"started\n"
    assert result.seconds < 3
    assert b"sleep" in shell(sandbox, "cat /proc/[0-9]*/cmdline").stdout


def test_a_background_process_can_be_killed_by_a_later_command(sandbox: Sandbox) -> None:
    shell(sandbox, "sleep 8191 & echo $! > /tmp/pid")
    result = shell(sandbox, "kill $(cat /tmp/pid); sleep 0.2; kill -0 $(cat /tmp/pid)")
    assert result.exit_code != 0


def test_commands_from_several_threads_do_not_mix(sandbox: Sandbox) -> None:
    def echo(number: int) -> bytes:
        return shell(sandbox, f"sleep 0.0{number}; cat", stdin=str(number).encode() * 1000).stdout

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(echo, range(6))) == [str(number).encode() * 1000 for number in range(6)]


def test_killing_the_supervisor_takes_only_its_own_command_along(sandbox: Sandbox) -> None:
    result = python(sandbox, "import os, time; os.kill(os.getppid(), 9); time.sleep(30)", timeout=20)
    assert result.exit_code == 137
    assert shell(sandbox, "echo fine").stdout == b"fine\n"
