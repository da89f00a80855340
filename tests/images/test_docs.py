"""What the agent finds in /workspace."""

from __future__ import annotations

import sys
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbtbench.errors import BuildError, ProblemError
from pbtbench.images import docs
from pbtbench.problems.model import UpstreamTests
from tests.images import toy


@pytest.fixture
def sdist(tmp_path: Path) -> Path:
    path = tmp_path / "toylib-1.0.tar.gz"
    path.write_bytes(toy.sdist_bytes())
    return path


def gather(problem_folder: Path, sdist: Path | None, **fields: object) -> dict[str, bytes]:
    lib = toy.library(**{key: value for key, value in fields.items() if key in ("docs", "tests")})
    rest = {key: value for key, value in fields.items() if key not in ("docs", "tests")}
    problem = toy.problem(problem_folder, lib, **rest)
    return docs.workspace(lib, docs.vendored(problem), sdist)


def test_documentation_and_tests_of_the_sdist_keep_their_paths(tmp_path: Path, sdist: Path) -> None:
    found = gather(tmp_path, sdist)
    assert found["docs/index.rst"] == toy.SDIST["docs/index.rst"]
    assert found["docs/deep/more.rst"] == toy.SDIST["docs/deep/more.rst"]
    assert found["existing_tests/tests/test_toy.py"] == toy.SDIST["tests/test_toy.py"]


def test_two_files_of_one_name_are_both_there(tmp_path: Path, sdist: Path) -> None:
    found = gather(tmp_path, sdist)
    assert toy.SDIST["README.rst"] in found.values()
    assert toy.SDIST["docs/README.rst"] in found.values()


def test_nothing_that_was_not_asked_for_is_there(tmp_path: Path, sdist: Path) -> None:
    found = gather(tmp_path, sdist)
    assert not [path for path in found if path.endswith(("setup.py", "PKG-INFO", "core.py"))]


def test_a_glob_that_matches_nothing_is_an_error_that_names_it(tmp_path: Path, sdist: Path) -> None:
    with pytest.raises(ProblemError, match="manual"):
        gather(tmp_path, sdist, docs=("manual/*.rst",))


def test_a_test_path_that_is_not_there_is_an_error_that_names_it(tmp_path: Path, sdist: Path) -> None:
    with pytest.raises(ProblemError, match="nowhere"):
        gather(tmp_path, sdist, tests=UpstreamTests(paths=("nowhere",)))


@pytest.mark.parametrize("name", ["../escape.py", "docs/../../escape.rst", "docs\\x.rst"])
def test_an_sdist_that_leads_outside_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bad.tar.gz"
    path.write_bytes(toy.sdist_bytes({name: b"x"}))
    with pytest.raises(BuildError, match="leads outside"):
        docs.read_sdist(path)


def test_an_absolute_path_in_an_sdist_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.tar.gz"
    path.write_bytes(toy.sdist_bytes({"/etc/x": b"x"}, top=""))
    with pytest.raises(BuildError, match="leads outside"):
        docs.read_sdist(path)


def test_a_broken_sdist_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.tar.gz"
    path.write_bytes(toy.sdist_bytes()[:100])
    with pytest.raises(BuildError, match=r"bad\.tar\.gz: the sdist cannot be read"):
        docs.read_sdist(path)


def test_vendored_files_keep_their_paths_and_do_not_overwrite_each_other(tmp_path: Path) -> None:
    for path, text in {
        "docs/a/x.md": "one",
        "docs/b/x.md": "two",
        "existing_tests/test_basic.py": "t",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = gather(
        tmp_path,
        None,
        vendored_docs=(Path("docs/a/x.md"), Path("docs/b/x.md")),
        vendored_tests=(Path("existing_tests"),),
    )
    assert found == {"docs/a/x.md": b"one", "docs/b/x.md": b"two", "existing_tests/test_basic.py": b"t"}


def test_a_vendored_link_out_of_the_problem_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    folder = tmp_path / "problem"
    folder.mkdir()
    (folder / "doc.md").symlink_to("../secret")
    with pytest.raises(ProblemError, match="leads outside"):
        gather(folder, None, vendored_docs=(Path("doc.md"),), vendored_tests=())


@pytest.mark.skipif(sys.version_info < (3, 13), reason="pathlib learnt this in 3.13")
@given(
    path=st.from_regex(r"[ab]{1,2}(/[ab]{1,2}){0,3}", fullmatch=True),
    pattern=st.from_regex(r"(\*\*|[ab*?]{1,2})(/(\*\*|[ab*?]{1,2})){0,3}", fullmatch=True).filter(
        lambda text: (
            not any("**" in part and part != "**" for part in text.split("/")) and not text.endswith("**")
        )
    ),
)
def test_globs_mean_what_pathlib_means(path: str, pattern: str) -> None:
    expected = PurePosixPath(path).full_match(pattern)
    assert docs._matches(path, pattern) == expected
