"""The agent that does nothing."""

from __future__ import annotations

from pbtbench.agents.base import AgentResult, Events, Task
from pbtbench.sandbox.base import Sandbox


class Nop:
    """Writes no answer: the floor, and a check that a missing answer counts as finding nothing."""

    name = "nop"

    def run(self, task: Task, sandbox: Sandbox, events: Events) -> AgentResult:  # noqa: ARG002
        """Finish at once."""
        return AgentResult(end="finished")
