"""The ghostwriter program, run on small libraries as it runs in the sandbox."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pbtbench.agents.inner import ghostwrite

LIBRARY = {
    "__init__.py": """
        class CodecError(Exception):
            pass

        def encode(text: str) -> bytes:
            return text.encode("utf-8", "surrogatepass")

        def decode(data: bytes) -> str:
            return data.decode("utf-8", "surrogatepass")

        def tidy(text: str) -> str:
            return text.strip()

        def _hidden(text: str) -> str:
            return text
    """,
    "more.py": """
        def untyped(thing):
            return thing

        def sentinel(value=object()):
            return value
    """,
    "_private.py": "def never(x: int) -> int: return x\n",
    "broken.py": "raise RuntimeError('cannot be imported')\n",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> tuple[dict, str, Path]:
    root = tmp_path_factory.mktemp("library")
    (root / "tinylib").mkdir()
    for name, text in LIBRARY.items():
        (root / "tinylib" / name).write_text(textwrap.dedent(text))
    results = []
    for target in (root / "one_test.py", root / "two_test.py"):
        command = [sys.executable, ghostwrite.__file__, "tinylib", str(target), "10", "60"]
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": "0"}
        output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
        results.append((json.loads(output.splitlines()[-1]), target.read_text(), target))
    assert results[0][:2] == results[1][:2]
    return results[0]


def test_it_writes_what_it_can_guess_for_the_public_functions(written):
    report, text, _ = written
    assert "def test_roundtrip_encode_decode" in text
    assert "def test_idempotent_tidy" in text
    assert "def test_fuzz_untyped" in text
    assert "hidden" not in text
    assert "never" not in text
    assert report["written"] == text.count("\ndef test_")


def test_what_it_writes_runs(written):
    _, _, target = written
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", str(target)]
    environment = {**os.environ, "PYTHONPATH": str(target.parent)}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=target.parent, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_most_telling_kinds_come_first_when_there_is_a_cap():
    writer = ghostwrite.Writer()
    for kind in ("fuzz", "idempotent", "roundtrip"):
        writer.add(
            f"from hypothesis import given, strategies as st\n@given(st.none())\ndef test_{kind}_f(x): pass\n"
        )
    assert [test.name for test in writer.ranked()] == ["test_roundtrip_f", "test_idempotent_f", "test_fuzz_f"]


def test_a_test_that_cannot_be_defined_is_dropped():
    writer = ghostwrite.Writer()
    writer.add("@given(there_is_no_such_name)\ndef test_fuzz_f(x): pass\n")
    writer.add("def test_fuzz_g(:\n")
    assert not writer.tests
    assert writer.dropped == 2


def test_modules_take_turns():
    writer = ghostwrite.Writer()
    for module in ("a", "b"):
        writer.next_module()
        for n in (1, 2):
            writer.add(f"def test_fuzz_{module}{n}(): pass\n")
    assert [test.name[-2:] for test in writer.ranked()] == ["a1", "b1", "a2", "b2"]
