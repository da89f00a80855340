"""The trees of a problem differ by exactly the bugs that their names say."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from pbtbench.errors import PatchError
from pbtbench.problems.model import Bug, Library, Problem
from pbtbench.problems.trees import build_trees, changed_files
from tests.problems.test_patch import diff

CLEAN = "".join(f"line {number}\n" for number in range(1, 31))
FILES = {"pkg/x.py": CLEAN.encode(), "pkg/y.py": b"y = 1\n", "pkg/data.bin": b"\0\xff"}


def problem(
    *patches: bytes, published: bool = False, lib_patches: tuple[tuple[str, bytes], ...] = ()
) -> Problem:
    return Problem(
        id="TEST-001",
        library=Library(name="lib", version="1", module="pkg"),
        bugs=tuple(
            Bug(id=f"bug_{number}", difficulty="L1", description="", patch_text=text)
            for number, text in enumerate(patches, 1)
        ),
        folder=Path("unused"),
        published=published,
        lib_patches=lib_patches,
    )


def replaced(*changes: tuple[int, str], content: str = CLEAN) -> bytes:
    """``content`` with whole lines replaced by number."""
    lines = content.splitlines(keepends=True)
    for number, text in changes:
        lines[number - 1] = text
    return "".join(lines).encode()


def change(*changes: tuple[int, str]) -> bytes:
    return diff(CLEAN.encode(), replaced(*changes))


ONE, TWO, THREE = (5, "more\nlines\nhere\n"), (15, ""), (25, "third\n")


def test_every_tree_has_the_bugs_of_its_name():
    trees = build_trees(FILES, problem(change(ONE), change(TWO), change(THREE)))
    expected = {
        "clean": (),
        "buggy": (ONE, TWO, THREE),
        "fixed:bug_1": (TWO, THREE),
        "fixed:bug_2": (ONE, THREE),
        "fixed:bug_3": (ONE, TWO),
        "only:bug_1": (ONE,),
        "only:bug_2": (TWO,),
        "only:bug_3": (THREE,),
    }
    assert {name: tree.files["pkg/x.py"] for name, tree in trees.items()} == {
        name: replaced(*changes) for name, changes in expected.items()
    }
    assert all(trees[name].name == name for name in trees)
    assert changed_files(trees.values()) == {"pkg/x.py"}


def test_the_order_of_the_bugs_does_not_matter():
    hashes = {
        build_trees(FILES, problem(*order))["buggy"].hash
        for order in itertools.permutations([change(ONE), change(TWO), change(THREE)])
    }
    assert len(hashes) == 1


def test_equal_trees_and_only_they_have_equal_hashes():
    trees = build_trees(FILES, problem(change(ONE)))
    assert trees["fixed:bug_1"].hash == trees["clean"].hash
    assert trees["only:bug_1"].hash == trees["buggy"].hash != trees["clean"].hash
    renamed = {path.replace("y.py", "z.py"): content for path, content in FILES.items()}
    assert build_trees(renamed, problem(change(ONE)))["clean"].hash != trees["clean"].hash


def test_library_fixes_are_part_of_every_tree_and_bugs_are_made_against_them():
    fix = diff(b"y = 1\n", b"y = 2\nz = 3\n", path="pkg/y.py")
    bug = diff(b"y = 2\nz = 3\n", b"y = 2\nz = 4\n", path="pkg/y.py")
    trees = build_trees(FILES, problem(bug, lib_patches=(("lib_fix.patch", fix),)))
    assert trees["clean"].files["pkg/y.py"] == b"y = 2\nz = 3\n"
    assert trees["buggy"].files["pkg/y.py"] == b"y = 2\nz = 4\n"


def test_files_that_a_bug_creates_and_deletes_are_only_where_it_is():
    create = diff(None, b"new\n", path="pkg/new.py")
    delete = diff(b"y = 1\n", None, path="pkg/y.py")
    trees = build_trees(FILES, problem(create, delete))
    having = {
        path: {name for name, tree in trees.items() if path in tree.files}
        for path in ("pkg/new.py", "pkg/y.py")
    }
    assert having["pkg/new.py"] == {"buggy", "only:bug_1", "fixed:bug_2"}
    assert having["pkg/y.py"] == {"clean", "only:bug_1", "fixed:bug_2"}
    assert changed_files(trees.values()) == {"pkg/new.py", "pkg/y.py"}


@pytest.mark.parametrize(
    ("one", "two", "place"),
    [
        (change((5, "a\n")), change((5, "b\n")), "pkg/x.py, hunk 1, line 2"),
        (change((5, "a\n")), change((5, "a\n")), "pkg/x.py, hunk 1, line 2"),
        (change((5, "a\n")), change((7, "b\n")), "pkg/x.py, hunk 1, line 4"),
        (diff(None, b"1\n", "pkg/n.py"), diff(None, b"2\n", "pkg/n.py"), "pkg/n.py"),
        (diff(b"y = 1\n", None, "pkg/y.py"), diff(b"y = 1\n", b"y = 2\n", "pkg/y.py"), "pkg/y.py"),
    ],
    ids=["same line", "same change", "in the context", "same new file", "deleted and changed"],
)
def test_patches_that_interfere_are_refused_and_both_are_named(one, two, place):
    with pytest.raises(PatchError) as caught:
        build_trees(FILES, problem(one, two))
    assert caught.value.where == f"TEST-001/bug_2.patch: {place}"
    assert "interferes with TEST-001/bug_1.patch" in str(caught.value)


def test_contexts_may_overlap_where_nobody_changes_anything():
    trees = build_trees(FILES, problem(change((5, "a\n")), change((9, "b\n"))))
    assert trees["buggy"].files["pkg/x.py"] == replaced((5, "a\n"), (9, "b\n"))


def test_wrong_line_numbers_are_put_right_in_the_public_format_alone():
    wrong = change(TWO).replace(b"@@ -12,", b"@@ -14,")
    assert wrong != change(TWO)
    with pytest.raises(PatchError, match=r"line 14: expected .* The hunk's lines are at line 12"):
        build_trees(FILES, problem(change(ONE), wrong))
    trees = build_trees(FILES, problem(change(ONE), wrong, published=True))
    assert trees["buggy"].files["pkg/x.py"] == replaced(ONE, TWO)


def test_lines_that_are_there_twice_are_never_located_by_guess():
    content = b"same\nlines\n" * 3
    patch = b"--- a/pkg/x.py\n+++ b/pkg/x.py\n@@ -2,2 +2,2 @@\n same\n-lines\n+other\n"
    with pytest.raises(PatchError, match=r"hunk 1, line 2: expected 'same\\n', found 'lines\\n'"):
        build_trees({"pkg/x.py": content}, problem(patch, published=True))
