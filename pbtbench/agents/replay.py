"""The agent that hands in answers written before, and how a folder of answers is read."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from pbtbench.agents.base import ANSWER, ANSWER_NAME, MAX_ANSWER, AgentResult, Events, Task, check_size
from pbtbench.errors import AnswerError, SelectionError
from pbtbench.sandbox.base import Sandbox


class Replay:
    """Takes ``…/<PROBLEM-ID>/pbt_test.py`` from a folder; a problem without one gets no answer."""

    name = "replay"

    def __init__(self, folder: Path) -> None:
        """Raises SelectionError when the folder holds no answers, or two for one problem."""
        self._answers: dict[str, Path] = {}
        for cell, answers in find_answers(folder).items():
            for problem, path in answers.items():
                if problem in self._answers:
                    raise SelectionError(
                        f"two answers to {problem}: {self._answers[problem]} and {path}",
                        hint=f"Give the folder of one cell, such as {folder / cell}",
                    )
                self._answers[problem] = path

    def run(self, task: Task, sandbox: Sandbox, events: Events) -> AgentResult:  # noqa: ARG002
        """Write the answer that was found. Raises AnswerError when it is no regular file of proper size."""
        path = self._answers.get(task.problem.id)
        if path is None:
            return AgentResult(end="finished", notes=("There is no answer to this problem in the folder.",))
        try:
            answer = read_answer(path)
        except AnswerError as error:
            return AgentResult(end="finished", notes=(str(error),))
        sandbox.put(ANSWER, answer)
        return AgentResult(end="finished")


def find_answers(folder: Path) -> Mapping[str, Mapping[str, Path]]:
    """Cell -> problem id -> answer, for every ``<cell>/<PROBLEM-ID>/pbt_test.py`` below ``folder``.

    A cell is named by the folders above the problem's (``.`` for none). Raises SelectionError when there
    is no answer at all.
    """
    if not folder.is_dir():
        raise SelectionError("no such folder", where=str(folder))
    cells: dict[str, dict[str, Path]] = defaultdict(dict)
    for path in sorted(folder.rglob(ANSWER_NAME)):
        cell = path.parent.parent
        if path.parent != folder:
            cells[str(cell.relative_to(folder))][path.parent.name] = path
    if not cells:
        raise SelectionError(f"no <PROBLEM-ID>/{ANSWER_NAME} at any depth", where=str(folder))
    return dict(cells)


def read_answer(path: Path) -> bytes:
    """The bytes of an answer on this machine; no link is followed in the last component.

    Raises AnswerError: missing, a link, a folder or another special file, too large, unreadable.
    """
    where = str(path)
    try:
        kind = path.lstat().st_mode
        if not stat.S_ISREG(kind):
            raise AnswerError(f"is {_kind(kind)}, not a regular file", where=where)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return check_size(file.read(MAX_ANSWER + 1), where)
    except FileNotFoundError as error:
        raise AnswerError("no such file", where=where) from error
    except OSError as error:
        raise AnswerError(error.strerror or "cannot be read", where=where) from error


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a link"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a special file"
