"""Images: what a sandbox starts from. Download, install, inject bugs, scan for leaks, build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbtbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbtbench.images.base import ImageBuilder

__all__ = ["image_builder"]


def image_builder(
    backend: str, base: str | None = None, *, on_step: Callable[[str], None] = lambda _: None
) -> ImageBuilder:
    """The builder for a sandbox backend (``docker`` or ``local``) over ``base``.

    ``base`` is a Docker tag or ``offline`` for ``docker``, a Python executable for ``local``; None takes the
    default. ``on_step`` is told in one short line what is being done.
    Raises UsageError for an unknown backend.
    """
    from pbtbench.images.docker import DockerImages
    from pbtbench.images.local import LocalImages
    from pbtbench.images.store import Store

    if backend == "local":
        return LocalImages(Store(), on_step, base)
    if backend == "docker":
        return DockerImages(Store(), on_step, base)
    raise UsageError(f"unknown sandbox backend {backend!r}", hint="Use docker or local")
