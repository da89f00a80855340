"""A sandbox that is a dictionary of files, and problems without a library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pbtbench.errors import AnswerError, SandboxDiedError
from pbtbench.images.base import BuiltImage
from pbtbench.problems.model import Bug, Library, Problem
from pbtbench.sandbox.base import Check, CommandResult, SandboxSpec


class FakeSandbox:
    """Files only; ``on_run`` answers commands."""

    name = "fake"

    def __init__(self, on_run: Callable[[Sequence[str]], CommandResult] | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.closed = False
        self._on_run = on_run

    def put(self, path: str, data: bytes) -> None:
        self.files[path] = data

    def get(self, path: str, *, max_bytes: int) -> bytes:
        data = self.files.get(path)
        if data is None:
            raise AnswerError("no such file", where=path)
        if len(data) > max_bytes:
            raise AnswerError("too large", where=path)
        return data

    def run(self, argv, *, timeout, stdin=b"", cwd=None, env=None) -> CommandResult:
        assert self._on_run is not None
        return self._on_run(argv)

    def open(self, argv, *, cwd=None, env=None):
        raise SandboxDiedError("no channels here")

    def alive(self) -> bool:
        return not self.closed

    def close(self) -> None:
        self.closed = True


class FakeBackend:
    name = "local"

    def __init__(self) -> None:
        self.started: list[FakeSandbox] = []
        self.swept = 0

    def check(self) -> list[Check]:
        return [Check("namespaces", ok=True, detail="available")]

    def start(self, spec: SandboxSpec) -> FakeSandbox:
        self.started.append(FakeSandbox())
        return self.started[-1]

    def sweep(self, label: str | None = None, *, dry_run: bool = False) -> list[str]:
        self.swept += 1
        return []


class FakePrepared:
    """What a builder gives back."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.problem_image = BuiltImage("image", f"digest-{problem.id}", "3.13", built=True)
        self.library_image = self.problem_image

    def agent_spec(self, *, label, limits) -> SandboxSpec:
        return SandboxSpec(image="image", label=label, limits=limits)


class FakeBuilder:
    def __init__(self) -> None:
        self.prepared: list[str] = []

    def build_library(self, library: Library) -> BuiltImage:
        return BuiltImage(library.key, "digest", "3.13", built=False)

    def prepare(self, problem: Problem) -> FakePrepared:
        self.prepared.append(problem.id)
        return FakePrepared(problem)


def make_problem(id_: str = "DEMO-001", *, reference: Path | None = None, bugs: int = 2) -> Problem:
    """A problem with ``bugs`` bugs, L1 then L2."""
    return Problem(
        id=id_,
        library=Library(name="demo-lib", version="1.2", module="demo_lib"),
        bugs=tuple(
            Bug(id=f"bug_{n}", difficulty=("L1", "L2", "L3")[n % 3 - 1], description="d", patch_text=b"patch")
            for n in range(1, bugs + 1)
        ),
        folder=Path("/nowhere"),
        reference=reference,
    )
