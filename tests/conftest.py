"""Tests that this machine cannot run are skipped, counted in one line; where required, they fail."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

TEST_IMAGE = os.environ.get("PBTBENCH_TEST_IMAGE", "pbtbench/base:offline")


@cache
def _docker() -> str:
    """Why Docker tests cannot run here; "" when they can."""
    from pbtbench.sandbox.docker import DockerBackend

    check = DockerBackend().check()[0]
    if not check.ok:
        return check.detail
    import docker

    with_images = docker.from_env()
    try:
        with_images.images.get(TEST_IMAGE)
    except docker.errors.ImageNotFound:
        return f"no image {TEST_IMAGE} (pbtbench build-images --sandbox docker --base offline --only-base)"
    finally:
        with_images.close()
    return ""


@cache
def _local_sandbox() -> str:
    """The same for the local sandbox."""
    from pbtbench.sandbox.local import LocalBackend

    check = LocalBackend().check()[0]
    return "" if check.ok else check.detail


_NEEDS: dict[str, tuple[Callable[[], str], str]] = {
    "docker": (_docker, "PBTBENCH_REQUIRE_DOCKER"),
    "local_sandbox": (_local_sandbox, "PBTBENCH_REQUIRE_LOCAL"),
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, (reason, required) in _NEEDS.items():
        if item.get_closest_marker(marker) and (why := reason()):
            if os.environ.get(required) == "1":
                pytest.fail(f"{required}=1, but {why}", pytrace=False)
            pytest.skip(f"{marker}: {why}")
