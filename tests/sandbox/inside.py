"""Short ways to look around inside a sandbox."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import Any

from pbtbench.sandbox.base import PYTHON, CommandResult, Sandbox


def shell(sandbox: Sandbox, script: str, *, timeout: float = 60, stdin: bytes = b"") -> CommandResult:
    return sandbox.run(["sh", "-c", script], timeout=timeout, stdin=stdin)


def python(sandbox: Sandbox, source: str, *, timeout: float = 60) -> CommandResult:
    return sandbox.run([PYTHON, "-c", dedent(source)], timeout=timeout)


def ask(sandbox: Sandbox, source: str) -> Any:
    """What a Python program inside prints as JSON."""
    result = python(sandbox, source)
    assert result.exit_code == 0, result.stderr.decode()
    return json.loads(result.stdout)


def error_of(sandbox: Sandbox, statement: str) -> str:
    """Name of the errno with which a Python statement fails inside; "" if it does not."""
    return str(
        ask(
            sandbox,
            f"""
            import ctypes, errno, json, os, socket
            try:
                {statement}
                print(json.dumps(""))
            except socket.gaierror as error:
                print(json.dumps("gaierror"))
            except OSError as error:
                print(json.dumps(errno.errorcode.get(error.errno, str(error))))
            """,
        )
    )
