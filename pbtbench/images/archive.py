"""Deterministic tar files: the same content gives the same bytes, and no member tells when it was made."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MTIME = 1577836800
"""2020-01-01 00:00 UTC: the mtime of every file and folder."""


def write_tar(
    path: Path,
    files: Mapping[str, bytes],
    *,
    links: Mapping[str, str] | None = None,
    folders: tuple[str, ...] = (),
    executable: frozenset[str] = frozenset(),
    owner: int = 0,
    prefix: str = "",
) -> None:
    """Write ``files`` (relative POSIX path -> content) as a plain tar, in a fixed order.

    ``links`` are symbolic links (path -> target), ``folders`` exist even when empty, ``prefix`` goes
    before every name, ``owner`` is the uid and gid. Modes are 755 for folders and ``executable``, 644 else.
    """
    links = links or {}
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted({*folders, *_parents((*files, *links, *folders))}):
            tar.addfile(_member(prefix + name, tarfile.DIRTYPE, 0o755, owner))
        for name in sorted(files):
            content = files[name]
            member = _member(prefix + name, tarfile.REGTYPE, 0o755 if name in executable else 0o644, owner)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for name in sorted(links):
            member = _member(prefix + name, tarfile.SYMTYPE, 0o777, owner)
            member.linkname = links[name]
            tar.addfile(member)


def read_tar(path: Path) -> dict[str, bytes]:
    """Regular files of a tar that ``write_tar`` made."""
    with tarfile.open(path) as tar:
        return {member.name: _content(tar, member) for member in tar if member.isfile()}


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


def _parents(names: tuple[str, ...]) -> set[str]:
    return {str(parent) for name in names for parent in PurePosixPath(name).parents if str(parent) != "."}


def _member(name: str, kind: bytes, mode: int, owner: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = kind
    member.mode = mode
    member.mtime = MTIME
    member.uid = member.gid = owner
    return member
