"""A sandbox leaves nothing behind, however it or its owner ends, and what is swept is only what is dead."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pbtbench.errors import InfraError, SandboxDiedError, SandboxUnavailableError
from pbtbench.sandbox.base import Archive, Sandbox, SandboxSpec
from tests.sandbox.conftest import LABEL, Start, World
from tests.sandbox.inside import shell

REPOSITORY = Path(__file__).parents[2]

OWNER = """
import json, sys, time
from pathlib import Path
from pbtbench.sandbox.base import Limits, SandboxSpec
kind, image, label, registry = sys.argv[1:]
if kind == "local":
    from pbtbench.sandbox.local import LocalBackend
    from pbtbench.sandbox.registry import Registry
    backend = LocalBackend(Registry(Path(registry)))
else:
    from pbtbench.sandbox.docker import DockerBackend
    backend = DockerBackend()
sandbox = backend.start(SandboxSpec(image=image, label=label, limits=Limits(memory=256 << 20, processes=48)))
sandbox.run(["sh", "-c", "sleep 7321 > /dev/null 2>&1 &"], timeout=60)
print(sandbox.name, flush=True)
time.sleep(600)
"""


def exists(world: World, name: str) -> bool:
    """Whether the container or process 1 of that name is there."""
    if world.backend.name == "local":
        return Path("/proc", name.removeprefix("local-")).exists()
    command = ["docker", "ps", "-aq", "--filter", f"name={name}"]
    return bool(subprocess.run(command, capture_output=True, check=True).stdout.strip())


def wait_until(condition: object, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def processes_with(word: str) -> list[str]:
    """Processes of this host, those in sandboxes included, that have ``word`` as an argument."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word in path.read_text(errors="replace").split("\0"):
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_closing_removes_everything_and_may_be_repeated(world: World) -> None:
    sandbox = world.backend.start(world.spec)
    number = f"{os.getpid()}.25"
    shell(sandbox, f"(setsid sleep {number} &) ; sleep {number} > /dev/null 2>&1 &")
    assert processes_with(number)
    assert sandbox.alive()
    sandbox.close()
    sandbox.close()
    assert not sandbox.alive()
    assert not exists(world, sandbox.name)
    assert processes_with(number) == []


@pytest.mark.parametrize("call", ["run", "open", "put", "get"])
def test_a_closed_sandbox_says_that_it_is_gone(start: Start, call: str) -> None:
    sandbox = start()
    sandbox.close()
    calls = {
        "run": lambda: sandbox.run(["true"], timeout=5),
        "open": lambda: sandbox.open(["true"]),
        "put": lambda: sandbox.put("x", b""),
        "get": lambda: sandbox.get("x", max_bytes=1),
    }
    with pytest.raises(SandboxDiedError) as died:
        calls[call]()
    assert "\n" not in str(died.value)


def kill_from_outside(world: World, sandbox: Sandbox) -> None:
    if world.backend.name == "local":
        os.kill(int(sandbox.name.removeprefix("local-")), signal.SIGKILL)
    else:
        subprocess.run(["docker", "kill", sandbox.name], check=True, capture_output=True)


def test_a_sandbox_killed_from_outside_ends_its_commands_at_once(world: World, start: Start) -> None:
    sandbox = start()
    channel = sandbox.open(["cat"])
    killer = threading.Timer(0.5, kill_from_outside, (world, sandbox))
    killer.start()
    begun = time.monotonic()
    with pytest.raises(SandboxDiedError):
        shell(sandbox, "sleep 60")
    assert time.monotonic() - begun < 20
    killer.join()
    assert channel.receive(20) == b""
    channel.close()
    assert not sandbox.alive()
    with pytest.raises(SandboxDiedError):
        shell(sandbox, "true")


def test_nothing_is_left_of_a_dead_owner_after_a_sweep(world: World, tmp_path: Path) -> None:
    label = f"dead-{os.getpid()}-{world.backend.name}"
    command = [sys.executable, "-c", OWNER, world.backend.name, world.spec.image, label, str(tmp_path)]
    owner = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE)
    with owner:
        name = owner.stdout.readline().decode().strip()
        assert exists(world, name)
        backend = world.backend
        if backend.name == "local":
            from pbtbench.sandbox.local import LocalBackend
            from pbtbench.sandbox.registry import Registry

            backend = LocalBackend(Registry(tmp_path))
        assert backend.sweep(label) == []  # its owner lives
        assert exists(world, name)
        owner.kill()
    if backend.name == "local":
        wait_until(lambda: not exists(world, name))  # it ends by itself
        backend.sweep(label)
        assert list(tmp_path.iterdir()) == []
    else:
        assert backend.sweep("another-label") == []
        assert backend.sweep(label) == [name]
        assert not exists(world, name)
    assert backend.sweep(label) == []


def test_a_sweep_leaves_the_sandboxes_of_the_living(world: World, start: Start) -> None:
    sandbox = start()
    world.backend.sweep()
    world.backend.sweep(LABEL)
    assert shell(sandbox, "echo fine").stdout == b"fine\n"


def test_a_missing_image_is_said_in_one_line(world: World) -> None:
    with pytest.raises(SandboxUnavailableError, match="no-such-image") as missing:
        world.backend.start(SandboxSpec(image="no-such-image", label=LABEL))
    assert "\n" not in str(missing.value)


def test_an_archive_in_the_wrong_kind_of_place_is_refused(world: World) -> None:
    archive = world.spec.archives[0].path
    for wrong in (Archive(archive, "/workspace/x"), Archive(archive, "/opt/x", writable=True)):
        with pytest.raises(ValueError, match=wrong.destination):
            world.backend.start(replace(world.spec, archives=(wrong,)))


def test_a_broken_archive_starts_nothing(world: World, tmp_path: Path) -> None:
    broken = tmp_path / "broken.tar"
    broken.write_bytes(b"not a tar" * 1000)
    archive = Archive(broken, world.site_packages)
    spec = replace(world.spec, archives=(archive,), label=f"broken-{os.getpid()}")
    with pytest.raises(InfraError) as refused:
        world.backend.start(spec)
    assert "\n" not in str(refused.value)
    if world.backend.name == "docker":
        command = ["docker", "ps", "-aq", "--filter", f"label=pbtbench.run={spec.label}"]
        assert subprocess.run(command, capture_output=True, check=True).stdout == b""


def test_the_backend_tells_what_it_found(world: World) -> None:
    assert [check.ok for check in world.backend.check()][:1] == [True]
    json.dumps([check.detail for check in world.backend.check()])
