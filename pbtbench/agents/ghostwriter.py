"""The agent that lets Hypothesis' ghostwriter write the tests: a real baseline without a model."""

from __future__ import annotations

from pbtbench.agents.base import ANSWER, AgentEvent, AgentResult, Events, Task
from pbtbench.agents.inside import run_inside
from pbtbench.sandbox.base import Sandbox

MAX_FUNCTIONS = 12
WRITING_SECONDS = 60.0
"""CPU time after which no further module is begun; what is written by then is the answer."""


class Ghostwriter:
    """Round trips, equivalents, operators and fuzz tests for the library's public functions."""

    name = "ghostwriter"

    def run(self, task: Task, sandbox: Sandbox, events: Events) -> AgentResult:
        """Write the file inside the sandbox. Raises AgentError when nothing could be written."""
        events(AgentEvent("ghostwriting"))
        arguments = [task.problem.library.module, ANSWER, str(MAX_FUNCTIONS), str(WRITING_SECONDS)]
        report = run_inside(sandbox, "ghostwrite", arguments, timeout=task.time_limit)
        written, dropped = report["written"], report["dropped"]
        notes = [f"{written} test functions written, {dropped} dropped because they cannot run."]
        if report["left_out"]:
            notes.append(f"{report['left_out']} more were left out: {report['why']}.")
        return AgentResult(end="finished", notes=tuple(notes))
