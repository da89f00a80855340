"""The upstream suite in one file behaves as the suite did."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pbtbench.agents.inner.bundle import bundle, main

SUITE = {
    "conftest.py": """
        import pytest

        @pytest.fixture
        def base():
            return 40

        @pytest.fixture(params=["a", "b"])
        def letter(request):
            return request.param
    """,
    "helpers.py": "TWO = 2\n",
    "test_flat.py": """
        import unittest
        import pytest
        import helpers

        @pytest.fixture
        def mine(base):
            yield base + helpers.TWO

        def test_fixture_chain(mine):
            assert mine == 42

        @pytest.mark.parametrize("n", [1, 2])
        def test_parametrised(n, letter):
            assert n in (1, 2) and letter in "ab"

        class TestGroup:
            def test_method(self, mine):
                assert mine == 42

        class Old(unittest.TestCase):
            def test_old(self):
                self.assertEqual(1, 1)

        def test_fails():
            assert False, "on purpose"
    """,
    "pkg/__init__.py": "",
    "pkg/conftest.py": """
        import pytest

        @pytest.fixture
        def base():
            return 1
    """,
    "pkg/strategies.py": "from hypothesis import strategies as st\nnumbers = st.integers()\n",
    "pkg/test_inner.py": """
        import pytest
        from hypothesis import given
        from hypothesis.stateful import RuleBasedStateMachine, rule
        from .strategies import numbers
        import pkg.strategies

        ready = []

        def setup_module(module):
            ready.append(module)

        @pytest.fixture
        def mine(base):
            return base

        def test_nearest_conftest_wins(mine):
            assert mine == 1

        def test_set_up():
            assert ready

        @given(numbers)
        def test_property(n):
            assert n + 0 == n

        class Machine(RuleBasedStateMachine):
            @rule()
            def step(self):
                pass

        TestMachine = Machine.TestCase
    """,
    "test_skipped.py": """
        import pytest
        pytest.skip("not here", allow_module_level=True)
    """,
    "test_broken.py": "import there_is_no_such_module\n",
}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    root = tmp_path / "existing_tests"
    for name, text in SUITE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return root


def run(target: Path) -> dict[str, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--noconftest", "-p", "no:cacheprovider"]
    command += ["-c", "/dev/null", "--rootdir", str(target.parent), str(target)]
    output = subprocess.run(command, capture_output=True, text=True, cwd=target.parent, check=False).stdout
    results = {}
    for line in output.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] in {"PASSED", "FAILED", "SKIPPED", "ERROR"}:
            results[words[1].removeprefix("pbt_test.py::")] = words[0]
    assert results, output
    return results


def test_the_bundle_does_what_the_suite_does_without_its_files(suite, tmp_path):
    target = tmp_path / "elsewhere" / "pbt_test.py"
    target.parent.mkdir()
    report = main(suite, target, 1024 * 1024)
    suite.rename(tmp_path / "gone")
    results = run(target)
    assert report == {"tests": 4, "left_out": []}
    skipped = [name for name, result in results.items() if result == "SKIPPED"]
    failed = {name for name, result in results.items() if result == "FAILED"}
    passed = {name.split("[")[0] for name, result in results.items() if result == "PASSED"}
    assert len(skipped) == 1
    assert failed == {"Test_test_flat::test_fails", "Test_test_broken::test_import"}
    assert passed == {
        "Test_test_flat::test_fixture_chain",
        "Test_test_flat::test_parametrised",
        "Test_test_flat::TestGroup::test_method",
        "Test_test_flat::Old::test_old",
        "Test_pkg_test_inner::test_nearest_conftest_wins",
        "Test_pkg_test_inner::test_set_up",
        "Test_pkg_test_inner::test_property",
        "Test_pkg_test_inner::TestMachine::runTest",
    }


def test_what_does_not_fit_is_left_out_and_named(suite):
    whole, _, _ = bundle(suite, 1024 * 1024)
    text, tests, left_out = bundle(suite, len(whole.encode()) - 1)
    assert len(text.encode()) < len(whole.encode())
    assert left_out == ["test_skipped.py"]
    assert tests == 3


def test_no_tests_make_no_file(tmp_path):
    (tmp_path / "suite").mkdir()
    target = tmp_path / "pbt_test.py"
    assert main(tmp_path / "suite", target, 1000) == {"tests": 0, "left_out": []}
    assert not target.exists()


def test_files_that_python_cannot_read_are_left_out_and_named(tmp_path):
    (tmp_path / "test_old.py").write_text("print 'python 2'\n")
    (tmp_path / "test_latin.py").write_bytes(b"x = '\xe9'\n")
    assert bundle(tmp_path, 10_000)[2] == ["test_latin.py", "test_old.py"]
