"""Hypothesis' tables of Unicode, made once per image instead of once per process.

Hypothesis computes which characters belong to which category, or can be encoded, at the first use of
text, and keeps the answer in a storage folder. A sandbox starts with an empty one, and the computation
takes longer than most tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pbtbench.errors import BuildError
from pbtbench.images.bytecode import Run
from pbtbench.images.wheel import install

if TYPE_CHECKING:
    from pbtbench.images.interpreter import Interpreter
    from pbtbench.images.store import Store

FOLDER = "hypothesis_storage"
"""In site-packages; what Hypothesis calls its storage directory."""

SCRIPT = """
import os, sys
folder = sys.argv[1]
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder + "/storage"
sys.path.insert(0, folder + "/site")
from hypothesis.internal import charmap
charmap.charmap()
charmap.intervals_from_codec("utf-8")
"""
"""Run with the target interpreter (``-I -S``) on a folder that holds ``site/`` with Hypothesis in it."""


def unicode_tables(
    wheels: Mapping[str, Path], store: Store, interpreter: Interpreter, run: Run
) -> dict[str, bytes]:
    """The tables as files of site-packages. ``wheels``: by project, with ``hypothesis`` among them."""
    needed = [wheels[name] for name in ("hypothesis", "sortedcontainers") if name in wheels]
    if len(needed) < 2:  # the library is sortedcontainers itself: its sandboxes compute the tables
        return {}
    key = f"unicode/{interpreter.identity}/{needed[0].parent.name[:16]}"

    def make(folder: Path) -> None:
        with store.scratch() as scratch:
            for wheel in needed:
                for path, content in install(wheel).files.items():
                    target = scratch / "site" / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
            (scratch / "storage").mkdir()
            run(SCRIPT, scratch)
            tables = list((scratch / "storage").rglob("*.gz"))
            if not tables:
                raise BuildError("Hypothesis stored no tables of Unicode", where=needed[0].name)
            for table in tables:
                target = folder / table.relative_to(scratch / "storage")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(table.read_bytes())

    folder = store.folder(key, make)
    return {
        f"{FOLDER}/{table.relative_to(folder).as_posix()}": table.read_bytes()
        for table in sorted(folder.rglob("*.gz"))
    }
