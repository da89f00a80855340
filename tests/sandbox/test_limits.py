"""Time, memory, processes, disk and output have limits that nothing inside can lift."""

from __future__ import annotations

import time

import pytest

from pbtbench.errors import SandboxDiedError
from pbtbench.sandbox.base import MIB, Sandbox
from tests.sandbox.conftest import LIMITS, Start, World
from tests.sandbox.inside import ask, python, shell

DISK = 4 * MIB


def living(sandbox: Sandbox, word: str) -> int:
    """How many processes inside have ``word`` in their command line."""
    script = f"cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -o '[{word[0]}]{word[1:]}' | wc -l"
    return int(shell(sandbox, script).stdout)


@pytest.mark.parametrize(
    "script",
    [
        "sleep 4711",
        "trap '' TERM INT HUP; sleep 4711 & wait; sleep 4711",
        "setsid sleep 4711 & sleep 4711",
        "(setsid sh -c 'trap \"\" TERM; sleep 4711 & sleep 4711' &) ; sleep 4711",
        "nohup sleep 4711 >/dev/null 2>&1 & kill -STOP $$",
    ],
)
def test_a_time_limit_ends_everything_that_the_command_started(sandbox: Sandbox, script: str) -> None:
    result = shell(sandbox, f"echo begun; {script}", timeout=1)
    assert (result.exit_code, result.timed_out) == (None, True)
    assert result.stdout == b"begun\n"
    assert 1 <= result.seconds < 8
    assert living(sandbox, "4711") == 0


def test_a_time_limit_leaves_other_commands_alone(sandbox: Sandbox) -> None:
    shell(sandbox, "sleep 5813 > /dev/null 2>&1 &")
    shell(sandbox, "sleep 4711", timeout=0.5)
    assert living(sandbox, "5813") == 1
    shell(sandbox, "kill $(grep -l 5813 /proc/[0-9]*/cmdline | cut -d/ -f3) 2>/dev/null; true")


def test_one_process_cannot_take_more_memory_than_the_limit(sandbox: Sandbox) -> None:
    result = python(sandbox, f"x = bytearray({2 * LIMITS.memory})")
    assert result.exit_code not in (0, None)
    assert sandbox.alive()


def test_many_processes_cannot_take_more_memory_than_the_limit(start: Start) -> None:
    sandbox = start()
    result = python(
        sandbox,
        f"""
        import os, signal, time
        children = []
        for _ in range(8):
            if (pid := os.fork()) == 0:
                held = bytearray({LIMITS.memory // 4})
                held[::4096] = b"x" * len(held[::4096])
                time.sleep(4)
                os._exit(0)
            children.append(pid)
        raise SystemExit(sum(os.waitpid(pid, 0)[1] == signal.SIGKILL for pid in children))
        """,
    )
    assert result.exit_code not in (0, None)
    assert result.limit == "memory"
    assert shell(sandbox, "echo fine").stdout == b"fine\n"


def test_a_fork_bomb_ends_soon_and_the_sandbox_is_usable_or_says_that_it_is_not(start: Start) -> None:
    sandbox = start()
    begun = time.monotonic()
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    try:
        result = sandbox.run(["/opt/venv/bin/python", "-c", bomb], timeout=2)
    except SandboxDiedError:
        pass
    else:
        assert result.timed_out or result.exit_code == 137
        assert shell(sandbox, "echo fine").stdout == b"fine\n"
        assert living(sandbox, "os.fork") == 0
    assert time.monotonic() - begun < 40


def test_the_number_of_processes_is_limited(start: Start) -> None:
    sandbox = start(processes=16)
    result = shell(sandbox, "for i in $(seq 40); do sleep 5 & done; jobs -p | wc -l; sleep 1", timeout=30)
    assert result.exit_code != 0 or int(result.stdout or 40) < 40 or result.limit == "processes"


def test_endless_output_is_cut_in_the_middle(sandbox: Sandbox) -> None:
    result = shell(sandbox, "echo first; yes | head -c 20000000; echo last; echo problem >&2")
    assert result.exit_code == 0
    assert len(result.stdout) == LIMITS.output
    assert result.stdout.startswith(b"first\ny\n")
    assert result.stdout.endswith(b"y\nlast\n")
    assert result.stdout_dropped == 20000000 + len(b"first\nlast\n") - LIMITS.output
    assert (result.stderr, result.stderr_dropped) == (b"problem\n", 0)


def test_output_without_end_is_bounded_by_the_time_limit(sandbox: Sandbox) -> None:
    result = shell(sandbox, "yes & yes >&2", timeout=1)
    assert result.timed_out
    assert len(result.stdout) == len(result.stderr) == LIMITS.output
    assert result.seconds < 8


@pytest.mark.parametrize("folder", ["/workspace", "/tmp", "/dev/shm"])
def test_the_disk_is_limited(start: Start, folder: str) -> None:
    sandbox = start(disk=DISK)
    taken = ask(
        sandbox,
        f"""
        import json, os
        try:
            for number in range(10):
                with open(f"{folder}/{{number}}", "wb", buffering=0) as file:
                    while (written := file.write(bytes(65536))) and file.tell() < {DISK // 4}:
                        pass
        except OSError as error:
            sizes = [os.stat(f"{folder}/{{name}}").st_size for name in range(number + 1)]
            print(json.dumps([error.errno, sum(sizes)]))
        """,
    )
    assert taken[0] == 28  # ENOSPC
    assert taken[1] <= DISK


def test_one_file_is_limited_to_the_disk(start: Start) -> None:
    sandbox = start(disk=DISK)
    result = shell(sandbox, f"head -c {DISK * 2} /dev/zero > /workspace/file; stat -c %s /workspace/file")
    assert int(result.stdout) <= DISK


def test_even_empty_files_are_limited(start: Start) -> None:
    sandbox = start(disk=DISK)
    made = ask(
        sandbox,
        """
        import json, os
        number = 0
        try:
            while number < 10000:
                os.close(os.open(f"/workspace/{number}", os.O_CREAT))
                number += 1
        except OSError:
            pass
        print(number)
        """,
    )
    assert made < 10000


def test_no_core_is_written_and_files_are_limited(sandbox: Sandbox) -> None:
    assert shell(sandbox, "ulimit -c; ulimit -n").stdout == b"0\n4096\n"


@pytest.mark.parametrize("call", ["memfd_create(b'x', 0)", "shmget(0, 1 << 20, 0o1600)"])
def test_memory_is_counted_or_cannot_be_had(sandbox: Sandbox, world: World, call: str) -> None:
    result = python(
        sandbox,
        f"""
        import ctypes, errno
        libc = ctypes.CDLL(None, use_errno=True)
        print(libc.{call}, errno.errorcode.get(ctypes.get_errno()))
        """,
    )
    if world.backend.name == "local":  # Docker's control group counts it
        assert result.stdout == b"-1 ENOSYS\n"
