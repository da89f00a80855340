"""The agent that hands in the problem's own reference tests."""

from __future__ import annotations

from pbtbench.agents.base import ANSWER, AgentResult, Events, Task
from pbtbench.errors import AgentError
from pbtbench.sandbox.base import Sandbox


class Reference:
    """The ceiling: reference tests must find every bug of their problem."""

    name = "reference"

    def run(self, task: Task, sandbox: Sandbox, events: Events) -> AgentResult:  # noqa: ARG002
        """Write the reference. Raises AgentError when the problem has none."""
        path = task.problem.reference
        if path is None or not path.is_file():
            raise AgentError("the problem has no reference tests", where=task.problem.id)
        sandbox.put(ANSWER, path.read_bytes())
        return AgentResult(end="finished")
