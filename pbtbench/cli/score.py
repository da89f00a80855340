"""``pbtbench score``."""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from pbtbench.agents.base import ANSWER_NAME
from pbtbench.agents.replay import find_answers, read_answer
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
from pbtbench.errors import SelectionError, UsageError
from pbtbench.problems.load import load_problems
from pbtbench.report.table import answer_table, cells_table, make_console
from pbtbench.runs.answers import JudgedAnswer, LooseAnswer, cell_summaries, judge_answers
from pbtbench.runs.config import RunConfig, resolve_config
from pbtbench.runs.files import write_json
from pbtbench.runs.folder import open_run
from pbtbench.runs.pipeline import rejudge
from pbtbench.runs.plan import Plan, plan_cells
from pbtbench.runs.summary import summarise
from pbtbench.score import Rule

app = make_app()
SCHEMA = 1


@app.command()
def score(
    folder: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="A run folder.")] = None,
    problem: Problems = None,
    tests: Annotated[
        Path | None,
        option("--tests", text="A test file, or a folder of …/<PROBLEM-ID>/pbt_test.py.", metavar="PATH"),
    ] = None,
    rule: Annotated[
        Literal["f2p", "paper"], option("--rule", text="Rule that metrics are computed from.")
    ] = "f2p",
    rejudge: Annotated[
        bool, option("--rejudge", text="Judge the answers of RUN again instead of using its outcomes.")
    ] = False,
    full: Full = False,
    seeds: Seeds = None,
    workers: Workers = None,
    sandbox: Sandbox = None,
    base: Base = None,
    problems_dir: ProblemsDir = None,
    config: Config = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Examples:

    \b
      pbtbench score runs/20260101-120000-ghostwriter--pbt      score a run again, from its outcomes
      pbtbench score runs/… --rejudge                           run all its tests again
      pbtbench score --problem CTLS-001 --tests pbt_test.py     judge one file
      pbtbench score --problem CTLS-001 --tests pbt_test.py --json
      pbtbench score --tests answers/                           judge …/<PROBLEM-ID>/pbt_test.py, by folder

    Turn outcomes into verdicts, or judge test files that come from anywhere.
    """
    if (folder is None) == (tests is None):
        raise UsageError("give either a run folder or --tests PATH", hint="See pbtbench score --help")
    settings = resolve_config(
        config or (),
        {
            "problem": tuple(problem or ()),
            "seeds": seeds,
            "workers": workers,
            "sandbox": sandbox,
            "base": base,
            "problems_dir": problems_dir,
            "full": full or None,
        },
    )
    if folder is not None:
        code = _run_folder(folder, settings, rule, again=rejudge, as_json=json, quiet=quiet, verbose=verbose)
    elif tests is not None and tests.is_dir() and not tests.is_symlink():
        code = _folder_of_answers(tests, settings, rule, as_json=json, quiet=quiet, verbose=verbose)
    else:
        assert tests is not None
        code = _one_file(tests, settings, rule, as_json=json, quiet=quiet, verbose=verbose)
    raise typer.Exit(code)


def _run_folder(
    root: Path, given: RunConfig, rule: Rule, *, again: bool, as_json: bool, quiet: bool, verbose: bool
) -> int:
    folder = open_run(root)
    if again:
        from pbtbench.cli.work import display, make_tools

        config = folder.config.model_copy(update={"workers": given.workers, "sandbox": folder.sandbox})
        with display(quiet=quiet, verbose=verbose) as observer:
            tools = make_tools(config, observer)
            problems = load_problems(config.problems_dir, config.problem)
            plan = Plan(config, tuple(problems), plan_cells(config), tools.backend.name)
            rejudge(folder, plan, tools, observer)
    summary = summarise(folder, rule=rule, rescore=not again)
    write_json(folder.paths.summary, summary.to_json())
    if as_json:
        print_json(summary.to_json())
    else:
        make_console(sys.stdout).print(cells_table(summary.cells, rule))
    return report_unjudged(summary)


def _folder_of_answers(
    folder: Path, config: RunConfig, rule: Rule, *, as_json: bool, quiet: bool, verbose: bool
) -> int:
    problems = {problem.id: problem for problem in load_problems(config.problems_dir, config.problem)}
    answers: list[LooseAnswer] = []
    unknown: list[LooseAnswer] = []
    for cell, found in find_answers(folder).items():
        for name, path in found.items():
            (answers if name in problems else unknown).append(LooseAnswer(cell, name, path))
    if unknown and not config.problem:
        names = sorted({answer.problem for answer in unknown})
        warn(f"passed over, no such problem: {', '.join(names)}")
    if not answers:
        raise SelectionError("none of the answers belongs to a selected problem", where=str(folder))
    judged = _judge(answers, config, quiet=quiet, verbose=verbose)
    cells = cell_summaries(judged, rule=rule)
    done = [item for item in judged if item.judgement is not None]
    missing = [item for item in judged if item.judgement is None]
    for item in done:
        _say_if_empty(item)
    for item in missing:
        warn(f"not judged: {item.answer.name}: {item.reason}")
    if as_json:
        from dataclasses import asdict

        print_json(
            {
                "schema": SCHEMA,
                "rule": rule,
                "cells": [asdict(cell) for cell in cells],
                "answers": [{"cell": item.answer.cell, **item.document(rule)} for item in done],
                "unjudged": {item.answer.name: item.reason for item in missing},
            }
        )
    else:
        make_console(sys.stdout).print(cells_table(cells, rule))
    return 1 if missing else 0


def _one_file(path: Path, config: RunConfig, rule: Rule, *, as_json: bool, quiet: bool, verbose: bool) -> int:
    if len(config.problem) != 1:
        raise UsageError("a test file is judged on one problem", hint="Name it with --problem ID")
    problems = load_problems(config.problems_dir, config.problem)
    if len(problems) != 1:
        raise UsageError(f"{config.problem[0]!r} selects {len(problems)} problems", hint="Name one")
    read_answer(path)
    (judged,) = _judge([LooseAnswer(".", problems[0].id, path)], config, quiet=quiet, verbose=verbose)
    if judged.judgement is None:
        warn(f"not judged: {judged.reason}")
        return 1
    _say_if_empty(judged)
    document = judged.document(rule)
    if as_json:
        print_json(document)
    else:
        make_console(sys.stdout).print(answer_table(judged))
        shares = (f"{name.replace('_', ' ')} {value:.2f}" for name, value in document["metrics"].items())
        sys.stdout.write(f"{', '.join(shares)}\n")
    return 0


def _judge(
    answers: Sequence[LooseAnswer], config: RunConfig, *, quiet: bool, verbose: bool
) -> list[JudgedAnswer]:
    from pbtbench.cli.work import display, make_tools

    wanted = {answer.problem for answer in answers}
    problems = [p for p in load_problems(config.problems_dir, config.problem) if p.id in wanted]
    with display(quiet=quiet, verbose=verbose) as observer:
        tools = make_tools(config, observer)
        prepared = {problem.id: tools.builder.prepare(problem) for problem in problems}
        return judge_answers(
            answers, prepared, tools, observer, label=secrets.token_hex(6), workers=config.workers
        )


def _say_if_empty(judged: JudgedAnswer) -> None:
    """One line about an answer that finds nothing because of what it is."""
    assert judged.judgement is not None
    status = judged.judgement.file_status
    if status != "ok":
        what = WHY[status] if status != "no_file" else judged.reason
        detail = _last_line(judged.judgement.file_message) if status == "import_error" else ""
        warn(f"{judged.answer.path}: {what}{detail}; it finds nothing")


def _last_line(message: str) -> str:
    """What pytest's report of an error comes down to, with the line of the file; safe to print."""
    lines = message.strip().splitlines()
    places = re.findall(rf"{re.escape(ANSWER_NAME)}(?::|\", line )(\d+)", message)
    if not lines:
        return ""
    error = "".join(letter if letter.isprintable() else "?" for letter in lines[-1].removeprefix("E").strip())
    return f": {error}" + (f" (line {places[-1]})" if places else "")


WHY = {
    "empty": "the file is empty",
    "import_error": "the file cannot be imported",
    "no_tests": "there is no test in the file",
    "timeout": "importing the file takes too long",
}
