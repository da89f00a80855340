"""A trial: one (problem, agent, model, mode, repeat), and the document that says how far it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pbtbench.agents.base import End, Mode
from pbtbench.runs.files import read_json, write_json
from pbtbench.runs.paths import TrialPaths

SCHEMA = 1

State = Literal["answered", "done", "infra_error"]
"""``answered``: the agent is done and its answer stored, judging is left; ``infra_error``: to be tried
again. A trial without a document has not got that far."""


@dataclass(frozen=True, order=True)
class Cell:
    """What is compared: an agent, its model if it needs one, and the mode."""

    agent: str
    model: str | None
    mode: Mode

    @property
    def name(self) -> str:
        """A folder name, unique among sensible cells: ``openhands--openai_gpt-5--pbt``."""
        parts = (self.agent, self.model, self.mode)
        return "--".join(re.sub(r"[^A-Za-z0-9._-]", "_", part) for part in parts if part)

    @property
    def title(self) -> str:
        """How tables call it."""
        return " ".join(part for part in (self.agent, self.model, self.mode) if part)


@dataclass(frozen=True, order=True)
class TrialKey:
    """Which trial; ``repeat`` counts from 1."""

    problem: str
    cell: Cell
    repeat: int

    @property
    def name(self) -> str:
        """``BIDC-001/ghostwriter--pbt/r1``: also its folder below ``trials``."""
        return f"{self.problem}/{self.cell.name}/r{self.repeat}"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class AgentRecord(_Part):
    """How the agent phase went. ``cost`` in US dollars and tokens are None where unknown, never 0."""

    end: End
    message: str = ""
    seconds: float = 0.0
    tool_calls: int | None = None
    turns: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    notes: tuple[str, ...] = ()


class AnswerRecord(_Part):
    """The answer that was copied out of the sandbox, or why there is none."""

    status: Literal["ok", "no_file"]
    reason: str = ""
    size: int = 0
    sha256: str = ""


class JudgeRecord(_Part):
    """How judging went: wall seconds, CPU seconds of the test bodies."""

    file_status: str
    seconds: float
    body_cpu_seconds: float


class TrialDocument(_Part):
    """The content of ``trial.json``."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    schema_: int = Field(default=SCHEMA, alias="schema")
    problem: str
    agent_name: str
    model: str | None
    mode: str
    repeat: int
    state: State
    image: str = ""
    """Digest of the problem image."""
    started: str
    finished: str
    agent: AgentRecord | None = None
    answer: AnswerRecord | None = None
    judge: JudgeRecord | None = None
    error: str = ""

    @classmethod
    def of(cls, key: TrialKey, **fields: Any) -> TrialDocument:
        """A document of ``key``."""
        cell = key.cell
        return cls(
            problem=key.problem,
            agent_name=cell.agent,
            model=cell.model,
            mode=cell.mode,
            repeat=key.repeat,
            **fields,
        )

    def write(self, paths: TrialPaths) -> None:
        """Store it; from then on the trial is in this state, whatever happens."""
        write_json(paths.trial_json, self.model_dump(mode="json", by_alias=True))


def read_trial(paths: TrialPaths) -> TrialDocument | None:
    """The trial's document; None when there is none yet. Raises ConfigurationError."""
    try:
        return TrialDocument.model_validate(read_json(paths.trial_json, schema=SCHEMA))
    except FileNotFoundError:
        return None
