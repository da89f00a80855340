"""The choice of a backend, and what is said where there is none."""

from __future__ import annotations

import pytest

from pbtbench.errors import SandboxUnavailableError, UsageError
from pbtbench.sandbox.backends import select_backend
from pbtbench.sandbox.base import Check
from pbtbench.sandbox.docker import DockerBackend
from pbtbench.sandbox.local import LocalBackend


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


def test_a_missing_engine_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    (check,) = DockerBackend().check()
    assert not check.ok
    assert "\n" not in check.detail
    assert "DOCKER_HOST" in check.hint
