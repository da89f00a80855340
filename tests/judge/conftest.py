"""The toy problem, prepared once per worker, and a judge for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pbtbench.images import image_builder
from pbtbench.images.base import PreparedProblem
from pbtbench.images.store import Store
from pbtbench.judge import ForkServers, Judgement, Slots, judge_answer
from pbtbench.sandbox.base import MIB, Limits
from pbtbench.sandbox.local import LocalBackend

from .toy import toy_problem

Judge = Callable[..., Judgement]

LIMITS = Limits(memory=512 * MIB, processes=64, disk=32 * MIB)


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> PreparedProblem:
    problem = toy_problem(tmp_path_factory.mktemp("toybox"), Store())
    return image_builder("local").prepare(problem)


@pytest.fixture(scope="session")
def servers() -> Iterator[ForkServers]:
    servers = ForkServers()
    yield servers
    servers.close()


@pytest.fixture(scope="session")
def judge(toy: PreparedProblem, servers: ForkServers) -> Judge:
    """Judge the text of an answer on the toy problem in the local sandbox."""

    def run(answer: str | bytes, **options: Any) -> Judgement:
        options = {"seeds": (0,), "slots": Slots(2), "limit": 30.0, **options}
        return judge_answer(
            toy,
            answer.encode() if isinstance(answer, str) else answer,
            backend=LocalBackend(),
            label="tests",
            servers=servers,
            limits=LIMITS,
            **options,
        )

    return run
