"""What the agent finds in ``/workspace``: documentation, the upstream tests, and a link to the library.

Both come from the pinned sdist (globs of ``library.yaml``), or, in the public format, from files
beside the problem.
"""

from __future__ import annotations

import re
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pbtbench.errors import BuildError, ProblemError
from pbtbench.images.hints import scrubbed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pbtbench.problems.model import Library, Problem

DOCS = "docs"
TESTS = "existing_tests"
LIBRARY = "lib"

_CAP = 200_000_000
_JUNK = frozenset({"__pycache__", ".git", ".hypothesis", ".pytest_cache"})


@dataclass(frozen=True)
class Vendored:
    """What a problem brings along itself, by workspace path."""

    files: Mapping[str, bytes]
    docs: bool
    tests: bool

    @property
    def complete(self) -> bool:
        """Whether the sdist is not needed."""
        return self.docs and self.tests


def vendored(problem: Problem) -> Vendored:
    """Read the files beside a problem. Raises ProblemError when one is missing or leads outside."""
    files: dict[str, bytes] = {}
    _add(files, DOCS, _read_beside(problem, problem.vendored_docs or ()))
    _add(files, TESTS, _read_beside(problem, problem.vendored_tests or ()))
    if problem.published:
        files = {path: scrubbed(text) if path.endswith(".py") else text for path, text in files.items()}
    return Vendored(files, problem.vendored_docs is not None, problem.vendored_tests is not None)


def workspace(library: Library, own: Vendored, sdist: Path | None) -> dict[str, bytes]:
    """The files of ``/workspace`` before the agent starts, by path relative to it.

    Raises BuildError for an sdist that cannot be read or leads outside of its folder, ProblemError when
    a glob or path names nothing.
    """
    gathered = dict(own.files)
    source = read_sdist(sdist) if sdist else {}
    if not own.docs:
        _add(gathered, DOCS, _select_docs(library, source))
    if not own.tests:
        _add(gathered, TESTS, _select_tests(library, source))
    return gathered


def read_sdist(path: Path) -> dict[str, bytes]:
    """Regular files of an sdist, relative to its top folder; links are left out."""
    try:
        members = dict(_zip_members(path) if path.suffix == ".zip" else _tar_members(path))
    except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError) as error:
        raise BuildError(f"the sdist cannot be read: {error}", where=path.name) from error
    return {name.partition("/")[2]: content for name, content in members.items() if "/" in name}


def _tar_members(path: Path) -> Iterator[tuple[str, bytes]]:
    left = _CAP
    with tarfile.open(path) as tar:
        for member in tar:
            if not member.isfile():
                continue
            left -= member.size
            file = tar.extractfile(member) if left >= 0 else None
            if file is None:
                raise BuildError(f"the sdist unpacks to more than {_CAP:,} bytes", where=path.name)
            yield _inside(member.name, path), file.read()


def _zip_members(path: Path) -> Iterator[tuple[str, bytes]]:
    left = _CAP
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            left -= member.file_size
            if left < 0:
                raise BuildError(f"the sdist unpacks to more than {_CAP:,} bytes", where=path.name)
            if not member.is_dir():
                yield _inside(member.filename, path), archive.read(member)


def _inside(name: str, path: Path) -> str:
    """A member name that stays inside the top folder, without ``.`` components."""
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or "\\" in name:
        raise BuildError(f"the sdist has a path that leads outside: {name}", where=path.name)
    return str(pure)


def _select_docs(library: Library, source: Mapping[str, bytes]) -> dict[str, bytes]:
    chosen = {}
    for pattern in library.docs:
        found = [path for path in source if _matches(path, pattern)]
        if not found:
            raise ProblemError(f"docs: {pattern!r} matches nothing in the sdist", where=library.key)
        chosen.update({path: source[path] for path in found})
    return chosen


def _matches(path: str, pattern: str) -> bool:
    """Glob over whole paths: ``**`` stands for any folders, ``*`` and ``?`` stay inside one name."""
    parts = [
        r"(?:[^/]+/)*"
        if part == "**"
        else re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") + "/"
        for part in pattern.split("/")
    ]
    return re.fullmatch("".join(parts), f"{path}/") is not None


def _select_tests(library: Library, source: Mapping[str, bytes]) -> dict[str, bytes]:
    chosen = {}
    for wanted in library.tests.paths:
        path = wanted.rstrip("/")
        found = {name: text for name, text in source.items() if name == path or name.startswith(f"{path}/")}
        if not found:
            raise ProblemError(f"tests.paths: {wanted!r} is not in the sdist", where=library.key)
        chosen.update(found)
    return chosen


def _read_beside(problem: Problem, paths: Iterable[Path]) -> dict[str, bytes]:
    """Files and folders beside the problem, by their path relative to it."""
    root = problem.folder.resolve()
    chosen = {}
    for entry in paths:
        path = entry if entry.is_absolute() else problem.folder / entry
        if not path.resolve().is_relative_to(root):
            raise ProblemError(f"{entry} leads outside of the problem's folder", where=problem.id)
        if not path.exists():
            raise ProblemError(f"{entry} does not exist", where=problem.id)
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.resolve().is_relative_to(root):
                chosen[file.relative_to(problem.folder).as_posix()] = file.read_bytes()
    return chosen


def _add(gathered: dict[str, bytes], folder: str, files: Mapping[str, bytes]) -> None:
    """Put files below ``folder``; a leading folder of that name is not repeated unless names would clash."""
    for path in sorted(files):
        if _JUNK.intersection(path.split("/")):
            continue
        short = f"{folder}/{path.removeprefix(f'{folder}/')}"
        gathered[
            short if short not in gathered else f"{folder}/{folder}/{path.removeprefix(f'{folder}/')}"
        ] = files[path]
