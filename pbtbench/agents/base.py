"""The agent protocol: what writes an answer, and what is asked of it.

An agent works in a sandbox that holds the buggy library, its documentation and its upstream tests,
and leaves its answer there as ``/workspace/pbt_test.py``. The answer is copied out afterwards, however
the agent ended, unless the machine itself failed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from pbtbench.errors import AnswerError
from pbtbench.problems.model import Problem
from pbtbench.sandbox.base import MIB, WORKSPACE, Sandbox

ANSWER_NAME = "pbt_test.py"
ANSWER = f"{WORKSPACE}/{ANSWER_NAME}"
MAX_ANSWER = 1 * MIB
"""Bytes; a larger file is no answer."""

Mode = Literal["baseline", "pbt", "framework"]
MODES: tuple[Mode, ...] = ("baseline", "pbt", "framework")

End = Literal["finished", "tool_limit", "time_limit", "stuck", "agent_error", "infra_error"]
"""How an agent ended. Reaching a limit is a normal end; ``infra_error`` is retried, never scored."""


@dataclass(frozen=True)
class Task:
    """What an agent is given."""

    problem: Problem
    mode: Mode
    prompt: str
    python: str
    """``major.minor`` of the interpreter in the sandbox."""
    model: str | None = None
    max_tool_calls: int = 200
    time_limit: float = 3600.0
    """Wall seconds."""


@dataclass(frozen=True)
class AgentEvent:
    """What the display shows of a running agent; ``cost`` in US dollars, None where unknown."""

    text: str
    tool_calls: int | None = None
    cost: float | None = None


Events = Callable[[AgentEvent], None]


@dataclass(frozen=True)
class AgentResult:
    """How an agent ended and what it used; figures are None where unknown, never 0."""

    end: End
    message: str = ""
    tool_calls: int | None = None
    turns: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    notes: tuple[str, ...] = ()
    """Plain sentences for the reader of the trial."""
    log: bytes = b""
    """What the agent printed."""


class Agent(Protocol):
    """Writes an answer. One object serves many trials, also several at a time."""

    name: str

    def run(self, task: Task, sandbox: Sandbox, events: Events) -> AgentResult:
        """Work on ``task`` to an end.

        Raises InfraError when the machine or a service failed (the trial is tried again), AgentError when
        the agent itself did (what it left is judged).
        """


def take_answer(sandbox: Sandbox) -> bytes:
    """Copy the answer out. Raises AnswerError: missing, a link, a folder, too large."""
    return sandbox.get(ANSWER, max_bytes=MAX_ANSWER)


def check_size(answer: bytes, where: str) -> bytes:
    """The answer itself. Raises AnswerError when it is larger than an answer may be."""
    if len(answer) > MAX_ANSWER:
        raise AnswerError(f"larger than {MAX_ANSWER // MIB} MiB", where=where)
    return answer
