"""Runs one of the `inner` programs in a sandbox."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Sequence
from typing import Any

from pbtbench.errors import AgentError
from pbtbench.sandbox.base import PYTHON, Sandbox

_PLACE = "/tmp/pbtbench_agent"  # noqa: S108 - inside the sandbox


def run_inside(sandbox: Sandbox, program: str, arguments: Sequence[str], *, timeout: float) -> dict[str, Any]:
    """Put ``inner/<program>.py`` into the sandbox and run it; the JSON object on its last line.

    Raises AgentError when it fails, says nothing, or takes longer than ``timeout`` seconds.
    """
    source = importlib.resources.files("pbtbench.agents.inner").joinpath(f"{program}.py").read_bytes()
    path = f"{_PLACE}/{program}.py"
    sandbox.put(path, source)
    result = sandbox.run([PYTHON, path, *arguments], timeout=timeout)
    if result.timed_out:
        raise AgentError(f"{program} was not done after {timeout:g} s")
    lines = result.stdout.decode("utf-8", "replace").strip().splitlines()
    try:
        report = json.loads(lines[-1])
    except (IndexError, ValueError):
        report = None
    if result.exit_code != 0 or not isinstance(report, dict):
        errors = result.stderr.decode("utf-8", "replace").strip().splitlines()
        raise AgentError(f"{program} failed: {errors[-1] if errors else f'exit code {result.exit_code}'}")
    return report
