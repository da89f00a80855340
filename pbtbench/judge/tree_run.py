"""Runs cases on one tree, whatever the answer does to the processes and sandboxes it runs in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Protocol, get_args

from pbtbench.errors import SandboxDiedError
from pbtbench.judge.outcome import Outcome, Stage, Status
from pbtbench.judge.plan import UNSURE, Pair
from pbtbench.judge.reached import BugReach
from pbtbench.judge.session import Collection, TreeSession, code_keys
from pbtbench.judge.slots import Slots

_STATUSES = frozenset(get_args(Status))
IMPORT_LIMIT = 60.0
"""Seconds for importing library and test file and collecting, on one tree."""


class SessionOpener(Protocol):
    """Opens a fresh session on a tree."""

    def open(self, tree: str) -> TreeSession:
        """Raises SandboxUnavailableError or InfraError."""


class TreeRun:
    """One tree: a session with the answer, in which cases are run."""

    def __init__(
        self,
        opener: SessionOpener,
        tree: str,
        answer: bytes,
        reach: BugReach,
        *,
        slots: Slots,
        limit: float,
        on_row: Callable[[Outcome], None],
    ) -> None:
        self.tree = tree
        self._opener = opener
        self._answer = answer
        self._reach = reach
        self._slots = slots
        self._limit = limit
        self._on_row = on_row
        self._lock = threading.Lock()
        self._session: TreeSession | None = None
        self.cpu_seconds = 0.0

    def collect(self) -> Collection:
        """Start the session and import the answer; a sandbox that dies of it is tried once more."""
        with self._slots.one():
            for attempt in (1, 2):
                session = self._opener.open(self.tree)
                try:
                    collection = session.collect(self._answer, limit=IMPORT_LIMIT)
                except SandboxDiedError:
                    session.close()
                    if attempt == 2:
                        return Collection({}, died=True)
                else:
                    self._session = session
                    return collection
        raise AssertionError

    def run(self, pairs: Sequence[Pair], stage: Stage) -> dict[Pair, Outcome]:
        """Run pairs in order, as many at a time as there are slots. Unsure rows stay as they are,
        except that a case whose process or sandbox vanished under it is run again alone."""
        with ThreadPoolExecutor(self._slots.count, thread_name_prefix=f"judge-{self.tree}") as pool:
            rows = dict(zip(pairs, pool.map(lambda pair: self._run_one(pair, stage), pairs), strict=True))
        for pair, row in rows.items():
            if row.extra.get("gone"):
                rows[pair] = self.run_alone(pair, stage)
        return rows

    def run_alone(self, pair: Pair, stage: Stage) -> Outcome:
        """Run one pair in a fresh session with nothing else of ours on the machine."""
        with self._slots.alone():
            self.close()
            session = self._opener.open(self.tree)
            try:
                session.collect(self._answer, limit=IMPORT_LIMIT)
                self._session = session
                row = self._ask(session, pair)
            except SandboxDiedError:
                session.close()
                row = self._outcome(pair, {"status": "crashed", "message": "ended its sandbox"})
        return replace(row, stage=stage, repeated=1)

    def close(self) -> None:
        """End the session. Never raises."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.close()

    def _run_one(self, pair: Pair, stage: Stage) -> Outcome:
        row = replace(self._run_now(pair), stage=stage)
        self._on_row(row)
        return row

    def _run_now(self, pair: Pair) -> Outcome:
        with self._slots.one():
            session = self._session
            if session is None:
                return self._outcome(pair, {"status": "import_error", "message": "could not be imported"})
            try:
                return self._ask(session, pair)
            except SandboxDiedError as error:
                return self._outcome(pair, {"status": "crashed", "message": str(error), "gone": True})

    def _ask(self, session: TreeSession, pair: Pair) -> Outcome:
        name, seed = pair
        case = session.collection.cases.get(name)
        if case is None:
            reason = session.collection.error or "not collected on this tree"
            return self._outcome(pair, {"status": "import_error", "message": reason})
        row = session.run(case, seed, limit=self._limit)
        return self._outcome(pair, row, session.collection)

    def _outcome(self, pair: Pair, row: Mapping[str, Any], collection: Collection | None = None) -> Outcome:
        """A row as the sandbox sent it, with every value checked: it is the answer's word."""
        name, seed = pair
        case = collection.cases[name] if collection else None
        status = row.get("status")
        if status not in _STATUSES:
            status, row = "crashed", {"message": "reported a status that does not exist"}
        cpu = _number(row.get("process_cpu_seconds"))
        with self._lock:
            self.cpu_seconds += cpu
        known = isinstance(row.get("reach"), list) and not row.get("spawned")
        if collection is not None and known:
            reached = self._reach.of(collection.reach, code_keys(row.get("reach")))
        else:
            reached = self._reach.unknown()
        examples, discarded = row.get("examples"), row.get("discarded")
        extra = {key: row[key] for key in ("blob",) if isinstance(row.get(key), str) and row[key]}
        if row.get("gone") or (status in UNSURE and status == "crashed"):
            extra["gone"] = True
        return Outcome(
            function=case.function if case else name,
            case=name,
            tree=self.tree,
            seed=seed,
            status=status,  # type: ignore[arg-type]
            phase=_text(row.get("phase")),
            exception=_text(row.get("exception")),
            message=_text(row.get("message")),
            example=_text(row.get("example")),
            seconds=_number(row.get("seconds")),
            cpu_seconds=cpu,
            examples=examples if isinstance(examples, int) else None,
            discarded=discarded if isinstance(discarded, int) else None,
            property_test=bool(case and (case.property_test or isinstance(examples, int))),
            reached=reached,
            read_source=bool(row.get("peeked")) or bool(collection and collection.peeked),
            extra=extra,
        )


def _text(value: object) -> str:
    return value[:20_000] if isinstance(value, str) else ""


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e6 else 0.0
