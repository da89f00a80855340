"""Patches apply and reverse exactly, or raise an error that says where."""

# ruff: noqa: E501 - tables with one case a line, messages in full

from __future__ import annotations

import difflib
import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pbtbench.errors import PatchError
from pbtbench.problems.diff import parse_patch
from pbtbench.problems.patch import Patch, split_lines

# Few different lines make repeated ones, which is where positions go wrong.
LINES = st.sampled_from(
    [
        b"\n",
        b"a\n",
        b"b\n",
        b"    x = 1\n",
        b"-- c\n",
        b"++ d\n",
        b"\r\n",
        b"e\r\n",
        b"\xff\xe9\n",
        b"@@ f\n",
        b" \n",
    ]
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
    return b"".join(row if row.endswith(b"\n") else row + b"\n\\ No newline at end of file\n" for row in rows)


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
    with pytest.raises(
        PatchError, match=f"The hunk's lines are at line {at_line + added}: correct its header$"
    ):
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
    except PatchError:
        with pytest.raises(PatchError, match=r"bug_[12].patch: .* interferes with bug_[12].patch: "):
            (second.over([first]), first.over([second]))
        return
    both = over_first.apply(first.apply(clean))
    assert both == over_second.apply(second.apply(clean))
    assert over_first.reverse(both) == first.apply(clean)
    assert over_second.reverse(both) == second.apply(clean)


@pytest.mark.skipif(not shutil.which("patch"), reason="needs GNU patch")
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


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
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
        check=False,  # 1: there are differences
    )
    patch = parse_patch(made.stdout, "p")
    assert patch.apply(before) == after
    assert patch.reverse(after) == before


# -- reading -------------------------------------------------------------------------------------

OLD = b"def f():\n\n    return 1\n\n\ndef g():\n    return 2\n"
NEW = OLD.replace(b"return 1", b"return 3")
HEADER = b"--- a/pkg/x.py\n+++ b/pkg/x.py\n"
BODY = b"@@ -1,6 +1,6 @@\n def f():\n \n-    return 1\n+    return 3\n \n \n def g():\n"


@pytest.mark.parametrize(
    "text",
    [
        HEADER + BODY,
        b"--- pkg/x.py\n+++ pkg/x.py\n" + BODY,
        b"--- a/pkg/x.py\t2024-01-01 00:00:00\n+++ b/pkg/x.py\t2024-01-02 00:00:00\n" + BODY,
        b"Some words,\n- a list\n\n" + HEADER + BODY + b"-- \n2.43.0\n",
        b"diff --git a/pkg/x.py b/pkg/x.py\nindex 1234567..89abcde 100644\n" + HEADER + BODY,
        HEADER + BODY.replace(b"\n \n", b"\n\n").replace(b"\n \n", b"\n\n"),
        (HEADER + BODY).replace(b"\n", b"\r\n"),
        (HEADER + BODY).removesuffix(b"\n"),
        HEADER + BODY.replace(b"-1,6 +1,6", b"-1,5 +1,5").replace(b" \n def g():\n", b" \n"),
        HEADER + BODY.replace(b"-1,6 +1,6", b"-1,5 +1,5").replace(b" \n \n def g():\n", b""),
        HEADER + b"@@ -3 +3 @@ def f():\n-    return 1\n+    return 3\n",
        HEADER + BODY + b"\n\n\n",
    ],
    ids=[
        "plain", "no prefix", "timestamps", "prose around", "git", "blank context stripped", "sent as CRLF",
        "no final newline", "short context", "blank context at the end chopped", "no context", "blank lines after",
    ],
)  # fmt: skip
def test_ways_to_write_the_same_patch(text):
    patch = parse_patch(text, "p")
    assert patch.apply({"pkg/x.py": OLD}) == {"pkg/x.py": NEW}
    assert patch.reverse({"pkg/x.py": NEW}) == {"pkg/x.py": OLD}


def test_git_writes_empty_files_without_hunks():
    text = b"diff --git a/pkg/e.py b/pkg/e.py\nnew file mode 100644\nindex 0000000..e69de29\n"
    patch = parse_patch(text, "p")
    assert patch.apply({}) == {"pkg/e.py": b""}
    assert patch.reverse({"pkg/e.py": b""}) == {}


def renaming(old: bytes, new: bytes) -> bytes:
    return b"--- " + old + b"\n+++ " + new + b"\n" + BODY


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "p: the patch changes nothing"),
        (b"only words\n", "p: the patch changes nothing"),
        (HEADER, "p:2: the patch changes nothing in pkg/x.py"),
        (HEADER + b"@@ -1 +1 @@\n def f():\n", "p:2: the patch changes nothing in pkg/x.py"),
        (
            renaming(b"a/pkg/x.py", b"b/pkg/z.py"),
            ("p:2: renames and copies are not supported (pkg/x.py to pkg/z.py). "
            "Write it as one deleted and one new file"),
        ),
        (
            b"diff --git a/p.py b/q.py\nsimilarity index 100%\nrename from p.py\nrename to q.py\n",
            "p:1: renames and copies are not supported (p.py to q.py). Write it as one deleted and one new file",
        ),
        (b"diff --git a/p b/p\nold mode 100644\nnew mode 100755\n", "p:1: the patch changes nothing in p"),
        (b"Binary files a/p.so and b/p.so differ\n", "p:1: binary patches are not supported (p.so)"),
        (
            b"diff --git a/p.so b/p.so\nindex 1..2 100644\nGIT binary patch\nliteral 3\n",
            "p:1: binary patches are not supported (p.so)",
        ),
        (
            b"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n",
            "p: links and submodules cannot be patched",
        ),
        (renaming(b"a/../x.py", b"b/../x.py"), "p:2: '../x.py' is not a plain path below the library's folder"),
        (renaming(b"/etc/x", b"/etc/x"), "p:2: '/etc/x' is not a plain path below the library's folder"),
        (renaming(b"a//etc/x", b"b//etc/x"), "p:2: '/etc/x' is not a plain path below the library's folder"),
        (renaming(b"a/p\\x", b"b/p\\x"), "p:2: 'p\\\\x' is not a plain path below the library's folder"),
        (renaming(b"/dev/null", b"/dev/null"), "p:2: both sides are /dev/null"),
        (HEADER + BODY + HEADER + BODY, "p: pkg/x.py: the patch names this file twice"),
        (HEADER + BODY + BODY, "p: pkg/x.py, hunk 2: hunks overlap or are not in the order of the file"),
        (HEADER + BODY.replace(b"+1,6", b"+1,5"), "p:10: not a valid unified diff: Hunk is longer than expected"),
        (HEADER + BODY.replace(b"-1,6 +1,6", b"-1,9 +1,9") + b"@@ -20 +20 @@\n-a\n",
         "p:11: not a valid unified diff: Hunk diff line expected: @@ -20 +20 @@"),
        (HEADER + BODY + b"+one more\n", "p:11: more lines than the hunk's header counts"),
        (HEADER + BODY + b"\n-one more\n", "p:12: more lines than the hunk's header counts"),
        (HEADER + BODY.replace(b" def f", b"def f"), "p:4: not a valid unified diff: Hunk diff line expected: def f():"),
        (b"+++ b/pkg/x.py\n" + BODY, "p:1: not a valid unified diff: Target without source: +++ b/pkg/x.py"),
    ],
)  # fmt: skip
def test_what_cannot_be_applied_exactly_is_refused_when_read(text, message):
    with pytest.raises(PatchError) as caught:
        parse_patch(text, "p")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "files", "message"),
    [
        (HEADER + BODY, {}, "p: pkg/x.py: no such file in the library"),
        (
            HEADER + BODY,
            {"pkg/x.py": OLD.replace(b"\n", b"\r\n")},
            "p: pkg/x.py, hunk 1, line 1: expected 'def f():\\n', found 'def f():\\r\\n'. Only the line endings differ",
        ),
        (
            HEADER + BODY,
            {"pkg/x.py": OLD.replace(b"1", b"\xe9")},
            "p: pkg/x.py, hunk 1, line 3: expected '    return 1\\n', found '    return \\\\xe9\\n'",
        ),
        (
            HEADER + BODY,
            {"pkg/x.py": b"def f():\n\n"},
            "p: pkg/x.py, hunk 1, line 3: expected '    return 1\\n', found the end of the file",
        ),
        (HEADER + b"@@ -9,0 +10 @@\n+new\n", {"pkg/x.py": OLD}, "p: pkg/x.py, hunk 1, line 10: the file has only 7 lines"),
        (diff(None, b"1\n"), {"pkg/x.py": b""}, "p: pkg/x.py: the patch creates this file, but it exists"),
        (
            diff(b"1\n", None),
            {"pkg/x.py": b"1\n2\n"},
            "p: pkg/x.py: the patch deletes this file, but 1 of its lines are not in the patch",
        ),
        (
            HEADER + b"@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n",
            {"pkg/x.py": b"a\nc\n"},
            "p: pkg/x.py, line 1: a line without newline would not be the last one",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_file_is_refused_with_its_place(text, files, message):
    with pytest.raises(PatchError) as caught:
        parse_patch(text, "p").apply(files)
    assert str(caught.value) == message
