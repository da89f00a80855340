"""Writes a test file for a library with Hypothesis' ghostwriter. Runs inside the sandbox.

usage: ghostwrite.py MODULE TARGET MAX_FUNCTIONS CPU_SECONDS

The same library gives the same file: limits are on CPU time, so that a busy machine changes nothing.
The last line of output is a JSON object with what was written, dropped and left out.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import signal
import sys
import time
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

MODULE_SECONDS = 10.0
FUNCTION_SECONDS = 2.0
KINDS = ("roundtrip", "equivalent", "idempotent", "binary_operation", "fuzz")
"""The part of a test's name that tells its kind, most telling kind first."""

HEADER = '''\
"""Written by the ghostwriter of Hypothesis for {module}."""

{imports}

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.lists(st.integers()),
    st.dictionaries(st.text(), st.integers()),
)
"""For parameters of which nothing is known."""
'''
ALWAYS = (
    "from types import NoneType",
    "from hypothesis import HealthCheck, given, reject, settings",
    "from hypothesis import strategies as st",
)
SETTINGS = "settings(deadline=None, suppress_health_check=list(HealthCheck))"


def public_modules(name: str) -> Iterator[types.ModuleType]:
    """The package and its public submodules that can be imported, in order of name."""
    names = [name]
    package = importlib.import_module(name)
    if hasattr(package, "__path__"):
        found = pkgutil.walk_packages(package.__path__, f"{name}.", onerror=lambda _: None)
        names += sorted(module.name for module in found)
    for full in names:
        parts = full.split(".")[1:]
        if any(part.startswith("_") or part in {"tests", "test", "testing", "conftest"} for part in parts):
            continue
        with suppress(Exception, SystemExit):
            yield importlib.import_module(full)


def public_callables(module: types.ModuleType) -> list[Callable[..., object]]:
    """What the module offers and its package defines."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    values = [getattr(module, str(name), None) for name in sorted(map(str, names))]
    package = module.__name__.split(".")[0]
    return [v for v in values if callable(v) and str(getattr(v, "__module__", "")).split(".")[0] == package]


def own_exceptions(modules: list[types.ModuleType]) -> tuple[type[Exception], ...]:
    """Errors that the library may raise for bad input; anything else that a test meets is a failure."""
    package = modules[0].__name__
    found = (value for module in modules for value in vars(module).values())
    own = {value for value in found if isinstance(value, type) and issubclass(value, Exception)}
    usable = [value for value in own if value.__module__.split(".")[0] == package and _importable(value)]
    return (TypeError, ValueError, *sorted(usable, key=lambda e: (e.__module__, e.__qualname__)))


def _importable(value: type) -> bool:
    """Whether its module gives it under its name, as generated code would ask for it."""
    return getattr(sys.modules.get(value.__module__), value.__qualname__, None) is value


def is_idempotent_by_signature(function: Callable[..., object]) -> bool:
    """One parameter to give, of the very type that comes back."""
    if not inspect.isfunction(function):
        return False
    signature = inspect.signature(function)
    needed = [p for p in signature.parameters.values() if p.default is p.empty]
    return (
        len(needed) == 1
        and needed[0].annotation is not inspect.Parameter.empty
        and needed[0].annotation == signature.return_annotation
    )


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError inside the block after ``seconds`` of CPU time."""

    def expired(*_: object) -> None:
        raise TimeoutError

    previous = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


@dataclass
class Test:
    """One test function that can be defined."""

    name: str
    text: str
    turn: int
    """Its number among the tests of its kind that one module gave."""

    @property
    def rank(self) -> tuple[int, int]:
        """Most telling kind first; within a kind every module has its turn."""
        return kind_of(self.name), self.turn


def kind_of(name: str) -> int:
    """Position in `KINDS`."""
    return next((i for i, kind in enumerate(KINDS) if kind in name), len(KINDS))


class Writer:
    """Collects test functions that can be defined."""

    def __init__(self) -> None:
        self.imports: dict[str, None] = dict.fromkeys(ALWAYS)
        self.tests: dict[str, Test] = {}
        self.dropped = 0
        self._seen: set[str] = set()
        self._turns: Counter[int] = Counter()

    def next_module(self) -> None:
        """What follows comes from another module."""
        self._turns.clear()

    def add(self, source: str) -> None:
        """Take every test function of a ghostwritten file that can be defined by itself."""
        try:
            body = ast.parse(source).body
        except SyntaxError:
            self.dropped += 1
            return
        imports = [ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        values: list[str] = []
        for node in body:
            if isinstance(node, ast.Assign):
                values.append(ast.unparse(node))
            elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                self._take(node, imports, values)

    def _take(self, node: ast.FunctionDef, imports: list[str], values: list[str]) -> None:
        plain = ast.unparse(node)
        if plain in self._seen:
            return
        self._seen.add(plain)
        node.name = self._free(node.name)
        node.decorator_list.insert(0, ast.parse(SETTINGS, mode="eval").body)
        needed = [value for value in values if value.split(" = ")[0] in plain]
        text = "\n\n\n".join([*needed, ast.unparse(node)]).replace("st.nothing()", "ANYTHING")
        header = HEADER.format(module="", imports="\n".join((*ALWAYS, *imports)))
        try:
            exec(compile(f"{header}\n{text}\n", "<ghostwritten>", "exec"), {"__name__": "ghostwritten"})  # noqa: S102
        except Exception:  # noqa: BLE001 - whatever a library raises, the test cannot be used
            self.dropped += 1
            return
        kind = kind_of(node.name)
        self.imports.update(dict.fromkeys(imports))
        self.tests[node.name] = Test(node.name, text, self._turns[kind])
        self._turns[kind] += 1

    def _free(self, name: str) -> str:
        candidate, number = name, 1
        while candidate in self.tests:
            number += 1
            candidate = f"{name}_{number}"
        return candidate

    def ranked(self) -> list[Test]:
        """The tests in the order in which they should be taken."""
        return sorted(self.tests.values(), key=lambda test: test.rank)

    def file(self, module: str, tests: list[Test]) -> str:
        """The whole test file with these tests."""
        header = HEADER.format(module=module, imports="\n".join(sorted(self.imports)))
        return "\n\n\n".join([header.strip(), *(test.text for test in tests)]) + "\n"


def write_module(
    writer: Writer, callables: list[Callable[..., object]], except_: tuple[type[Exception], ...]
) -> None:
    """Everything the ghostwriter has to say about what one module offers."""
    from hypothesis.extra import ghostwriter

    try:
        with cpu_limit(MODULE_SECONDS):
            writer.add(ghostwriter.magic(*callables, except_=except_))
    except Exception:  # noqa: BLE001 - one function that it cannot handle spoils the module: one by one then
        for function in callables:
            with suppress(Exception), cpu_limit(FUNCTION_SECONDS):
                writer.add(ghostwriter.fuzz(function, except_=except_))
    for function in callables:
        with suppress(Exception), cpu_limit(FUNCTION_SECONDS):
            if is_idempotent_by_signature(function):
                writer.add(ghostwriter.idempotent(function, except_=except_))


def provide_black() -> None:
    """The ghostwriter formats its text with black; the text is taken apart and written anew here."""
    try:
        importlib.import_module("black")
    except ImportError:
        black = types.ModuleType("black")
        vars(black).update(format_str=lambda source, mode: source, Mode=lambda: None)  # noqa: ARG005
        sys.modules["black"] = black


def main(name: str, target: str, most: int, seconds: float) -> dict[str, object]:
    """Write the file; what to report."""
    warnings.simplefilter("ignore")
    provide_black()
    modules = list(public_modules(name))
    except_ = own_exceptions(modules)
    writer, why, unseen = Writer(), "", 0
    seen: set[int] = set()
    for module in modules:
        if time.process_time() < seconds:
            new = [value for value in public_callables(module) if id(value) not in seen]
            seen |= set(map(id, new))
            writer.next_module()
            if new:
                write_module(writer, new, except_)
        else:
            unseen += 1
            why = f"{seconds:g} s of CPU time are used up"
    ranked = writer.ranked()
    if len(ranked) > most:
        why = f"at most {most} are taken"
    Path(target).write_text(writer.file(name, ranked[:most]), encoding="utf-8")
    return {
        "written": min(len(ranked), most),
        "dropped": writer.dropped,
        "left_out": max(len(ranked) - most, 0) + unseen,
        "why": why,
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))))  # noqa: T201
