"""Reads unified diffs. Lenient only where nothing is lost:

* a leading ``a/`` and ``b/`` is dropped when both sides have it; other names are used as they are;
* an empty line inside a hunk is an empty context line (editors strip the leading blank), and up to
  three of them may be missing at the very end of the patch, as with GNU patch;
* when the header lines end in CRLF the whole patch was converted on its way, and the carriage returns
  are dropped, as with GNU patch. Otherwise line endings are content: a patch stored with LF does not
  apply to a file with CRLF.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Iterator, Sequence

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk as UnidiffHunk
from unidiff.patch import PatchedFile, PatchSet

from pbtbench.errors import PatchError
from pbtbench.problems.patch import Edit, FileChange, Hunk, Patch, split_lines

_DEV_NULL = "/dev/null"
_CHOPPED_BLANK_LINES = 3
_FILE_HEADER = re.compile(rb"^--- [^\n]*\n\+\+\+ [^\n]*\n@@ ", re.MULTILINE)
_LINK_MODE = re.compile(rb"^(?:new file|new|deleted file) mode 1[26]0000\s*$", re.MULTILINE)


def parse_patch(text: bytes, name: str) -> Patch:
    """Read a unified diff; ``name`` is used in errors.

    Raises PatchError for a malformed diff, a binary patch, a rename, a link, a path that leaves the
    tree, or a patch that changes nothing.
    """
    header = _FILE_HEADER.search(text)
    if header and b"\r\n+++ " in header[0]:
        text = text.replace(b"\r\n", b"\n")
    if text and not text.endswith(b"\n"):
        text += b"\n"
    lines = split_lines(text)
    consumed = 0

    def source() -> Iterator[str]:
        nonlocal consumed
        for consumed, line in enumerate(lines, 1):  # noqa: B007 - the error below names the line
            yield line.decode("latin-1")
        yield from ["\n"] * _CHOPPED_BLANK_LINES

    try:
        parsed: list[PatchedFile] = list(PatchSet(source()))
    except UnidiffParseError as error:
        problem = str(error).strip() or "not a unified diff"
        raise PatchError(f"not a valid unified diff: {problem}", where=f"{name}:{consumed}") from None
    if _LINK_MODE.search(text):
        raise PatchError("links and submodules cannot be patched", where=name)
    changes = tuple(_read_file(file, lines, name) for file in parsed)
    if not changes:
        raise PatchError("the patch changes nothing", where=name)
    paths = [change.path for change in changes]
    for path in paths:
        if paths.count(path) > 1:
            raise PatchError("the patch names this file twice", where=f"{name}: {path}")
    return Patch(name, changes)


def _read_file(file: PatchedFile, lines: Sequence[bytes], name: str) -> FileChange:
    where = f"{name}:{file.diff_line_no}"
    source, target = _unquote(file.source_file), _unquote(file.target_file)
    named = [side for side in (source, target) if side != _DEV_NULL]
    if not named:
        raise PatchError("both sides are /dev/null", where=where)
    if source in {_DEV_NULL, f"a/{source[2:]}"} and target in {_DEV_NULL, f"b/{target[2:]}"}:
        named = [side[2:] for side in named]
    path = named[0]
    if named[-1] != path:
        raise PatchError(
            f"renames and copies are not supported ({path} to {named[-1]})",
            where=where,
            hint="Write it as one deleted and one new file",
        )
    if path.startswith("/") or set(path.split("/")) & {"", ".", ".."} or {"\\", "\0"} & set(path):
        raise PatchError(f"{path!r} is not a plain path below the library's folder", where=where)
    if file.is_binary_file:
        raise PatchError(f"binary patches are not supported ({path})", where=where)
    creates, deletes = source == _DEV_NULL, target == _DEV_NULL
    hunks: list[Hunk] = []
    for number, parsed in enumerate(file, 1):
        hunk = _read_hunk(parsed, number)
        place = f"{name}: {path}, hunk {number}"
        if hunk.start < (hunks[-1].end if hunks else 0):
            raise PatchError("hunks overlap or are not in the order of the file", where=place)
        _refuse_surplus_lines(parsed, lines, name)
        hunks.append(hunk)
    if not (creates or deletes) and not any(hunk.edits for hunk in hunks):
        raise PatchError(f"the patch changes nothing in {path}", where=where)
    return FileChange(path, tuple(hunks), creates, deletes)


def _read_hunk(parsed: UnidiffHunk, number: int) -> Hunk:
    body: list[tuple[str, bytes]] = []
    for line in parsed:
        if line.line_type == "\\":  # no newline at the end of the line before
            kind, value = body.pop()
            body.append((kind, value.removesuffix(b"\n")))
        elif line.line_type:  # unidiff marks blank lines after the hunk with ""
            body.append((line.line_type, line.value.encode("latin-1")))
    # With no old lines a header names the line before the hunk, otherwise the hunk's first line.
    start = parsed.source_start - bool(parsed.source_length)
    at, edits = start, []
    for changed, run in itertools.groupby(body, key=lambda line: line[0] != " "):
        lines = list(run)
        old = tuple(value for kind, value in lines if kind != "+")
        if changed:
            edits.append(Edit(at, old, tuple(value for kind, value in lines if kind == "+")))
        at += len(old)
    return Hunk(
        number,
        start,
        tuple(value for kind, value in body if kind != "+"),
        tuple(value for kind, value in body if kind != "-"),
        tuple(edits),
    )


def _refuse_surplus_lines(parsed: UnidiffHunk, lines: Sequence[bytes], name: str) -> None:
    """A hunk with more lines than its header counts would lose them without a word."""
    last = max(line.diff_line_no or 0 for line in parsed)
    for number, line in enumerate(lines[last:], last + 1):
        if line.startswith((b"@@ ", b"diff ", b"--- ", b"-- \n", b"--\n")):
            return
        if line.startswith((b"+", b"-", b" ")):
            raise PatchError("more lines than the hunk's header counts", where=f"{name}:{number}")


def _unquote(path: str) -> str:
    """Undo git's C-style quoting of unusual file names; bytes stay latin-1 until the end."""
    raw = path.encode("latin-1")
    if len(raw) > 1 and raw.startswith(b'"') and raw.endswith(b'"'):
        raw, _ = codecs.escape_decode(raw[1:-1])
    return raw.decode("utf-8", "surrogateescape")
