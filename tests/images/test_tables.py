"""A sandbox's Hypothesis finds its tables of Unicode instead of computing them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pbtbench.errors import BuildError
from pbtbench.images.download import Downloads, project_of
from pbtbench.images.local import LocalImages
from pbtbench.images.recipes import toolchain
from pbtbench.images.store import Store
from pbtbench.images.tables import FOLDER, unicode_tables

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def images() -> LocalImages:
    return LocalImages(Store(), lambda _: None)


@pytest.fixture(scope="module")
def wheels(images: LocalImages) -> dict[str, Path]:
    downloads = Downloads(Store(), images.interpreter, lambda _: None)
    return {project_of(path): path for path in downloads.wheels(toolchain())}


def test_the_tables_of_this_python_are_made_once(
    images: LocalImages, wheels: dict[str, Path], tmp_path: Path
) -> None:
    ran = []

    def run(script: str, folder: Path) -> None:
        ran.append(folder)
        images._run(script, folder)

    store = Store(tmp_path)
    first = unicode_tables(wheels, store, images.interpreter, run)
    assert unicode_tables(wheels, store, images.interpreter, run) == first
    assert len(ran) == 1
    names = {path.rsplit("/", 1)[1] for path in first}
    assert {"charmap.json.gz"} < names
    assert all(path.startswith(f"{FOLDER}/unicode_data/") for path in first)


def test_a_hypothesis_that_stores_nothing_is_an_error_and_not_an_empty_image(
    images: LocalImages, wheels: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(BuildError, match="no tables"):
        unicode_tables(wheels, Store(tmp_path), images.interpreter, lambda _script, _folder: None)


def test_a_library_that_hypothesis_needs_gets_an_image_without_tables(
    images: LocalImages, wheels: dict[str, Path], tmp_path: Path
) -> None:
    rest = {name: path for name, path in wheels.items() if name != "sortedcontainers"}
    assert unicode_tables(rest, Store(tmp_path), images.interpreter, images._run) == {}
