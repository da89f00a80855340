"""Outcomes: what one test function did on one tree under one seed (pure data)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, Literal

FileStatus = Literal["ok", "no_file", "empty", "import_error", "no_tests", "timeout"]

Stage = Literal["screen", "decide", "again", "isolate"]
"""Which pass of the judge produced a row; see ``judge.plan``."""

Status = Literal["passed", "failed", "skipped", "xfailed", "timeout", "crashed", "import_error", "exited"]
"""``crashed``: ended by a signal; ``exited``: left the process by itself before reporting;
``import_error``: the file (or, on this tree, the function) could not be collected."""


@dataclass(frozen=True)
class Outcome:
    """One row of ``outcomes.jsonl``.

    ``case`` is the pytest id below the file (``TestX::test_y[1-a]``); ``function`` is the same
    without the parameters: cases of one parametrised function are grouped under it.
    """

    function: str
    case: str
    tree: str
    seed: int
    status: Status
    stage: Stage = "decide"
    phase: str = ""
    """pytest phase of the first failure: ``setup``, ``call`` or ``teardown``; "" when there is none."""
    exception: str = ""
    message: str = ""
    example: str = ""
    """The falsifying example as Hypothesis printed it."""
    seconds: float = 0.0
    """Wall time of the function."""
    cpu_seconds: float = 0.0
    examples: int | None = None
    """Valid examples that Hypothesis ran; None when the function does not use Hypothesis."""
    discarded: int | None = None
    property_test: bool = False
    """Ran under ``@given`` or as a state machine."""
    reached: tuple[str, ...] = ()
    """Ids of the bugs whose code ran, import time counted."""
    read_source: bool = False
    """The test looked at the library's source or bytecode."""
    repeated: int = 0
    """How often it was repeated alone before it counted (timeouts and crashes)."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """A flat JSON object; defaults are left out."""
        row = asdict(self)
        row["reached"] = list(self.reached)
        keep = {"function", "case", "tree", "seed", "status", "stage"}
        return {k: v for k, v in row.items() if k in keep or v not in ("", None, [], {}, 0, False)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Outcome:
        """Inverse of ``to_json``; unknown keys are ignored so that newer files stay readable.

        Raises KeyError when a key without a default is missing.
        """
        # Scoring reads a hundred thousand rows; the frozen class's own __init__ would be most of the time.
        outcome = object.__new__(cls)
        values = outcome.__dict__
        values.update(_DEFAULTS, extra={})
        values.update(row if row.keys() <= _NAMES else {k: row[k] for k in row if k in _NAMES})
        if len(values) < len(_NAMES):
            raise KeyError(*(_NAMES - values.keys()))
        values["reached"] = tuple(values["reached"])
        return outcome


_NAMES = frozenset(f.name for f in fields(Outcome))
_DEFAULTS = {f.name: f.default for f in fields(Outcome) if f.default is not MISSING}


@dataclass(frozen=True)
class Judgement:
    """All that the judge found out about one answer on one problem."""

    problem: str
    seeds: tuple[int, ...]
    bugs: tuple[str, ...]
    """Bug ids in file order."""
    functions: tuple[str, ...]
    """Test functions in file order (collected on any tree)."""
    outcomes: tuple[Outcome, ...]
    file_status: FileStatus = "ok"
    """Why there is nothing to judge, when there is nothing."""
    file_message: str = ""
    seconds: float = 0.0
    body_cpu_seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """Plain sentences for the reader: hooks ignored, retries made, limits met."""
