"""Nothing of the host can be reached from inside, and nothing inside can gain more than it was given."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from pbtbench.sandbox.base import Sandbox
from tests.sandbox.conftest import Start, World
from tests.sandbox.images import MTIME, library_archive
from tests.sandbox.inside import ask, error_of, python, shell

NO_ROUTE = {"ENETUNREACH", "EHOSTUNREACH", "ECONNREFUSED"}


def test_no_address_outside_can_be_reached(sandbox: Sandbox) -> None:
    assert error_of(sandbox, "socket.create_connection(('192.0.2.1', 80), 5)") == "ENETUNREACH"
    assert error_of(sandbox, "socket.create_connection(('1.1.1.1', 53), 5)") == "ENETUNREACH"


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_a_server_of_the_host_cannot_be_reached(sandbox: Sandbox, address: str) -> None:
    with socket.create_server((address, 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), 5):
            pass  # it is there
        assert error_of(sandbox, f"socket.create_connection(('127.0.0.1', {port}), 5)") in NO_ROUTE


def test_names_are_not_looked_up(sandbox: Sandbox) -> None:
    assert error_of(sandbox, "socket.getaddrinfo('pypi.org', 443)") == "gaierror"


def test_sockets_without_a_file_are_not_shared_with_the_host(sandbox: Sandbox) -> None:
    name = f"pbtbench-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        statement = f"socket.socket(socket.AF_UNIX).connect('\\0' + {name!r})"
        assert error_of(sandbox, statement) == "ECONNREFUSED"


def test_no_file_of_the_host_can_be_read(sandbox: Sandbox, here: Path) -> None:
    secret = here / "secret"
    secret.write_text("host only")
    places = [str(secret), str(Path.cwd()), "/var/run/docker.sock", "/run/docker.sock", str(Path(__file__))]
    found = ask(sandbox, f"import json, os; print(json.dumps([p for p in {places} if os.path.exists(p)]))")
    assert found == []
    assert shell(sandbox, "cat /etc/shadow").exit_code != 0
    assert shell(sandbox, "ls -A /root /home").stdout.replace(b"/home:", b"").strip() == b""


def test_the_environment_is_that_of_the_spec(sandbox: Sandbox) -> None:
    lines = sandbox.run(["env"], timeout=60).stdout.decode().splitlines()
    environment = dict(line.split("=", 1) for line in lines)
    environment.pop("LD_LIBRARY_PATH", None)  # documented: where the base Python is a shared library
    assert environment == {
        "PATH": "/opt/venv/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "COLOUR": "green",
    }


def test_a_command_can_have_variables_of_its_own(sandbox: Sandbox) -> None:
    result = sandbox.run(["sh", "-c", "echo $COLOUR $SIZE"], timeout=60, env={"COLOUR": "red", "SIZE": "big"})
    assert result.stdout == b"red big\n"


def test_commands_run_as_an_ordinary_user_without_capabilities(sandbox: Sandbox) -> None:
    status = dict(
        line.split(":\t", 1) for line in shell(sandbox, "cat /proc/self/status").stdout.decode().splitlines()
    )
    assert status["Uid"].split() == ["1000"] * 4
    assert status["Gid"].split() == ["1000"] * 4
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    assert shell(sandbox, "hostname 2>/dev/null || cat /proc/sys/kernel/hostname").stdout == b"sandbox\n"


@pytest.mark.parametrize("flag", ["NEWUSER", "NEWNS", "NEWPID", "NEWNET"])
def test_no_namespace_can_be_made(sandbox: Sandbox, flag: str) -> None:
    assert error_of(sandbox, f"os.unshare(os.CLONE_{flag})") in {"EPERM", "ENOSPC"}


@pytest.mark.parametrize("path", ["environ", "mem", "fd/0", "cwd/.", "root/."])
def test_process_1_cannot_be_looked_into(sandbox: Sandbox, path: str) -> None:
    assert error_of(sandbox, f"os.close(os.open('/proc/1/{path}', os.O_RDONLY))") in {"EACCES", "EPERM"}


def test_process_1_cannot_be_killed_stopped_or_traced(sandbox: Sandbox) -> None:
    shell(sandbox, "for s in KILL STOP INT TERM HUP USR1 CHLD SEGV; do kill -s $s 1; done")
    assert sandbox.alive()
    assert shell(sandbox, "echo alive").stdout == b"alive\n"
    attach = "ctypes.CDLL(None, use_errno=True).ptrace(16, 1, 0, 0)"
    statement = f"r = {attach}; e = ctypes.get_errno(); exec('raise OSError(e, str(e))' if r < 0 else '')"
    assert error_of(sandbox, statement) == "EPERM"


def test_only_the_documented_places_can_be_written_to(sandbox: Sandbox) -> None:
    writable = ask(
        sandbox,
        """
        import json, os
        found = []
        for folder, folders, files in os.walk("/"):
            if folder in ("/proc", "/sys", "/workspace", "/tmp", "/dev/shm", "/dev/mqueue", "/dev/pts"):
                folders.clear()
                continue
            regular = [n for n in files if os.path.isfile(os.path.join(folder, n))]
            for path in [folder, *(os.path.join(folder, n) for n in regular)]:
                if not os.path.islink(path) and os.access(path, os.W_OK):
                    found.append(path)
        print(json.dumps(found))
        """,
    )
    assert writable == []
    for folder in ("/workspace", "/tmp", "/dev/shm"):
        assert shell(sandbox, f"touch {folder}/x && rm {folder}/x").exit_code == 0


def test_no_setting_of_the_kernel_can_be_changed(sandbox: Sandbox) -> None:
    settings = ask(
        sandbox,
        """
        import json, os
        found, seen = [], 0
        for folder, folders, files in os.walk("/proc"):
            if folder == "/proc":
                processes = [name for name in folders if name.isdigit() or "self" in name]
                folders[:] = {*folders} - {*processes, "pressure"}  # the latter: requests for notices
            for path in (os.path.join(folder, name) for name in files):
                if os.path.isfile(path) and not os.path.islink(path):
                    seen += 1
                    if os.access(path, os.W_OK):
                        found.append(path)
        print(json.dumps([seen, found]))
        """,
    )
    assert settings[0] > 100
    assert settings[1] == []
    for name in ("kernel/core_pattern", "vm/swappiness", "user/max_user_namespaces"):
        failed = error_of(sandbox, f"os.open('/proc/sys/{name}', os.O_WRONLY)")
        assert failed in {"EROFS", "EACCES"}, name


@pytest.mark.parametrize("name", ["kcore", "kmsg", "timer_list", "slabinfo", "kpageflags", "vmallocinfo"])
def test_what_the_kernel_tells_root_alone_is_not_told(sandbox: Sandbox, name: str) -> None:
    assert shell(sandbox, f"head -c 10 /proc/{name}").stdout == b""


def test_message_queues_cannot_be_made(sandbox: Sandbox) -> None:
    failed = python(
        sandbox,
        """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        raise SystemExit(libc.mq_open(b"/q", os.O_CREAT | os.O_RDWR, 0o600, None) >= 0)
        """,
    )
    assert failed.exit_code == 0


def test_archives_are_there_and_cannot_be_changed(sandbox: Sandbox, world: World) -> None:
    seen = ask(
        sandbox,
        """
        import json, library, library.deep, os, sys
        sys.path.insert(0, "/opt/code")
        import tool
        status = os.stat(library.__file__)
        print(json.dumps([library.__file__, library.VALUE, library.deep.DEEP, tool.TOOL, status.st_mtime,
                          status.st_mode & 0o777, os.stat(os.path.dirname(library.__file__)).st_mtime]))
        """,
    )
    assert seen == [f"{world.site_packages}/library/__init__.py", 1, 1, 1, MTIME, 0o644, MTIME]
    for attempt in (
        f"echo x >> {world.site_packages}/library/__init__.py",
        f"rm {world.site_packages}/library/deep.py",
        f"touch {world.site_packages}/new.py",
        f"mv {world.site_packages}/library {world.site_packages}/other",
        f"chmod 777 {world.site_packages}/library",
        "touch /opt/code/new.py",
    ):
        assert shell(sandbox, attempt).exit_code != 0, attempt


def test_the_workspace_archive_belongs_to_the_user(start: Start) -> None:
    sandbox = start()
    result = shell(sandbox, "pwd; cat docs/guide.md; echo more >> docs/guide.md && rm -r docs && ls -A")
    assert result.stdout == b"/workspace\n# Guide\n"
    assert result.exit_code == 0


def test_two_sandboxes_do_not_see_each_other(start: Start) -> None:
    one, other = start(), start()
    shell(one, "for d in /tmp /dev/shm /workspace; do echo here > $d/mark; done; sleep 3217 &")
    look = "cat /tmp/mark /dev/shm/mark /workspace/mark; cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
    seen, seen_by_other = shell(one, look).stdout, shell(other, look).stdout
    assert seen.startswith(b"here\nhere\nhere\n")
    assert b"sleep 3217" in seen
    assert b"here" not in seen_by_other
    assert b"sleep 3217" not in seen_by_other


def test_trees_of_one_shape_cannot_be_told_apart_but_by_content(world: World, here: Path) -> None:
    look = f"""
    import json, os
    mounts = [line.split()[4:] for line in open("/proc/self/mountinfo")]
    facts = []
    for folder, folders, files in os.walk("{world.site_packages}/library"):
        for name in sorted(folders + files):
            s = os.stat(os.path.join(folder, name))
            facts.append([folder, name, s.st_ino, s.st_mode, s.st_size, s.st_mtime, s.st_nlink, s.st_uid])
    print(json.dumps([mounts, sorted(facts), sorted(os.environ), os.listdir("/run/pbtbench")]))
    """
    seen = []
    for body in (b"VALUE = 1\n", b"VALUE = 2\n"):
        (here / body.hex()).mkdir()
        archive = library_archive(here / body.hex(), world.site_packages, body=body)
        with contextlib.closing(world.backend.start(replace(world.spec, archives=(archive,)))) as sandbox:
            seen.append(json.dumps(ask(sandbox, look)))
            assert body.hex() not in seen[-1]
    if world.backend.name == "local":  # a container has a name, and its files the numbers of the host's disk
        assert seen[0] == seen[1]
