"""Images for the local sandbox: folders that it mounts over the host's own Python.

``image.json`` says which Python (``python`` major.minor, ``prefix``, ``executable``); ``venv/`` is
what appears as ``/opt/venv``. The library is not in it: an empty file or folder stands for each of
its top-level entries, so that a tree can be mounted there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pbtbench.errors import BuildError
from pbtbench.images import bytecode, site
from pbtbench.images.archive import MTIME
from pbtbench.images.base import BuiltImage
from pbtbench.images.builder import Builder, digest
from pbtbench.images.interpreter import PROBE, Interpreter
from pbtbench.sandbox.base import WORKSPACE, Archive

if TYPE_CHECKING:
    from pbtbench.images.download import OnStep
    from pbtbench.images.store import Store
    from pbtbench.images.wheel import Installed
    from pbtbench.problems.model import Library, Problem

_ROOM = 100_000_000


class LocalImages(Builder):
    """Builds images for the local sandbox over ``base``, a Python executable (default: the one running)."""

    def __init__(self, store: Store, on_step: OnStep, base: str | None = None) -> None:
        super().__init__(store, on_step)
        self._base = base or sys.executable

    @cached_property
    def interpreter(self) -> Interpreter:
        """The base Python of this machine, not the venv that it may be called through."""
        try:
            done = self._python(self._base, PROBE, timeout=30)
        except (OSError, subprocess.SubprocessError) as error:
            raise BuildError(f"this base Python does not run: {error}", where=self._base) from error
        return Interpreter.parse(done, self._base)

    def build_library(self, library: Library) -> BuiltImage:
        """A folder with the venv of ``library``, without the library."""
        ingredients = self._ingredients(library)
        stubs = site.library_files(library, ingredients.sources.wheel)
        key = digest(
            "local",
            self.interpreter.identity,
            self.interpreter.executable,
            [wheel.parent.name for wheel in ingredients.wheels],
            sorted(_mountpoints(stubs)),
        )

        def build(folder: Path) -> None:
            self._on_step(f"build the image of {library.key}")
            self._fill(folder, self._venv(ingredients), _mountpoints(stubs))

        reference = f"images/{library.key}-{key[:12]}"
        built = not self._store.path(reference).exists()
        folder = self._store.folder(reference, build, need=_ROOM)
        return BuiltImage(str(folder), key, self.interpreter.minor, built)

    def _problem_image(
        self, problem: Problem, library: BuiltImage, tree: Path, workspace: Path
    ) -> tuple[BuiltImage, tuple[Archive, ...]]:
        """The library's folder; tree and workspace are unpacked over it at every start."""
        key = digest("local", library.digest, tree.name, workspace.name)
        archives = (
            Archive(tree, self.interpreter.site_packages),
            Archive(workspace, WORKSPACE, writable=True),
        )
        return BuiltImage(library.reference, key, library.python, library.built), archives

    def _compile(self, folder: Path) -> None:
        try:
            self._python(self.interpreter.executable, bytecode.SCRIPT, str(folder), timeout=600)
        except (OSError, subprocess.SubprocessError) as error:
            raise BuildError(f"compiling failed: {error}", where=self.interpreter.executable) from error

    @staticmethod
    def _python(executable: str, script: str, *arguments: str, timeout: float) -> str:
        return subprocess.run(
            [executable, "-I", "-S", "-c", script, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=True,
        ).stdout

    def _fill(self, folder: Path, venv: Installed, mountpoints: dict[str, bool]) -> None:
        python = self.interpreter
        root = folder / "venv"
        packages = root / "lib" / f"python{python.minor}" / "site-packages"
        for path, content in venv.files.items():
            _write(packages / path, content)
        for name, content in venv.scripts.items():
            _write(root / "bin" / name, content).chmod(0o755)
        for name, is_folder in mountpoints.items():
            if (packages / name).exists() and name != "__pycache__":
                raise BuildError(
                    f"{name} comes from the library and from one of its dependencies", where=folder.name
                )
            if is_folder:
                (packages / name).mkdir(parents=True, exist_ok=True)
            else:
                _write(packages / name, b"")
        binaries = root / "bin"
        binaries.mkdir(exist_ok=True)
        (binaries / "python").symlink_to(python.executable)
        (binaries / "python3").symlink_to("python")
        (binaries / f"python{python.minor}").symlink_to("python")
        home = Path(python.executable).parent
        _write(
            root / "pyvenv.cfg",
            f"home = {home}\ninclude-system-site-packages = false\nversion = {python.version}\n".encode(),
        )
        facts = {"python": python.minor, "prefix": python.prefix, "executable": python.executable}
        _write(folder / "image.json", json.dumps(facts).encode())
        for entry in root.rglob("*"):
            os.utime(entry, (MTIME, MTIME), follow_symlinks=False)


def _mountpoints(files: dict[str, bytes]) -> dict[str, bool]:
    """Top-level entry of the library -> whether it is a folder; with the folder of a module's pyc."""
    points = {top: top not in files for top in site.top_level(files)}
    if any(not is_folder and top.endswith(".py") for top, is_folder in points.items()):
        points["__pycache__"] = True
    return points


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
