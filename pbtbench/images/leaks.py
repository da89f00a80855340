"""The leak scan: nothing that an agent can read may tell what the clean library looks like.

It looks at every file an agent gets (dependencies, buggy tree, documentation, upstream tests), also
inside archives, for copies, parts, hashes or patches of what the bugs changed, for the reference
tests, for things that builds leave behind, and for words in the patches that give a bug away.
"""

from __future__ import annotations

import _imp
import base64
import hashlib
import importlib.util
import io
import marshal
import re
import tarfile
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING

from pbtbench.errors import LeakError
from pbtbench.problems.tree import BUGGY, Tree

if TYPE_CHECKING:
    from pbtbench.problems.model import Problem

VERSION = 1
"""Raise it when a rule is added or made stricter: what passed before is scanned again."""

CANARY = b"pbtbench canary"
"""Stands in every file of a problem's folder, and so in nothing that an agent gets."""

HINT = re.compile(
    r"\b(?:bugs?|buggy|inject(?:ed|ion)?|mutants?|mutation|fixme|hack|canary|pbt-?bench)\b"
    r"|\b(?:wrong on purpose|deliberate(?:ly)?|intentional(?:ly)?|subtl[ey]|incorrect(?:ly)?|broken)\b",
    re.IGNORECASE,
)
"""Words that a patch may not add in a comment."""

_NEST = 3
_LARGEST = 50_000_000
_BLOCK = 3
"""Lines of clean code, as a patch replaces them, that make a passage recognisable."""
_TOKEN = re.compile(rb"[0-9a-zA-Z_+/-]{32,}")
"""What may be a hash, in hex or base 64."""
_LEFTOVER = re.compile(
    r"(^|/)(?:\.git|\.hg|\.svn|\.cache|pip-cache)(/|$)|\.(?:orig|rej|bak)$|~$|(^|/)direct_url\.json$"
)
_DISTRIBUTION = re.compile(r"\.(?:whl|egg|zip|tar|tgz|tar\.(?:gz|bz2|xz))$")
_UNCHECKED_HASH = b"\1\0\0\0"


@dataclass(frozen=True)
class Leak:
    """One thing that an agent must not see."""

    path: str
    """Where it is; members of archives after ``!``."""
    rule: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.rule} ({self.detail})"


class Secrets:
    """What must not be found, for one problem."""

    def __init__(self, problem: Problem, trees: Mapping[str, Tree]) -> None:
        self.problem = problem
        self.buggy = trees[BUGGY].files
        self._contents: dict[str, str] = {}
        self._normal: dict[bytes, str] = {}
        self._hashes: dict[bytes, str] = {}
        self._codes: dict[bytes, str] = {}
        for name, tree in trees.items():
            for path, content in tree.files.items():
                if content.strip() and content != self.buggy.get(path):
                    self._add(path, content, f"{path} as in {name}")
        self._reference = problem.reference.read_bytes() if problem.reference else b""
        self._hunks = [hunk for bug in problem.bugs for hunk in _hunks(bug.patch_text)]

    def _add(self, path: str, content: bytes, what: str) -> None:
        if content in self.buggy.values():
            return  # the same text under another name is there anyway
        self._contents.setdefault(hashlib.sha256(content).hexdigest(), what)
        if path not in self.buggy or normalised(content) != normalised(self.buggy[path]):
            self._normal.setdefault(normalised(content), what)
        if path.endswith(".py") and (code := _code(content)):
            self._codes.setdefault(code, what)
        for algorithm in ("md5", "sha1", "sha256", "sha512"):
            value = hashlib.new(algorithm, content, usedforsecurity=False)
            self._hashes.setdefault(value.hexdigest().encode(), f"{algorithm} of {what}")
            if algorithm == "sha256":
                for encode in (base64.urlsafe_b64encode, base64.b64encode):
                    self._hashes.setdefault(encode(value.digest()).rstrip(b"="), f"{algorithm} of {what}")

    def knows(self, sha256: str) -> str | None:
        """What a file with this hash is, when it must not be seen."""
        return self._contents.get(sha256)

    def leaks(self, path: str, content: bytes, *, library: bool) -> Iterator[Leak]:
        """Leaks in one file; ``library``: it is one of the buggy tree's own."""
        name = path.rpartition("!")[2]
        if what := self.knows(hashlib.sha256(content).hexdigest()):
            yield Leak(path, "copy of a clean file", what)
        elif what := self._normal.get(normalised(content)):
            yield Leak(path, "copy of a clean file but for white space", what)
        if _LEFTOVER.search(name):
            yield Leak(path, "left over from a build", name.rpartition("/")[2])
        if _DISTRIBUTION.search(name) and self._is_distribution(name.rpartition("/")[2]):
            yield Leak(path, "distribution of the library", name.rpartition("/")[2])
        for token in _TOKEN.findall(content):
            if what := self._hashes.get(token) or self._hashes.get(token.lower()):
                yield Leak(path, "hash of a clean file", what)
        if CANARY in content:
            yield Leak(path, "file of the problem itself", CANARY.decode())
        if self._reference and normalised(self._reference) == normalised(content):
            yield Leak(path, "reference test", "the whole file")
        for hunk in self._hunks:
            if hunk.text in content or hunk.header in content:
                yield Leak(path, "text of a patch", hunk.path)
            if not library and not self.problem.published and hunk.shows_in(content):
                yield Leak(path, "clean code of a patched passage", hunk.path)

    def bytecode(self, pyc: bytes, source: bytes) -> str | None:
        """What a pyc was compiled from, when that is a clean file and not the ``source`` beside it."""
        if pyc[:4] != importlib.util.MAGIC_NUMBER:
            return None  # made for another Python than this one
        code = _fingerprint(marshal.loads(pyc[16:]))  # noqa: S302 - made by our own build
        return self._codes.get(code) if code != _code(source) else None

    def _is_distribution(self, file: str) -> bool:
        fold = re.sub(r"[-_.]+", "-", file.lower())
        name = re.sub(r"[-_.]+", "-", self.problem.library.name.lower())
        return fold.startswith(f"{name}-")


@dataclass(frozen=True)
class _Hunk:
    path: str
    header: bytes
    text: bytes
    clean: tuple[bytes, ...]
    """The passage as it is without the bug, when the bug takes lines away; lines without indentation."""

    def shows_in(self, content: bytes) -> bool:
        if len(self.clean) < _BLOCK or not all(line in content for line in self.clean):
            return False
        lines = [line.strip() for line in content.splitlines() if line.strip()]
        size = len(self.clean)
        return any(tuple(lines[at : at + size]) == self.clean for at in range(len(lines) - size + 1))


def scan(
    problem: Problem,
    trees: Mapping[str, Tree],
    files: Mapping[str, bytes],
    base: Mapping[str, str],
    site_packages: str,
) -> list[Leak]:
    """All leaks in ``files``: absolute path in the sandbox -> content, the buggy tree with pycs among them.

    ``base`` holds all that lies below: sha256 -> path. It is only looked at for copies of clean files.
    """
    secrets = Secrets(problem, trees)
    own = {f"{site_packages}/{path}" for path in secrets.buggy}
    found = (
        [] if problem.published else [Leak(path, "hint in a patch", text) for path, text in hints(problem)]
    )
    for sha256, path in base.items():
        if what := secrets.knows(sha256):
            found.append(Leak(path, "copy of a clean file", what))
    for path, content in files.items():
        for inner, data in _unpacked(path, content):
            found.extend(secrets.leaks(inner, data, library=path in own))
        if path.endswith(".pyc"):
            source = files.get(_source_of(path))
            if reason := _stale(content, source):
                found.append(Leak(path, "bytecode of other source", reason))
            elif source is not None and (what := secrets.bytecode(content, source)):
                found.append(Leak(path, "bytecode of a clean file", what))
    return list(dict.fromkeys(found))


def refuse(problem: Problem, leaks: list[Leak]) -> None:
    """Raise LeakError that shows the first leaks, when there are any."""
    if leaks:
        more = f"; and {len(leaks) - 3} more" if len(leaks) > 3 else ""
        shown = "; ".join(map(str, leaks[:3]))
        raise LeakError(f"an agent would see what it must not: {shown}{more}", where=problem.id)


def hints(problem: Problem) -> Iterator[tuple[str, str]]:
    """(patch, comment) of each comment that a patch adds and that gives the bug away."""
    for bug in problem.bugs:
        taken = {line[1:] for line in bug.patch_text.splitlines() if line.startswith(b"-")}
        for line in bug.patch_text.splitlines():
            if line.startswith(b"+") and not line.startswith(b"+++ ") and line[1:] not in taken:
                _, mark, comment = line.decode("utf-8", "replace").partition("#")
                if mark and HINT.search(comment):
                    yield f"{bug.id}.patch", comment.strip()


def normalised(content: bytes) -> bytes:
    """Text without line-end differences, trailing white space and blank lines."""
    return b"\n".join(line.rstrip() for line in content.splitlines() if line.strip())


def _hunks(patch: bytes) -> Iterator[_Hunk]:
    path = ""
    for part in re.split(rb"^(?=--- |@@ )", patch, flags=re.MULTILINE):
        if part.startswith(b"--- "):
            path = part.split(b"\n", 1)[0][4:].split(b"\t")[0].decode("utf-8", "replace").removeprefix("a/")
        elif part.startswith(b"@@ "):
            _, _, body = part.partition(b"\n")
            lines = body.splitlines()
            clean = tuple(line[1:].strip() for line in lines if line[:1] in b" -" and line[1:].strip())
            taken = any(line.startswith(b"-") for line in lines)
            yield _Hunk(path, f"--- a/{path}\n".encode(), body.rstrip(b"\n"), clean if taken else ())


def _unpacked(path: str, content: bytes, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """The file, and what is in it when it is an archive."""
    yield path, content
    if depth >= _NEST or len(content) > _LARGEST:
        return
    try:
        for name, data in _members(content):
            yield from _unpacked(f"{path}!{name}", data, depth + 1)
    except (
        OSError,
        EOFError,
        tarfile.TarError,
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        ValueError,
    ):
        return  # looks like an archive and is none: a test's data


def _members(content: bytes) -> Iterator[tuple[str, bytes]]:
    if content.startswith(b"PK\3\4"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                if not member.is_dir() and member.file_size <= _LARGEST:
                    yield member.filename, archive.read(member)
    elif content.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")) or content[257:262] == b"ustar":
        try:
            with tarfile.open(fileobj=io.BytesIO(content)) as tar:
                for entry in tar:
                    if entry.isfile() and entry.size <= _LARGEST and (file := tar.extractfile(entry)):
                        yield entry.name, file.read()
        except tarfile.ReadError:
            yield "content", _decompressed(content)


def _decompressed(content: bytes) -> bytes:
    import bz2
    import gzip
    import lzma

    module = gzip if content.startswith(b"\x1f") else bz2 if content.startswith(b"B") else lzma
    with module.open(io.BytesIO(content)) as file:
        data: bytes = file.read(_LARGEST)
    return data


def _source_of(pyc: str) -> str:
    folder, _, name = pyc.rpartition("/")
    return f"{folder.removesuffix('/__pycache__')}/{name.split('.')[0]}.py"


def _code(source: bytes) -> bytes | None:
    """Fingerprint of what a source compiles to."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _fingerprint(compile(source, "", "exec", dont_inherit=True))
    except (SyntaxError, ValueError):
        return None


def _fingerprint(code: CodeType) -> bytes:
    """Hash of instructions, names and constants: all of a code object that does not tell where it lies."""
    constants = [
        _fingerprint(const) if isinstance(const, CodeType) else repr(const) for const in code.co_consts
    ]
    return hashlib.sha256(repr((code.co_code, code.co_names, constants)).encode()).digest()


def _stale(pyc: bytes, source: bytes | None) -> str | None:
    """Why a pyc is not that of the source beside it."""
    if source is None:
        return "no source beside it"
    if pyc[4:8] != _UNCHECKED_HASH:
        return "not compiled by the build"
    # importlib.util.source_hash knows the running Python only; the pyc may be for another one
    if _imp.source_hash(int.from_bytes(pyc[:4], "little"), source) != pyc[8:16]:
        return "the source beside it is another one"
    return None
