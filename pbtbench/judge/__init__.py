"""The judge: turns an answer into outcomes. ``judge_answer`` is all that the rest needs.

``plan`` decides what has to run (pure), ``dispatch`` runs the stages, ``tree_run`` one tree of a stage,
``session`` talks to a supervisor in a sandbox, ``inner`` is what runs in there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pbtbench.images.base import PreparedProblem
from pbtbench.judge.dispatch import Dispatch, JudgeEvent
from pbtbench.judge.forkserver import ForkServerOpener, ForkServers
from pbtbench.judge.opener import SandboxOpener
from pbtbench.judge.outcome import Judgement, Outcome
from pbtbench.judge.slots import Slots
from pbtbench.judge.tree_run import SessionOpener
from pbtbench.sandbox.base import MIB, Limits, SandboxBackend

__all__ = ["ForkServers", "JudgeEvent", "Judgement", "Outcome", "Slots", "judge_answer"]

CASE_LIMIT = 30.0
"""Seconds a test function may take (paper, section on scoring)."""

JUDGE_LIMITS = Limits(memory=4096 * MIB, processes=256, disk=256 * MIB)
"""What the sandbox of one tree may use."""


def judge_answer(
    prepared: PreparedProblem,
    answer: bytes | None,
    *,
    backend: SandboxBackend,
    seeds: Sequence[int],
    slots: Slots,
    label: str,
    limit: float = CASE_LIMIT,
    full: bool = False,
    limits: Limits = JUDGE_LIMITS,
    servers: ForkServers | None = None,
    on_event: Callable[[JudgeEvent], None] | None = None,
) -> Judgement:
    """Judge one ``pbt_test.py``.

    ``answer`` is the file as it is (None: there was none); ``limit`` is seconds per case; ``full`` runs
    every case on every tree, which must not change a verdict; ``slots`` is shared by everything that
    judges at the same time; ``label`` marks what is started. With ``servers``, the local sandbox opens trees
    through warm fork servers instead of starting a sandbox for each; the outcomes are the same.
    Raises InfraError or SandboxUnavailableError; nothing that the answer does is an error.
    """
    if answer is None or not answer.strip():
        return Judgement(
            problem=prepared.problem.id,
            seeds=tuple(seeds),
            bugs=prepared.problem.bug_ids,
            functions=(),
            outcomes=(),
            file_status="no_file" if answer is None else "empty",
        )
    opener: SessionOpener
    if servers is not None and backend.name == "local" and servers.can_serve(prepared):
        opener = ForkServerOpener(prepared, servers, limits)
    else:
        opener = SandboxOpener(prepared, backend, label=label, limits=limits)
    dispatch = Dispatch(
        prepared,
        answer,
        opener,
        seeds=seeds,
        slots=slots,
        limit=limit,
        full=full,
        on_event=on_event or (lambda _event: None),
    )
    return dispatch.judge()
