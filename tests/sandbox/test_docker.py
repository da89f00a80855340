"""What only Docker has: images with a workspace, an engine that can go away, containers with labels."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pbtbench.errors import SandboxDiedError
from pbtbench.sandbox.base import MIB, Limits, SandboxSpec
from pbtbench.sandbox.docker import DockerBackend
from tests.conftest import TEST_IMAGE
from tests.sandbox.inside import shell

pytestmark = pytest.mark.docker

LIMITS = Limits(memory=256 * MIB, processes=48, disk=16 * MIB)
DOCKERFILE = f"""
FROM {TEST_IMAGE}
USER root
ENV SECRET=leaked
RUN mkdir -p /workspace/docs && echo guide > /workspace/docs/guide.md && ln -s /opt/venv /workspace/lib
"""


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """An image with content in the workspace and a variable of its own."""
    tag = f"pbtbench/test-workspace:{os.getpid()}"
    command = ["docker", "build", "--network=none", "--quiet", "--tag", tag, "-"]
    subprocess.run(command, input=DOCKERFILE.encode(), capture_output=True, check=True)
    yield tag
    subprocess.run(["docker", "rmi", "--force", tag], capture_output=True, check=True)


def test_the_workspace_of_the_image_is_there_and_belongs_to_the_user(image: str) -> None:
    backend = DockerBackend()
    for _ in range(2):  # the second start knows the image
        with contextlib.closing(backend.start(SandboxSpec(image=image, label="x", limits=LIMITS))) as sandbox:
            seen = shell(
                sandbox, "cat docs/guide.md; readlink lib; echo more >> docs/guide.md; stat -c %u docs"
            )
            assert seen.stdout == b"guide\n/opt/venv\n1000\n"


def test_variables_of_the_image_do_not_show(image: str) -> None:
    with contextlib.closing(DockerBackend().start(SandboxSpec(image=image, label="x"))) as sandbox:
        names = {line.split(b"=")[0] for line in sandbox.run(["env"], timeout=60).stdout.splitlines()}
        assert names == {b"PATH", b"HOME"}


def test_a_container_is_confined_and_labelled() -> None:
    spec = SandboxSpec(image=TEST_IMAGE, label="run-7", limits=LIMITS)
    with contextlib.closing(DockerBackend().start(spec)) as sandbox:
        output = subprocess.run(["docker", "inspect", sandbox.name], capture_output=True, check=True).stdout
    (facts,) = json.loads(output)
    host = facts["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert "no-new-privileges" in host["SecurityOpt"]
    assert (host["Memory"], host["MemorySwap"]) == (256 * MIB, 256 * MIB)
    assert (host["PidsLimit"], host["NanoCpus"]) == (48, 2 * 10**9)
    assert not host["Binds"]
    assert facts["Mounts"] == []
    assert facts["Config"]["User"] == "1000:1000"
    assert facts["Config"]["Labels"]["pbtbench.run"] == "run-7"


class Proxy:
    """A way to the engine that can be cut."""

    def __init__(self, path: Path) -> None:
        self._sockets: list[socket.socket] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                engine = socket.socket(socket.AF_UNIX)
                engine.connect("/var/run/docker.sock")
                self._sockets += [client, engine]
                for pair in ((client, engine), (engine, client)):
                    threading.Thread(target=self._copy, args=pair, daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        for sock in (self._server, *self._sockets):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()


@pytest.mark.skipif(not Path("/var/run/docker.sock").exists(), reason="the engine is not at its usual socket")
def test_an_engine_that_goes_away_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "engine"
    proxy = Proxy(path)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    backend = DockerBackend()
    sandbox = backend.start(SandboxSpec(image=TEST_IMAGE, label="x", limits=LIMITS))
    try:
        threading.Timer(1, proxy.cut).start()
        begun = time.monotonic()
        with pytest.raises(SandboxDiedError) as died:
            shell(sandbox, "sleep 30")
        assert time.monotonic() - begun < 20
        assert "\n" not in str(died.value)
        with pytest.raises(SandboxDiedError):
            shell(sandbox, "true")
        assert not sandbox.alive()
        sandbox.close()  # does not raise
    finally:
        monkeypatch.delenv("DOCKER_HOST")
        subprocess.run(["docker", "rm", "--force", sandbox.name], capture_output=True, check=True)
