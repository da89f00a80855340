"""The configuration of a run: defaults < ``-c`` files in order < ``PBTBENCH_*`` < options.

(The command line hands environment variables and options over together, already in that order.)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from pbtbench.agents.base import Mode
from pbtbench.errors import ConfigurationError

SandboxChoice = Literal["auto", "docker", "local"]


def default_workers() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


class RunConfig(BaseModel):
    """What a run does; field names are the keys of a configuration file and the long options' names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    problem: tuple[str, ...] = ()
    """Ids and globs; none means every problem."""
    agent: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    mode: tuple[Mode, ...] = ("pbt",)
    repeats: int = Field(default=1, ge=1)
    workers: int = Field(default_factory=default_workers, ge=1)
    out: Path | None = None
    sandbox: SandboxChoice = "auto"
    base: str | None = None
    """Base image; None is the backend's own default."""
    problems_dir: Path | None = None
    answers: Path | None = None
    """Folder that the ``replay`` agent takes its answers from."""
    seeds: int = Field(default=3, ge=1)
    full: bool = False
    """Judge every function on every tree."""
    max_tool_calls: int = Field(default=200, ge=1)
    time_limit: float = Field(default=3600.0, gt=0)
    """Wall seconds of the agent phase."""

    @field_validator("problem", "agent", "model", "mode", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        """A single word in a file stands for a list of one; repetitions count once."""
        values = [value] if isinstance(value, str) else value
        return tuple(dict.fromkeys(values)) if isinstance(values, list | tuple) else values


def resolve_config(files: Sequence[Path], given: Mapping[str, Any]) -> RunConfig:
    """Merge the layers; ``given`` holds environment and options, None where not given.

    Raises ConfigurationError that names the file and line, or the option.
    """
    merged: dict[str, Any] = {}
    source: dict[str, str] = {}
    for file in files:
        for key, (value, where) in _read(file).items():
            merged[key] = value
            source[key] = where
    for key, value in given.items():
        if value is not None and value != ():
            merged[key] = value
            source[key] = "--" + key.replace("_", "-")
    try:
        return RunConfig.model_validate(merged)
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        raise ConfigurationError(f"{key}: {_reason(first)}", where=source.get(key)) from error


def _reason(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return f"there is no such setting; there are {', '.join(RunConfig.model_fields)}"
    return f"{str(error['msg']).removeprefix('Input ')}, not {error['input']!r}"


def _read(file: Path) -> dict[str, tuple[Any, str]]:
    """Key -> (value, ``file:line``)."""
    try:
        text = file.read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except OSError as error:
        raise ConfigurationError(error.strerror or "cannot be read", where=str(file)) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError("is not UTF-8 text", where=str(file)) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigurationError(f"not YAML: {error.problem}", where=f"{file}:{line}") from error
    if data is None:
        return {}
    if not isinstance(node, yaml.MappingNode):
        raise ConfigurationError("must hold keys and values", where=f"{file}:1")
    lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}
    return {
        str(key).replace("-", "_"): (value, f"{file}:{lines.get(str(key), 1)}") for key, value in data.items()
    }
