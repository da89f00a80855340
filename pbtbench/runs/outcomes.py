"""``outcomes.jsonl``: a judgement on disk, one header line and one line an outcome."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from pbtbench.errors import ConfigurationError
from pbtbench.judge.outcome import Judgement, Outcome
from pbtbench.runs.files import write_atomic

SCHEMA = 1


def write_judgement(path: Path, judgement: Judgement) -> None:
    """Store ``judgement``; `read_judgement` gives it back."""
    header = {f.name: getattr(judgement, f.name) for f in fields(judgement) if f.name != "outcomes"}
    rows: Iterator[dict[str, Any]] = (outcome.to_json() for outcome in judgement.outcomes)
    lines = [json.dumps(row, ensure_ascii=False) for row in ({"schema": SCHEMA, **header}, *rows)]
    write_atomic(path, ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))


def read_judgement(path: Path) -> Judgement:
    """Raises ConfigurationError when the file is damaged or of another schema."""
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n")
        # One document is parsed a good deal faster than a thousand; a line break is always between two.
        header, *rows = json.loads(f"[{lines.replace('\n', ',')}]")
        return Judgement(**_known(header), outcomes=tuple(map(Outcome.from_json, rows)))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigurationError(
            f"damaged outcomes: {error}", where=str(path), hint="Judge again with --rejudge"
        ) from error


def _known(header: dict[str, Any]) -> dict[str, Any]:
    """The header's fields that a judgement of this version has."""
    if header.get("schema") != SCHEMA:
        raise ValueError(f"the first line has schema {header.get('schema')!r}, not {SCHEMA}")
    names = {f.name for f in fields(Judgement)}
    lists_are_tuples = ((k, tuple(v) if isinstance(v, list) else v) for k, v in header.items())
    return {name: value for name, value in lists_are_tuples if name in names}
