"""``pbtbench doctor``."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import typer

from pbtbench.cli.common import Json, make_app, print_json
from pbtbench.images.store import default_root
from pbtbench.sandbox.base import Check
from pbtbench.sandbox.docker import DockerBackend
from pbtbench.sandbox.local import LocalBackend

app = make_app()

NEEDED_DISK = 5 * 10**9
"""Bytes that images and a run of a few problems take with room to spare."""
KEYS = (
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
)


@app.command()
def doctor(json: Json = False) -> None:
    """Examples:

    \b
      pbtbench doctor
      pbtbench doctor --json

    Tell what this machine can do, and what to do about each gap. Keys are named, never shown.

    Exit code 0 when at least one sandbox works, 3 otherwise.
    """
    sandboxes = {backend.name: backend.check() for backend in (DockerBackend(), LocalBackend())}
    checks = [*_machine(), *_keys()]
    works = [name for name, results in sandboxes.items() if all(check.ok for check in results)]
    if json:
        print_json(
            {
                "schema": 1,
                "sandboxes": {
                    name: [asdict(check) for check in results] for name, results in sandboxes.items()
                },
                "machine": [asdict(check) for check in checks],
                "usable": works,
            }
        )
    else:
        for check in checks:
            _show(check)
        for name, results in sandboxes.items():
            for check in results:
                _show(check, f"sandbox {name}: ")
        sys.stdout.write(f"\nSandboxes that work here: {', '.join(works) or 'none'}\n")
    raise typer.Exit(0 if works else 3)


def _machine() -> list[Check]:
    folder = _existing(default_root())
    free = shutil.disk_usage(folder).free
    return [
        Check("python", ok=True, detail=f"{platform.python_version()} ({sys.executable})"),
        Check("platform", ok=sys.platform == "linux", detail=platform.platform(), hint="Use Linux"),
        Check("cores", ok=True, detail=str(os.cpu_count())),
        Check(
            "disk",
            ok=free >= NEEDED_DISK,
            detail=f"{free / 10**9:.1f} GB free in {folder}",
            hint=f"Make it {NEEDED_DISK / 10**9:.0f} GB, or set PBTBENCH_CACHE to another disk",
        ),
    ]


def _keys() -> list[Check]:
    there = [name for name in KEYS if os.environ.get(name)]
    return [
        Check(
            "keys",
            ok=bool(there),
            detail=", ".join(there) if there else "none",
            hint="Only agents that use a model need one: export, for example, ANTHROPIC_API_KEY",
        )
    ]


def _existing(folder: Path) -> Path:
    """The nearest folder at or above ``folder`` that is there."""
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def _show(check: Check, prefix: str = "") -> None:
    mark = "ok     " if check.ok else "missing"
    sys.stdout.write(f"{mark} {prefix}{check.name}: {check.detail}\n")
    if not check.ok and check.hint:
        sys.stdout.write(f"        -> {check.hint}\n")
