"""Trees: the states of a library's source that verdicts compare.

``clean`` (no bug), ``buggy`` (all bugs), ``fixed:<bug>`` (buggy with one bug reversed) and
``only:<bug>`` (clean with one bug) are built by content from the files of the clean library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BUGGY = "buggy"
CLEAN = "clean"


def fixed(bug_id: str) -> str:
    """Name of the tree in which only ``bug_id`` is reversed."""
    return f"fixed:{bug_id}"


def only(bug_id: str) -> str:
    """Name of the tree in which ``bug_id`` is the only bug."""
    return f"only:{bug_id}"


@dataclass(frozen=True)
class Tree:
    """One state of the library: every file of site-packages that belongs to it, by content."""

    name: str
    files: Mapping[str, bytes]
    """POSIX path relative to site-packages -> content."""
    hash: str
    """sha256 over the sorted (path, content) pairs, hex."""
