"""Comments that give a bug away are cut from published problems; nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbtbench.images.hints import scrubbed, without_hints
from pbtbench.problems.trees import build_trees
from tests.images import toy


@pytest.mark.parametrize(
    "comment", ["# BUG: wrong sign", "# buggy", "#INJECTED here", "# TODO: the bug", "# Broken"]
)
def test_hints_go_and_line_numbers_stay(comment: str) -> None:
    assert scrubbed(f"x = 1  {comment}\ny = 2\n".encode()) == b"x = 1\ny = 2\n"


@pytest.mark.parametrize("line", [b"x = 1  # a bug in others\n", b"debug = 1\n", b"x = '#bu'\r\n"])
def test_other_lines_stay_as_they_are(line: bytes) -> None:
    assert scrubbed(line) == line


@given(st.binary(max_size=60))
def test_scrubbing_never_changes_the_number_of_lines(source: bytes) -> None:
    assert len(scrubbed(source).splitlines()) == len(source.splitlines())


def test_a_published_patch_with_a_hint_applies_without_it(tmp_path: Path) -> None:
    bug = toy.patch("toylib/core.py", "one + two", "one - two  # BUG: minus")
    problem = without_hints(toy.problem(tmp_path, toy.library(), bug))
    trees = build_trees(toy.SOURCES, problem)
    assert b"return one - two\n" in trees["buggy"].files["toylib/core.py"]
    assert trees["fixed:bug_1"].files == trees["clean"].files
