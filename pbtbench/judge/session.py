"""One tree's session: the host's side of the conversation with a supervisor in a sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any

from pbtbench.errors import SandboxDiedError
from pbtbench.judge.inner import frames
from pbtbench.sandbox.base import Channel

_PATIENCE = 30.0
"""Seconds beyond a limit after which a supervisor that says nothing counts as dead."""


@dataclass(frozen=True)
class Case:
    """A collected test case: ``index`` is its number in this session, ``name`` its pytest id."""

    index: int
    name: str
    function: str
    line: int
    property_test: bool


@dataclass(frozen=True)
class Collection:
    """What importing and collecting the answer gave on one tree."""

    cases: Mapping[str, Case]
    error: str = ""
    timed_out: bool = False
    died: bool = False
    """The process ended while importing (``os._exit``, a crash) instead of raising."""
    hooks: tuple[str, ...] = ()
    """Names in the file that look like pytest hooks; they have no effect."""
    reach: frozenset[tuple[str, str, int]] = frozenset()
    """Code objects of the library that ran while importing."""
    peeked: bool = False


class TreeSession:
    """Collects once, then runs cases, several at a time. Close it when done."""

    def __init__(self, channel: Channel, *, on_close: Callable[[], None]) -> None:
        self._channel = channel
        self._on_close = on_close
        self._decoder = frames.Decoder()
        self._lock = threading.Lock()
        self._pending: dict[int | str, Future[dict[str, Any]]] = {}
        self._next_id = 0
        self._dead: str | None = None
        self._reader = threading.Thread(target=self._read, name="judge-session", daemon=True)
        self._reader.start()
        self.collection = Collection({})

    def collect(self, answer: bytes, *, limit: float) -> Collection:
        """Import the answer on this tree; ``limit`` in seconds. Raises SandboxDiedError."""
        message = self._ask("collected", {"op": "collect", "answer": answer.hex(), "limit": limit}, limit)
        cases = {}
        for index, row in enumerate(message.get("cases", ())):
            case = Case(
                index, str(row["case"]), str(row["function"]), int(row["line"]), bool(row["property"])
            )
            cases[case.name] = case
        self.collection = Collection(
            cases,
            error=str(message.get("error", "")),
            timed_out=bool(message.get("timeout")),
            died=bool(message.get("died")),
            hooks=tuple(str(name) for name in message.get("hooks", ())),
            reach=code_keys(message.get("reach")),
            peeked=bool(message.get("peeked")),
        )
        return self.collection

    def run(self, case: Case, seed: int, *, limit: float) -> dict[str, Any]:
        """Run one case; its raw row. Raises SandboxDiedError when the sandbox ended under it."""
        with self._lock:
            self._next_id += 1
            number = self._next_id
        request = {"op": "run", "id": number, "case": case.index, "seed": seed, "limit": limit}
        return self._ask(number, request, limit)

    def close(self) -> None:
        """End the session and its sandbox. Never raises."""
        self._fail("closed")
        self._channel.close()
        self._on_close()

    def _ask(self, key: int | str, request: dict[str, Any], limit: float) -> dict[str, Any]:
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            if self._dead is not None:
                raise SandboxDiedError(f"the judge's sandbox is gone: {self._dead}")
            self._pending[key] = future
        self._channel.send(frames.encode(request))
        try:
            return future.result(timeout=limit + _PATIENCE)
        except FutureTimeoutError:
            self._fail(f"no answer within {limit + _PATIENCE:.0f} s")
            raise SandboxDiedError("the judge's sandbox stopped answering") from None

    def _read(self) -> None:
        reason = "end of its output"
        try:
            while data := self._channel.receive(None):
                for message in self._decoder.feed(data):
                    self._resolve(message)
        except (OSError, SandboxDiedError, frames.FrameError, KeyError, TypeError, ValueError) as error:
            reason = str(error) or type(error).__name__
        self._fail(reason)

    def _resolve(self, message: dict[str, Any]) -> None:
        if message["event"] == "collected":
            key, value = "collected", message
        else:
            key, value = message["id"], message["row"]
        with self._lock:
            future = self._pending.pop(key, None)
        if future is not None:
            future.set_result(value)

    def _fail(self, reason: str) -> None:
        with self._lock:
            if self._dead is None:
                self._dead = reason
            pending, self._pending = self._pending, {}
        for future in pending.values():
            future.set_exception(SandboxDiedError(f"the judge's sandbox died: {reason}"))


def code_keys(raw: object) -> frozenset[tuple[str, str, int]]:
    """Code object keys from a row; what is not one is dropped (rows are the answer's word)."""
    keys = set()
    for entry in raw if isinstance(raw, list) else ():
        match entry:
            case [str(path), str(name), int(line)]:
                keys.add((path, name, line))
    return frozenset(keys)
