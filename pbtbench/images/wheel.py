"""What a wheel installs: read with the ``installer`` library into memory, never onto the host."""

from __future__ import annotations

import posixpath
import zipfile
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import TYPE_CHECKING, BinaryIO

import installer
from installer.destinations import WheelDestination
from installer.exceptions import InstallerError
from installer.records import RecordEntry
from installer.scripts import Script
from installer.sources import WheelFile

from pbtbench.errors import BuildError
from pbtbench.sandbox.base import PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from installer.scripts import ScriptSection
    from installer.utils import Scheme


@dataclass
class Installed:
    """The files of one or several wheels, by content."""

    files: dict[str, bytes] = field(default_factory=dict)
    """POSIX path relative to site-packages -> content."""
    scripts: dict[str, bytes] = field(default_factory=dict)
    """Name in the venv's ``bin`` -> content."""


class _Memory(WheelDestination):
    """An ``installer`` destination that keeps what it is given."""

    def __init__(self) -> None:
        self.installed = Installed()

    def write_script(self, name: str, module: str, attr: str, section: ScriptSection) -> RecordEntry:
        _, content = Script(name, module, attr, section).generate(PYTHON, "posix")
        self.installed.scripts[name] = content
        return RecordEntry(f"../../../bin/{name}", None, None)

    def write_file(
        self, scheme: Scheme, path: str | PathLike[str], stream: BinaryIO, is_executable: bool
    ) -> RecordEntry:
        content = stream.read()
        name = posixpath.normpath(fspath(path))
        if name.startswith(("../", "/")):
            raise ValueError(f"path outside of site-packages: {name}")
        if scheme in ("purelib", "platlib"):
            self.installed.files[name] = content
        elif scheme == "scripts" and is_executable:
            self.installed.scripts[name] = content.replace(b"#!python", f"#!{PYTHON}".encode(), 1)
        return RecordEntry(name, None, None)

    def finalize_installation(
        self,
        scheme: Scheme,  # noqa: ARG002 - installer's protocol
        record_file_path: str,
        records: Iterable[tuple[Scheme, RecordEntry]],
    ) -> None:
        """RECORD without hashes and sizes: with them it would tell a clean file from a changed one."""
        paths = sorted({entry.path for _, entry in records} | {record_file_path})
        self.installed.files[record_file_path] = "".join(f"{path},,\n" for path in paths).encode()


def install(wheel: Path) -> Installed:
    """What pip would install from ``wheel`` into site-packages and ``bin``.

    ``RECORD`` lists paths without hashes; INSTALLER says pip; there is no ``direct_url.json``.
    Files of other schemes (headers, data) are left out. Raises BuildError for a malformed wheel.
    """
    memory = _Memory()
    try:
        with WheelFile.open(wheel) as source:
            installer.install(source, memory, {"INSTALLER": b"pip\n"})
    except (ValueError, KeyError, OSError, zipfile.BadZipFile, InstallerError) as error:
        raise BuildError(f"not a wheel that can be installed: {error}", where=wheel.name) from error
    return memory.installed


def is_pure(wheel: Path) -> bool:
    """Whether the wheel is for any platform and any ABI."""
    return wheel.name.endswith("-none-any.whl")


def compiled_modules(wheel: Path) -> list[str]:
    """Paths of the extension modules inside."""
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if is_extension(name)]


def is_extension(path: str) -> bool:
    """Whether a file is a compiled module, whatever Python it is for."""
    return path.endswith((".so", ".pyd"))
