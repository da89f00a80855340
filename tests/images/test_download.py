"""Fetching pinned files through the user's own pip; here its configuration names a folder, not an index."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pbtbench.errors import BuildError, DiskFullError, DownloadError, HashMismatchError
from pbtbench.images import pip
from pbtbench.images.download import Downloads
from pbtbench.images.interpreter import Interpreter
from pbtbench.images.store import Store
from tests.images import toy

TARGET = Interpreter(
    version="3.13.1",
    magic="00",
    cache_tag="cpython-313",
    prefix="/usr",
    executable="/usr/bin/python3",
    platforms=("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "linux_x86_64"),
)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip is configured to look in, and nowhere else."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def downloads(tmp_path: Path) -> Downloads:
    return Downloads(Store(tmp_path / "cache"), TARGET, lambda _: None)


def put(index: Path, name: str, content: bytes) -> str:
    (index / name).write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def test_a_pinned_wheel_is_fetched_once_and_then_never_asked_for(index: Path, downloads: Downloads) -> None:
    put(index, "toylib-1.0-py3-none-any.whl", toy.wheel_bytes())
    sources = downloads.sources(toy.library())
    assert sources.wheel.read_bytes() == toy.wheel_bytes()
    (index / "toylib-1.0-py3-none-any.whl").unlink()
    assert downloads.sources(toy.library()) == sources


def test_another_file_than_the_pinned_one_is_refused(index: Path, downloads: Downloads) -> None:
    put(index, "toylib-1.0-py3-none-any.whl", toy.wheel_bytes(extra={"toylib/added.py": b"x = 1\n"}))
    with pytest.raises(HashMismatchError, match=r"toylib==1\.0: .*sha256"):
        downloads.sources(toy.library())


def test_a_version_that_is_not_there_is_one_clear_line(index: Path, downloads: Downloads) -> None:
    with pytest.raises(
        DownloadError, match=r"toylib==1\.0: .* does not have it for Python 3\.13 on x86_64"
    ) as caught:
        downloads.sources(toy.library())
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("index")
def test_no_network_is_told_apart_from_a_missing_version(
    downloads: Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # nobody listens
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(DownloadError, match="cannot be reached"):
        downloads.sources(toy.library())


def test_an_sdist_is_fetched_without_running_its_build(index: Path, downloads: Downloads) -> None:
    put(index, "toylib-1.0.tar.gz", toy.sdist_bytes())
    assert downloads.sdist(toy.library()).read_bytes() == toy.sdist_bytes()


def test_a_library_without_a_pinned_sdist_says_so(downloads: Downloads) -> None:
    with pytest.raises(BuildError, match="pins no sdist"):
        downloads.sdist(toy.library().model_copy(update={"sdist": None}))


def test_the_wheel_for_the_target_is_taken_not_the_one_for_this_machine(
    index: Path, downloads: Downloads
) -> None:
    hashes = [
        put(index, f"fast-2.0-cp{minor}-cp{minor}-manylinux_2_17_{machine}.whl", wheel)
        for minor, machine in (("312", "x86_64"), ("313", "x86_64"), ("313", "aarch64"))
        for wheel in [toy.wheel_bytes({f"fast/{minor}_{machine}.py": b""}, name="fast", version="2.0")]
    ]
    line = "fast==2.0 " + " ".join(f"--hash=sha256:{value}" for value in hashes)
    (path,) = downloads.wheels([line])
    assert path.name == "fast-2.0-cp313-cp313-manylinux_2_17_x86_64.whl"


def test_a_library_without_pins_is_resolved_once_and_then_locked(index: Path, downloads: Downloads) -> None:
    lib = toy.library().model_copy(update={"wheel": None, "sdist": None, "requires": None})
    metadata = b"Metadata-Version: 2.1\nName: toylib\nVersion: 1.0\nRequires-Dist: dep\n"
    needs = {"toylib-1.0.dist-info/METADATA": metadata}
    put(index, "toylib-1.0-py3-none-any.whl", toy.wheel_bytes(extra=needs))
    put(index, "dep-1.0-py3-none-any.whl", toy.wheel_bytes({"dep.py": b""}, name="dep"))
    first = downloads.sources(lib)
    assert [path.name for path in first.requires] == ["dep-1.0-py3-none-any.whl"]
    put(index, "dep-2.0-py3-none-any.whl", toy.wheel_bytes({"dep.py": b"new"}, name="dep", version="2.0"))
    assert downloads.sources(lib) == first


@pytest.mark.parametrize(
    ("output", "error", "words"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            DiskFullError,
            "no space",
        ),
        ("/usr/bin/python3: No module named pip", DownloadError, "no pip"),
        ("WARNING: x\nERROR: something nobody thought of", DownloadError, "something nobody thought of"),
        ("", DownloadError, "no output"),
    ],
)
def test_what_pip_says_becomes_one_error_of_the_right_kind(
    tmp_path: Path, output: str, error: type[Exception], words: str
) -> None:
    found = pip._error(output, "toylib==1.0", "", tmp_path)
    assert type(found) is error
    assert words in str(found)
