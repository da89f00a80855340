"""``pbtbench problems``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from pbtbench.cli.common import Json, Problems, ProblemsDir, make_app, print_json
from pbtbench.problems.load import load_problems
from pbtbench.problems.model import Problem
from pbtbench.report.table import make_console

app = make_app(no_args_is_help=True)


@app.callback()
def problems() -> None:
    """Examples:

    \b
      pbtbench problems list
      pbtbench problems list -p 'CTLS-*' --json
      pbtbench problems show CTLS-001
      pbtbench problems list --problems-dir ~/PBT-Bench/libraries

    List and show problems.
    """


@app.command("list")
def list_(problem: Problems = None, problems_dir: ProblemsDir = None, json: Json = False) -> None:
    """Examples:

    \b
      pbtbench problems list
      pbtbench problems list -p 'CTLS-*' --json

    One line a problem.
    """
    selected = load_problems(problems_dir, problem or ())
    if json:
        print_json({"schema": 1, "problems": [_brief(item) for item in selected]})
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("id", "library", "version", "domain", "bugs", "levels"):
        table.add_column(name)
    for item in selected:
        levels = " ".join(sorted(bug.difficulty for bug in item.bugs))
        domain = item.library.domain or item.category
        table.add_row(item.id, item.library.name, item.library.version, domain, str(len(item.bugs)), levels)
    make_console(sys.stdout).print(table)


@app.command()
def show(
    problem: Annotated[str, typer.Argument(metavar="ID", help="The problem.")],
    problems_dir: ProblemsDir = None,
    json: Json = False,
) -> None:
    """Examples:

    \b
      pbtbench problems show CTLS-001
      pbtbench problems show CTLS-001 --json

    Everything about one problem, its bugs included (this gives the answers away).
    """
    for item in load_problems(problems_dir, (problem,)):
        if json:
            print_json({"schema": 1, **_brief(item), "details": item.model_dump(mode="json")})
            continue
        sys.stdout.write(f"{item.id}: {item.title}\n{item.library.key} ({item.library.module})\n")
        if item.description:
            sys.stdout.write(f"\n{item.description.strip()}\n")
        for bug in item.bugs:
            sys.stdout.write(f"\n{bug.id} ({bug.difficulty}): {bug.description.strip()}\n")
            if bug.bug_location:
                sys.stdout.write(f"  where: {bug.bug_location}\n")
            if bug.trigger_condition:
                sys.stdout.write(f"  trigger: {bug.trigger_condition.strip()}\n")


def _brief(item: Problem) -> dict[str, Any]:
    return {
        "id": item.id,
        "library": item.library.name,
        "version": item.library.version,
        "domain": item.library.domain or item.category,
        "title": item.title,
        "bugs": {bug.id: bug.difficulty for bug in item.bugs},
    }
