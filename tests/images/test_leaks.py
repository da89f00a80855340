"""The leak scan finds each kind of thing that an agent must not see, and nothing where nothing is."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import io
import py_compile
import zipfile
from pathlib import Path

import pytest

from pbtbench.errors import LeakError
from pbtbench.images import leaks
from pbtbench.problems.model import Problem
from pbtbench.problems.tree import BUGGY, CLEAN
from pbtbench.problems.trees import build_trees
from tests.images import toy

SITE = "/opt/venv/lib/python3.13/site-packages"
CORE = toy.SOURCES["toylib/core.py"]
REFERENCE = b"def test_reference():\n    assert True\n"


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    (tmp_path / "pbt_test.py").write_bytes(REFERENCE)
    return toy.problem(tmp_path, toy.library(), reference=tmp_path / "pbt_test.py")


def scan(problem: Problem, base: dict[str, str] | None = None, **planted: bytes) -> list[leaks.Leak]:
    trees = build_trees(toy.SOURCES, problem)
    files = {f"{SITE}/{path}": data for path, data in trees[BUGGY].files.items()}
    files["/workspace/docs/index.rst"] = b"Manual\n"
    files |= planted
    return leaks.scan(problem, trees, files, base or {}, SITE)


def rules(found: list[leaks.Leak]) -> set[str]:
    return {leak.rule for leak in found}


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("inside/core.py", content)
    return buffer.getvalue()


def test_what_an_agent_is_meant_to_get_has_no_leak(problem: Problem) -> None:
    assert scan(problem) == []


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("copy", CORE, "copy of a clean file"),
        ("crlf", CORE.replace(b"\n", b"\r\n"), "copy of a clean file but for white space"),
        ("zip", zipped(CORE), "copy of a clean file"),
        ("zip in zip", zipped(zipped(CORE)), "copy of a clean file"),
        ("gz", gzip.compress(CORE), "copy of a clean file"),
        ("tar.gz", toy.sdist_bytes({"src/core.py": CORE}), "copy of a clean file"),
        ("hex", b"sha: " + hashlib.sha256(CORE).hexdigest().encode(), "hash of a clean file"),
        ("HEX", hashlib.sha256(CORE).hexdigest().upper().encode(), "hash of a clean file"),
        ("md5", hashlib.md5(CORE).hexdigest().encode(), "hash of a clean file"),
        (
            "record",
            b"toylib/core.py,sha256=" + base64.urlsafe_b64encode(hashlib.sha256(CORE).digest()).rstrip(b"="),
            "hash of a clean file",
        ),
        ("patch", toy.TIES.patch_text, "text of a patch"),
        ("passage", b"Example::\n\n    " + CORE.replace(b"\n", b"\n    "), "clean code of a patched passage"),
        ("reference", REFERENCE, "reference test"),
        ("canary", b"# pbtbench canary pbtbench-0000", "file of the problem itself"),
    ],
)
def test_each_planted_leak_is_found(problem: Problem, name: str, content: bytes, rule: str) -> None:
    assert rule in rules(scan(problem, **{"/workspace/docs/planted": content})), name


@pytest.mark.parametrize(
    "path",
    [
        "x/core.py.orig",
        "x/core.py.rej",
        "x/.git/config",
        "x/.cache/pip/http",
        "x/toylib-1.0.dist-info/direct_url.json",
    ],
)
def test_what_builds_leave_behind_is_found_by_name(problem: Problem, path: str) -> None:
    assert rules(scan(problem, **{f"/workspace/{path}": b"anything"})) == {"left over from a build"}


@pytest.mark.parametrize("name", ["toylib-1.0-py3-none-any.whl", "toylib-1.0.tar.gz", "Toylib-0.9.zip"])
def test_any_distribution_of_the_library_is_found_whatever_is_in_it(problem: Problem, name: str) -> None:
    assert rules(scan(problem, **{f"/workspace/{name}": b"?"})) == {"distribution of the library"}


def test_a_copy_in_the_system_below_is_found(problem: Problem) -> None:
    found = scan(problem, base={hashlib.sha256(CORE).hexdigest(): "/usr/share/x.py"})
    assert [(leak.path, leak.rule) for leak in found] == [("/usr/share/x.py", "copy of a clean file")]


def test_a_copy_with_another_bug_fixed_is_found(tmp_path: Path) -> None:
    other = toy.patch("toylib/core.py", "one + two", "two + one", 2)
    problem = toy.problem(tmp_path, toy.library(), toy.TIES, other)
    half = build_trees(toy.SOURCES, problem)["fixed:bug_2"].files["toylib/core.py"]
    assert "copy of a clean file" in rules(scan(problem, **{"/workspace/x": half}))


def test_unchanged_files_of_the_library_may_be_anywhere(problem: Problem) -> None:
    assert scan(problem, **{"/workspace/docs/init.py": toy.SOURCES["toylib/__init__.py"]}) == []


def compiled(tmp_path: Path, source: bytes, mode: py_compile.PycInvalidationMode) -> bytes:
    (tmp_path / "core.py").write_bytes(source)
    made = py_compile.compile(str(tmp_path / "core.py"), str(tmp_path / "core.pyc"), invalidation_mode=mode)
    assert made is not None
    return Path(made).read_bytes()


def test_bytecode_must_be_that_of_the_buggy_source(problem: Problem, tmp_path: Path) -> None:
    trees = build_trees(toy.SOURCES, problem)
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    place = f"{SITE}/toylib/__pycache__/core.cpython-313.pyc"
    buggy = compiled(tmp_path, trees[BUGGY].files["toylib/core.py"], unchecked)
    clean = compiled(tmp_path, trees[CLEAN].files["toylib/core.py"], unchecked)
    timed = compiled(tmp_path, trees[BUGGY].files["toylib/core.py"], py_compile.PycInvalidationMode.TIMESTAMP)
    assert scan(problem, **{place: buggy}) == []
    assert rules(scan(problem, **{place: clean})) == {"bytecode of other source"}
    assert rules(scan(problem, **{place: timed})) == {"bytecode of other source"}
    assert rules(scan(problem, **{"/workspace/old.pyc": buggy})) == {"bytecode of other source"}


def test_bytecode_with_the_right_header_and_clean_code_is_found(problem: Problem, tmp_path: Path) -> None:
    trees = build_trees(toy.SOURCES, problem)
    clean = compiled(tmp_path, CORE, py_compile.PycInvalidationMode.UNCHECKED_HASH)
    header = importlib.util.source_hash(trees[BUGGY].files["toylib/core.py"])
    disguised = clean[:8] + header + clean[16:]
    place = f"{SITE}/toylib/__pycache__/core.cpython-313.pyc"
    assert rules(scan(problem, **{place: disguised})) == {"bytecode of a clean file"}


@pytest.mark.parametrize("comment", ["BUG: off by one", "wrong on purpose", "injected", "deliberately loose"])
def test_a_comment_that_gives_a_bug_away_is_found(tmp_path: Path, comment: str) -> None:
    bug = toy.patch("toylib/core.py", "one + two", f"one - two  # {comment}")
    found = scan(toy.problem(tmp_path, toy.library(), bug))
    assert [(leak.path, leak.rule, leak.detail) for leak in found] == [
        ("bug_1.patch", "hint in a patch", comment)
    ]


def test_an_honest_comment_is_no_hint(tmp_path: Path) -> None:
    bug = toy.patch("toylib/core.py", "one + two", "one - two  # the debugger shows both")
    assert scan(toy.problem(tmp_path, toy.library(), bug)) == []


def test_a_leak_refuses_the_build_and_names_place_and_rule(problem: Problem) -> None:
    with pytest.raises(LeakError, match=r"TOYS-001: .*/workspace/copy: copy of a clean file"):
        leaks.refuse(problem, scan(problem, **{"/workspace/copy": CORE}))
