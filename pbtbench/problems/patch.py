"""Patches, applied by exact content in the coordinates of the clean tree.

Nothing is guessed. Every line of a hunk, its terminator included, must be in the file where the hunk
header says; there is no fuzz and no offset, and a patch that does not fit raises ``PatchError``.

A problem has several patches, all made against the clean tree, and some of them may touch the same
file. Applying one then moves the lines of another by a known number of lines: ``Patch.over`` computes
it from the edits themselves, so that patches apply and reverse in any order with the same result, or
are refused because one changes a line that another one changes or relies on.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pbtbench.errors import PatchError


@dataclass(frozen=True)
class Edit:
    """Lines ``old`` at index ``start`` (0-based) become ``new``; either may be empty, not both."""

    start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]

    @property
    def end(self) -> int:
        """Index after the last replaced line; equal to ``start`` for an insertion."""
        return self.start + len(self.old)

    @property
    def growth(self) -> int:
        """Lines the file gains (negative: loses)."""
        return len(self.new) - len(self.old)


@dataclass(frozen=True)
class Hunk:
    """One ``@@`` block: ``old`` (context included) at index ``start`` becomes ``new``."""

    number: int
    """1-based, within its file."""
    start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]
    edits: tuple[Edit, ...]
    """The changed runs of lines alone, without context."""

    @property
    def end(self) -> int:
        """Index after the last old line."""
        return self.start + len(self.old)

    @property
    def growth(self) -> int:
        """Lines the file gains (negative: loses)."""
        return len(self.new) - len(self.old)

    def moved(self, by: int) -> Hunk:
        """The same hunk ``by`` lines further down."""
        edits = tuple(replace(edit, start=edit.start + by) for edit in self.edits)
        return replace(self, start=self.start + by, edits=edits)

    def inverse(self, shift: int) -> Hunk:
        """The hunk that takes this one back; ``shift``: growth of the hunks before it in the file."""
        start, edits = self.start + shift, []
        for edit in self.edits:
            edits.append(Edit(edit.start + shift, edit.new, edit.old))
            shift += edit.growth
        return Hunk(self.number, start, self.new, self.old, tuple(edits))


@dataclass(frozen=True)
class FileChange:
    """What a patch does to one file."""

    path: str
    """POSIX, relative to the folder that holds the package."""
    hunks: tuple[Hunk, ...]
    creates: bool = False
    deletes: bool = False

    @property
    def edits(self) -> Iterator[Edit]:
        """All changed runs, in file order."""
        return (edit for hunk in self.hunks for edit in hunk.edits)


@dataclass(frozen=True)
class Patch:
    """A parsed patch. ``name`` is what errors call it, normally the file's name."""

    name: str
    changes: tuple[FileChange, ...]

    @property
    def paths(self) -> frozenset[str]:
        """The files it changes, creates or deletes."""
        return frozenset(change.path for change in self.changes)

    def apply(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """``files`` with the patch put in. Raises PatchError unless every hunk matches exactly."""
        result = dict(files)
        for change in self.changes:
            content = self._apply_to_file(change, files.get(change.path))
            if content is None:
                del result[change.path]
            else:
                result[change.path] = content
        return result

    def reverse(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """``files`` with the patch taken out; the exact inverse of ``apply``."""
        return self.inverse().apply(files)

    def inverse(self) -> Patch:
        """The patch that takes this one back, in the coordinates of the tree this one makes."""
        changes = []
        for change in self.changes:
            hunks, shift = [], 0
            for hunk in change.hunks:
                hunks.append(hunk.inverse(shift))
                shift += hunk.growth
            changes.append(
                FileChange(change.path, tuple(hunks), creates=change.deletes, deletes=change.creates)
            )
        return replace(self, changes=tuple(changes))

    def over(self, others: Sequence[Patch]) -> Patch:
        """This patch as it applies to a tree that has ``others`` in it.

        All of them must be in the coordinates of one common tree. Raises PatchError, naming both
        patches, when one of ``others`` changes a line that this one changes or has as context.
        """
        changes = []
        for change in self.changes:
            shifts = [0] * len(change.hunks)
            for other in others:
                for theirs in other.changes:
                    if theirs.path != change.path:
                        continue
                    if change.creates or change.deletes or theirs.creates or theirs.deletes:
                        raise self._interference(other, change.path)
                    for index, hunk in enumerate(change.hunks):
                        for edit in theirs.edits:
                            if _clash(hunk, edit):
                                raise self._interference(other, change.path, hunk)
                            if edit.start < hunk.start or (edit.start == hunk.start and not edit.old):
                                shifts[index] += edit.growth
            moved = tuple(hunk.moved(by) for hunk, by in zip(change.hunks, shifts, strict=True))
            changes.append(replace(change, hunks=moved))
        return replace(self, changes=tuple(changes))

    def located(self, files: Mapping[str, bytes]) -> Patch:
        """The same patch with wrong line numbers put right.

        A hunk that is not where its header says, but whose lines are in the file at exactly one place,
        is moved there. For patches that others published with GNU patch in mind; never ambiguous.
        """
        changes = []
        for change in self.changes:
            lines = split_lines(files.get(change.path, b""))
            hunks = tuple(_locate(hunk, lines) for hunk in change.hunks)
            in_order = all(a.end <= b.start for a, b in itertools.pairwise(hunks))
            changes.append(replace(change, hunks=hunks) if in_order else change)
        return replace(self, changes=tuple(changes))

    def _apply_to_file(self, change: FileChange, content: bytes | None) -> bytes | None:
        where = f"{self.name}: {change.path}"
        if change.creates:
            if content is not None:
                raise PatchError("the patch creates this file, but it exists", where=where)
            content = b""
        elif content is None:
            raise PatchError("no such file in the library", where=where)
        lines = split_lines(content)
        result: list[bytes] = []
        done = 0
        for hunk in change.hunks:
            self._check(change, hunk, lines)
            result += lines[done : hunk.start]
            result += hunk.new
            done = hunk.end
        result += lines[done:]
        for number, line in enumerate(result[:-1], 1):
            if not line.endswith(b"\n"):
                raise PatchError(
                    "a line without newline would not be the last one", where=f"{where}, line {number}"
                )
        if change.deletes:
            if result:
                raise PatchError(
                    f"the patch deletes this file, but {len(result)} of its lines are not in the patch",
                    where=where,
                )
            return None
        return b"".join(result)

    def _check(self, change: FileChange, hunk: Hunk, lines: Sequence[bytes]) -> None:
        found = lines[hunk.start : hunk.end]
        if tuple(found) == hunk.old and hunk.start <= len(lines):
            return
        at = next((i for i, (a, b) in enumerate(zip(found, hunk.old, strict=False)) if a != b), len(found))
        number = hunk.start + at + 1
        where = f"{self.name}: {change.path}, hunk {hunk.number}, line {number}"
        if at >= len(hunk.old):
            raise PatchError(f"the file has only {len(lines)} lines", where=where)
        expected = hunk.old[at]
        if at >= len(found):
            raise PatchError(f"expected {_show(expected)}, found the end of the file", where=where)
        raise PatchError(
            f"expected {_show(expected)}, found {_show(found[at])}",
            where=where,
            hint=_hint(hunk, lines, expected, found[at]),
        )

    def _interference(self, other: Patch, path: str, hunk: Hunk | None = None) -> PatchError:
        place = f"{path}, hunk {hunk.number}, line {hunk.start + 1}" if hunk else path
        return PatchError(
            f"interferes with {other.name}: one of them changes lines that the other one changes or "
            "has as context",
            where=f"{self.name}: {place}",
            hint="The patches of one problem must be independent",
        )


def split_lines(content: bytes) -> list[bytes]:
    """Lines with their terminators; only ``\\n`` ends a line, so that joining gives ``content`` back."""
    return io.BytesIO(content).readlines()


def _clash(hunk: Hunk, edit: Edit) -> bool:
    """Whether another patch's ``edit`` changes what ``hunk`` covers, or makes their order matter."""
    hunk_end, edit_end = hunk.end + _ends_file(hunk), edit.end + _ends_file(edit)
    if edit.old:
        return edit.start < hunk_end and edit_end > hunk.start
    same_place = any(own.start == edit.start and not own.old for own in hunk.edits)
    return same_place or hunk.start < edit.start < hunk_end


def _ends_file(part: Hunk | Edit) -> bool:
    """A line without newline is the last one, before or after: nothing can be put behind it."""
    return any(lines and not lines[-1].endswith(b"\n") for lines in (part.old, part.new))


def _positions(hunk: Hunk, lines: Sequence[bytes]) -> list[int]:
    size = len(hunk.old)
    return [i for i in range(len(lines) - size + 1) if tuple(lines[i : i + size]) == hunk.old]


def _locate(hunk: Hunk, lines: Sequence[bytes]) -> Hunk:
    if not hunk.old or tuple(lines[hunk.start : hunk.end]) == hunk.old:
        return hunk
    places = _positions(hunk, lines)
    return hunk.moved(places[0] - hunk.start) if len(places) == 1 else hunk


def _hint(hunk: Hunk, lines: Sequence[bytes], expected: bytes, found: bytes) -> str | None:
    if expected.rstrip(b"\r\n") == found.rstrip(b"\r\n"):
        return "Only the line endings differ"
    places = _positions(hunk, lines)
    if places:
        return f"The hunk's lines are at line {places[0] + 1}: correct its header"
    return None


def _show(line: bytes) -> str:
    return repr(line.decode("utf-8", "backslashreplace"))
