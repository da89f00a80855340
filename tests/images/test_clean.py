"""Cleaning the cache: what it takes, what it leaves, and that it never pulls the floor from under a run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pbtbench.errors import MachineError
from pbtbench.images.clean import clean_cache
from pbtbench.images.store import TEMPORARY, Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "cache")
    for key in ("files/00/a.whl", "bases/offline.tar", "trees/x/t.tar", "images/lib/image.json"):
        store.write(key, b"x")
    old = store.write(f"trees/{TEMPORARY}old", b"half")
    os.utime(old, (0, 0))
    store.write(f"trees/{TEMPORARY}new", b"half")
    return store


def left(store: Store) -> set[str]:
    return {path.relative_to(store.root).as_posix() for path in store.root.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("images", "downloads", "gone"),
    [
        (False, False, {f"trees/{TEMPORARY}old"}),
        (
            True,
            False,
            {f"trees/{TEMPORARY}old", f"trees/{TEMPORARY}new", "trees/x/t.tar", "images/lib/image.json"},
        ),
    ],
)
def test_only_what_was_asked_for_goes(store: Store, images: bool, downloads: bool, gone: set[str]) -> None:
    before = left(store)
    list(clean_cache(store, images=images, downloads=downloads, dry_run=False))
    assert before - left(store) == gone


def test_a_dry_run_names_everything_and_removes_nothing(store: Store) -> None:
    before = left(store)
    named = list(clean_cache(store, images=True, downloads=True, dry_run=True))
    assert left(store) == before
    assert {Path(name).name for name in named} == {"files", "bases", "trees", "images"}


def test_a_cache_in_use_is_not_taken_away(store: Store) -> None:
    script = (
        "import sys; from pathlib import Path; from pbtbench.images.store import Store\n"
        "Store(Path(sys.argv[1])).hold(); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(store.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        before = left(store)
        with pytest.raises(MachineError, match="another pbtbench process"):
            list(clean_cache(store, images=True, downloads=False, dry_run=False))
        assert left(store) == before
        holder.communicate()
