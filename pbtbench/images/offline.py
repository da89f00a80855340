"""The base image for machines that reach no Docker registry: Debian with its Python, by debootstrap."""

from __future__ import annotations

import hashlib
import subprocess
from typing import TYPE_CHECKING

from pbtbench.errors import BuildError, DiskFullError
from pbtbench.images.engine import OWNER
from pbtbench.images.recipes import recipe, recipe_text

if TYPE_CHECKING:
    from pathlib import Path

    from pbtbench.images.download import OnStep
    from pbtbench.images.engine import Engine
    from pbtbench.images.store import Store

REPOSITORY = "pbtbench/base"
LATEST = "offline"
"""The tag by which people name the newest offline base."""

_SCRIPT = "offline-base/build.sh"
_ROOM = 800_000_000
_TIMEOUT = 3600


def offline_tag() -> str:
    """The tag of the offline base that this version of the recipe makes."""
    return f"{REPOSITORY}:{_version()}"


def offline_base(engine: Engine, store: Store, on_step: OnStep) -> str:
    """``offline_tag()``, made when it is missing.

    The root file system stays in the cache, so that an engine that lost the image gets it back in
    seconds. Raises BuildError (no root, no debootstrap, no mirror), DiskFullError.
    """
    tag = offline_tag()
    if engine.image_id(tag) is None:

        def make(path: Path) -> None:
            on_step("make the offline base with debootstrap: some minutes, once")
            _debootstrap(path)

        tar = store.file(f"bases/{_version()}.tar", make, need=_ROOM)
        on_step(f"import {tag}")
        engine.import_root(tar, REPOSITORY, _version(), [f"LABEL {OWNER}=image"])
        engine.tag(tag, REPOSITORY, LATEST)
    return tag


def _version() -> str:
    return f"{LATEST}-{hashlib.sha256(recipe_text(_SCRIPT).encode()).hexdigest()[:12]}"


def _debootstrap(path: Path) -> None:
    try:
        done = subprocess.run(
            ["bash", str(recipe(_SCRIPT)), str(path)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(
            f"debootstrap did not finish within {_TIMEOUT} seconds", where="offline base"
        ) from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        if "No space left on device" in done.stderr:
            raise DiskFullError("no space left for the offline base", where=str(path.parent))
        raise BuildError(reason, where="offline base", hint="Or name a base image that is here with --base")
