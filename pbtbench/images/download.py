"""Getting the pinned files of a library into the cache: its wheel, its sdist, what it requires.

Files lie in ``files/<sha256>/<name>``: what is there is never asked for again. A library without
hashes (public format) is resolved once; the answer is this machine's lock.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from packaging.utils import canonicalize_name, parse_wheel_filename

from pbtbench.errors import BuildError, DownloadError
from pbtbench.images import pip
from pbtbench.images.wheel import compiled_modules, is_pure
from pbtbench.problems.model import Library, PinnedFile

if TYPE_CHECKING:
    from pathlib import Path

    from pbtbench.images.interpreter import Interpreter
    from pbtbench.images.store import Store

OnStep = Callable[[str], None]

_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_ROOM = 200_000_000
"""Bytes that a download may need for a moment: the files, unpacked builds, pip's own temporaries."""


@dataclass(frozen=True)
class Sources:
    """The files that a library is made of, all in the cache."""

    wheel: Path
    """Pure Python, or without compiled twins as far as the library can be built so."""
    requires: tuple[Path, ...]
    """Wheels of all run-time dependencies."""


class Downloads:
    """Pinned files for one target interpreter."""

    def __init__(self, store: Store, target: Interpreter, on_step: OnStep) -> None:
        self._store = store
        self._target = target
        self._on_step = on_step

    def sources(self, library: Library) -> Sources:
        """Wheel and dependencies. Raises DownloadError, HashMismatchError, BuildError, DiskFullError."""
        if library.requires is None:
            return self._resolved(library)
        if library.wheel is not None:
            self.wheels([_pin(library, library.wheel), *library.requires])  # both in one go
        return Sources(self._library_wheel(library), self.wheels(library.requires))

    def sdist(self, library: Library) -> Path:
        """The pinned sdist. Raises BuildError when the library pins none, and like ``sources``."""
        if library.sdist is None:
            raise BuildError(
                "the library pins no sdist to take documentation and tests from", where=library.key
            )
        path = self._store.path(f"files/{library.sdist.sha256}/{library.sdist.file}")
        if not path.exists():
            self._on_step(f"download {library.sdist.file}")
            with self._store.scratch(need=_ROOM) as folder:
                pip.download_sdist(library.name, _pin(library, library.sdist), folder)
                kept = [self._keep(file) for file in folder.iterdir() if file.is_file()]
            if kept != [PinnedFile(file=library.sdist.file, sha256=library.sdist.sha256)]:
                raise DownloadError(f"the index calls it {kept[0].file}", where=library.sdist.file)
        return path

    def wheels(self, requirements: Sequence[str]) -> tuple[Path, ...]:
        """The wheels of requirement lines with hashes, in their order."""
        missing = [line for line in requirements if self._cached(line) is None]
        if missing:
            self._on_step(f"download {', '.join(_name(line) for line in missing)}")
            with self._store.scratch(need=_ROOM) as folder:
                pip.download_wheels(missing, folder, self._target)
                for path in folder.glob("*.whl"):
                    self._keep(path)
        return tuple(self._cached(line) or self._lost(line) for line in requirements)

    def _cached(self, line: str) -> Path | None:
        """The file of a requirement line that is here and that the target can load."""
        for sha256 in _HASH.findall(line):
            for path in self._store.path(f"files/{sha256}").glob("*.whl"):
                if not self._target.tags.isdisjoint(parse_wheel_filename(path.name)[3]):
                    return path
        return None

    def _lost(self, line: str) -> NoReturn:
        raise DownloadError("pip downloaded something else", where=_name(line))

    def _library_wheel(self, library: Library) -> Path:
        if library.wheel is not None:
            (wheel,) = self.wheels([_pin(library, library.wheel)])
            if is_pure(wheel) or library.sdist is None:
                return wheel
        return self._built(self.sdist(library))

    def _built(self, sdist: Path) -> Path:
        """The wheel built from an sdist, without compiled twins."""

        def build(folder: Path) -> None:
            self._on_step(f"build the wheel of {sdist.name}")
            pip.build_wheel(sdist, folder)

        folder = self._store.folder(f"built/{_sha256(sdist)}", build, need=_ROOM)
        return next(folder.glob("*.whl"))

    def _resolved(self, library: Library) -> Sources:
        key = f"resolved/{library.key}-{self._target.cache_tag}-{self._target.platforms[0]}.json"
        self._store.file(key, lambda path: _write_lock(path, self._resolve(library)))
        lock = json.loads(self._store.path(key).read_bytes())
        wheel, *requires = (self._kept(PinnedFile(**entry)) for entry in lock)
        return Sources(wheel, tuple(requires))

    def _resolve(self, library: Library) -> list[PinnedFile]:
        """The library's wheel first, then all that it requires."""
        self._on_step(f"resolve {library.name} {library.version}")
        requirement = f"{library.name}=={library.version}"
        with self._store.scratch(need=_ROOM) as folder:
            try:
                pip.download_wheels([requirement], folder, self._target, dependencies=True)
                wheel = _wheel_of(folder, library.name)
            except DownloadError as error:
                if error.hint is not None:  # the index could not be reached
                    raise
                try:
                    wheel = self._from_sdist(library, folder)
                except DownloadError:
                    raise error from None
                pip.download_wheels([str(wheel)], folder, self._target, dependencies=True)
            if compiled_modules(wheel):
                wheel = self._pure_or_same(library, wheel, folder)
            others = [
                path for path in folder.glob("*.whl") if project_of(path) != canonicalize_name(library.name)
            ]
            return [self._keep(path) for path in (wheel, *sorted(others))]

    def _from_sdist(self, library: Library, folder: Path) -> Path:
        pip.download_sdist(library.name, f"{library.name}=={library.version}", folder)
        sdist = next(path for path in folder.iterdir() if path.is_file() and path.suffix != ".whl")
        kept = self._keep(sdist)
        sdist.unlink()
        return self._built(self._kept(kept))

    def _pure_or_same(self, library: Library, wheel: Path, folder: Path) -> Path:
        """A build without compiled parts where the library can be built so, else the published wheel."""
        try:
            pure = self._from_sdist(library, folder)
        except (BuildError, DownloadError):
            return wheel
        return wheel if compiled_modules(pure) else pure

    def _keep(self, path: Path) -> PinnedFile:
        """Put a downloaded file in the cache under its hash."""
        pinned = PinnedFile(file=path.name, sha256=_sha256(path))
        self._store.file(f"files/{pinned.sha256}/{pinned.file}", lambda to: _copy(path, to))
        return pinned

    def _kept(self, pinned: PinnedFile) -> Path:
        path = self._store.path(f"files/{pinned.sha256}/{pinned.file}")
        if not path.exists():
            raise DownloadError(
                "the cache has lost this file", where=str(path), hint="Run `pbtbench clean --cache`"
            )
        return path


def _copy(source: Path, to: Path) -> None:
    shutil.copyfile(source, to)


def _name(line: str) -> str:
    """``name==version`` of a requirement line."""
    return line.split(" ", maxsplit=1)[0].split(";", maxsplit=1)[0].strip()


def _pin(library: Library, file: PinnedFile) -> str:
    return f"{library.name}=={library.version} --hash=sha256:{file.sha256}"


def project_of(wheel: Path) -> str:
    """Canonical project name of a wheel file."""
    return canonicalize_name(wheel.name.split("-")[0])


def _wheel_of(folder: Path, name: str) -> Path:
    return next(path for path in folder.glob("*.whl") if project_of(path) == canonicalize_name(name))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_lock(path: Path, files: Sequence[PinnedFile]) -> None:
    path.write_text(json.dumps([{"file": entry.file, "sha256": entry.sha256} for entry in files], indent=1))
