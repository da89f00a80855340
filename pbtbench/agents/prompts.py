"""Prompts: ``prompts/<mode>.j2``, rendered with what an agent may know about its problem."""

from __future__ import annotations

import hashlib
import importlib.resources
from pathlib import Path

from pbtbench.agents.base import ANSWER, MAX_ANSWER
from pbtbench.problems.model import Problem
from pbtbench.sandbox.base import MIB

FUNCTION_LIMIT = 30
"""Wall seconds that the judge gives a test function."""


def prompts_dir() -> Path:
    """The folder of the prompts that come with pbtbench: in the installed package or the checkout."""
    package = Path(str(importlib.resources.files("pbtbench")))
    installed = package / "_data" / "prompts"
    return installed if installed.is_dir() else package.parent / "prompts"


def render_prompt(mode: str, problem: Problem, *, max_tool_calls: int, time_limit: float) -> str:
    """The prompt of one trial; ``time_limit`` in seconds.

    Nothing of it tells where the bugs are or how many there are.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(prompts_dir()),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - plain text for a model, not HTML
    )
    return environment.get_template(f"{mode}.j2").render(
        mode=mode,
        name=problem.library.name,
        version=problem.library.version,
        module=problem.library.module,
        has_tests=problem.vendored_tests is None or bool(problem.vendored_tests),
        answer=ANSWER,
        answer_mib=MAX_ANSWER // MIB,
        max_tool_calls=max_tool_calls,
        minutes=_minutes(time_limit),
        function_seconds=FUNCTION_LIMIT,
    )


def prompt_digest(mode: str) -> str:
    """Short hash of a mode's template and the text that all modes share."""
    folder = prompts_dir()
    parts = [(folder / name).read_bytes() for name in (f"{mode}.j2", "setting.j2")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:g}"
