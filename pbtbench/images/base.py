"""What an image builder promises: from a problem to the specs of the sandboxes that need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pbtbench.problems.model import Library, Problem
from pbtbench.problems.tree import Tree
from pbtbench.sandbox.base import Limits, SandboxSpec


@dataclass(frozen=True)
class BuiltImage:
    """One image that exists now. ``built`` is False when it was there already."""

    reference: str
    """Docker tag or local folder, content-addressed."""
    digest: str
    """Hex digest of everything that went in; recorded in every trial."""
    python: str
    """``major.minor`` of the interpreter inside."""
    built: bool


@dataclass(frozen=True)
class PreparedProblem:
    """A problem with its images built and its trees at hand."""

    problem: Problem
    trees: Mapping[str, Tree]
    """Every tree of the problem by name (see ``problems.tree``)."""
    archives: Mapping[str, Path]
    """Tree name -> tar of that tree (sources and pycs) for site-packages."""
    library_image: BuiltImage
    """Dependencies and the pinned pytest and hypothesis, without the library."""
    problem_image: BuiltImage
    """What the agent sees: library image, buggy tree, documentation, upstream tests."""

    def agent_spec(self, *, label: str, limits: Limits) -> SandboxSpec:
        """The sandbox that an agent works in."""
        raise NotImplementedError

    def judge_spec(self, tree: str, *, label: str, limits: Limits) -> SandboxSpec:
        """A sandbox that holds exactly ``tree`` and nothing that tells which tree it is."""
        raise NotImplementedError


class ImageBuilder(Protocol):
    """Builds images for one sandbox backend; all methods do nothing when the result exists."""

    def build_library(self, library: Library) -> BuiltImage:
        """Raises DownloadError, HashMismatchError, BuildError, DiskFullError."""

    def prepare(self, problem: Problem) -> PreparedProblem:
        """Build what is missing, run the leak scan on the problem image. Also raises LeakError, PatchError."""
