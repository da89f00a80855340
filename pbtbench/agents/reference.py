"""The agent that hands in the problem's own reference tests."""

from __future__ import annotations

from pbtbench.agents.base import ANSWER, AgentResult, Events, Task
from pbtbench.errors import ProblemError
from pbtbench.sandbox.base import Sandbox


class Reference:
    """The ceiling: reference tests must find every bug of their problem."""

    name = "reference"

    def run(self, task: Task, sandbox: Sandbox, events: Events) -> AgentResult:  # noqa: ARG002
        """Write the reference. Raises ProblemError when the problem has none: that is no result."""
        path = task.problem.reference
        if path is None or not path.is_file():
            raise ProblemError(
                "there is no reference/pbt_test.py",
                where=task.problem.id,
                hint="The agent reference needs it",
            )
        sandbox.put(ANSWER, path.read_bytes())
        return AgentResult(end="finished")
