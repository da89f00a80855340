"""A toy library as wheel and sdist, and problems on it; everything is made here, nothing is downloaded."""

from __future__ import annotations

import base64
import difflib
import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from pbtbench.images.store import Store
from pbtbench.problems.model import Bug, Library, PinnedFile, Problem, UpstreamTests

NAME, VERSION = "toylib", "1.0"

SOURCES = {
    "toylib/__init__.py": b'"""A toy."""\n\nfrom toylib.core import add, largest\n',
    "toylib/core.py": b"""def add(one, two):
    # Both are numbers.
    return one + two


def largest(values):
    best = None
    for value in values:
        if best is None or value > best:
            best = value
    return best
""",
    "toylib/tests/helper.py": b"ONE = 1\n",
    "toylib/tests/test_inside.py": b"from toylib import add\n\n\ndef test_add():\n    assert add(1, 2)\n",
}

SDIST = {
    "README.rst": b"Toy\n===\n\nadd() adds, largest() finds the largest.\n",
    "docs/index.rst": b"Manual\n======\n",
    "docs/README.rst": b"About these pages\n",
    "docs/deep/more.rst": b"More\n",
    "tests/test_toy.py": b"import toylib\n\n\ndef test_toy():\n    assert toylib.largest([1, 3]) == 3\n",
    "PKG-INFO": b"Metadata-Version: 2.1\nName: toylib\nVersion: 1.0\n",
    "setup.py": b"raise SystemExit('the build ran')\n",
    **SOURCES,
}


def wheel_bytes(
    files: Mapping[str, bytes] = SOURCES,
    *,
    name: str = NAME,
    version: str = VERSION,
    extra: Mapping[str, bytes] | None = None,
) -> bytes:
    """A wheel as a build backend makes it, with hashes in RECORD."""
    info = f"{name}-{version}.dist-info"
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: toy\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **(extra or {}),
    }
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for path, data in content.items()
    )
    content[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in content.items():
            archive.writestr(zipfile.ZipInfo(path), data)
    return buffer.getvalue()


def sdist_bytes(files: Mapping[str, bytes] = SDIST, top: str = f"{NAME}-{VERSION}/") -> bytes:
    """A ``.tar.gz`` of ``files`` below ``top``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, data in files.items():
            member = tarfile.TarInfo(top + path)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


def pinned(file: str, content: bytes) -> PinnedFile:
    return PinnedFile(file=file, sha256=hashlib.sha256(content).hexdigest())


def library(wheel: bytes | None = None, sdist: bytes | None = None, **fields: object) -> Library:
    wheel, sdist = wheel or wheel_bytes(), sdist or sdist_bytes()
    return Library(
        name=NAME,
        version=VERSION,
        module=NAME,
        wheel=pinned(f"{NAME}-{VERSION}-py3-none-any.whl", wheel),
        sdist=pinned(f"{NAME}-{VERSION}.tar.gz", sdist),
        **{"docs": ("README.rst", "docs/**/*.rst"), "tests": UpstreamTests(paths=("tests",)), **fields},
    )


def stock(store: Store, *contents: tuple[PinnedFile, bytes]) -> None:
    """Put files in the cache as if they had been downloaded."""
    for pin, content in contents:
        store.write(f"files/{pin.sha256}/{pin.file}", content)


def stocked(store: Store, lib: Library, wheel: bytes | None = None, sdist: bytes | None = None) -> Library:
    assert lib.wheel is not None
    assert lib.sdist is not None
    stock(store, (lib.wheel, wheel or wheel_bytes()), (lib.sdist, sdist or sdist_bytes()))
    return lib


def patch(path: str, old: str, new: str, number: int = 1, sources: Mapping[str, bytes] = SOURCES) -> Bug:
    before = sources[path].decode()
    assert before.count(old) == 1
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        before.replace(old, new).splitlines(keepends=True),
        f"a/{path}",
        f"b/{path}",
    )
    return Bug(id=f"bug_{number}", difficulty="L1", description="-", patch_text="".join(lines).encode())


TIES = patch("toylib/core.py", "value > best", "value >= best")


def problem(folder: Path, lib: Library, *bugs: Bug, **fields: object) -> Problem:
    return Problem(id="TOYS-001", library=lib, bugs=bugs or (TIES,), folder=folder, **fields)
