"""A library small enough to see through, with three bugs, as a problem that needs no index.

``clamp`` (bug_1) and ``total`` (bug_2) are plain functions; ``Stack.pop`` (bug_3) shows after three pushes.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import io
import zipfile
from pathlib import Path

from pbtbench.images.store import Store
from pbtbench.problems.model import Bug, Library, PinnedFile, Problem

CORE = '''\
"""Toybox: clamping, adding, stacking."""


def clamp(value, low, high):
    """The nearest number to value in [low, high]."""
    if value > high:
        return high
    if value < low:
        return low
    return value


def total(values):
    """The sum of values."""
    result = 0
    for value in values:
        result += value
    return result


class Stack:
    """Last in, first out."""

    def __init__(self):
        self._items = []

    def push(self, item):
        self._items.append(item)

    def pop(self):
        return self._items.pop()

    def __len__(self):
        return len(self._items)
'''

EDITS = {
    "bug_1": ("        return high\n", "        return high - 1\n"),
    "bug_2": ("        result += value\n", "        result += abs(value)\n"),
    "bug_3": (
        "        return self._items.pop()\n",
        "        return self._items.pop(-1 if len(self._items) < 3 else 0)\n",
    ),
}

REFERENCE = """\
import toybox
from hypothesis import given, settings, strategies as st


@given(st.integers(), st.integers(-50, 50), st.integers(0, 50))
def test_clamp_stays_at_the_edge(value, low, width):
    assert toybox.clamp(value, low, low + width) == max(low, min(value, low + width))


@given(st.lists(st.integers()))
def test_total_is_the_sum(values):
    assert toybox.total(values) == sum(values)


@given(st.lists(st.integers(), min_size=1))
def test_stack_is_last_in_first_out(items):
    stack = toybox.Stack()
    for item in items:
        stack.push(item)
    assert [stack.pop() for _ in items] == items[::-1]
"""


def patch(bug: str) -> bytes:
    """The unified diff of one bug."""
    old, new = EDITS[bug]
    lines = difflib.unified_diff(
        CORE.splitlines(keepends=True),
        CORE.replace(old, new).splitlines(keepends=True),
        "a/toybox/__init__.py",
        "b/toybox/__init__.py",
    )
    return "".join(lines).encode()


def wheel() -> bytes:
    """The library as a wheel."""
    files = {
        "toybox/__init__.py": CORE.encode(),
        "toybox/part/__init__.py": b"",
        "toybox/part/deep.py": b"ANSWER = 42\n",
        "toybox-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: toybox\nVersion: 1.0\n",
        "toybox-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files["toybox-1.0.dist-info/RECORD"] = (record + "toybox-1.0.dist-info/RECORD,,\n").encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()


def toy_problem(folder: Path, store: Store) -> Problem:
    """The problem, its wheel already in ``store``."""
    content = wheel()
    pinned = PinnedFile(file="toybox-1.0-py3-none-any.whl", sha256=hashlib.sha256(content).hexdigest())
    store.file(f"files/{pinned.sha256}/{pinned.file}", lambda path: path.write_bytes(content))
    documentation = folder / "toybox.md"
    documentation.write_text("# Toybox\n\nClamping, adding, stacking.\n")
    reference = folder / "pbt_test.py"
    reference.write_text(REFERENCE)
    levels = {"bug_1": "L1", "bug_2": "L2", "bug_3": "L3"}
    return Problem(
        id="TOYB-001",
        library=Library(name="toybox", version="1.0", module="toybox", wheel=pinned, requires=()),
        bugs=tuple(
            Bug(id=bug, difficulty=levels[bug], description="", patch_text=patch(bug)) for bug in EDITS
        ),
        folder=folder,
        vendored_docs=(documentation,),
        vendored_tests=(),
        reference=reference,
    )
