"""The top-level ``images`` folder: Dockerfiles, the offline base's script, the pinned test tools."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

_CHECKOUT = Path(__file__).parents[2] / "images"


def recipe(name: str) -> Path:
    """A file of the folder, in a checkout or in the installed package."""
    checkout = _CHECKOUT / name
    return checkout if checkout.is_file() else Path(str(files("pbtbench"))) / "_data" / "images" / name


@cache
def recipe_text(name: str) -> str:
    """Content of such a file."""
    return recipe(name).read_text(encoding="utf-8")


@cache
def toolchain() -> tuple[str, ...]:
    """Requirement lines of pytest, hypothesis and all that they need, with the hashes of their wheels."""
    lines = recipe_text("toolchain.txt").replace("\\\n", " ").splitlines()
    return tuple(" ".join(line.split()) for line in lines if line and not line.startswith("#"))
