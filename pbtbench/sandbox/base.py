"""The sandbox protocol: what the rest of pbtbench may ask of an isolated place to run code.

Both backends promise the same (DESIGN: guarantees): no network at all, nothing of the host but what
the spec puts in, an environment that holds only the spec's variables, a non-root user without
capabilities, and limits on time, memory, processes, disk and output that hostile code cannot lift.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MIB = 1024 * 1024

PYTHON = "/opt/venv/bin/python"
SITE_PACKAGES = "/opt/venv/lib/python{minor}/site-packages"
WORKSPACE = "/workspace"


@dataclass(frozen=True)
class Limits:
    """What one sandbox may use. Memory and disk in bytes, ``cpus`` in cores."""

    memory: int = 4096 * MIB
    processes: int = 256
    cpus: float = 2.0
    disk: int = 512 * MIB
    """Each writable place (``/workspace``, ``/tmp``, ``/dev/shm``)."""
    output: int = 1 * MIB
    """Bytes kept of each of stdout and stderr; the middle of anything longer is dropped."""


@dataclass(frozen=True)
class Archive:
    """A tar file that is unpacked before anything runs, owned by root and read-only afterwards.

    Top-level entries of the archive appear under ``destination``. Member order, mtimes, owners and
    modes are taken as they are in the archive, so that two archives of the same shape cannot be told
    apart from inside by anything but content.
    """

    path: Path
    destination: str
    writable: bool = False
    """Unpacked as the sandbox user's own, changeable files (used for ``/workspace``)."""


@dataclass(frozen=True)
class SandboxSpec:
    """Everything a backend needs to start one sandbox."""

    image: str
    """Docker: an image tag. Local: the folder of a local image (see ``images.local``)."""
    label: str
    """The run's id; all that is started carries it, leftovers are swept by it."""
    archives: tuple[Archive, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    workdir: str = WORKSPACE


@dataclass(frozen=True)
class CommandResult:
    """What a finished command left.

    ``exit_code`` is 128 + the number of the signal that ended it, and None when the time limit did.
    """

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    timed_out: bool = False
    stdout_dropped: int = 0
    """Bytes cut out of the middle of stdout."""
    stderr_dropped: int = 0
    limit: Literal["", "memory", "processes"] = ""
    """The limit of the sandbox for which something in it was killed while the command ran."""


class Channel(Protocol):
    """A running command inside the sandbox with a two-way byte stream (its stdin and stdout)."""

    def send(self, data: bytes) -> None:
        """Write all of ``data``. Raises SandboxDiedError when the other end is gone."""

    def receive(self, timeout: float | None) -> bytes:
        """Some bytes, ``b""`` at end of stream. Raises TimeoutError after ``timeout`` seconds."""

    def fileno(self) -> int:
        """A descriptor that selects as readable when ``receive`` would not block."""

    def close(self) -> None:
        """Kill the command and everything it started. Never raises."""


class Sandbox(Protocol):
    """One started sandbox. All methods may be called from several threads."""

    @property
    def name(self) -> str:
        """A name for logs (container name or process id)."""

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """Run a command to its end or to ``timeout`` seconds (then its process group is killed).

        Raises SandboxDiedError when the sandbox is gone; a failing command is not an error.
        """

    def open(
        self, argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> Channel:
        """Start a command and talk to it over its stdin and stdout (stderr is dropped)."""

    def put(self, path: str, data: bytes) -> None:
        """Write a regular file as the sandbox user, creating folders; replaces what is there."""

    def get(self, path: str, *, max_bytes: int) -> bytes:
        """Content of a regular file. Raises AnswerError for anything else: missing, a link, too large.

        No link in the last component is followed and nothing outside the sandbox can be reached.
        """

    def alive(self) -> bool:
        """Whether commands can still be run."""

    def close(self) -> None:
        """Kill everything inside and remove all traces. Never raises; may be called twice."""


@dataclass(frozen=True)
class Check:
    """One thing that ``pbtbench doctor`` looked at."""

    name: str
    ok: bool
    detail: str
    hint: str = ""


class SandboxBackend(Protocol):
    """Starts sandboxes. ``name`` is ``docker`` or ``local``."""

    name: str

    def check(self) -> list[Check]:
        """Look at what this machine offers; never raises."""

    def start(self, spec: SandboxSpec) -> Sandbox:
        """Start a sandbox. Raises SandboxUnavailableError or InfraError."""

    def sweep(self, label: str | None = None, *, dry_run: bool = False) -> list[str]:
        """Remove what dead pbtbench processes left (of the run ``label``); names.

        With ``dry_run`` only the names. What belongs to a living process is never touched.
        """
