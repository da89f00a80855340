"""Prompts: the same truth in every mode, and nothing that gives the bugs away."""

from __future__ import annotations

import pytest

from pbtbench.agents.base import MODES
from pbtbench.agents.prompts import prompt_digest, render_prompt
from tests.agents.fakes import make_problem


def prompt(mode: str, problem=None, **kwargs) -> str:
    limits = {"max_tool_calls": 123, "time_limit": 2700.0, **kwargs}
    return render_prompt(mode, problem or make_problem(bugs=7), **limits)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_tells_the_setting(mode):
    text = prompt(mode)
    facts = [
        "/workspace/pbt_test.py",
        "123 tool calls",
        "45 minutes",
        "30 seconds",
        "demo_lib",
        "demo-lib",
        "1.2",
    ]
    assert [fact for fact in facts if fact not in text] == []
    assert "save a first version early" in text
    assert "/workspace/docs" in text


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_tells_how_many_bugs_there_are_or_where(mode):
    one, seven = (make_problem(bugs=n) for n in (1, 7))
    scoped = seven.model_copy(update={"scope": ("demo_lib/core.py",), "title": "t", "description": "secret"})
    assert prompt(mode, one) == prompt(mode, scoped)


def test_baseline_never_mentions_hypothesis_or_properties():
    text = prompt("baseline").lower()
    assert "hypothesis" not in text
    assert "propert" not in text
    assert "state machine" not in text


def test_pbt_gives_taxonomy_template_and_count_and_framework_none_of_them():
    pbt, framework = prompt("pbt"), prompt("framework")
    for mark in ("max_examples=200, deadline=None", "at least five", "Round trip", "import demo_lib\n"):
        assert mark in pbt
        assert mark not in framework
    assert "Hypothesis" in framework
    assert "state machines" in framework


def test_without_a_shown_suite_none_is_mentioned():
    problem = make_problem().model_copy(update={"vendored_tests": ()})
    assert "existing_tests" in prompt("pbt")
    assert "existing_tests" not in prompt("pbt", problem)


def test_each_mode_has_its_own_digest():
    assert len({prompt_digest(mode) for mode in MODES}) == len(MODES)
