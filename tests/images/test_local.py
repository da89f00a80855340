"""Local images: complete, built once, nothing of the clean library in them, and no work the second time."""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path

import pytest

from pbtbench.errors import BuildError, LeakError, PatchError
from pbtbench.images import builder
from pbtbench.images.archive import MTIME, read_tar
from pbtbench.images.base import ENVIRONMENT
from pbtbench.images.local import LocalImages
from pbtbench.images.store import Store
from pbtbench.problems.tree import BUGGY, CLEAN
from pbtbench.sandbox.base import Limits
from tests.images import toy

SITE = "/opt/venv/lib/python{}.{}/site-packages".format(*sys.version_info)
TOOL = toy.wheel_bytes(
    {"tool.py": b"TOOL = 1\n"},
    name="tool",
    extra={"tool-1.0.dist-info/entry_points.txt": b"[console_scripts]\ntool = tool:main\n"},
)
TOOL_PIN = toy.pinned("tool-1.0-py3-none-any.whl", TOOL)
CORE_PYC = f"toylib/__pycache__/core.{sys.implementation.cache_tag}.pyc"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A cache that has the toy library and a one-file toolchain."""
    monkeypatch.setattr(builder, "toolchain", lambda: (f"tool==1.0 --hash=sha256:{TOOL_PIN.sha256}",))
    store = Store(tmp_path / "cache")
    toy.stock(store, (TOOL_PIN, TOOL))
    toy.stocked(store, toy.library())
    return store


@pytest.fixture
def steps() -> list[str]:
    return []


@pytest.fixture
def images(store: Store, steps: list[str]) -> LocalImages:
    return LocalImages(store, steps.append)


def test_an_agent_gets_the_buggy_tree_documentation_tests_and_a_link(
    images: LocalImages, tmp_path: Path
) -> None:
    prepared = images.prepare(toy.problem(tmp_path, toy.library()))
    spec = prepared.agent_spec(label="run", limits=Limits())
    site, workspace = spec.archives
    assert (site.destination, site.writable) == (SITE, False)
    assert (workspace.destination, workspace.writable) == ("/workspace", True)
    assert read_tar(site.path)["toylib/core.py"] == prepared.trees[BUGGY].files["toylib/core.py"]
    assert {"docs/index.rst", "existing_tests/tests/test_toy.py"} <= set(read_tar(workspace.path))
    with tarfile.open(workspace.path) as tar:
        assert tar.getmember("lib/toylib").linkname == f"{SITE}/toylib"
        assert {member.uid for member in tar} == {1000}
    assert spec.env == ENVIRONMENT


def test_a_judge_gets_the_library_image_and_one_tree(images: LocalImages, tmp_path: Path) -> None:
    prepared = images.prepare(toy.problem(tmp_path, toy.library()))
    for name, tree in prepared.trees.items():
        spec = prepared.judge_spec(name, label="run", limits=Limits())
        (archive,) = spec.archives
        assert spec.image == prepared.library_image.reference
        content = read_tar(archive.path)
        assert {path: data for path, data in content.items() if not path.endswith(".pyc")} == tree.files


def test_archives_of_all_trees_have_one_shape(images: LocalImages, tmp_path: Path) -> None:
    prepared = images.prepare(toy.problem(tmp_path, toy.library()))
    shapes = set()
    for path in prepared.archives.values():
        with tarfile.open(path) as tar:
            members = [(m.name, m.type, m.mode, m.mtime, m.uid, m.gid, m.uname, m.gname) for m in tar]
        shapes.add(tuple(members))
        assert {member[3] for member in members} == {MTIME}
    assert len(shapes) == 1


def test_trees_differ_in_changed_files_and_their_bytecode_alone(images: LocalImages, tmp_path: Path) -> None:
    prepared = images.prepare(toy.problem(tmp_path, toy.library()))
    buggy, clean = (read_tar(prepared.archives[name]) for name in (BUGGY, CLEAN))
    assert {path for path in buggy if buggy[path] != clean[path]} == {"toylib/core.py", CORE_PYC}


def test_the_image_holds_tools_with_bytecode_and_nothing_of_the_library(
    images: LocalImages, tmp_path: Path
) -> None:
    folder = Path(images.prepare(toy.problem(tmp_path, toy.library())).library_image.reference)
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    site = "venv" + SITE.removeprefix("/opt/venv")
    assert {f"{site}/tool.py", "venv/bin/tool", "venv/bin/python", "venv/pyvenv.cfg"} <= names
    assert any(name.startswith(f"{site}/__pycache__/tool.") for name in names)
    assert not [name for name in names if "toylib" in name]
    facts = json.loads((folder / "image.json").read_text())
    assert (Path(facts["prefix"]) / facts["executable"]).exists()


def test_the_library_is_left_out_even_when_it_is_one_of_the_tools(
    store: Store, steps: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib = toy.library()
    assert lib.wheel is not None
    lines = (
        f"tool==1.0 --hash=sha256:{TOOL_PIN.sha256}",
        f"toylib==1.0 --hash=sha256:{lib.wheel.sha256}",
    )
    monkeypatch.setattr(builder, "toolchain", lambda: lines)
    folder = Path(
        LocalImages(store, steps.append).prepare(toy.problem(tmp_path, lib)).library_image.reference
    )
    assert not list((folder / "venv").rglob("toylib*"))


def test_the_second_time_nothing_is_done(
    images: LocalImages, store: Store, steps: list[str], tmp_path: Path
) -> None:
    first = images.prepare(toy.problem(tmp_path, toy.library()))
    assert steps
    assert first.library_image.built
    steps.clear()
    again = LocalImages(store, steps.append).prepare(toy.problem(tmp_path, toy.library()))
    assert steps == []
    assert not again.library_image.built
    assert again.problem_image.digest == first.problem_image.digest


def test_a_changed_patch_keeps_the_library_image(images: LocalImages, tmp_path: Path) -> None:
    first = images.prepare(toy.problem(tmp_path, toy.library()))
    other = toy.patch("toylib/core.py", "one + two", "one - two")
    second = images.prepare(toy.problem(tmp_path, toy.library(), other))
    assert second.library_image.reference == first.library_image.reference
    assert second.problem_image.digest != first.problem_image.digest


def test_a_leak_fails_the_build_every_time(images: LocalImages, store: Store, tmp_path: Path) -> None:
    sdist = toy.sdist_bytes({**toy.SDIST, "docs/source.rst": toy.SOURCES["toylib/core.py"]})
    lib = toy.stocked(store, toy.library(sdist=sdist), sdist=sdist)
    for _ in range(2):
        with pytest.raises(LeakError, match=r"docs/source\.rst: copy of a clean file"):
            images.prepare(toy.problem(tmp_path, lib))


def test_a_patch_that_does_not_apply_fails_before_anything_is_built(
    images: LocalImages, steps: list[str], tmp_path: Path
) -> None:
    bug = toy.TIES.model_copy(update={"patch_text": toy.TIES.patch_text.replace(b"best = None", b"best = 0")})
    with pytest.raises(PatchError):
        images.prepare(toy.problem(tmp_path, toy.library(), bug))
    assert steps == []


def test_a_published_problem_brings_its_documents_and_loses_its_hints(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path / "index"
    index.mkdir()
    (index / "toylib-1.0-py3-none-any.whl").write_bytes(toy.wheel_bytes())
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(index), "CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    for path, text in {
        "docs/manual.md": "# Manual\n",
        "existing_tests/test_basic.py": "import toylib  # BUG: largest\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    problem = toy.problem(
        tmp_path,
        toy.library().model_copy(update={"wheel": None, "sdist": None, "requires": None}),
        toy.patch("toylib/core.py", "one + two", "one - two  # BUG: minus"),
        published=True,
        vendored_docs=(Path("docs/manual.md"),),
        vendored_tests=(Path("existing_tests/test_basic.py"),),
    )
    prepared = LocalImages(store, lambda _: None).prepare(problem)
    site, workspace = prepared.agent_spec(label="run", limits=Limits()).archives
    assert read_tar(workspace.path) == {
        "docs/manual.md": b"# Manual\n",
        "existing_tests/test_basic.py": b"import toylib\n",
    }
    assert b"return one - two\n" in read_tar(site.path)["toylib/core.py"]


@pytest.mark.parametrize("base", ["/nowhere/python3", "/bin/false"])
def test_a_base_that_is_no_python_is_one_clear_error(store: Store, base: str) -> None:
    with pytest.raises(BuildError, match=base):
        LocalImages(store, lambda _: None, base).build_base()


def test_a_file_shared_by_two_trees_is_compiled_once(
    images: LocalImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[int] = []
    compile_folder = images._run

    def counting(script: str, folder: Path) -> None:
        compiled.append(len(list(folder.glob("*.py"))))
        compile_folder(script, folder)

    monkeypatch.setattr(images, "_run", counting)
    images.prepare(toy.problem(tmp_path, toy.library()))
    sources = [path for path in toy.SOURCES if path.endswith(".py")]
    # all clean sources and the one that the bug changes; then the toolchain's one file
    assert sorted(compiled) == [1, len(sources) + 1]
