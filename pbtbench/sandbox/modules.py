"""Our own code as it is laid into a sandbox: sources, and bytecode for a Python like the host's."""

from __future__ import annotations

import importlib.util
import py_compile
import tempfile
from functools import cache
from pathlib import Path

import pbtbench
from pbtbench.sandbox.layout import MODULES

_PACKAGES = Path(pbtbench.__file__).resolve().parent.parent

_HERE = Path(__file__).parent

INNER = (*sorted(_HERE.joinpath("inner").glob("*.py")), _HERE / "output.py")
"""The sources of ``pbtbench.sandbox.inner`` and what it imports."""


@cache
def lay(source: Path) -> tuple[tuple[str, bytes], ...]:
    """Paths inside and contents that make one file of the package importable from ``MODULES``.

    The bytecode says of itself that it need not be checked against the source; another Python than
    the host's does not look at it.
    """
    inside = Path(MODULES, source.resolve().relative_to(_PACKAGES))
    files = [(str(inside), source.read_bytes())]
    if source.suffix == ".py":
        cached = importlib.util.cache_from_source(str(inside))
        files.append((cached, _compile(source, str(inside))))
    return tuple(files)


def command(module: str) -> str:
    """What to give to ``python -c`` inside to run ``module.main()``."""
    return f"import sys; sys.path.insert(0, {MODULES!r}); import {module} as m; sys.exit(m.main())"


def _compile(source: Path, name: str) -> bytes:
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    with tempfile.TemporaryDirectory() as folder:
        compiled = Path(folder, "module.pyc")
        py_compile.compile(str(source), str(compiled), name, doraise=True, invalidation_mode=unchecked)
        return compiled.read_bytes()
