"""What a library, a bug and a problem are (pure data; reading them from files is ``load``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

Level = Literal["L1", "L2", "L3"]
LEVELS: tuple[Level, ...] = ("L1", "L2", "L3")

Domain = Literal[
    "serialization",
    "data-structures",
    "date-time",
    "validation",
    "numerics",
    "protocols",
    "parsing",
]

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", coerce_numbers_to_str=True, populate_by_name=True)


class PinnedFile(_Document):
    """A file of the package index, pinned by content."""

    file: str
    sha256: Sha256


class UpstreamTests(_Document):
    """How the library's own test suite runs (paths are relative to the sdist's top folder)."""

    paths: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    args: tuple[str, ...] = ()


class Library(_Document):
    """A PyPI package pinned by version and content.

    ``sdist`` and ``wheel`` are ``None`` only for problems in the public format, which pin a version
    and nothing else: the first download then fixes the hash for this machine's cache.
    ``requires`` holds every run-time dependency (also indirect ones) as pip requirement lines with
    hashes; ``None`` means "resolve it from the index" (public format).
    """

    name: str
    version: str
    module: str
    domain: str = ""
    licence: str = ""
    sdist: PinnedFile | None = None
    wheel: PinnedFile | None = None
    requires: tuple[str, ...] | None = ()
    docs: tuple[str, ...] = ()
    tests: UpstreamTests = UpstreamTests()

    @property
    def key(self) -> str:
        """``name-version``: what an image of this library is called."""
        return f"{self.name}-{self.version}"


class Contract(_Document):
    """The documented promise that a bug breaks: file and heading in the documentation given."""

    file: str
    heading: str
    text: str


class Bug(_Document):
    """One injected bug; its patch is ``patch_text``, the unified diff that puts it in."""

    id: str
    difficulty: Level
    description: str
    bug_location: str = ""
    contract: Contract | None = None
    trigger_condition: str = Field(default="", validation_alias=AliasChoices("trigger", "trigger_condition"))
    ground_truth_strategy: str = ""
    tags: tuple[str, ...] = ()
    patch_text: bytes = Field(exclude=True, repr=False)


class Problem(_Document):
    """One library with bugs, its documentation and the reference tests that find them all."""

    id: str
    library: Library
    category: str = ""
    difficulty: Level | None = None
    title: str = ""
    description: str = ""
    scope: tuple[str, ...] = ()
    bugs: tuple[Bug, ...]
    folder: Path = Field(exclude=True, repr=False)
    published: bool = False
    """Written in the public PBT-Bench format; False: in our own, stricter one."""
    lib_patches: tuple[tuple[str, bytes], ...] = Field(default=(), exclude=True, repr=False)
    """(name, text) of upstream fixes that go on the clean and the buggy tree alike."""
    vendored_docs: tuple[Path, ...] | None = Field(default=None, exclude=True, repr=False)
    """Documentation files and folders beside the problem (public format); None: taken from the sdist."""
    vendored_tests: tuple[Path, ...] | None = Field(default=None, exclude=True, repr=False)
    """The same for the upstream tests; ``()`` means that the agent is shown none."""
    reference: Path | None = Field(default=None, exclude=True, repr=False)
    """The reference ``pbt_test.py``."""
    extra: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)
    """Fields of ``problem.yaml`` that pbtbench does not read; kept, never refused."""

    @property
    def bug_ids(self) -> tuple[str, ...]:
        """Ids in file order."""
        return tuple(bug.id for bug in self.bugs)
