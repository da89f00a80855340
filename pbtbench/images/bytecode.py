"""Compiling sources for the interpreter of a sandbox, each file once.

A pyc is made by that interpreter itself, with the path it will have inside, and with an unchecked
hash: nothing is ever compiled again in a sandbox, whatever the clock says. Pycs are cached per
(interpreter, path, content), so a file that two trees share is the same in both to the last bit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pbtbench.images.interpreter import Interpreter
    from pbtbench.images.store import Store

SCRIPT = """
import json, os, sys, warnings
from py_compile import PycInvalidationMode, PyCompileError, compile
warnings.simplefilter("ignore")
os.chdir(sys.argv[1])
for source, target, name in json.load(open("jobs.json")):
    try:
        compile(source, target, name, True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    except (PyCompileError, ValueError):
        open(target, "wb").close()
"""
"""Run with ``python -I -c SCRIPT <folder>``. A file that is no valid Python gives an empty pyc."""

Run = Callable[[str, Path], None]
"""Runs a script with the target interpreter on a host folder (read and written)."""


class Bytecode:
    """Adds pycs to files of site-packages."""

    def __init__(self, store: Store, interpreter: Interpreter, run: Run) -> None:
        self._store = store
        self._interpreter = interpreter
        self._run = run

    def pycs(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Path -> content of the pycs of all Python sources among ``files`` (relative to site-packages)."""
        self.compile([files])
        found = {path: self._store.path(key).read_bytes() for path, key in self._keys(files).items()}
        return {self._pyc_path(path): pyc for path, pyc in found.items() if pyc}

    def compile(self, states: Iterable[Mapping[str, bytes]]) -> None:
        """Make the pycs of several states of site-packages at once: one start of the interpreter for all."""
        missing = {
            key: (path, files[path])
            for files in states
            for path, key in self._keys(files).items()
            if not self._store.path(key).exists()
        }
        if not missing:
            return
        with self._store.scratch() as folder:
            jobs = []
            for number, (path, source) in enumerate(missing.values()):
                (folder / f"{number}.py").write_bytes(source)
                jobs.append((f"{number}.py", f"{number}.pyc", f"{self._interpreter.site_packages}/{path}"))
            (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
            self._run(SCRIPT, folder)
            for number, key in enumerate(missing):
                self._store.write(key, (folder / f"{number}.pyc").read_bytes())

    def _keys(self, files: Mapping[str, bytes]) -> dict[str, str]:
        keys = {}
        for path, content in files.items():
            if path.endswith(".py"):
                digest = hashlib.sha256(path.encode() + b"\0" + content).hexdigest()
                keys[path] = f"pyc/{self._interpreter.identity}/{digest[:2]}/{digest}.pyc"
        return keys

    def _pyc_path(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        pyc = f"__pycache__/{name.removesuffix('.py')}.{self._interpreter.cache_tag}.pyc"
        return f"{folder}/{pyc}" if folder else pyc
