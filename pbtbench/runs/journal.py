"""``journal.jsonl``: what happened in a run, one line an event, only ever appended to.

Nothing depends on it for correctness (a trial is done when its ``trial.json`` says so); it tells when
things happened and how often they were tried.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pbtbench.runs.files import disk_full_is_named


class Journal:
    """Appends events; may be used from several threads (a line is one ``write``)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with disk_full_is_named(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab+", buffering=0)
            if not _ends_line(self._file.fileno()):
                self._file.write(b"\n")

    def write(self, event: str, **fields: Any) -> None:
        """Append one event with the time it happened at. Raises ValueError after `close`."""
        line = json.dumps({"at": now(), "event": event, **fields}, ensure_ascii=False) + "\n"
        with disk_full_is_named(self._path):
            self._file.write(line.encode())

    def close(self) -> None:
        """Close the file; no event may follow."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """All whole events in order; lines torn by a crash are passed over."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event


def now() -> str:
    """The time in UTC, to the millisecond, as documents and the journal give it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _ends_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
