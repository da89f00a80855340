"""Chooses the sandbox backend of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from pbtbench.errors import SandboxUnavailableError, UsageError

if TYPE_CHECKING:
    from pbtbench.sandbox.base import Check, SandboxBackend

Choice = Literal["auto", "docker", "local"]


def select_backend(name: str) -> SandboxBackend:
    """The backend called ``name``; ``auto`` takes Docker where an engine answers, otherwise local.

    Raises UsageError for another name, SandboxUnavailableError when the backend cannot isolate here; for
    ``auto`` with the reasons of both. Running without isolation is not on offer.
    """
    if name not in get_args(Choice):
        raise UsageError(f"no such sandbox: {name}", hint=f"Choose one of {', '.join(get_args(Choice))}")
    failures: list[tuple[str, Check]] = []
    for backend in _backends(name):
        failed = next((check for check in backend.check() if not check.ok), None)
        if failed is None or (backend.name == "docker" and failed.name != "docker engine"):
            return backend
        failures.append((backend.name, failed))
    reasons = "; ".join(f"{backend}: {check.detail}" for backend, check in failures)
    hints = ". Or: ".join(check.hint for _, check in failures if check.hint)
    raise SandboxUnavailableError(f"no sandbox can isolate on this machine ({reasons})", hint=hints)


def _backends(name: str) -> list[SandboxBackend]:
    found: list[SandboxBackend] = []
    if name in ("auto", "docker"):
        from pbtbench.sandbox.docker import DockerBackend

        found.append(DockerBackend())
    if name in ("auto", "local"):
        from pbtbench.sandbox.local import LocalBackend

        found.append(LocalBackend())
    return found
