"""Judges one answer: opens the trees, runs the stages, and puts the rows together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from threading import Lock

from pbtbench.images.base import PreparedProblem
from pbtbench.judge import plan
from pbtbench.judge.outcome import FileStatus, Judgement, Outcome, Stage
from pbtbench.judge.plan import Pair
from pbtbench.judge.reached import BugReach
from pbtbench.judge.session import Collection
from pbtbench.judge.slots import Slots
from pbtbench.judge.tree_run import SessionOpener, TreeRun
from pbtbench.problems.tree import BUGGY, CLEAN, fixed, only

Rows = dict[tuple[str, str, int], Outcome]
"""(tree, case, seed) -> row, of one stage"""


@dataclass(frozen=True)
class JudgeEvent:
    """Progress: ``text`` names the stage, ``done`` of ``total`` cases of it have run."""

    text: str
    done: int = 0
    total: int = 0


class Dispatch:
    """The judging of one answer. Use once."""

    def __init__(
        self,
        prepared: PreparedProblem,
        answer: bytes,
        opener: SessionOpener,
        *,
        seeds: Sequence[int],
        slots: Slots,
        limit: float,
        full: bool,
        on_event: Callable[[JudgeEvent], None],
        reach_on: Callable[[str], BugReach] | None = None,
    ) -> None:
        self.prepared = prepared
        self.answer = answer
        self.opener = opener
        self.seeds = tuple(seeds)
        self.slots = slots
        self.limit = limit
        self.full = full
        self.bugs = prepared.problem.bug_ids
        self._reach_on = reach_on or (lambda tree: BugReach(prepared.trees, self.bugs, tree))
        self._on_event = on_event
        self._event_lock = Lock()
        self._progress: dict[str, tuple[int, int]] = {}
        self._functions: dict[str, str] = {}
        self._cpu = 0.0

    def judge(self) -> Judgement:
        """Run the stages. Raises InfraError and SandboxUnavailableError; a bad answer is no error.

        Stages that do not need one another overlap, so that no worker waits for the end of a stage.
        """
        started = time.monotonic()
        rows: list[Outcome] = []
        with ExitStack() as stack:
            runs = self._open([BUGGY, CLEAN], stack)
            collections = self._collect(runs)
            for collection in collections.values():
                for case in collection.cases.values():
                    self._functions.setdefault(case.name, case.function)
            if self._functions:
                pool = stack.enter_context(ThreadPoolExecutor(2, thread_name_prefix="judge"))
                buggy = list(self._run_all(runs, {BUGGY: self._everything()}, "screen").values())
                cleaning = pool.submit(self._clean, runs, buggy, collections[CLEAN])
                deciders, decide = self._decide(buggy, stack)
                again = pool.submit(self._again, deciders, decide)
                screen = [*buggy, *cleaning.result()]
                isolate = self._isolate(screen, decide)
                rows = [*screen, *decide.values(), *again.result(), *isolate]
        status, message = _file_status(collections)
        return Judgement(
            problem=self.prepared.problem.id,
            seeds=self.seeds,
            bugs=self.bugs,
            functions=tuple(dict.fromkeys(self._functions.values())),
            outcomes=tuple(
                replace(row, function=self._functions.get(row.case, row.function)) for row in rows
            ),
            file_status=status,
            file_message=message,
            seconds=round(time.monotonic() - started, 3),
            body_cpu_seconds=round(self._cpu, 3),
            notes=_notes(collections),
        )

    # -- stages ------------------------------------------------------------------------------

    def _everything(self) -> list[Pair]:
        return [(case, seed) for case in self._functions for seed in self.seeds]

    def _clean(
        self, runs: Mapping[str, TreeRun], buggy: Sequence[Outcome], collection: Collection
    ) -> list[Outcome]:
        pairs, inferred = self._everything(), list[Outcome]()
        if not self.full:
            pairs, inferred = plan.clean_pairs(buggy, collection.cases)
        return [*inferred, *self._run_all(runs, {CLEAN: pairs}, "screen").values()]

    def _decide(self, buggy: Sequence[Outcome], stack: ExitStack) -> tuple[dict[str, TreeRun], Rows]:
        """Also returns the sessions, which live as long as ``stack``: what is run again runs in them."""
        pairs, bugs = self._everything(), list(self.bugs)
        if not self.full:
            pairs, bugs = plan.deciding_pairs(buggy), plan.deciding_bugs(buggy, self.bugs)
        if not pairs:
            return {}, {}
        runs = self._open([BUGGY, *(fixed(bug) for bug in bugs)], stack)
        self._collect(runs)
        rows = self._run_all(runs, dict.fromkeys(runs, pairs), "decide")
        self._repeat(runs, plan.repeats(rows, bugs, pairs), rows)
        return runs, rows

    def _again(self, runs: Mapping[str, TreeRun], decide: Rows) -> list[Outcome]:
        cases = plan.again_cases(decide, self.bugs, self.seeds)
        bugs = {bug for credited in cases.values() for bug in credited}
        trees = [BUGGY, *(fixed(bug) for bug in self.bugs if bug in bugs)]
        pairs = [(case, seed) for case in cases for seed in self.seeds]
        return list(self._run_all(runs, dict.fromkeys(trees, pairs), "again").values()) if pairs else []

    def _isolate(self, screen: Sequence[Outcome], decide: Rows) -> list[Outcome]:
        plans: dict[str, list[Pair]] = {}
        rows: list[Outcome] = []
        pairs_decided = {(case, seed) for _tree, case, seed in decide}
        for bug in self.bugs:
            found = {pair[1] for pair in pairs_decided if plan.removed(decide, bug, pair)}
            missed = self.seeds if self.full else [seed for seed in self.seeds if seed not in found]
            pairs, inferred = plan.isolation_pairs(screen, bug, missed, full=self.full)
            rows += inferred
            if pairs:
                plans[only(bug)] = pairs
        if not plans:
            return rows
        with ExitStack() as stack:
            runs = self._open(plans, stack)
            self._collect(runs)
            isolated = self._run_all(runs, plans, "isolate")
            self._repeat(
                runs,
                [(row.tree, (row.case, row.seed)) for row in isolated.values() if row.status in plan.UNSURE],
                isolated,
            )
        rows += isolated.values()
        return rows + self._clean_again(plans, isolated)

    def _clean_again(self, plans: Mapping[str, list[Pair]], isolated: Rows) -> list[Outcome]:
        """Whatever would earn a credit on ``only:<bug>`` must pass on ``clean`` under the same plan."""
        credited = {tree for (tree, _case, _seed), row in isolated.items() if row.status not in plan.PASSING}
        pairs = list(dict.fromkeys(pair for tree in plans if tree in credited for pair in plans[tree]))
        if not pairs:
            return []
        with ExitStack() as stack:
            runs = self._open([CLEAN], stack)
            self._collect(runs)
            return list(self._run_all(runs, {CLEAN: pairs}, "isolate").values())

    # -- steps that stages share ---------------------------------------------------------------

    def _open(self, trees: Iterable[str], stack: ExitStack) -> dict[str, TreeRun]:
        runs = {}
        for tree in trees:
            run = TreeRun(
                self.opener,
                tree,
                self.answer,
                self._reach_on(tree),
                slots=self.slots,
                limit=self.limit,
                on_row=self._advance,
            )
            stack.callback(self._close, run)
            runs[tree] = run
        return runs

    def _close(self, run: TreeRun) -> None:
        run.close()
        self._cpu += run.cpu_seconds

    def _collect(self, runs: Mapping[str, TreeRun]) -> dict[str, Collection]:
        with ThreadPoolExecutor(len(runs), thread_name_prefix="judge-collect") as pool:
            return dict(zip(runs, pool.map(TreeRun.collect, runs.values()), strict=True))

    def _run_all(self, runs: Mapping[str, TreeRun], plans: Mapping[str, list[Pair]], stage: Stage) -> Rows:
        with self._event_lock:
            done, total = self._progress.get(stage, (0, 0))
            self._progress[stage] = (done, total + sum(len(pairs) for pairs in plans.values()))
            self._on_event(JudgeEvent(stage, *self._progress[stage]))
        rows: Rows = {}
        with ThreadPoolExecutor(len(plans), thread_name_prefix="judge-stage") as pool:
            results = pool.map(lambda tree: (tree, runs[tree].run(plans[tree], stage)), plans)
            for tree, tree_rows in results:
                rows.update({(tree, case, seed): row for (case, seed), row in tree_rows.items()})
        return rows

    def _repeat(self, runs: Mapping[str, TreeRun], again: Iterable[tuple[str, Pair]], rows: Rows) -> None:
        """Run pairs once more with nothing beside them, where something may have been."""
        for tree, pair in again:
            row = rows[tree, *pair]
            if self.slots.count > 1 and not row.repeated:
                self._on_event(JudgeEvent(f"{row.stage} alone: {pair[0]}"))
                rows[tree, *pair] = runs[tree].run_alone(pair, row.stage)

    def _advance(self, row: Outcome) -> None:
        with self._event_lock:
            done, total = self._progress[row.stage]
            self._progress[row.stage] = (done + 1, total)
            self._on_event(JudgeEvent(row.stage, done + 1, total))


def _file_status(collections: Mapping[str, Collection]) -> tuple[FileStatus, str]:
    if any(collection.cases for collection in collections.values()):
        return "ok", ""
    buggy = collections[BUGGY]
    if buggy.timed_out:
        return "timeout", "importing the file took longer than allowed"
    if buggy.died:
        return "import_error", "the process ended while importing the file"
    if buggy.error:
        return "import_error", buggy.error
    return "no_tests", "no test function was collected"


def _notes(collections: Mapping[str, Collection]) -> tuple[str, ...]:
    notes = []
    hooks = sorted({name for collection in collections.values() for name in collection.hooks})
    if hooks:
        notes.append(f"pytest hooks in the test file have no effect: {', '.join(hooks)}")
    errors = {tree: c.error for tree, c in collections.items() if c.error and c.cases}
    notes += [f"part of the file could not be collected on {tree}: {error}" for tree, error in errors.items()]
    return tuple(notes)
