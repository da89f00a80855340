"""The agent that hands in the library's own test suite, made into one file."""

from __future__ import annotations

from pbtbench.agents.base import ANSWER, MAX_ANSWER, AgentEvent, AgentResult, Events, Task
from pbtbench.agents.inside import run_inside
from pbtbench.sandbox.base import WORKSPACE, Sandbox

SUITE = f"{WORKSPACE}/existing_tests"


class Existing:
    """The upstream suite as the answer: since it passes on the buggy library, it should find nothing."""

    name = "existing"

    def run(self, task: Task, sandbox: Sandbox, events: Events) -> AgentResult:
        """Bundle the suite inside the sandbox; without one there is no answer. Raises AgentError."""
        events(AgentEvent("bundling the suite"))
        report = run_inside(sandbox, "bundle", [SUITE, ANSWER, str(MAX_ANSWER)], timeout=task.time_limit)
        notes = []
        if not report["tests"]:
            notes.append("There are no upstream test files.")
        if report["left_out"]:
            notes.append(f"Left out because the file would be too large: {', '.join(report['left_out'])}.")
        return AgentResult(end="finished", notes=tuple(notes))
