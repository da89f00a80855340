"""Getting the pinned files of a library into the cache: its wheel, its sdist, what it requires.

Files lie in ``files/<sha256>/<name>``. Which file a requirement line meant on which Python is kept
beside them, so that a second call asks nobody. A library without hashes (public format) is resolved
once; the answer is this machine's lock.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pbtbench.errors import BuildError, DownloadError, HashMismatchError
from pbtbench.images import pip
from pbtbench.images.wheel import compiled_modules, is_pure
from pbtbench.problems.model import Library, PinnedFile

if TYPE_CHECKING:
    from pathlib import Path

    from pbtbench.images.interpreter import Interpreter
    from pbtbench.images.store import Store

OnStep = Callable[[str], None]

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
        return Sources(self._library_wheel(library), self.wheels(library.requires))

    def sdist(self, library: Library) -> Path:
        """The pinned sdist. Raises BuildError when the library pins none, and like ``sources``."""
        if library.sdist is None:
            raise BuildError(
                "the library pins no sdist to take documentation and tests from", where=library.key
            )
        return self._pinned(library, library.sdist)

    def wheels(self, requirements: Sequence[str]) -> tuple[Path, ...]:
        """The wheels of requirement lines with hashes, in their order."""
        missing = [line for line in requirements if not self._answer(line).exists()]
        if missing:
            self._on_step(f"download {', '.join(_name(line) for line in missing)}")
            with self._store.lock("downloads"), self._store.scratch(need=_ROOM) as folder:
                pip.download_wheels(missing, folder, self._target)
                found = {
                    _canonical(path.name.split("-")[0]): self._keep(path) for path in folder.glob("*.whl")
                }
            for line in missing:
                file = found.get(_canonical(_name(line).split("==")[0]))
                if file is None:
                    raise DownloadError("pip downloaded something else", where=_name(line))
                self._store.write(self._answer_key(line), _to_json(file))
        return tuple(self._kept(_from_json(self._answer(line))) for line in requirements)

    def _library_wheel(self, library: Library) -> Path:
        if library.wheel is not None:
            wheel = self._pinned(library, library.wheel)
            if is_pure(wheel) or library.sdist is None:
                return wheel
        return self._built(self.sdist(library))

    def _pinned(self, library: Library, file: PinnedFile) -> Path:
        path = self._store.path(f"files/{file.sha256}/{file.file}")
        if path.exists():
            return path
        self._on_step(f"download {file.file}")
        requirement = f"{library.name}=={library.version} --hash=sha256:{file.sha256}"
        with self._store.lock(f"downloads-{file.sha256}"), self._store.scratch(need=_ROOM) as folder:
            if file.file.endswith(".whl"):
                pip.download_wheels([requirement], folder, self._target)
            else:
                pip.download_sdist(library.name, requirement, folder)
            kept = [self._keep(got) for got in folder.iterdir()]
        if [pinned.sha256 for pinned in kept] != [file.sha256]:
            raise HashMismatchError("pip downloaded another file than the pinned one", where=file.file)
        if kept[0].file != file.file:
            raise DownloadError(f"the file with this hash is called {kept[0].file}", where=file.file)
        return path

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
                if error.hint is not None:
                    raise
                wheel = self._from_sdist(library, folder)
                pip.download_wheels([str(wheel)], folder, self._target, dependencies=True)
            if compiled_modules(wheel):
                wheel = self._pure_or_same(library, wheel, folder)
            others = [path for path in folder.glob("*.whl") if project_of(path) != _canonical(library.name)]
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

    def _answer_key(self, line: str) -> str:
        question = f"{line}\n{self._target.cache_tag}\n{self._target.platforms}"
        return f"requirements/{hashlib.sha256(question.encode()).hexdigest()}.json"

    def _answer(self, line: str) -> Path:
        return self._store.path(self._answer_key(line))

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


def _canonical(name: str) -> str:
    from packaging.utils import canonicalize_name

    return canonicalize_name(name)


def project_of(wheel: Path) -> str:
    """Canonical project name of a wheel file."""
    return _canonical(wheel.name.split("-")[0])


def _wheel_of(folder: Path, name: str) -> Path:
    return next(path for path in folder.glob("*.whl") if project_of(path) == _canonical(name))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_lock(path: Path, files: Sequence[PinnedFile]) -> None:
    path.write_text(json.dumps([{"file": entry.file, "sha256": entry.sha256} for entry in files], indent=1))


def _to_json(file: PinnedFile) -> bytes:
    return json.dumps({"file": file.file, "sha256": file.sha256}).encode()


def _from_json(path: Path) -> PinnedFile:
    return PinnedFile(**json.loads(path.read_bytes()))
