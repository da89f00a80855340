"""Comments that give a bug away: taken out of published problems, refused in our own (see ``leaks``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pbtbench.problems.model import Bug, Problem

_HINT = re.compile(
    rb"[ \t]*#[ \t]*(?:(?:bug|buggy|injected|broken)\b|(?:todo|fixme)\b.*\bbug).*$", re.IGNORECASE
)


def without_hints(problem: Problem) -> Problem:
    """The problem with such comments cut from the lines that its patches add; line counts stay."""
    return problem.model_copy(update={"bugs": tuple(_cut(bug) for bug in problem.bugs)})


def scrubbed(source: bytes) -> bytes:
    """Python source without such comments; lines keep their number and their ends."""
    return b"".join(_cut_line(line) for line in source.splitlines(keepends=True))


def _cut(bug: Bug) -> Bug:
    lines = bug.patch_text.splitlines(keepends=True)
    text = b"".join(_cut_line(line) if _added(line) else line for line in lines)
    return bug if text == bug.patch_text else bug.model_copy(update={"patch_text": text})


def _added(line: bytes) -> bool:
    return line.startswith(b"+") and not line.startswith(b"+++ ")


def _cut_line(line: bytes) -> bytes:
    text = line.rstrip(b"\r\n")
    return _HINT.sub(b"", text) + line[len(text) :]
