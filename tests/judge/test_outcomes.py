"""What tests do is what the judge says they did, and every kind of test counts."""

from __future__ import annotations

import pytest

from pbtbench.judge import Judgement
from pbtbench.problems.tree import BUGGY, CLEAN, fixed
from pbtbench.score.rules import decide

from .conftest import Judge
from .toy import EDITS, REFERENCE

pytestmark = [pytest.mark.local_sandbox, pytest.mark.network]


def statuses(judgement: Judgement, tree: str = CLEAN) -> dict[str, str]:
    return {row.case: row.status for row in judgement.outcomes if row.tree == tree and row.stage == "screen"}


def found(judgement: Judgement, rule: str = "f2p") -> set[str]:
    return {bug for bug, verdict in decide(judgement).rules[rule].items() if verdict.rate > 0}  # type: ignore[index]


def confirmed(judgement: Judgement) -> set[str]:
    return {bug for bug, verdict in decide(judgement).rules["f2p"].items() if verdict.confirmed}


def test_the_reference_finds_every_bug_confirmed_each_by_its_own_function(judge: Judge) -> None:
    judgement = judge(REFERENCE, seeds=(0, 1, 2))
    verdicts = decide(judgement)
    assert {bug: verdict.confirmed_by for bug, verdict in verdicts.rules["f2p"].items()} == {
        "bug_1": ("test_clamp_stays_at_the_edge",),
        "bug_2": ("test_total_is_the_sum",),
        "bug_3": ("test_stack_is_last_in_first_out",),
    }
    assert verdicts.unstable == ()
    assert all(row.examples for row in judgement.outcomes if row.status == "passed")


def test_full_judging_gives_the_same_verdicts(judge: Judge) -> None:
    answer = REFERENCE + "\ndef test_nothing():\n    assert toybox.clamp(1, 0, 2) == 1\n"
    assert decide(judge(answer, full=True)).rules == decide(judge(answer)).rules


KINDS = """
import unittest, warnings, pytest, toybox
from hypothesis import assume, given, settings, strategies as st, target, note, event, example, HealthCheck
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

class TestMethods:
    def test_method(self): assert toybox.clamp(9, 0, 5) == 5

class Cases(unittest.TestCase):
    def setUp(self): self.high = 5
    def testCamelCase(self): self.assertEqual(toybox.clamp(9, 0, self.high), 5)
    def test_subtests(self):
        for value in (1, 9):
            with self.subTest(value=value): self.assertEqual(toybox.clamp(value, 0, 5), min(value, 5))

@pytest.fixture
def five(): return 5
def test_fixture(five): assert toybox.clamp(9, 0, five) == five

@pytest.mark.parametrize("value", [1, 9], ids=["in side; $(x)", "out[]side"])
def test_parametrised(value): assert toybox.clamp(value, 0, 5) == min(value, 5)

class Machine(RuleBasedStateMachine):
    items = Bundle("items")
    def __init__(self):
        super().__init__()
        self.stack, self.model = toybox.Stack(), []
    @initialize()
    def start(self): assert len(self.stack) == 0
    @rule(target=items, item=st.integers())
    def push(self, item):
        self.stack.push(item); self.model.append(item)
        return item
    @precondition(lambda self: self.model)
    @rule()
    def pop(self): assert self.stack.pop() == self.model.pop()
    @invariant()
    def size(self): assert len(self.stack) == len(self.model)
TestStack = Machine.TestCase

@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@example(9)
@given(st.integers(0, 5))
def test_explicit_example(value):
    note("noted"); event("e"); target(float(value))
    assume(value != 4)
    assert toybox.clamp(value, 0, 5) == min(value, 5)

def test_skips(): pytest.skip("not today")
@pytest.mark.xfail
def test_xfails(): assert False
@pytest.mark.xfail(strict=True)
def test_strict_xpass(): pass
async def test_async(): pass
def test_system_exit(): raise SystemExit(0)
class Odd(BaseException): pass
def test_base_exception(): raise Odd
def test_unprintable():
    class Bad(Exception):
        def __str__(self): raise RuntimeError
    raise Bad
@pytest.mark.filterwarnings("error")
def test_warning(): warnings.warn("w")
@given(st.integers())
def test_filter_too_much(value): assume(False)
@given(st.data())
def test_flaky_in_itself(data):
    data.draw(st.integers()); test_flaky_in_itself.n = getattr(test_flaky_in_itself, "n", 0) + 1
    assert test_flaky_in_itself.n != 1
def helper(): raise AssertionError("never collected")
def pytest_runtest_setup(item): raise AssertionError("never called")
if __name__ == "__main__": raise AssertionError("never run")
"""


def test_every_kind_of_test_is_collected_and_judged(judge: Judge) -> None:
    judgement = judge(KINDS)
    clean = statuses(judgement)
    finders = {
        "TestMethods::test_method",
        "Cases::testCamelCase",
        "Cases::test_subtests",
        "test_fixture",
        "test_parametrised[out[]side]",
        "TestStack::runTest",
        "test_explicit_example",
    }
    passing = finders | {"test_parametrised[in side; $(x)]"}
    failing = {
        "test_strict_xpass",
        "test_async",
        "test_system_exit",
        "test_base_exception",
        "test_unprintable",
        "test_warning",
        "test_filter_too_much",
        "test_flaky_in_itself",
    }
    assert clean == {
        **dict.fromkeys(passing, "passed"),
        **dict.fromkeys(failing, "failed"),
        "test_skips": "skipped",
        "test_xfails": "xfailed",
    }
    rows = [row for row in judgement.outcomes if row.tree == BUGGY and row.stage == "screen"]
    assert {row.case for row in rows if row.status == "failed"} == finders | failing
    assert {row.case for row in rows if row.property_test} == {
        "TestStack::runTest",
        "test_explicit_example",
        "test_filter_too_much",
        "test_flaky_in_itself",
    }
    assert found(judgement) == confirmed(judgement) == {"bug_1", "bug_3"}
    verdict = decide(judgement).rules["f2p"]["bug_1"]
    assert "test_parametrised" in verdict.by
    assert "pytest hooks in the test file have no effect: pytest_runtest_setup" in judgement.notes


def test_a_failing_property_brings_its_falsifying_example(judge: Judge) -> None:
    row = next(r for r in judge(REFERENCE).outcomes if r.tree == BUGGY and "clamp" in r.case)
    assert row.exception == "AssertionError"
    assert row.phase == "call"
    assert "test_clamp_stays_at_the_edge(" in row.example
    assert "@reproduce_failure" in str(row.extra["blob"])


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        ("def test_x(:\n", "import_error", "SyntaxError"),
        ("import not_there\ndef test_x(): pass\n", "import_error", "not_there"),
        ("x = 1\n", "no_tests", "no test function"),
        (b"x = '\xff\xfe'\ndef test_x(): pass\n", "import_error", "utf-8"),
        ("import os\nos._exit(0)\ndef test_x(): pass\n", "import_error", "process ended"),
        ("raise SystemExit(0)\ndef test_x(): pass\n", "import_error", "SystemExit"),
        ("raise KeyboardInterrupt\ndef test_x(): pass\n", "import_error", "KeyboardInterrupt"),
        ("  \n", "empty", ""),
    ],
)
def test_a_file_without_a_usable_test_finds_nothing_and_says_why(
    judge: Judge, answer: str | bytes, status: str, message: str
) -> None:
    judgement = judge(answer)
    assert judgement.file_status == status
    assert message in judgement.file_message
    assert found(judgement) == set()


def test_an_assertion_at_import_counts_against_the_tree_it_fails_on(judge: Judge) -> None:
    judgement = judge("import toybox\nassert toybox.clamp(9, 0, 5) == 5\ndef test_x(): pass\n")
    assert statuses(judgement, BUGGY) == {"test_x": "import_error"}
    rows = {row.tree: row.status for row in judgement.outcomes if row.stage == "decide"}
    assert rows[fixed("bug_1")] == "passed"
    assert found(judgement) == {"bug_1"}
    assert confirmed(judgement) == set()


def test_a_timeout_is_an_outcome_of_its_own(judge: Judge) -> None:
    judgement = judge(
        "import time, toybox\ndef test_hang():\n    while toybox.clamp(9, 0, 5) != 5: time.sleep(0.1)\n",
        limit=2.0,
    )
    assert statuses(judgement, BUGGY) == {"test_hang": "timeout"}
    assert statuses(judgement, CLEAN) == {"test_hang": "passed"}
    assert found(judgement) == {"bug_1"}
    assert confirmed(judgement) == set()


def test_hypothesis_draws_no_constants_from_code_of_ours(judge: Judge) -> None:
    judgement = judge(
        "from hypothesis import given, strategies as st\n"
        "from hypothesis.internal.conjecture import providers\n"
        "@given(st.integers())\ndef test_pool(x):\n    assert not list(providers._local_constants)\n"
    )
    assert statuses(judgement) == {"test_pool": "passed"}


def test_a_file_that_starts_threads_is_judged_without_forking_from_it(judge: Judge) -> None:
    judgement = judge(
        "import queue, threading, warnings, toybox\nwarnings.simplefilter('error')\n"
        "jobs, results = queue.Queue(), queue.Queue()\n"
        "def work():\n    while True: results.put(toybox.clamp(*jobs.get()))\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "def test_threaded():\n    jobs.put((9, 0, 5))\n    assert results.get(timeout=10) == 5\n"
        "def test_hangs():\n    results.get()\n",
        seeds=(0, 1),
        limit=3.0,
    )
    assert statuses(judgement) == {"test_threaded": "passed", "test_hangs": "timeout"}
    assert confirmed(judgement) == {"bug_1"}


def test_reach_names_the_bugs_whose_code_ran(judge: Judge) -> None:
    judgement = judge(REFERENCE)
    reached = {
        row.case: row.reached for row in judgement.outcomes if row.tree == BUGGY and row.stage == "screen"
    }
    assert reached == {
        "test_clamp_stays_at_the_edge": ("bug_1",),
        "test_total_is_the_sum": ("bug_2",),
        "test_stack_is_last_in_first_out": ("bug_3",),
    }
    assert len(EDITS) == 3
