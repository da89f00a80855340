"""``pbtbench run``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pbtbench.cli import INTERRUPTED
from pbtbench.cli.common import (
    Base,
    Config,
    Full,
    Json,
    Problems,
    ProblemsDir,
    Quiet,
    Sandbox,
    Seeds,
    Verbose,
    Workers,
    make_app,
    option,
    print_json,
    report_unjudged,
    warn,
)
from pbtbench.cli.work import display, make_tools
from pbtbench.problems.load import load_problems
from pbtbench.report.table import cells_table, make_console
from pbtbench.runs.config import RunConfig, resolve_config
from pbtbench.runs.folder import default_root
from pbtbench.runs.pipeline import execute
from pbtbench.runs.plan import Plan, plan_cells

app = make_app()


@app.command()
def run(
    problem: Problems = None,
    agent: Annotated[
        list[str] | None,
        option(
            "-a",
            "--agent",
            text="reference, nop, existing, ghostwriter, replay, openhands; repeatable.",
            metavar="NAME",
        ),
    ] = None,
    model: Annotated[
        list[str] | None, option("-m", "--model", text="LiteLLM model id; repeatable.", metavar="ID")
    ] = None,
    mode: Annotated[
        list[str] | None,
        option("--mode", text="baseline, pbt or framework; repeatable; default pbt.", metavar="MODE"),
    ] = None,
    repeats: Annotated[
        int | None, option("-k", "--repeats", text="Trials of everything; default 1.", metavar="K")
    ] = None,
    workers: Workers = None,
    out: Annotated[
        Path | None,
        option("-o", "--out", text="Run folder; default runs/<time>-<cells>.", metavar="DIR"),
    ] = None,
    sandbox: Sandbox = None,
    base: Base = None,
    problems_dir: ProblemsDir = None,
    answers: Annotated[
        Path | None,
        option("--answers", text="Folder of answers for the agent replay.", metavar="DIR"),
    ] = None,
    seeds: Seeds = None,
    full: Full = False,
    max_tool_calls: Annotated[
        int | None, option("--max-tool-calls", text="Of one agent; default 200.", metavar="N")
    ] = None,
    time_limit: Annotated[
        float | None,
        option("--time-limit", text="Seconds of one agent; default 3600.", metavar="S"),
    ] = None,
    config: Config = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Examples:

    \b
      pbtbench run -a ghostwriter -a reference            every shipped problem, no model
      pbtbench run -a existing -p 'CTLS-*' --sandbox local
      pbtbench run -m anthropic/claude-sonnet-4-6 --mode pbt --mode baseline -k 3 -o runs/sonnet
      pbtbench run -a replay --answers old-answers/ -o runs/replayed

    Let agents write tests for the problems, judge the tests, print a table.

    The same command with the same -o resumes an unfinished run. The first Ctrl-C lets running work finish,
    the second stops at once. Every option can also be given as PBTBENCH_<OPTION> or, by the same name, in
    a YAML file (-c).
    """
    settings = resolve_config(
        config or (),
        {
            "problem": tuple(problem or ()),
            "agent": tuple(agent or ()),
            "model": tuple(model or ()),
            "mode": tuple(mode or ()),
            "repeats": repeats,
            "workers": workers,
            "out": out,
            "sandbox": sandbox,
            "base": base,
            "problems_dir": problems_dir,
            "answers": answers,
            "seeds": seeds,
            "full": full or None,
            "max_tool_calls": max_tool_calls,
            "time_limit": time_limit,
        },
    )
    raise typer.Exit(_run(settings, as_json=json, quiet=quiet, verbose=verbose))


def _run(config: RunConfig, *, as_json: bool, quiet: bool, verbose: bool) -> int:
    cells = plan_cells(config)
    problems = load_problems(config.problems_dir, config.problem)
    with display(quiet=quiet, verbose=verbose) as observer:
        tools = make_tools(config, observer)
        plan = Plan(config, tuple(problems), cells, tools.backend.name)
        result = execute(plan, config.out or default_root(plan), tools, observer)
    if as_json:
        print_json({**result.summary.to_json(), "folder": str(result.folder.paths.root)})
    else:
        make_console(sys.stdout).print(cells_table(result.summary.cells, result.summary.rule))
        sys.stdout.write(f"Everything is in {result.folder.paths.root}\n")
    if result.interrupted:
        warn(f"Interrupted; resume with the same command and -o {result.folder.paths.root}")
        return INTERRUPTED
    return report_unjudged(result.summary)
