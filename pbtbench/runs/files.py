"""Files that survive a crash: each is either as it was, or complete.

A document is written to a temporary name beside it, synced, renamed over the old one, and its folder
synced. Every JSON document carries ``schema``, so that a later version knows what it reads.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pbtbench.errors import ConfigurationError, DiskFullError


@contextmanager
def disk_full_is_named(path: Path) -> Iterator[None]:
    """Turn "no space left" into DiskFullError that names ``path``."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DiskFullError(
                "no space left on the device",
                where=str(path),
                hint="Free some and run the same command again",
            ) from error
        raise


def write_atomic(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data``, creating folders; one writer a file at a time.

    Raises DiskFullError; the old content is then still there.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    with disk_full_is_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write an indented JSON document (see `write_atomic`)."""
    write_atomic(path, dump_json(document))


def dump_json(document: Mapping[str, Any]) -> bytes:
    """How every document of a run folder looks."""
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def read_json(path: Path, *, schema: int) -> dict[str, Any]:
    """Read a document that `write_json` wrote.

    Raises ConfigurationError when it is not JSON or has another ``schema``, FileNotFoundError when it
    is not there.
    """
    try:
        document = json.loads(path.read_bytes())
    except ValueError as error:
        raise ConfigurationError(f"not a JSON document: {error}", where=str(path)) from error
    found = document.get("schema") if isinstance(document, dict) else None
    if found != schema:
        raise ConfigurationError(
            f"has schema {found!r}, this version of pbtbench reads {schema}", where=str(path)
        )
    return dict(document)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
