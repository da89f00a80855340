"""The clean library as it lies in site-packages: the files that every tree of a problem starts from."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pbtbench.errors import BuildError, ProblemError
from pbtbench.images.wheel import install, is_extension

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pbtbench.problems.model import Library, Problem

_TEST_FOLDERS = frozenset({"test", "tests"})


def library_files(library: Library, wheel: Path, *, with_tests: bool = True) -> dict[str, bytes]:
    """What the wheel puts in site-packages, without the library's own tests.

    Of a suite that lies inside the package (``library.tests.paths``) the test modules are left out: the
    agent gets them as ``existing_tests``. Its other files stay, for suites import them by the package's
    name. Without ``with_tests`` everything that looks like a test goes.
    Raises BuildError when the wheel is malformed or does not hold ``library.module``.
    """
    files = install(wheel).files
    packaged = set(_packaged_tests(library.tests.paths, files))
    kept = {
        path: content
        for path, content in files.items()
        if not (_is_test_module(path) and _below(path, packaged))
        and (with_tests or not _looks_like_test(path))
    }
    if not any(
        top in kept or _below(path, {top.removesuffix(".py")}) for top in _roots(library) for path in kept
    ):
        raise BuildError(f"the wheel does not hold the module {library.module}", where=wheel.name)
    return kept


def top_level(files: Iterable[str]) -> tuple[str, ...]:
    """First path components: what appears directly in site-packages, sorted."""
    return tuple(sorted({path.split("/")[0] for path in files}))


def packages(files: Iterable[str]) -> tuple[str, ...]:
    """Top-level packages and modules of the library, as entries of site-packages (no ``dist-info``)."""
    return tuple(
        top
        for top in top_level(files)
        if not top.endswith((".dist-info", ".data", ".pth", ".so", ".pyd")) and top != "__pycache__"
    )


def refuse_shadowed(problem: Problem, files: Mapping[str, bytes]) -> None:
    """Raise ProblemError when a compiled module hides one that is patched: the bug would never run."""
    compiled = {path.split(".")[0] for path in files if is_extension(path)}
    if not compiled:
        return
    for bug in problem.bugs:
        for line in bug.patch_text.splitlines():
            if line.startswith(b"+++ b/"):
                path = line[6:].split(b"\t")[0].decode("utf-8", "replace")
                if path.removesuffix(".py") in compiled:
                    raise ProblemError(
                        f"{bug.id} changes {path}, but the library runs a compiled module in its place",
                        where=problem.id,
                        hint="Only a library that can be built without its compiled parts can carry this bug",
                    )


def _roots(library: Library) -> tuple[str, str]:
    base = library.module.split(".")[0]
    return base, f"{base}.py"


def _packaged_tests(paths: Iterable[str], files: Iterable[str]) -> Iterable[str]:
    """The parts of the upstream suite (paths in the sdist) that also lie in the installed package."""
    for path in paths:
        parts = PurePosixPath(path).parts
        for inside in (parts, parts[1:]):  # the package at the top of the sdist, or below src/
            if len(inside) > 1 and any(_below(file, {"/".join(inside)}) for file in files):
                suite = next(
                    (at for at, part in enumerate(inside) if at and part in _TEST_FOLDERS), len(inside)
                )
                yield "/".join(inside[: suite + 1])


def _below(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _is_test_module(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def _looks_like_test(path: str) -> bool:
    return _is_test_module(path) or any(folder in _TEST_FOLDERS for folder in path.split("/")[1:-1])
