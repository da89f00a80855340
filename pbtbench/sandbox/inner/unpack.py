"""Unpacks a tar from stdin into a folder as the sandbox user: ``DESTINATION STRIP``.

``STRIP`` leading path components of each member are taken off; members with no more than those are left out.
"""

from __future__ import annotations

import os
import sys
import tarfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def main(arguments: list[str]) -> int:
    """Unpack; exit code."""
    destination, strip = arguments[0], int(arguments[1])
    try:
        os.makedirs(destination, exist_ok=True)
        with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as tar:
            tar.extractall(destination, members=_members(tar, strip), filter="tar")
    except (OSError, tarfile.TarError) as error:
        os.write(2, str(error).encode(errors="backslashreplace"))
        return 1
    return 0


def _members(tar: tarfile.TarFile, strip: int) -> Iterator[tarfile.TarInfo]:
    for member in tar:
        parts = [part for part in member.name.split("/") if part not in ("", ".")][strip:]
        if parts:
            member.name = "/".join(parts)
            if member.islnk():
                target = [part for part in member.linkname.split("/") if part not in ("", ".")]
                member.linkname = "/".join(target[strip:])
            yield member
