"""From options to the parts that a run or a scoring works with."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

from pbtbench.agents import make_agent
from pbtbench.images import image_builder
from pbtbench.report.progress import Display, make_display
from pbtbench.runs.config import RunConfig
from pbtbench.runs.observer import Observer
from pbtbench.runs.tracked import TrackedBackend
from pbtbench.runs.work import Tools, make_judge
from pbtbench.sandbox.backends import select_backend


def make_tools(config: RunConfig, observer: Observer) -> Tools:
    """Choose the sandbox and set everything up for it.

    Raises SandboxUnavailableError when there is none.
    """
    backend = TrackedBackend(select_backend(config.sandbox))
    on_step: Callable[[str], None] = lambda text: observer.step("prepare", text)  # noqa: E731
    return Tools(
        backend=backend,
        builder=image_builder(backend.name, config.base, on_step=on_step),
        judge=make_judge(backend, seeds=config.seeds, workers=config.workers, full=config.full),
        agent=functools.cache(functools.partial(make_agent, answers=config.answers)),
    )


def display(*, quiet: bool, verbose: bool) -> Display:
    """Progress on stderr."""
    return make_display(sys.stderr, quiet=quiet, verbose=verbose)
