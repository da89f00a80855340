"""The cache folder: content-addressed entries that appear whole or not at all.

Every entry is made under a temporary name beside its place, synced and renamed, under a lock that
other threads and processes wait for. An interrupted build leaves a temporary name that ``clean``
removes, never half an entry.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pbtbench.errors import DiskFullError, MachineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CACHE_VARIABLE = "PBTBENCH_CACHE"
TEMPORARY = ".tmp-"
"""How names of unfinished entries begin."""

_IN_USE = "in-use"
_held: dict[Path, int] = {}
_FULL = {errno.ENOSPC, errno.EDQUOT}


def default_root() -> Path:
    """``$PBTBENCH_CACHE``, or the user's cache folder of this system."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("pbtbench"))


def megabytes(size: int) -> str:
    """A size in bytes as people read it."""
    return f"{size / 1e6:,.1f} MB"


@contextmanager
def disk_guard(folder: Path, need: int | None = None) -> Iterator[None]:
    """Turn "no space left" inside the block into DiskFullError that names ``folder`` and ``need`` (bytes).

    With ``need``, the space is also looked at before the block runs.
    """
    if need is not None:
        free = shutil.disk_usage(folder).free
        if free < need:
            raise _disk_full(folder, need, free)
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise _disk_full(folder, need, shutil.disk_usage(folder).free) from error
        raise


def _disk_full(folder: Path, need: int | None, free: int) -> DiskFullError:
    needs = f"{megabytes(need)} needed, " if need is not None else ""
    return DiskFullError(
        f"no space left on the device: {needs}{megabytes(free)} free",
        where=str(folder),
        hint=f"Free some space, run `pbtbench clean`, or set {CACHE_VARIABLE} to a folder on another disk",
    )


class Store:
    """A cache folder. Keys are relative POSIX paths; safe for any number of threads and processes."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root or default_root()).absolute()

    def path(self, key: str) -> Path:
        """Where the entry ``key`` is, or would be."""
        return self.root / key

    def file(self, key: str, make: Callable[[Path], None], *, need: int | None = None) -> Path:
        """The file ``key``, written by ``make(temporary path)`` when it is missing.

        ``need`` is the space in bytes that making it takes. Raises DiskFullError and what ``make`` raises.
        """
        return self._entry(key, make, need)

    def folder(self, key: str, make: Callable[[Path], None], *, need: int | None = None) -> Path:
        """The folder ``key``, filled by ``make(temporary folder)`` when it is missing; see ``file``."""

        def fill(temporary: Path) -> None:
            temporary.mkdir()
            make(temporary)

        return self._entry(key, fill, need)

    def write(self, key: str, content: bytes) -> Path:
        """Put ``content`` at ``key``, replacing what is there in one step."""
        path = self.path(key)
        with self._writable(path.parent, len(content)):
            temporary = _temporary(path)
            try:
                _write(temporary, content)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        return path

    def hold(self) -> None:
        """Until this process ends, keep others from cleaning the cache."""
        if self.root not in _held:
            handle = self._open_lock(_IN_USE)
            fcntl.flock(handle, fcntl.LOCK_SH)
            _held[self.root] = handle

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether nobody holds the cache; while the block runs, nobody can begin to."""
        handle = self._open_lock(_IN_USE)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
        finally:
            os.close(handle)

    def _open_lock(self, name: str) -> int:
        path = self.root / "locks" / f"{name.replace('/', '+')}.lock"
        with self._writable(path.parent):
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold the lock ``name``; whoever else wants it waits."""
        handle = self._open_lock(name)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def scratch(self, *, need: int | None = None) -> Iterator[Path]:
        """A temporary folder on the cache's disk, removed afterwards."""
        parent = self.root / "scratch"
        with self._writable(parent, need):
            folder = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=parent))
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def _entry(self, key: str, make: Callable[[Path], None], need: int | None) -> Path:
        path = self.path(key)
        if path.exists():
            return path
        with self.lock(key):
            if path.exists():
                return path
            with self._writable(path.parent, need):
                temporary = _temporary(path)
                try:
                    make(temporary)
                    _sync(temporary)
                    temporary.rename(path)
                    _sync(path.parent)
                finally:
                    _discard(temporary)
        return path

    @contextmanager
    def _writable(self, folder: Path, need: int | None = None) -> Iterator[None]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if error.errno not in _FULL:
                raise MachineError(
                    f"the cache folder cannot be written: {error.strerror}",
                    where=str(folder),
                    hint=f"Set {CACHE_VARIABLE} to a folder that you may write",
                ) from error
            raise _disk_full(self.root.parent, need, 0) from error
        with disk_guard(folder, need):
            yield


def _temporary(path: Path) -> Path:
    return Path(tempfile.mktemp(prefix=TEMPORARY, suffix=path.name[-40:], dir=path.parent))  # noqa: S306 - renamed under a lock


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _discard(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
