"""The shipped problems keep their promises, in real sandboxes, through the same code that judges agents."""

from __future__ import annotations

from functools import cache

import pytest

from pbtbench.images import image_builder
from pbtbench.images.base import PreparedProblem
from pbtbench.judge import ForkServers, Judgement, Slots, judge_answer
from pbtbench.problems.load import load_problems
from pbtbench.sandbox.backends import select_backend
from pbtbench.score import decide

pytestmark = [pytest.mark.network]

PROBLEMS = {problem.id: problem for problem in load_problems(None, ())}


@cache
def prepared(backend: str, problem: str) -> PreparedProblem:
    return image_builder(backend, "offline" if backend == "docker" else None).prepare(PROBLEMS[problem])


def judge(backend: str, problem: str, answer: bytes, *, seeds: range) -> Judgement:
    servers = ForkServers()
    try:
        return judge_answer(
            prepared(backend, problem),
            answer,
            backend=select_backend(backend),
            seeds=seeds,
            slots=Slots(2),
            label="tests",
            servers=servers,
        )
    finally:
        servers.close()


def reference(problem: str) -> bytes:
    path = PROBLEMS[problem].reference
    assert path is not None
    return path.read_bytes()


@pytest.mark.local_sandbox
@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_reference_finds_each_bug_by_a_function_of_its_own_confirmed(problem: str) -> None:
    judgement = judge("local", problem, reference(problem), seeds=range(2))
    verdicts = decide(judgement)
    finders = {bug: verdict.confirmed_by for bug, verdict in verdicts.rules["f2p"].items()}
    assert all(len(functions) == 1 for functions in finders.values()), finders
    assert len({functions[0] for functions in finders.values()}) == len(judgement.functions)
    assert verdicts.unstable == ()
    assert all(verdicts.clean.values())
    assert max(row.cpu_seconds for row in judgement.outcomes) < 5


@pytest.mark.docker
@pytest.mark.local_sandbox
@pytest.mark.parametrize("problem", ["SMPY-001", "HTTP-001"])
def test_both_sandboxes_give_the_same_outcomes(problem: str) -> None:
    local = judge("local", problem, reference(problem), seeds=range(1))
    docker = judge("docker", problem, reference(problem), seeds=range(1))

    def statuses(judgement: Judgement) -> dict[tuple[str, str, str, int], str]:
        return {(r.stage, r.tree, r.case, r.seed): r.status for r in judgement.outcomes}

    assert statuses(docker) == statuses(local)
    assert decide(docker).rules == decide(local).rules
