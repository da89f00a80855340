"""What both backends promise about the inside: places, user, environment, limits of a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbtbench.sandbox.base import WORKSPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbtbench.sandbox.base import Limits, SandboxSpec

UID = GID = 1000
HOSTNAME = "sandbox"
MODULES = "/run/pbtbench/site-packages"
"""Where our own code lies inside. Hypothesis draws constants from modules outside of any site-packages."""
WRITABLE = {WORKSPACE: 0o755, "/tmp": 0o1777, "/dev/shm": 0o1777}  # noqa: S108 - paths inside
"""The only writable places and their modes; each holds ``Limits.disk`` bytes at most."""
GRACE_SECONDS = 15.0
"""How much longer than inside a time limit is outside, before the whole sandbox is killed."""
COPY_SECONDS = 120.0
"""Time limit for moving one file in or out, or unpacking one archive."""

_OPEN_FILES = 4096


def environment(spec: SandboxSpec, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """All variables of a command that asks for none of its own."""
    return {
        "PATH": "/opt/venv/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",  # noqa: S108 - a path inside
        **(base or {}),
        **spec.env,
    }


def process_limits(limits: Limits) -> dict[str, int]:
    """Resource limits of each single process, by their names in ``resource``.

    Not RLIMIT_AS: engines like V8 reserve far more address space than they use. RLIMIT_DATA counts only
    what can be written to, and gives one greedy process a MemoryError before anything must be killed.
    """
    return {
        "RLIMIT_CORE": 0,
        "RLIMIT_DATA": limits.memory,
        "RLIMIT_FSIZE": limits.disk,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_NOFILE": _OPEN_FILES,
    }


def is_writable(path: str) -> bool:
    """Whether ``path`` is or lies in a writable place."""
    return any(path == place or path.startswith(f"{place}/") for place in WRITABLE)


def check_archives(spec: SandboxSpec) -> None:
    """Raises ValueError for an archive that no backend can honour."""
    for archive in spec.archives:
        if archive.writable != is_writable(archive.destination):
            kind = "writable" if archive.writable else "read-only"
            raise ValueError(f"{kind} archive cannot be unpacked into {archive.destination}")
