"""Patches apply and reverse exactly, or raise an error that says where."""

from __future__ import annotations

import difflib
import itertools
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pbtbench.errors import PatchError
from pbtbench.problems.patch import Patch, parse_patch, split_lines

# Few different lines make repeated ones, which is where positions go wrong.
LINES = st.sampled_from(
    [b"\n", b"a\n", b"b\n", b"    x = 1\n", b"-- c\n", b"++ d\n", b"\r\n", b"e\r\n", b"\xff\xe9\n", b"@@ f\n", b" \n"]
)


@st.composite
def contents(draw: st.DrawFn, lines: st.SearchStrategy[bytes] = LINES) -> bytes:
    """A file: lines of several kinds, with or without a newline at the end."""
    content = b"".join(draw(st.lists(lines, max_size=14)))
    return content.rstrip(b"\r\n") if draw(st.booleans()) else content


@st.composite
def edited(draw: st.DrawFn, content: bytes) -> bytes:
    """``content`` with a few lines put in, taken out or replaced."""
    lines = split_lines(content)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines)))
        size = draw(st.integers(0, 2))
        lines[at : at + size] = draw(st.lists(LINES, max_size=2))
    result = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines)
    return result.rstrip(b"\r\n") if draw(st.booleans()) else result


def diff(old: bytes | None, new: bytes | None, path: str = "pkg/x.py", context: int = 3) -> bytes:
    """A unified diff made by difflib; None is a file that is not there."""
    rows = difflib.diff_bytes(
        difflib.unified_diff,
        split_lines(old or b""),
        split_lines(new or b""),
        b"/dev/null" if old is None else b"a/" + path.encode(),
        b"/dev/null" if new is None else b"b/" + path.encode(),
        n=context,
    )
    return b"".join(
        row if row.endswith(b"\n") else row + b"\n\\ No newline at end of file\n" for row in rows
    )


@given(st.data(), contents(), st.integers(0, 3))
def test_apply_gives_the_new_file_and_reverse_the_old_one(data, old, context):
    new = data.draw(edited(old))
    assume(old != new)
    patch = parse_patch(diff(old, new, context=context), "bug_1.patch")
    before, after = {"pkg/x.py": old, "other": b"1"}, {"pkg/x.py": new, "other": b"1"}
    assert patch.apply(before) == after
    assert patch.reverse(after) == before
    assert patch.inverse().inverse() == patch


@given(contents().filter(bool), st.integers(0, 3))
def test_files_are_created_and_deleted(content, context):
    create = parse_patch(diff(None, content, context=context), "bug_1.patch")
    delete = parse_patch(diff(content, None, context=context), "bug_2.patch")
    assert create.apply({}) == delete.reverse({}) == {"pkg/x.py": content}
    assert create.reverse({"pkg/x.py": content}) == delete.apply({"pkg/x.py": content}) == {}


@given(st.data(), contents(), st.integers(0, 3))
def test_every_changed_context_line_is_refused_with_its_place(data, old, context):
    new = data.draw(edited(old))
    assume(old != new)
    patch = parse_patch(diff(old, new, context=context), "bug_1.patch")
    hunks = patch.changes[0].hunks
    covered = [(hunk, index) for hunk in hunks for index in range(hunk.start, hunk.end)]
    assume(covered)
    hunk, index = data.draw(st.sampled_from(covered))
    lines = split_lines(old)
    lines[index] = b"changed" + lines[index]
    with pytest.raises(PatchError) as caught:
        patch.apply({"pkg/x.py": b"".join(lines)})
    assert caught.value.where == f"bug_1.patch: pkg/x.py, hunk {hunk.number}, line {index + 1}"


@given(st.integers(0, 9), st.integers(1, 3), st.integers(1, 3))
def test_a_hunk_that_is_lower_down_is_refused_and_the_error_says_where_it_is(at, context, added):
    """No offset, however small."""
    lines = [b"%d\n" % number for number in range(10)]
    new = [*lines[:at], b"new\n", *lines[at + 1 :]]
    patch = parse_patch(diff(b"".join(lines), b"".join(new), context=context), "bug_1.patch")
    moved = {"pkg/x.py": b"".join([b"more\n"] * added + lines)}
    at_line = patch.changes[0].hunks[0].start + 1
    with pytest.raises(PatchError, match=f"The hunk's lines are at line {at_line + added}: correct its header$"):
        patch.apply(moved)
    assert patch.located(moved).apply(moved)["pkg/x.py"] == b"".join([b"more\n"] * added + new)


@st.composite
def independent_patches(draw: st.DrawFn) -> tuple[bytes, list[Patch]]:
    """A file and patches of it that keep apart from each other; they move each other's lines."""
    blocks = draw(st.integers(2, 4))
    context = draw(st.integers(0, 3))
    parts = [[b"%d %d\n" % (block, row) for row in range(8)] for block in range(blocks)]
    old = b"".join(itertools.chain(*parts))
    patches = []
    for block in range(blocks):
        lines = list(parts[block])
        at = draw(st.integers(3, 4))
        size = draw(st.integers(0, 1))
        lines[at : at + size] = [b"new\n"] * draw(st.integers(1 - size, 3))
        new = b"".join(itertools.chain(*parts[:block], lines, *parts[block + 1 :]))
        patches.append(parse_patch(diff(old, new, context=context), f"bug_{block + 1}.patch"))
    return old, draw(st.permutations(patches))


def apply_in_order(files: dict[str, bytes], patches: list[Patch]) -> dict[str, bytes]:
    for index, patch in enumerate(patches):
        files = patch.over(patches[:index]).apply(files)
    return files


@given(independent_patches(), st.data())
def test_independent_patches_apply_and_reverse_in_any_order(case, data):
    old, patches = case
    clean = {"pkg/x.py": old}
    buggy = apply_in_order(clean, patches)
    assert apply_in_order(clean, data.draw(st.permutations(patches))) == buggy
    removed = data.draw(st.sampled_from(patches))
    others = [patch for patch in patches if patch is not removed]
    assert removed.over(others).reverse(buggy) == apply_in_order(clean, others)


@given(st.data(), contents(), st.integers(0, 3))
def test_two_patches_either_commute_or_are_refused(data, old, context):
    """Never a third thing: what ``over`` lets through gives the same file in both orders."""
    versions = [data.draw(edited(old)), data.draw(edited(old))]
    assume(old not in versions)
    first, second = (
        parse_patch(diff(old, new, context=context), f"bug_{i}.patch") for i, new in enumerate(versions, 1)
    )
    clean = {"pkg/x.py": old}
    try:
        over_first, over_second = second.over([first]), first.over([second])
    except PatchError as error:
        assert "bug_1.patch" in str(error)
        assert "bug_2.patch" in str(error)
        return
    both = over_first.apply(first.apply(clean))
    assert both == over_second.apply(second.apply(clean))
    assert over_first.reverse(both) == first.apply(clean)
    assert over_second.reverse(both) == second.apply(clean)


@settings(max_examples=25, deadline=None)
@given(st.data(), contents(), st.integers(1, 3))
def test_gnu_patch_agrees(tmp_path_factory, data, old, context):
    new = data.draw(edited(old))
    assume(old != new and old and new)
    text = diff(old, new, context=context)
    folder: Path = tmp_path_factory.mktemp("gnu")
    (folder / "pkg").mkdir()
    (folder / "pkg/x.py").write_bytes(old)
    subprocess.run(
        ["patch", "--binary", "-s", "-p1", "--fuzz=0"], cwd=folder, input=text, check=True, timeout=20
    )
    assert parse_patch(text, "p").apply({"pkg/x.py": old})["pkg/x.py"] == (folder / "pkg/x.py").read_bytes()


@settings(max_examples=15, deadline=None)
@given(st.data(), contents(), contents())
def test_diffs_made_by_git_are_read(tmp_path_factory, data, first, second):
    new_first = data.draw(edited(first))
    assume(first != new_first)
    folder: Path = tmp_path_factory.mktemp("git")
    before = {"pkg/é x.py": first, "pkg/gone.py": second}
    after = {"pkg/é x.py": new_first, "pkg/new.py": second}
    for side, files in (("a", before), ("b", after)):
        for path, content in files.items():
            (folder / side / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / side / path).write_bytes(content)
    made = subprocess.run(
        ["git", "diff", "--no-index", "--no-renames", "--text", "--no-prefix", "a", "b"],
        cwd=folder,
        capture_output=True,
        timeout=20,
    )
    patch = parse_patch(made.stdout, "p")
    assert patch.apply(before) == after
    assert patch.reverse(after) == before
