"""The set-up stage: writable places and archives, before any foreign code runs.

Needs CAP_SYS_ADMIN over the mounts of this process. What is unpacked here reaches the sandbox only as
bytes through a descriptor: no path of the host, and nothing that depends on the content of an archive
but that content, can be seen from inside.
"""

from __future__ import annotations

import os
import stat

from pbtbench.sandbox.inner import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_ARCHIVE_LIMIT = 4 * 1024**3
"""Bytes an archive may unpack to: a mistake must not fill the host's memory."""


def mount_writable(places: Mapping[str, int], size: int) -> None:
    """Give each path its own empty tmpfs with that mode, of at most ``size`` bytes."""
    for path, mode in places.items():
        os.makedirs(path, exist_ok=True)
        kernel.mount_tmpfs(path, size=size, mode=mode, files=most_files(size))


def most_files(size: int) -> int:
    """How many files a tmpfs of ``size`` bytes may hold: they cost memory even when empty."""
    return max(size // 4096, 1024)


def unpack_writable(archive: int, destination: str) -> None:
    """Unpack the tar in descriptor ``archive`` as ordinary files of this user."""
    os.makedirs(destination, exist_ok=True)
    _extract(archive, destination)


def unpack_read_only(archive: int, destination: str) -> None:
    """Lay the tar in descriptor ``archive`` over ``destination``; the result cannot be written to.

    Where the archive and the folder below have a directory of the same name, both contents show in
    it; of two files of one name the archive's shows.
    """
    os.makedirs(destination, exist_ok=True)
    below = os.open(destination, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    status = os.fstat(below)
    kernel.mount_tmpfs(
        destination, size=_ARCHIVE_LIMIT, mode=stat.S_IMODE(status.st_mode), files=most_files(_ARCHIVE_LIMIT)
    )
    try:
        _extract(archive, destination)
        _show_below(below, destination)
    finally:
        os.close(below)
    os.utime(destination, ns=(status.st_mtime_ns, status.st_mtime_ns))
    kernel.make_read_only(destination)


def _show_below(below: int, folder: str) -> None:
    """Bind every entry of the covered folder that the new one lacks; merge folders that both have."""
    mtime = os.stat(folder).st_mtime_ns
    for name in sorted(os.listdir(f"/proc/self/fd/{below}")):
        source, target = f"/proc/self/fd/{below}/{name}", f"{folder}/{name}"
        mode = os.lstat(source).st_mode
        if os.path.lexists(target):
            if stat.S_ISDIR(mode) and stat.S_ISDIR(os.lstat(target).st_mode):
                inner = os.open(source, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                _show_below(inner, target)
                os.close(inner)
        elif stat.S_ISLNK(mode):
            os.symlink(os.readlink(source), target)
        else:
            if stat.S_ISDIR(mode):
                os.mkdir(target)
            else:
                os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            kernel.bind(source, target, read_only=True)
    os.utime(folder, ns=(mtime, mtime))


def _extract(archive: int, destination: str) -> None:
    import tarfile  # only here: it costs more than the rest of init

    with os.fdopen(archive, "rb", closefd=False) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
        tar.extractall(destination, filter="tar")
