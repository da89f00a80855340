"""The cache: entries appear whole, once, or not at all; its errors say where and how much."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pbtbench.errors import DiskFullError, MachineError
from pbtbench.images.store import CACHE_VARIABLE, Store, default_root


def files_below(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.is_file() and "locks" not in p.parts)


def test_parallel_builds_of_one_entry_make_it_once_and_all_get_it(tmp_path: Path) -> None:
    made = []

    def make(path: Path) -> None:
        made.append(path)
        time.sleep(0.05)
        path.write_bytes(b"content")

    def work() -> None:
        results.append(Store(tmp_path).file("a/entry", make).read_bytes())

    results: list[bytes] = []
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [b"content"] * 8
    assert len(made) == 1


def test_a_build_that_fails_leaves_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def half(path: Path) -> None:
        path.joinpath("one").write_bytes(b"1")
        raise RuntimeError("broken off")

    with pytest.raises(RuntimeError):
        store.folder("things/x", half)
    assert files_below(tmp_path) == []
    assert store.folder("things/x", lambda path: path.joinpath("one").touch()).joinpath("one").exists()


def test_an_entry_is_not_there_before_it_is_complete(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def make(path: Path) -> None:
        path.write_bytes(b"half")
        assert not store.path("entry").exists()
        path.write_bytes(b"whole")

    assert store.file("entry", make).read_bytes() == b"whole"


def test_a_full_disk_is_named_with_folder_and_need(tmp_path: Path) -> None:
    def make(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with pytest.raises(DiskFullError, match=r"3\.0 MB needed") as caught:
        Store(tmp_path).file("big/one", make, need=3_000_000)
    assert str(tmp_path / "big") in str(caught.value)
    assert CACHE_VARIABLE in str(caught.value)


def test_what_cannot_fit_is_refused_before_it_is_begun(tmp_path: Path) -> None:
    with pytest.raises(DiskFullError, match="needed"):
        Store(tmp_path).file("big/one", lambda _: pytest.fail("must not begin"), need=10**18)


def test_an_unwritable_cache_folder_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.raises(MachineError, match="cannot be written") as caught:
        Store(tmp_path / "cache").file("x/y", lambda path: path.touch())
    assert CACHE_VARIABLE in str(caught.value)


def test_the_cache_folder_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "here"))
    assert default_root() == tmp_path / "here"


def test_nobody_is_alone_while_another_process_holds_the_cache(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from pbtbench.images.store import Store\n"
        "Store(Path(sys.argv[1])).hold(); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    with holder:
        holder.stdout.readline()
        with Store(tmp_path).alone() as alone:
            assert not alone
        holder.communicate()
    with Store(tmp_path).alone() as alone:
        assert alone
