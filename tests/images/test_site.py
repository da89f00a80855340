"""What a wheel becomes in site-packages."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pbtbench.errors import BuildError, ProblemError
from pbtbench.images import site
from pbtbench.images.wheel import install
from pbtbench.problems.model import UpstreamTests
from tests.images import toy


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return _write(tmp_path, toy.wheel_bytes())


def _write(folder: Path, content: bytes) -> Path:
    path = folder / "toylib-1.0-py3-none-any.whl"
    path.write_bytes(content)
    return path


def test_record_lists_every_file_and_no_hash_or_size(wheel: Path) -> None:
    files = install(wheel).files
    record = files["toylib-1.0.dist-info/RECORD"].decode().splitlines()
    assert {line.removesuffix(",,") for line in record} == set(files)
    assert all(line.endswith(",,") for line in record)


def test_dist_info_does_not_tell_where_the_wheel_came_from(wheel: Path) -> None:
    files = install(wheel).files
    assert files["toylib-1.0.dist-info/INSTALLER"] == b"pip\n"
    assert not [path for path in files if path.endswith("direct_url.json")]


def test_scripts_start_the_sandbox_interpreter(tmp_path: Path) -> None:
    points = {"toylib-1.0.dist-info/entry_points.txt": b"[console_scripts]\ntoy = toylib:add\n"}
    scripts = install(_write(tmp_path, toy.wheel_bytes(extra=points))).scripts
    assert scripts["toy"].startswith(b"#!/opt/venv/bin/python\n")


def test_a_wheel_that_leads_outside_is_refused(tmp_path: Path) -> None:
    bad = toy.wheel_bytes(extra={"toylib/../../escape.py": b"x = 1\n"})
    with pytest.raises(BuildError, match="escape"):
        install(_write(tmp_path, bad))


def test_something_else_than_a_wheel_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"toylib-1\.0-py3-none-any\.whl: not a wheel"):
        install(_write(tmp_path, b"no zip at all"))


@pytest.mark.parametrize(
    "paths", [("toylib/tests",), ("src/toylib/tests",), ("toylib/tests/test_inside.py",)]
)
def test_of_a_suite_inside_the_package_only_helpers_are_installed(
    wheel: Path, paths: tuple[str, ...]
) -> None:
    files = site.library_files(toy.library(tests=UpstreamTests(paths=paths)), wheel)
    assert "toylib/tests/test_inside.py" not in files
    assert {"toylib/core.py", "toylib/tests/helper.py"} <= set(files)


def test_tests_beside_the_package_leave_the_package_as_it_is(wheel: Path) -> None:
    assert set(site.library_files(toy.library(), wheel)) == set(install(wheel).files)


def test_a_problem_without_base_tests_has_none_in_the_package(wheel: Path) -> None:
    files = site.library_files(toy.library(), wheel, with_tests=False)
    assert not [path for path in files if path.startswith("toylib/tests")]
    assert "toylib/core.py" in files


def test_a_wheel_without_the_module_is_refused(wheel: Path) -> None:
    with pytest.raises(BuildError, match="does not hold the module other"):
        site.library_files(toy.library().model_copy(update={"module": "other"}), wheel)


def test_a_bug_in_a_module_hidden_by_a_compiled_one_is_refused(tmp_path: Path) -> None:
    problem = toy.problem(tmp_path, toy.library())
    hidden = {**toy.SOURCES, "toylib/core.cpython-313-x86_64-linux-gnu.so": b"\x7fELF"}
    with pytest.raises(ProblemError, match=r"bug_1 changes toylib/core\.py"):
        site.refuse_shadowed(problem, hidden)
    beside = {**toy.SOURCES, "toylib/_fast.cpython-313-x86_64-linux-gnu.so": b"\x7fELF"}
    site.refuse_shadowed(problem, beside)


def test_hashes_of_the_original_record_are_gone(wheel: Path) -> None:
    everything = b"\n".join(install(wheel).files.values())
    assert hashlib.sha256(toy.SOURCES["toylib/core.py"]).hexdigest().encode() not in everything
    assert b"sha256=" not in everything
