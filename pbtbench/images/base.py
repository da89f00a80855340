"""What an image builder promises: from a problem to the specs of the sandboxes that need it."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from pbtbench.sandbox.base import SITE_PACKAGES, Archive, Limits, SandboxSpec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pbtbench.problems.model import Library, Problem
    from pbtbench.problems.tree import Tree

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "PATH": "/opt/venv/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",  # noqa: S108 - a path inside the sandbox
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
    }
)
"""All that a sandbox's processes see of an environment; the same for every tree and for agent and judge."""


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
    agent_archives: tuple[Archive, ...] = ()
    """What is still to be unpacked over ``problem_image`` when the agent's sandbox starts."""

    def agent_spec(self, *, label: str, limits: Limits) -> SandboxSpec:
        """The sandbox that an agent works in."""
        return SandboxSpec(
            image=self.problem_image.reference,
            label=label,
            archives=self.agent_archives,
            env=ENVIRONMENT,
            limits=limits,
        )

    def judge_spec(self, tree: str, *, label: str, limits: Limits) -> SandboxSpec:
        """A sandbox that holds exactly ``tree`` and nothing that tells which tree it is.

        Raises KeyError when the problem has no such tree.
        """
        site_packages = SITE_PACKAGES.format(minor=self.library_image.python)
        return SandboxSpec(
            image=self.library_image.reference,
            label=label,
            archives=(Archive(self.archives[tree], site_packages),),
            env=ENVIRONMENT,
            limits=limits,
        )


class ImageBuilder(Protocol):
    """Builds images for one sandbox backend; all methods do nothing when the result exists."""

    def build_base(self) -> str:
        """What images start from: a Docker tag or the path of a Python. Raises BuildError, DiskFullError."""

    def build_library(self, library: Library) -> BuiltImage:
        """Raises DownloadError, HashMismatchError, BuildError, DiskFullError."""

    def prepare(self, problem: Problem) -> PreparedProblem:
        """Build what is missing and scan what the agent will see. Also raises LeakError, PatchError."""
