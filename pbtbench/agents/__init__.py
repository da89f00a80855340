"""Agents: what writes the tests. The built-in ones need no model.

=============  ==================================================================================
agent          its answer
=============  ==================================================================================
reference      the problem's reference tests: must find every bug
nop            none: recall 0, still counted
existing       the library's upstream test suite: should find nothing
ghostwriter    what Hypothesis' ghostwriter writes for the public API: a baseline without a model
replay         the file that lies in a folder of answers
=============  ==================================================================================
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pbtbench.errors import ConfigurationError, SelectionError

if TYPE_CHECKING:
    from pbtbench.agents.base import Agent

BUILT_IN: Mapping[str, str] = {
    "reference": "pbtbench.agents.reference:Reference",
    "nop": "pbtbench.agents.nop:Nop",
    "existing": "pbtbench.agents.existing:Existing",
    "ghostwriter": "pbtbench.agents.ghostwriter:Ghostwriter",
}
REPLAY = "replay"
WITH_MODEL = ("openhands",)

NAMES = (*BUILT_IN, REPLAY, *WITH_MODEL)


def needs_model(name: str) -> bool:
    """Whether an agent works with a language model. Raises SelectionError for an unknown name."""
    if name not in NAMES:
        raise SelectionError(f"there is no agent {name!r}", hint=f"There are {', '.join(NAMES)}")
    return name in WITH_MODEL


def make_agent(name: str, *, answers: Path | None = None) -> Agent:
    """The agent called ``name``; ``answers`` is the folder that ``replay`` reads.

    Raises SelectionError for an unknown name, ConfigurationError when the agent cannot work here.
    """
    if needs_model(name):
        raise ConfigurationError(
            f"the agent {name} comes with the next release: this one has no agents that use a model",
            hint=f"Agents that work now: {', '.join((*BUILT_IN, REPLAY))}",
        )
    if name == REPLAY:
        from pbtbench.agents.replay import Replay

        if answers is None:
            raise ConfigurationError(
                "the agent replay needs a folder of answers", hint="Give one with --answers"
            )
        return Replay(answers)
    module, _, attribute = BUILT_IN[name].partition(":")
    return cast("Agent", getattr(importlib.import_module(module), attribute)())
