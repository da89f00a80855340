"""Finds, selects and reads problems, in our own format and in the public PBT-Bench one.

Ours: ``<library>/library.yaml`` and ``<library>/<ID>/{problem.yaml, bug_N.patch, reference/pbt_test.py}``.
Public: ``<library>/problems/<ID>/{problem.yaml, bug_N.patch, docs/, existing_tests/, ground_truth/}``.

A problem is read only when it is selected: a broken one stops only those who ask for it.
"""

from __future__ import annotations

import difflib
import importlib.resources
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

from pbtbench.errors import ProblemError, SelectionError
from pbtbench.problems.document import Document, shown
from pbtbench.problems.model import Domain, Library, Problem
from pbtbench.problems.vocabulary import CANARY, tag_problems

SCHEMA = 1
"""The version of our own problem format that this code reads."""

_ID_LINE = re.compile(r"""^id[ \t]*:[ \t]*(["']?)([^\s"'#]+)\1[ \t]*(?:#.*)?$""", re.MULTILINE)
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_PINNED = re.compile(r"[A-Za-z0-9][\w.\[\],-]*==\S+( *;[^#]*)?( +--hash=sha256:[0-9a-f]{64})+")
_READ = {"schema", "canary", "library", "library_version", "library_module", "docs_provided",
         "provides_base_tests", "existing_tests"} | set(Problem.model_fields)  # fmt: skip
"""Fields of a problem.yaml that mean something here; all others are kept as ``Problem.extra``."""


@dataclass(frozen=True)
class FoundProblem:
    """A problem that is there, not read yet."""

    id: str
    folder: Path


def shipped_problems_dir() -> Path:
    """The folder of the problems that come with pbtbench: in the installed package or the checkout."""
    package = Path(str(importlib.resources.files("pbtbench")))
    installed = package / "_data" / "problems"
    return installed if installed.is_dir() else package.parent / "problems"


def find_problems(folder: Path) -> list[FoundProblem]:
    """Every problem at any depth below ``folder``, sorted by path; reads only their ids.

    Raises SelectionError when there is no such folder, or no problem in it.
    """
    if not folder.is_dir():
        raise SelectionError("no such folder", where=shown(folder))
    found = [FoundProblem(_quick_id(path), path) for path in _problem_folders(folder)]
    if not found:
        raise SelectionError("no problem.yaml in it or in a folder below it", where=shown(folder))
    return found


def select_problems(found: Sequence[FoundProblem], patterns: Sequence[str] = ()) -> list[FoundProblem]:
    """Those of ``found`` that an id or glob of ``patterns`` names (all, when there are none), in order.

    Raises SelectionError for a pattern that names nothing, ProblemError when two of the selected
    problems have one id.
    """
    ids = list(dict.fromkeys(problem.id for problem in found))
    for pattern in patterns:
        if not any(fnmatchcase(id_, pattern) for id_ in ids):
            close = difflib.get_close_matches(pattern.upper(), ids, n=3, cutoff=0.5)
            kind = "no problem matches" if set(pattern) & set("*?[") else "no problem is called"
            hint = f"Did you mean {' or '.join(close)}?" if close else f"There are {_sample(ids)}"
            raise SelectionError(f"{kind} {pattern!r}", hint=hint)
    chosen = [
        problem
        for problem in found
        if not patterns or any(fnmatchcase(problem.id, pattern) for pattern in patterns)
    ]
    folders: dict[str, Path] = {}
    for problem in chosen:
        if problem.id in folders:
            raise ProblemError(
                f"the id {problem.id} is taken by {shown(folders[problem.id] / 'problem.yaml')}",
                where=shown(problem.folder / "problem.yaml"),
            )
        folders[problem.id] = problem.folder
    return chosen


def load_problems(folder: Path | None = None, patterns: Sequence[str] = ()) -> list[Problem]:
    """The selected problems below ``folder`` (default: the shipped ones), sorted by path.

    Raises SelectionError as the functions above, ProblemError for the first malformed problem.
    """
    found = find_problems(folder or shipped_problems_dir())
    return [load_problem(problem.folder) for problem in select_problems(found, patterns)]


def load_problem(folder: Path) -> Problem:
    """Read one problem in either format. Raises ProblemError naming file and line."""
    document = Document(folder / "problem.yaml")
    library_file = folder.parent / "library.yaml"
    if "schema" in document.data or library_file.is_file():
        return _own_problem(folder, document, Document(library_file))
    return _public_problem(folder, document)


def _own_problem(folder: Path, document: Document, library_document: Document) -> Problem:
    library = load_library(library_document)
    data = document.data
    if data.get("schema") != SCHEMA:
        raise document.error(f"schema is {data.get('schema')!r}; allowed: {SCHEMA}", "schema")
    if data.get("canary") != CANARY:
        raise document.error(f"canary is {data.get('canary')!r}; it must be {CANARY}", "canary")
    for key, ours in (
        ("library", library.name),
        ("library_version", library.version),
        ("library_module", library.module),
    ):
        if str(data.get(key, "" if key != "library_module" else ours)) != ours:
            there = f"{shown(library_document.path)} says {ours}"
            raise document.error(f"{key} is {data.get(key)!r} but {there}", key)
    problem = _problem(
        folder, document, library, reference=folder / "reference" / "pbt_test.py", published=False
    )
    if problem.id != folder.name:
        raise document.error(f"id is {problem.id!r} but the folder is called {folder.name!r}", "id")
    for index, bug in enumerate(problem.bugs):
        if bug.contract is None:
            raise document.error(
                f"bugs[{index}].contract is missing",
                "bugs",
                index,
                hint="Name file and heading of the documented promise, and its text",
            )
        if not bug.trigger_condition:
            raise document.error(f"bugs[{index}].trigger is missing", "bugs", index)
        for message in tag_problems(bug.tags):
            raise document.error(f"bugs[{index}].tags: {message}", "bugs", index, "tags")
    return problem


def load_library(document: Document) -> Library:
    """Read a ``library.yaml``. Raises ProblemError naming file and line."""
    data = document.data
    if data.get("schema") != SCHEMA:
        raise document.error(f"schema is {data.get('schema')!r}; allowed: {SCHEMA}", "schema")
    if CANARY not in document.text:
        raise document.error(f"the canary is missing: put {CANARY} in a comment at the top")
    library = document.build(Library, {k: v for k, v in data.items() if k != "schema"})
    for field in ("licence", "sdist", "wheel", "docs"):
        if not getattr(library, field):
            raise document.error(f"{field} is missing", field)
    if library.domain not in get_args(Domain):
        raise document.error(
            f"domain is {library.domain!r}; allowed: {', '.join(get_args(Domain))}", "domain"
        )
    requirements = [("requires", i, line) for i, line in enumerate(library.requires or ())]
    requirements += [("tests", i, line) for i, line in enumerate(library.tests.requires)]
    for field, index, line in requirements:
        if not _PINNED.fullmatch(line):
            location = (field, index) if field == "requires" else (field, "requires", index)
            raise document.error(
                f"{line!r} is not an exact pin with hashes",
                *location,
                hint="Write name==version --hash=sha256:<64 hexadecimal digits>",
            )
    return library


def _public_problem(folder: Path, document: Document) -> Problem:
    data = document.data
    kind = data.get("problem_type", "library")
    if kind != "library":
        raise document.error(f"problem_type is {kind!r}; allowed: library", "problem_type")
    name, version = _name(document, "library"), _name(document, "library_version")
    module = _name(document, "library_module", re.sub(r"[-.]", "_", name))
    library = Library(name=name, version=version, module=module, requires=None)
    shown_tests = data.get("existing_tests") if _flag(document, "provides_base_tests") else ()
    return _problem(
        folder,
        document,
        library,
        reference=folder / "ground_truth" / "pbt_test.py",
        published=True,
        vendored_docs=_vendored(folder, document, "docs_provided", data.get("docs_provided")),
        vendored_tests=_vendored(folder, document, "existing_tests", shown_tests),
    )


def _problem(folder: Path, document: Document, library: Library, *, reference: Path, **more: Any) -> Problem:
    data = document.data
    bugs = data.get("bugs")
    if not isinstance(bugs, list) or not bugs:
        raise document.error("bugs must be a list with at least one bug", "bugs")
    fields = {
        key: data[key]
        for key in ("id", "category", "difficulty", "title", "description", "scope")
        if data.get(key) is not None
    }
    level = fields.get("difficulty")
    return document.build(
        Problem,
        {
            **fields,
            "library": library,
            "bugs": [
                {**_bug_defaults(bug, level), "patch_text": _patch_of(folder, document, bugs, index)}
                for index, bug in enumerate(bugs)
            ],
            "folder": folder,
            "lib_patches": tuple(
                (path.name, path.read_bytes())
                for path in _vendored(folder, document, "lib_patches", data.get("lib_patches"))
            ),
            "reference": reference if reference.is_file() else None,
            "extra": {key: value for key, value in data.items() if key not in _READ},
            **more,
        },
    )


def _bug_defaults(bug: dict[str, Any], level: object) -> dict[str, Any]:
    """A bug without a level of its own has the problem's."""
    given = {key: value for key, value in bug.items() if value is not None}
    return given if level is None else {"difficulty": level, **given}


def _patch_of(folder: Path, document: Document, bugs: list[Any], index: int) -> bytes:
    """Text of ``<bug id>.patch``, whatever the bug's ``patch`` or ``patch_file`` say."""
    bug = bugs[index]
    if not isinstance(bug, dict):
        raise document.error(f"bugs[{index}] must be a mapping (key: value)", "bugs", index)
    bug_id = bug.get("id")
    if not isinstance(bug_id, str) or not _FILE_NAME.fullmatch(bug_id):
        raise document.error(
            f"bugs[{index}].id is {bug_id!r}; allowed: a name such as bug_1", "bugs", index, "id"
        )
    if any(isinstance(other, dict) and other.get("id") == bug_id for other in bugs[:index]):
        raise document.error(f"bugs[{index}].id: {bug_id} is there twice", "bugs", index, "id")
    path = folder / f"{bug_id}.patch"
    if not path.is_file():
        raise document.error(f"the patch {path.name} of {bug_id} is missing", "bugs", index, "id")
    text = path.read_bytes()
    if not text.strip():
        raise ProblemError("the patch is empty", where=shown(path))
    return text


def _vendored(folder: Path, document: Document, field: str, value: object) -> tuple[Path, ...]:
    """Files and folders that ``field`` lists; each must be there, inside the problem's folder."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise document.error(f"{field} must be a list of paths", field)
    paths = []
    for index, item in enumerate(value):
        path = folder / item
        if not path.resolve().is_relative_to(folder.resolve()):
            raise document.error(f"{field}[{index}]: {item} leads out of the problem", field, index)
        if not path.exists():
            raise document.error(f"{field}[{index}]: there is no {item}", field, index)
        paths.append(path)
    return tuple(paths)


def _name(document: Document, field: str, default: str | None = None) -> str:
    """A short text; what looks like a number is read as it is written."""
    value = document.data.get(field)
    if value is None:
        value = default
    if value is None:
        raise document.error(f"{field} is missing", field)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise document.error(f"{field} must be text", field)
    return str(value)


def _flag(document: Document, field: str) -> bool:
    """A yes-or-no field that defaults to yes."""
    value = document.data.get(field, True)
    if not isinstance(value, bool):
        raise document.error(f"{field} is {value!r}; allowed: true, false", field)
    return value


def _problem_folders(folder: Path) -> Iterator[Path]:
    if (folder / "problem.yaml").is_file():
        yield folder
        return
    for child in sorted(folder.iterdir()):
        if child.is_dir() and not child.is_symlink() and not child.name.startswith("."):
            yield from _problem_folders(child)


def _quick_id(folder: Path) -> str:
    """The id without parsing the file; the folder's name when it cannot be seen at a glance."""
    try:
        match = _ID_LINE.search((folder / "problem.yaml").read_text("utf-8", "replace"))
    except OSError:
        match = None
    return match[2] if match else folder.name


def _sample(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
