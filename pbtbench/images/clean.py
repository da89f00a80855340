"""Removing what building left in the cache folder and in the Docker engine."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from pbtbench.errors import MachineError
from pbtbench.images.engine import OWNER, Engine
from pbtbench.images.store import TEMPORARY, Store

DOWNLOADS = frozenset({"bases", "built", "files", "resolved"})
"""Entries of the cache folder that only a network brings back."""

_KEPT = frozenset({"locks"})
_ABANDONED = 24 * 3600
"""Seconds after which a temporary entry belongs to no build any more."""


def clean_cache(store: Store, *, images: bool, downloads: bool, dry_run: bool) -> Iterator[str]:
    """Remove abandoned temporary entries; with ``images`` what can be built again, with ``downloads`` all.

    Yields the path of everything that is (or, with ``dry_run``, would be) removed. Raises MachineError
    when there is more than abandoned entries to remove and another process uses the cache.
    """
    if dry_run or not (images or downloads):
        yield from _clean(store, images=images, downloads=downloads, dry_run=dry_run)
        return
    with store.alone() as alone:
        if not alone:
            raise MachineError(
                "another pbtbench process uses the cache", where=str(store.root), hint="Wait for its end"
            )
        yield from _clean(store, images=images, downloads=downloads, dry_run=False)


def _clean(store: Store, *, images: bool, downloads: bool, dry_run: bool) -> Iterator[str]:
    for path in _targets(store.root, images=images, downloads=downloads):
        yield str(path)
        if not dry_run:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def clean_docker(engine: Engine, *, dry_run: bool) -> Iterator[str]:
    """Remove every Docker image that pbtbench built and no container uses; yields their tags.

    Raises SandboxUnavailableError when no engine answers.
    """
    from docker.errors import APIError

    built = engine.client.images.list(filters={"label": OWNER})
    for tag in sorted(tag for image in built for tag in image.tags if tag.startswith(f"{OWNER}/")):
        if not dry_run:
            try:
                engine.client.images.remove(tag)
            except APIError:  # in use
                continue
        yield tag


def _targets(root: Path, *, images: bool, downloads: bool) -> Iterator[Path]:
    if not root.is_dir():
        return
    for entry in sorted(root.iterdir()):
        if entry.name in _KEPT:
            continue
        if downloads if entry.name in DOWNLOADS else images:
            yield entry
        elif entry.is_dir():
            old = time.time() - _ABANDONED
            yield from sorted(p for p in entry.glob(f"**/{TEMPORARY}*") if p.lstat().st_mtime < old)
