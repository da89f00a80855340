"""The steps that every backend's builder shares; ``local`` and ``docker`` add how an image is made."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pbtbench.images import docs, leaks, site
from pbtbench.images.archive import read_tar, write_tar
from pbtbench.images.base import BuiltImage, PreparedProblem
from pbtbench.images.bytecode import Bytecode
from pbtbench.images.download import Downloads, OnStep, Sources, project_of
from pbtbench.images.hints import without_hints
from pbtbench.images.recipes import toolchain
from pbtbench.images.tables import unicode_tables
from pbtbench.images.wheel import Installed, install
from pbtbench.problems.tree import BUGGY, Tree
from pbtbench.problems.trees import build_trees
from pbtbench.sandbox.base import WORKSPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pbtbench.images.interpreter import Interpreter
    from pbtbench.images.store import Store
    from pbtbench.problems.model import Library, Problem
    from pbtbench.sandbox.base import Archive

RECIPE = 3
"""Goes into every key: raise it when the same inputs give other images than before."""

USER = 1000
"""uid and gid of the sandbox user."""


def digest(*parts: object) -> str:
    """Hex sha256 over JSON of ``parts``."""
    return hashlib.sha256(json.dumps([RECIPE, *parts], sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Ingredients:
    """The wheels of one library image."""

    sources: Sources
    wheels: tuple[Path, ...]
    """Toolchain, run-time dependencies and test dependencies; never the library itself."""

    @property
    def identity(self) -> list[str]:
        """Hashes of the wheels."""
        return [wheel.parent.name for wheel in self.wheels]


class Builder(ABC):
    """An ``ImageBuilder``; subclasses say what the base is, how to run its Python, how to make an image."""

    def __init__(self, store: Store, on_step: OnStep) -> None:
        store.hold()
        self._store = store
        self._on_step = on_step

    @property
    @abstractmethod
    def interpreter(self) -> Interpreter:
        """The Python inside the images."""

    @abstractmethod
    def build_base(self) -> str:
        """See ``ImageBuilder``."""

    @abstractmethod
    def build_library(self, library: Library) -> BuiltImage:
        """See ``ImageBuilder``."""

    @abstractmethod
    def _run(self, script: str, folder: Path) -> None:
        """Run ``script`` with the base's Python (``-I -S``) on a host folder, which it may change.

        Raises BuildError.
        """

    @abstractmethod
    def _problem_image(
        self, problem: Problem, library: BuiltImage, tree: Path, workspace: Path
    ) -> tuple[BuiltImage, tuple[Archive, ...]]:
        """The agent's image, and the archives that are still to be unpacked over it."""

    def prepare(self, problem: Problem) -> PreparedProblem:
        """See ``ImageBuilder``."""
        if problem.published:
            problem = without_hints(problem)
        ingredients = self._ingredients(problem.library)
        clean = site.library_files(
            problem.library, ingredients.sources.wheel, with_tests=problem.vendored_tests != ()
        )
        site.refuse_shadowed(problem, clean)
        trees = build_trees(clean, problem)
        archives = self._tree_archives(problem, trees)
        workspace = self._workspace(problem, trees[BUGGY])
        self._scan(problem, ingredients, trees, archives[BUGGY], workspace)
        library = self.build_library(problem.library)
        image, agent_archives = self._problem_image(problem, library, archives[BUGGY], workspace)
        return PreparedProblem(problem, trees, archives, library, image, agent_archives)

    @cached_property
    def _downloads(self) -> Downloads:
        return Downloads(self._store, self.interpreter, self._on_step)

    @cached_property
    def _bytecode(self) -> Bytecode:
        return Bytecode(self._store, self.interpreter, self._run)

    def _ingredients(self, library: Library) -> Ingredients:
        sources = self._downloads.sources(library)
        chosen = {project_of(path): path for path in self._downloads.wheels(library.tests.requires)}
        chosen |= {project_of(path): path for path in self._downloads.wheels(toolchain())}
        chosen |= {project_of(path): path for path in sources.requires}
        chosen.pop(project_of(sources.wheel), None)
        return Ingredients(sources, tuple(chosen[name] for name in sorted(chosen)))

    def _venv(self, ingredients: Ingredients) -> Installed:
        """Everything in the venv but the library, with pycs."""
        venv = Installed()
        for wheel in ingredients.wheels:
            part = install(wheel)
            venv.files.update(part.files)
            venv.scripts.update(part.scripts)
        wheels = {project_of(wheel): wheel for wheel in ingredients.wheels}
        venv.files.update(unicode_tables(wheels, self._store, self.interpreter, self._run))
        venv.files.update(self._bytecode.pycs(venv.files))
        return venv

    def _tree_archives(self, problem: Problem, trees: Mapping[str, Tree]) -> dict[str, Path]:
        keys = {name: f"trees/{self.interpreter.identity}/{tree.hash}.tar" for name, tree in trees.items()}
        missing = [trees[name] for name, key in keys.items() if not self._store.path(key).exists()]
        if missing:
            self._on_step(f"{problem.id}: compile {len(missing)} trees")
            self._bytecode.compile([tree.files for tree in missing])
        return {name: self._store.file(key, self._tree_writer(trees[name])) for name, key in keys.items()}

    def _tree_writer(self, tree: Tree) -> Callable[[Path], None]:
        return lambda path: write_tar(path, {**tree.files, **self._bytecode.pycs(tree.files)})

    def _scan(
        self,
        problem: Problem,
        ingredients: Ingredients,
        trees: Mapping[str, Tree],
        tree: Path,
        workspace: Path,
    ) -> None:
        """The leak scan; what passed once is not scanned again. Raises LeakError."""
        reference = problem.reference.read_bytes() if problem.reference else b""
        key = digest(
            leaks.VERSION,
            self.build_base(),
            self.interpreter.identity,
            ingredients.identity,
            {name: tree.hash for name, tree in trees.items()},
            workspace.name,
            [
                hashlib.sha256(text).hexdigest()
                for text in (reference, *(bug.patch_text for bug in problem.bugs))
            ],
        )

        def check(passed: Path) -> None:
            self._on_step(f"{problem.id}: leak scan")
            place = self.interpreter.site_packages
            below = dict(self._base_files())
            for path, data in self._venv(ingredients).files.items():
                below[hashlib.sha256(data).hexdigest()] = f"{place}/{path}"
            files = {f"{place}/{path}": data for path, data in read_tar(tree).items()}
            files |= {f"{WORKSPACE}/{path}": data for path, data in read_tar(workspace).items()}
            leaks.refuse(problem, leaks.scan(problem, trees, files, below, place))
            passed.touch()

        self._store.file(f"scans/{key}", check)

    @abstractmethod
    def _base_files(self) -> Mapping[str, str]:
        """sha256 -> path of the files below the library image that a sandbox can read."""

    def _workspace(self, problem: Problem, buggy: Tree) -> Path:
        """The tar for ``/workspace``; its key holds what decides its content, not the content itself."""
        library = problem.library
        vendored = docs.vendored(problem)
        links = site.packages(buggy.files)
        sdist = None if vendored.complete else self._downloads.sdist(library)
        key = digest(
            self.interpreter.minor,
            links,
            {path: hashlib.sha256(content).hexdigest() for path, content in vendored.files.items()},
            None if sdist is None else [sdist.parent.name, library.docs, library.tests.paths],
        )

        def write(path: Path) -> None:
            content = docs.workspace(library, vendored, sdist)
            pointers = {f"{docs.LIBRARY}/{top}": f"{self.interpreter.site_packages}/{top}" for top in links}
            write_tar(path, content, links=pointers, owner=USER)

        return self._store.file(f"workspaces/{key}.tar", write)
