"""The plan of a run: which trials it consists of, and what makes it the same run as before."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pbtbench.agents import needs_model
from pbtbench.agents.prompts import prompt_digest
from pbtbench.errors import ConfigurationError
from pbtbench.problems.model import Problem
from pbtbench.runs.config import RunConfig
from pbtbench.runs.trial import Cell, TrialKey

DEFAULT_LLM_AGENT = "openhands"


@dataclass(frozen=True)
class Plan:
    """All trials of a run."""

    config: RunConfig
    problems: tuple[Problem, ...]
    cells: tuple[Cell, ...]
    sandbox: str
    """The backend chosen: ``docker`` or ``local``."""

    @property
    def trials(self) -> tuple[TrialKey, ...]:
        """Every trial; one repeat of everything comes before the next."""
        repeats = range(1, self.config.repeats + 1)
        return tuple(
            TrialKey(problem.id, cell, repeat)
            for repeat, problem, cell in itertools.product(repeats, self.problems, self.cells)
        )

    @property
    def identity(self) -> dict[str, Any]:
        """Every setting that can change a result, and a digest of every problem and prompt."""
        config = self.config
        settings = config.model_dump(
            mode="json",
            include={"repeats", "base", "answers", "seeds", "full", "max_tool_calls", "time_limit"},
        )
        return {
            "cells": [cell.title for cell in self.cells],
            "sandbox": self.sandbox,
            **settings,
            **{f"prompt {mode}": prompt_digest(mode) for mode in config.mode},
            **{f"problem {problem.id}": problem_digest(problem) for problem in self.problems},
        }


def plan_cells(config: RunConfig) -> tuple[Cell, ...]:
    """The cells that agents, models and modes span.

    Agents that need a model are combined with every model, the others stand alone. Models without such
    an agent go to OpenHands. Raises ConfigurationError for combinations that make no sense.
    """
    agents = config.agent or ((DEFAULT_LLM_AGENT,) if config.model else ())
    if not agents:
        raise ConfigurationError("nothing to run", hint="Name a model (-m) or an agent (-a)")
    pairs: list[tuple[str, str | None]] = []
    for agent in agents:
        if not needs_model(agent):
            pairs.append((agent, None))
        elif config.model:
            pairs += [(agent, model) for model in config.model]
        else:
            raise ConfigurationError(f"the agent {agent} needs a model", hint="Name one with -m")
    if config.model and not any(model for _, model in pairs):
        raise ConfigurationError(
            f"none of the agents ({', '.join(agents)}) uses a model", hint="Leave out -m"
        )
    return tuple(Cell(agent, model, mode) for (agent, model), mode in itertools.product(pairs, config.mode))


def problem_digest(problem: Problem) -> str:
    """Short hash of all that a problem says: its fields, patches and reference tests."""
    digest = hashlib.sha256(json.dumps(problem.model_dump(mode="json"), sort_keys=True, default=str).encode())
    parts = [bug.patch_text for bug in problem.bugs]
    parts += [text for _, text in problem.lib_patches]
    if problem.reference is not None and problem.reference.is_file():
        parts.append(problem.reference.read_bytes())
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def fingerprint(identity: Mapping[str, Any]) -> str:
    """One hash for a whole identity."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def differences(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> Sequence[str]:
    """Key by key what changed, in words."""
    missing = "(none)"
    return [
        f"{key}: was {_show(stored.get(key, missing))}, now {_show(wanted.get(key, missing))}"
        for key in dict.fromkeys((*stored, *wanted))
        if stored.get(key, missing) != wanted.get(key, missing)
    ]


def _show(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
