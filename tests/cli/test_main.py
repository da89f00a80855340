"""The program as a whole: help, errors as one line, exit codes, start-up."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

import pbtbench
from pbtbench import cli
from pbtbench.errors import SandboxUnavailableError
from tests.cli.conftest import pbtbench as program


def test_help_loads_nothing_heavy():
    code = "import sys, pbtbench.cli as c; c.run_command(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stderr.split()) & {"typer", "pydantic", "docker", "numpy", "rich", "hypothesis"} == set()
    assert all(f"\n  {name} " in done.stdout for name in cli.COMMANDS)


@pytest.mark.parametrize("command", [[], *([name] for name in cli.COMMANDS)])
def test_every_help_screen_opens_with_examples(world, command):
    result = world(*command, "--help")
    assert result.code == 0
    first = next(line for line in result.out.splitlines() if line.strip() and not line.startswith("Usage"))
    assert first.strip() == "Examples:"
    assert " ".join(["pbtbench", *command]) in result.out


def test_version(world):
    assert world("--version").out == f"pbtbench {pbtbench.__version__}\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["rum"], "there is no command 'rum'. Did you mean run?"),
        (["run", "--sedes", "3"], "No such option: --sedes"),
        (["run", "--seeds", "x"], "Invalid value for '--seeds'"),
        (["run"], "nothing to run"),
        (["run", "-a", "nop", "--seeds", "0"], "--seeds: seeds: should be greater than or equal to 1"),
        (["run", "-a", "nop", "--mode", "wild"], "--mode: mode: should be 'baseline', 'pbt' or 'framework'"),
        (["run", "-a", "mystery"], "there is no agent 'mystery'"),
        (["run", "-m", "openai/x"], "comes with the next release"),
        (["run", "-a", "nop", "-p", "NONE-1"], "NONE-1"),
        (["run", "-a", "nop", "--problems-dir", "nowhere"], "nowhere: no such folder"),
        (["score"], "give either a run folder or --tests"),
        (["score", "nowhere"], "nowhere: no run here"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(world, argv, message):
    if argv[0] == "run" and "--problems-dir" not in argv:
        argv = [*argv, "--problems-dir", str(world.problems)]
    result = world(*argv)
    assert result.code == 2
    assert result.out == ""
    (line,) = [line for line in result.err.splitlines() if line.startswith("pbtbench: ")]
    assert message in line
    assert "Traceback" not in result.err


def test_a_machine_without_a_sandbox_is_exit_code_3(world, monkeypatch):
    def none(_name: str) -> None:
        raise SandboxUnavailableError("no sandbox can isolate here", hint="Install Docker")

    monkeypatch.setattr("pbtbench.cli.work.select_backend", none)
    result = world.run("-a", "nop")
    assert (result.code, result.out) == (3, "")
    assert "pbtbench: no sandbox can isolate here. Install Docker\n" in result.err


class TestUnexpected:
    @pytest.fixture
    def broken(self, world, monkeypatch):
        def fail(error):
            def raising(*_: object, **__: object) -> None:
                raise error

            monkeypatch.setattr("pbtbench.cli.run.load_problems", raising)
            return world

        return fail

    def test_a_defect_is_one_line_that_names_the_traceback_file(self, broken):
        result = broken(ZeroDivisionError("oops")).run("-a", "nop")
        assert result.code == cli.BROKEN
        assert "a defect in pbtbench: ZeroDivisionError: oops; the traceback is in " in result.err
        assert "Traceback" not in result.err
        assert "ZeroDivisionError: oops" in Path(result.err.rsplit(" in ", 1)[1].strip()).read_text()

    def test_verbose_shows_the_traceback(self, broken):
        assert "Traceback" in broken(ZeroDivisionError("oops")).run("-a", "nop", "-v").err
        broken(ZeroDivisionError("oops")).run("-a", "nop")

    def test_a_full_disk_is_exit_code_3_with_its_place(self, broken):
        result = broken(OSError(errno.ENOSPC, "No space left on device", "/data/x")).run("-a", "nop")
        assert result.code == 3
        assert "/data/x: no space left on the device" in result.err

    def test_an_interrupt_is_exit_code_130(self, broken):
        assert broken(KeyboardInterrupt()).run("-a", "nop").code == 130


def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -c 'from pbtbench.cli import main; main()' --help | head -c 10"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_real_program_exits_with_the_code():
    done = program("score", "nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith("pbtbench: nowhere: no run here")
