"""The run folder: opened by one process at a time, and only for the run it was started as."""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import platform
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pbtbench
from pbtbench.errors import ConfigurationError, SelectionError
from pbtbench.problems.model import Level
from pbtbench.runs.config import RunConfig
from pbtbench.runs.files import read_json, write_json
from pbtbench.runs.journal import now
from pbtbench.runs.paths import RunPaths, TrialPaths
from pbtbench.runs.plan import Plan, differences, fingerprint
from pbtbench.runs.trial import Cell, TrialKey

SCHEMA = 1
_RECORDED = ("hypothesis", "pytest", "docker", "numpy")


class RunFolder:
    """A run on disk: its description (``run.json``) and its paths."""

    def __init__(self, root: Path, document: Mapping[str, Any]) -> None:
        self.paths = RunPaths(root)
        self._document = dict(document)

    @property
    def label(self) -> str:
        """The run's id: what sandboxes carry that are started for it."""
        return str(self._document["label"])

    @property
    def config(self) -> RunConfig:
        """The configuration the run was started with."""
        return RunConfig.model_validate(self._document["config"])

    @property
    def sandbox(self) -> str:
        """The backend it was started with."""
        return str(self._document["identity"]["sandbox"])

    @property
    def planned(self) -> tuple[TrialKey, ...]:
        """Every trial of the run, done or not."""
        cells = [Cell(**cell) for cell in self._document["cells"]]
        repeats = range(1, self._document["identity"]["repeats"] + 1)
        return tuple(
            TrialKey(problem, cell, repeat)
            for repeat in repeats
            for problem in self._document["problems"]
            for cell in cells
        )

    def levels(self, problem: str) -> dict[str, Level]:
        """Bug id -> level of one problem."""
        return dict(self._document["problems"][problem])

    def trial(self, key: TrialKey) -> TrialPaths:
        """Paths of one trial."""
        return self.paths.trial(key.name)

    def record_images(self, digests: Mapping[str, str]) -> None:
        """Add digests of problem images to ``run.json``."""
        images = {**self._document.get("images", {}), **digests}
        if images != self._document.get("images"):
            self._document["images"] = images
            write_json(self.paths.run_json, self._document)

    def refuse_other(self, identity: Mapping[str, Any]) -> None:
        """Raise ConfigurationError with every difference unless the run was started with ``identity``."""
        changed = differences(self._document["identity"], identity)
        if changed:
            lines = "".join(f"\n  {line}" for line in changed)
            raise ConfigurationError(
                f"this folder holds a run with another configuration{lines}\n"
                "Give another folder with -o, or the old settings to resume",
                where=str(self.paths.root),
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out. Raises ConfigurationError when one is in already."""
        with self.paths.lock.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ConfigurationError(
                    "another pbtbench process is working in this folder",
                    where=str(self.paths.root),
                    hint="Wait for it, or give another folder with -o",
                ) from error
            yield


def start_or_resume(root: Path, plan: Plan) -> RunFolder:
    """Create the folder for ``plan``, or open the one that was started for the very same plan.

    Raises ConfigurationError with every difference when it was started for another one.
    """
    paths = RunPaths(root)
    identity = plan.identity
    if not paths.run_json.exists():
        if root.is_dir() and any(root.iterdir()):
            raise ConfigurationError(
                "is not empty and holds no run", where=str(root), hint="Give another folder with -o"
            )
        write_json(paths.run_json, _describe(plan, identity))
    folder = open_run(root)
    folder.refuse_other(identity)
    return folder


def open_run(root: Path) -> RunFolder:
    """Open an existing run. Raises SelectionError when there is none, ConfigurationError when damaged."""
    try:
        document = read_json(RunPaths(root).run_json, schema=SCHEMA)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SelectionError("no run here (no run.json)", where=str(root)) from error
    return RunFolder(root, document)


def default_root(plan: Plan) -> Path:
    """``runs/<utc time>-<cells>`` in the current folder."""
    stamp = now()[:19].replace(":", "").replace("-", "").replace("T", "-")
    cells = "+".join(cell.name for cell in plan.cells)
    return Path("runs") / f"{stamp}-{cells[:80]}"


def _describe(plan: Plan, identity: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "label": secrets.token_hex(6),
        "created": now(),
        "fingerprint": fingerprint(identity),
        "config": plan.config.model_dump(mode="json"),
        "identity": dict(identity),
        "problems": {
            problem.id: {bug.id: bug.difficulty for bug in problem.bugs} for problem in plan.problems
        },
        "cells": [vars(cell) for cell in plan.cells],
        "versions": {"pbtbench": pbtbench.__version__, **_versions()},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
    }


def _versions() -> dict[str, str]:
    installed = {}
    for name in _RECORDED:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed
