"""Opens a session on one tree of a problem: starts its sandbox with our code and the tree in it."""

from __future__ import annotations

import hashlib
import io
import tarfile
from functools import cache
from importlib import resources
from pathlib import Path

import platformdirs

from pbtbench.images.base import PreparedProblem
from pbtbench.images.site import packages
from pbtbench.judge.session import TreeSession
from pbtbench.problems.tree import CLEAN
from pbtbench.sandbox.base import PYTHON, Archive, Limits, SandboxBackend

INNER_HOME = "/opt/pbtbench/site-packages"
"""Hypothesis draws constants from modules outside of any site-packages; not from ours."""
_START = f"import sys; sys.path.insert(0, {INNER_HOME!r}); from inner.main import main; main()"
_EPOCH = 1577836800
"""2020-01-01: every file that we put into a sandbox has this time."""


class SandboxOpener:
    """Starts a sandbox of its own for every session; works with every backend."""

    def __init__(
        self, prepared: PreparedProblem, backend: SandboxBackend, *, label: str, limits: Limits
    ) -> None:
        self.prepared = prepared
        self.backend = backend
        self.label = label
        self.limits = limits

    def open(self, tree: str) -> TreeSession:
        """A session on ``tree``. Raises SandboxUnavailableError or InfraError."""
        from dataclasses import replace

        spec = self.prepared.judge_spec(tree, label=self.label, limits=self.limits)
        spec = replace(spec, archives=(*spec.archives, Archive(inner_archive(), INNER_HOME)))
        sandbox = self.backend.start(spec)
        try:
            channel = sandbox.open([PYTHON, "-P", "-c", _START, *top_levels(self.prepared)])
        except BaseException:
            sandbox.close()
            raise
        return TreeSession(channel, on_close=sandbox.close)


def top_levels(prepared: PreparedProblem) -> list[str]:
    """The library's own entries in site-packages, the same for all of its trees."""
    return list(packages(prepared.trees[CLEAN].files))


@cache
def inner_archive() -> Path:
    """A tar of ``judge.inner``, named by its content, in the cache folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        folder = resources.files("pbtbench.judge") / "inner"
        _add(tar, "inner", None)
        for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if file.name.endswith((".py", ".ini")):
                _add(tar, f"inner/{file.name}", file.read_bytes())
    data = buffer.getvalue()
    path = Path(platformdirs.user_cache_dir("pbtbench"), f"inner-{hashlib.sha256(data).hexdigest()[:16]}.tar")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{id(buffer)}.tmp")
        temporary.write_bytes(data)
        temporary.rename(path)
    return path


def _add(tar: tarfile.TarFile, name: str, data: bytes | None) -> None:
    info = tarfile.TarInfo(name)
    info.mtime = _EPOCH
    if data is None:
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(info)
    else:
        info.size, info.mode = len(data), 0o644
        tar.addfile(info, io.BytesIO(data))
