"""``pbtbench build-images``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from pbtbench.cli.common import (
    Base,
    Json,
    Problems,
    ProblemsDir,
    Quiet,
    Sandbox,
    Verbose,
    make_app,
    print_json,
    steps,
)
from pbtbench.errors import SelectionError
from pbtbench.images import image_builder
from pbtbench.images.base import ImageBuilder, PreparedProblem
from pbtbench.problems.load import load_problems
from pbtbench.problems.model import Problem
from pbtbench.sandbox.backends import select_backend

app = make_app()


@app.command()
def build_images(
    library: Annotated[
        list[str] | None, typer.Argument(metavar="[LIBRARY]...", help="Libraries by name; none means all.")
    ] = None,
    problem: Problems = None,
    problems_dir: ProblemsDir = None,
    sandbox: Sandbox = None,
    base: Base = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - its callback does the work
) -> None:
    """Examples:

    \b
      pbtbench build-images                                every shipped problem
      pbtbench build-images cachetools --sandbox docker        the problems of one library
      pbtbench build-images -p CTLS-001 --base offline     from the offline base image

    Build the images that sandboxes start from: per library one, per problem a layer on it.

    What is there already is left alone. Other commands build what they need by themselves.
    """
    problems = _of_libraries(load_problems(problems_dir, problem or ()), library or [])
    backend = select_backend(sandbox or "auto")
    builder = image_builder(backend.name, base, on_step=steps(quiet=quiet))
    images = [_describe(*_build(builder, item)) for item in problems]
    if json:
        print_json({"schema": 1, "sandbox": backend.name, "images": images})
        return
    for image in images:
        state = "built" if image["built"] else "there already"
        sys.stdout.write(f"{image['problem']}  {image['library']}  {image['reference']}  {state}\n")


def _build(builder: ImageBuilder, problem: Problem) -> tuple[PreparedProblem, bool]:
    """The prepared problem, and whether anything was built for it."""
    library = builder.build_library(problem.library)
    prepared = builder.prepare(problem)
    return prepared, library.built or prepared.problem_image.built


def _describe(prepared: PreparedProblem, built: bool) -> dict[str, Any]:
    return {
        "problem": prepared.problem.id,
        "library": prepared.problem.library.key,
        "reference": prepared.problem_image.reference,
        "digest": prepared.problem_image.digest,
        "built": built,
    }


def _of_libraries(problems: list[Problem], names: list[str]) -> list[Problem]:
    there = sorted({problem.library.name for problem in problems})
    for name in names:
        if name not in there:
            raise SelectionError(
                f"no selected problem is about {name!r}", hint=f"There are {', '.join(there)}"
            )
    return [problem for problem in problems if not names or problem.library.name in names]
