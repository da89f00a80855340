"""The command line. One module a command; it is imported only when it is the one asked for."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence

import pbtbench
from pbtbench.errors import DiskFullError, MachineError, PbtbenchError, SelectionError

COMMANDS: Mapping[str, tuple[str, str]] = {
    "run": ("run", "let agents write tests, judge them, print a table"),
    "score": ("score", "judge test files, or score a finished run again"),
    "build-images": ("build_images", "build what sandboxes start from"),
    "problems": ("problems", "list and show problems"),
    "doctor": ("doctor", "tell what this machine can do, and how to fill the gaps"),
    "clean": ("clean", "remove what dead runs left behind"),
}
"""Command -> module and one line of help."""

OVERVIEW = """\
Examples:
  pbtbench doctor                                              what can this machine do?
  pbtbench problems list                                       which problems are there?
  pbtbench run -a ghostwriter -a reference -p 'CTLS-*'         a run without any model
  pbtbench score --problem CTLS-001 --tests pbt_test.py        judge your own tests

Usage: pbtbench COMMAND [OPTIONS]

Measures how well AI agents do property-based testing: real libraries, hidden bugs.

Commands:
{commands}

Options:
  -h, --help     this text; after a command: its own
  --version      the version

Exit codes: 0 done, 1 some trials could not be judged, 2 wrong use, 3 this machine cannot, 130 interrupted.
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    code = run_command(sys.argv[1:] if argv is None else argv)
    if code == INTERRUPTED:
        # Worker threads may still wait for things that are being torn down: do not wait for them.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


INTERRUPTED = 130
BROKEN = 3
"""Exit code for a defect of pbtbench itself."""


_UNUSABLE = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOENT,
        errno.EEXIST,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ENAMETOOLONG,
    }
)
"""What the system says of a place that cannot be used as asked: the user's to mend, no defect of ours."""


def run_command(argv: Sequence[str]) -> int:
    """Do what ``argv`` says; the exit code. Errors are one line on stderr."""
    if sys.stdout is None or sys.stderr is None:
        # Closed by the caller; libraries expect both, and what is printed can go nowhere.
        sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115, PTH123
        sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115, PTH123
    try:
        code = _dispatch(argv)
        sys.stdout.flush()
    except PbtbenchError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader of stdout has gone; keep Python from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            full = DiskFullError(
                "no space left on the device", where=error.filename, hint="Free some and try again"
            )
            return _fail(str(full), full.exit_code)
        if error.filename is not None and error.errno in _UNUSABLE:
            unusable = MachineError(
                f"{os.strerror(error.errno or 0).lower()}",
                where=os.fsdecode(error.filename),
                hint="Give another place (-o FOLDER for a run, PBTBENCH_CACHE for the cache)",
            )
            return _fail(str(unusable), unusable.exit_code)
        return _unexpected(error)
    except Exception as error:  # noqa: BLE001 - the last line of defence
        return _unexpected(error)
    return code


def _dispatch(argv: Sequence[str]) -> int:
    if not argv or argv[0] in {"-h", "--help", "help"}:
        lines = "\n".join(f"  {name:14} {text}" for name, (_, text) in COMMANDS.items())
        sys.stdout.write(OVERVIEW.format(commands=lines))
        return 0
    if argv[0] == "--version":
        sys.stdout.write(f"pbtbench {pbtbench.__version__}\n")
        return 0
    name, *rest = argv
    if name not in COMMANDS:
        raise SelectionError(f"there is no command {name!r}", hint=_suggest(name))
    import importlib

    from pbtbench.cli.common import invoke

    module = importlib.import_module(f"pbtbench.cli.{COMMANDS[name][0]}")
    return invoke(module.app, rest, f"pbtbench {name}")


def _suggest(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, n=1)
    return f"Did you mean {close[0]}?" if close else f"There are {', '.join(COMMANDS)}"


def _fail(message: str, code: int) -> int:
    sys.stderr.write(f"pbtbench: {message}\n")
    return code


def _unexpected(error: Exception) -> int:
    import tempfile
    import traceback

    from pbtbench.cli.common import state

    trace = "".join(traceback.format_exception(error))
    if state.verbose:
        sys.stderr.write(trace)
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="pbtbench-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(trace)
        where = f"the traceback is in {file.name}"
    except OSError:
        where = "run it with -v to see the traceback"
    return _fail(f"a defect in pbtbench: {type(error).__name__}: {error}; {where}", BROKEN)
