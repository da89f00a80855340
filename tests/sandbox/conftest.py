"""Each test that asks for ``backend`` or a sandbox runs against both backends."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pbtbench.sandbox.base import MIB, SITE_PACKAGES, Archive, Limits, Sandbox, SandboxBackend, SandboxSpec
from tests.conftest import TEST_IMAGE
from tests.sandbox.images import library_archive, make_local_image, make_tar

LIMITS = Limits(memory=256 * MIB, processes=48, disk=16 * MIB, output=64 * 1024)
LABEL = "sandbox-tests"


@dataclass(frozen=True)
class World:
    """A backend and a spec that it can start."""

    backend: SandboxBackend
    spec: SandboxSpec
    site_packages: str


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("local", marks=pytest.mark.local_sandbox),
        pytest.param("docker", marks=pytest.mark.docker),
    ],
)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("world")
    if request.param == "local":
        from pbtbench.sandbox.local import LocalBackend
        from pbtbench.sandbox.registry import Registry
        from tests.sandbox.images import MINOR

        backend: SandboxBackend = LocalBackend(Registry(folder / "registry"))
        image, python = str(make_local_image(folder / "image")), MINOR
    else:
        from pbtbench.sandbox.docker import DockerBackend

        backend, image = DockerBackend(), TEST_IMAGE
        python = _python_of(image)
    site_packages = SITE_PACKAGES.format(minor=python)
    spec = SandboxSpec(
        image=image,
        label=LABEL,
        archives=(
            library_archive(folder, site_packages),
            Archive(make_tar(folder / "code.tar", {"tool.py": b"TOOL = 1\n"}), "/opt/code"),
            Archive(
                make_tar(folder / "work.tar", {"docs": None, "docs/guide.md": b"# Guide\n"}),
                "/workspace",
                writable=True,
            ),
        ),
        env={"COLOUR": "green"},
        limits=LIMITS,
    )
    return World(backend, spec, site_packages)


def _python_of(image: str) -> str:
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    command = ["docker", "run", "--rm", "--network=none", image, "/opt/venv/bin/python", "-c", program]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def sandbox(world: World) -> Iterator[Sandbox]:
    """One sandbox for the tests of a module that leave it as it was."""
    started = world.backend.start(world.spec)
    yield started
    started.close()


Start = Callable[..., Sandbox]


@pytest.fixture
def start(world: World) -> Iterator[Start]:
    """Starts sandboxes of the test's own; keyword arguments replace limits."""
    started: list[Sandbox] = []

    def start_one(**limits: int) -> Sandbox:
        spec = replace(world.spec, limits=replace(world.spec.limits, **limits))
        started.append(world.backend.start(spec))
        return started[-1]

    yield start_one
    for one in started:
        one.close()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder of the host."""
    return tmp_path
