"""Options and steps that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pbtbench.errors import UsageError

if TYPE_CHECKING:
    from pbtbench.runs.summary import Summary


@dataclass
class State:
    """What holds for the whole process."""

    verbose: bool = False


state = State()


def make_app(**kwargs: Any) -> typer.Typer:
    """A command's parser: plain help text, ``-h`` too."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
        **kwargs,
    )


def invoke(app: typer.Typer, arguments: Sequence[str], name: str) -> int:
    """Parse and run; the exit code. Raises UsageError for arguments that cannot be parsed."""
    try:
        code = typer.main.get_command(app).main(list(arguments), prog_name=name, standalone_mode=False)
    except Exception as error:
        # typer carries its own copy of click, whose exceptions have no public name.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        raise UsageError(str(message()), hint=f"See {name} --help") from error
    return code if isinstance(code, int) else 0


def _set_verbose(value: bool) -> bool:
    state.verbose = value
    return value


def option(*names: str, text: str, callback: Callable[..., Any] | None = None, **kwargs: Any) -> Any:
    """An option that can also be given as ``PBTBENCH_<NAME>``."""
    long = next(name for name in names if name.startswith("--"))
    variable = "PBTBENCH_" + long.split("/")[0].strip("-").upper().replace("-", "_")
    return typer.Option(*names, help=text, envvar=variable, show_envvar=False, callback=callback, **kwargs)


Problems = Annotated[
    list[str] | None, option("-p", "--problem", text="Problem id or glob; repeatable.", metavar="ID")
]
ProblemsDir = Annotated[
    Path | None,
    option(
        "--problems-dir", text="Take problems from this folder instead of the shipped ones.", metavar="DIR"
    ),
]
Sandbox = Annotated[
    str | None,
    option("--sandbox", text="auto, docker or local.", metavar="KIND"),
]
Base = Annotated[
    str | None,
    option(
        "--base",
        text="Base image: a Docker tag or 'offline'; for the local sandbox a Python executable.",
        metavar="BASE",
    ),
]
Workers = Annotated[
    int | None,
    option("-n", "--workers", text="Agents, and test processes, at a time; default: the cores.", metavar="N"),
]
Seeds = Annotated[
    int | None, option("--seeds", text="Seeds that every answer is judged with; default 3.", metavar="N")
]
Full = Annotated[bool, option("--full", text="Run every function on every tree; must not change a verdict.")]
Config = Annotated[
    list[Path] | None,
    option("-c", "--config", text="YAML file with settings; repeatable, later ones win.", metavar="FILE"),
]
Json = Annotated[bool, option("--json", text="Print one JSON document on stdout and nothing else there.")]
Quiet = Annotated[bool, option("-q", "--quiet", text="No progress.")]
Verbose = Annotated[
    bool,
    option("-v", "--verbose", text="More progress, and tracebacks.", callback=_set_verbose),
]


def print_json(document: object) -> None:
    """The one document of ``--json``."""
    sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def warn(text: str) -> None:
    """One line on stderr."""
    sys.stderr.write(f"{text}\n")


def report_unjudged(summary: Summary) -> int:
    """Name trials that are missing; the exit code."""
    for key, reason in summary.unjudged:
        warn(f"not judged: {key.name}: {reason}")
    return 1 if summary.unjudged else 0


def steps(*, quiet: bool) -> Callable[[str], None]:
    """Where image builders tell what they do."""
    if quiet:
        return lambda _text: None
    return warn
