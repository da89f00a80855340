"""``pbtbench clean``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from pbtbench.cli.common import make_app, warn
from pbtbench.errors import SandboxUnavailableError
from pbtbench.images.clean import clean_cache, clean_docker
from pbtbench.images.engine import Engine
from pbtbench.images.store import Store
from pbtbench.sandbox.docker import DockerBackend
from pbtbench.sandbox.local import LocalBackend

app = make_app()

# These options have no environment variables: what removes things is asked for each time.


@app.command()
def clean(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be removed.")] = False,
    images: Annotated[bool, typer.Option("--images", help="Also remove all built images.")] = False,
    cache: Annotated[bool, typer.Option("--cache", help="Also remove images and downloads.")] = False,
) -> None:
    """Examples:

    \b
      pbtbench clean --dry-run
      pbtbench clean                  sandboxes and temporary files of dead runs
      pbtbench clean --images         images too; they are built again when needed
      pbtbench clean --cache          everything but runs

    Remove what dead runs left behind. What belongs to a living pbtbench process is never touched.
    """
    count = 0
    for name in _removed(dry_run=dry_run, images=images or cache, downloads=cache):
        count += 1
        sys.stdout.write(f"{'would remove' if dry_run else 'removed'} {name}\n")
    if not count:
        sys.stdout.write("nothing to remove\n")


def _removed(*, dry_run: bool, images: bool, downloads: bool) -> Iterator[str]:
    for backend in (DockerBackend(), LocalBackend()):
        try:
            yield from backend.sweep(dry_run=dry_run)
        except SandboxUnavailableError as error:
            warn(f"{backend.name} is left out: {error}")
    yield from clean_cache(Store(), images=images, downloads=downloads, dry_run=dry_run)
    if images:
        try:
            yield from clean_docker(Engine(), dry_run=dry_run)
        except SandboxUnavailableError as error:
            warn(f"Docker images are left out: {error}")
