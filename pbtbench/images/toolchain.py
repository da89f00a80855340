"""The test tools in every sandbox: pinned in ``images/toolchain.txt``, with the hashes of their wheels."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path


def recipe(name: str) -> Path:
    """A file of the top-level ``images`` folder, in a checkout or in the installed package."""
    checkout = Path(__file__).parents[2] / "images"
    if (checkout / name).is_file():
        return checkout / name
    return Path(str(files("pbtbench"))) / "_data" / "images" / name


@cache
def toolchain() -> tuple[str, ...]:
    """Requirement lines of pytest, hypothesis and all that they need."""
    text = recipe("toolchain.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (" ".join(line.split()) for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))
