"""Images for the local sandbox: folders that it mounts over the host's own Python.

``image.json`` and ``venv/`` are as the local sandbox wants them: made for their places inside, where
the base Python's prefix is ``/usr`` or, when it is any other folder on the host, ``/usr/local``.
The library is not in the venv: a tree is laid over its site-packages when a sandbox starts.
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
from pbtbench.images.archive import MTIME
from pbtbench.images.base import BuiltImage
from pbtbench.images.builder import Builder, digest
from pbtbench.images.interpreter import PROBE, Interpreter
from pbtbench.sandbox.base import WORKSPACE, Archive

if TYPE_CHECKING:
    from collections.abc import Mapping

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

    def build_base(self) -> str:
        """The path of the base Python: nothing has to be built."""
        return self.interpreter.executable

    def build_library(self, library: Library) -> BuiltImage:
        """A folder with the venv of ``library``, without the library."""
        ingredients = self._ingredients(library)
        key = digest(
            "local",
            self.interpreter.identity,
            self.interpreter.executable,
            ingredients.identity,
        )

        def build(folder: Path) -> None:
            self._on_step(f"build the image of {library.key}")
            self._fill(folder, self._venv(ingredients))

        reference = f"images/{library.key}-{key[:12]}"
        built = not self._store.path(reference).exists()
        folder = self._store.folder(reference, build, need=_ROOM)
        return BuiltImage(str(folder), key, self.interpreter.minor, built)

    def _problem_image(
        self,
        problem: Problem,  # noqa: ARG002 - only Docker names images after it
        library: BuiltImage,
        tree: Path,
        workspace: Path,
    ) -> tuple[BuiltImage, tuple[Archive, ...]]:
        """The library's folder; tree and workspace are unpacked over it at every start."""
        key = digest("local", library.digest, tree.name, workspace.name)
        archives = (
            Archive(tree, self.interpreter.site_packages),
            Archive(workspace, WORKSPACE, writable=True),
        )
        return BuiltImage(library.reference, key, library.python, library.built), archives

    def _base_files(self) -> Mapping[str, str]:
        """None: the local sandbox hides every place where the host's Python keeps packages."""
        return {}

    def _run(self, script: str, folder: Path) -> None:
        try:
            self._python(self.interpreter.executable, script, str(folder), timeout=600)
        except (OSError, subprocess.SubprocessError) as error:
            raise BuildError(f"a build step failed: {error}", where=self.interpreter.executable) from error

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

    def _fill(self, folder: Path, venv: Installed) -> None:
        """Write ``image.json`` and ``venv/``; paths in the venv are those inside the sandbox."""
        python = self.interpreter
        prefix, executable = Path(python.prefix), Path(python.executable)
        if not executable.is_relative_to(prefix):
            raise BuildError(f"this Python lies outside of its prefix {prefix}", where=str(executable))
        facts = {
            "python": python.minor,
            "prefix": python.prefix,
            "executable": str(executable.relative_to(prefix)),
        }
        _write(folder / "image.json", json.dumps(facts).encode())
        inside = "/usr" if python.prefix == "/usr" else "/usr/local"

        root = folder / "venv"
        for path, content in venv.files.items():
            _write(root / "lib" / f"python{python.minor}" / "site-packages" / path, content)
        for name, content in venv.scripts.items():
            _write(root / "bin" / name, content).chmod(0o755)
        (root / "bin" / "python").symlink_to(f"{inside}/{facts['executable']}")
        (root / "bin" / "python3").symlink_to("python")
        (root / "bin" / f"python{python.minor}").symlink_to("python")
        settings = {
            "home": f"{inside}/{executable.relative_to(prefix).parent}",
            "include-system-site-packages": "false",
            "version": python.version,
        }
        lines = "".join(f"{key} = {value}\n" for key, value in settings.items())
        _write(root / "pyvenv.cfg", lines.encode())
        for entry in root.rglob("*"):
            os.utime(entry, (MTIME, MTIME), follow_symlinks=False)


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
