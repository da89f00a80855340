"""Moves one file in or out, as the sandbox user: ``put PATH`` reads stdin, ``get PATH MAX`` writes stdout.

``get`` ends with ``NOT_TAKEN`` and one line on stderr when the path is not a regular file of at most
MAX bytes. It follows no link in the last component and never waits (a FIFO is refused at once).
"""

from __future__ import annotations

import errno
import os
import stat
import sys

NOT_TAKEN = 65
CHUNK = 65536


def get(path: str, max_bytes: int) -> int:
    """Copy the file to stdout; exit code."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        link = error.errno == errno.ELOOP
        return _refuse("is a link" if link else os.strerror(error.errno or 0).lower())
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        return _refuse("is not a regular file")
    if status.st_size > max_bytes:
        return _refuse(f"has {status.st_size} bytes, at most {max_bytes} are taken")
    left = max_bytes + 1
    while left and (chunk := os.read(fd, min(CHUNK, left))):
        left -= len(chunk)
        write_all(1, chunk)
    return 0 if left else _refuse(f"grew over {max_bytes} bytes")


def put(path: str) -> int:
    """Write stdin to the file, which appears whole or not at all; exit code."""
    temporary = f"{path}.{os.getpid()}.part"
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            while chunk := os.read(0, CHUNK):
                write_all(fd, chunk)
            os.rename(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
    except OSError as error:
        return _refuse(os.strerror(error.errno or 0).lower())
    return 0


def main(arguments: list[str]) -> int:
    """Run ``put PATH`` or ``get PATH MAX``."""
    if arguments[0] == "put":
        return put(arguments[1])
    return get(arguments[1], int(arguments[2]))


def write_all(fd: int, data: bytes) -> None:
    """Write every byte."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _refuse(reason: str) -> int:
    write_all(2, reason.encode())
    return NOT_TAKEN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
