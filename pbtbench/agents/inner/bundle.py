"""Makes one test file of a whole test suite. Runs inside the sandbox.

usage: bundle.py SUITE TARGET MAX_BYTES

The file holds the text of every module of the suite and serves them to ``import`` under the names that
pytest would give them, so that packages, helpers and relative imports work. Each test module becomes a
class of its own with its functions, classes and fixtures, and with the fixtures of every ``conftest.py``
that it would see; so two modules may use one name for two fixtures. Data files and pytest's own
configuration are not carried over: tests that need them fail on every tree alike.
"""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatch
from pathlib import Path

LOADER = '''
import importlib.abc
import importlib.util
import inspect
import linecache
import pathlib
import re
import sys

import pytest


class _Suite(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules of the suite from the text in this file."""

    def find_spec(self, name, path=None, target=None):
        if name not in MODULES:
            return None
        file, package = MODULES[name]
        return importlib.util.spec_from_loader(name, self, origin=f"{ROOT}/{file}", is_package=package)

    def exec_module(self, module):
        source = SOURCES[MODULES[module.__name__][0]]
        module.__file__ = module.__spec__.origin
        linecache.cache[module.__file__] = (len(source), None, source.splitlines(True), module.__file__)
        exec(compile(source, module.__file__, "exec", dont_inherit=True), vars(module))


def _import(name):
    """The module, or the exception that it raised."""
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit, pytest.skip.Exception, pytest.fail.Exception) as error:
        return error


def _is_fixture(value):
    kind = type(value)
    return kind.__name__ == "FixtureFunctionDefinition" and kind.__module__.startswith("_pytest.")


def _fixtures(module):
    return {name: staticmethod(value) for name, value in vars(module).items() if _is_fixture(value)}


def _collected(name, value):
    """What pytest would take from a module."""
    if inspect.isclass(value):
        return name.startswith("Test") or any(base.__module__ == "unittest.case" for base in value.__mro__)
    return name.startswith("test") and callable(value)


def _setup(module):
    """The module's own set-up functions as fixtures (methods would reach into the classes of the module)."""
    def call(name, *arguments):
        function = getattr(module, name, None)
        if function is not None:
            function(*arguments[: len(inspect.signature(function).parameters)])

    @pytest.fixture(autouse=True, scope="class")
    def _around_module():
        call("setup_module", module)
        yield
        call("teardown_module", module)

    @pytest.fixture(autouse=True)
    def _around_function(request):
        call("setup_function", request.function)
        yield
        call("teardown_function", request.function)

    wanted = {"setup_module", "teardown_module", "setup_function", "teardown_function"} & set(vars(module))
    fixtures = {"_around_module": _around_module, "_around_function": _around_function}
    return {name: staticmethod(fixture) for name, fixture in fixtures.items() if wanted}


def _raising(error):
    def test_import(self):
        raise error
    return {"test_import": test_import}


def _class(name, conftests):
    module = _import(name)
    if isinstance(module, BaseException):
        body = _raising(module)
    else:
        body = _setup(module)
        for conftest in map(_import, conftests):
            if not isinstance(conftest, BaseException):
                body |= _fixtures(conftest)
        body |= _fixtures(module)
        for key, value in vars(module).items():
            if _collected(key, value) and not _is_fixture(value):
                body[key] = value if inspect.isclass(value) else staticmethod(value)
        for key in ("pytestmark", "pytest_generate_tests"):
            if key in vars(module):
                value = vars(module)[key]
                body[key] = staticmethod(value) if inspect.isfunction(value) else value
    title = "Test_" + re.sub(r"\\W", "_", name)
    globals()[title] = type(title, (), {**body, "__module__": __name__})


sys.meta_path.insert(0, _Suite())
for _name, _conftests in TESTS.items():
    _class(_name, _conftests)
'''


def module_name(file: Path, root: Path) -> str:
    """The name under which pytest imports a file: from the first folder upwards that is no package."""
    parts = [file.stem] if file.name != "__init__.py" else []
    folder = file.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        if folder == root:
            break
        folder = folder.parent
    return ".".join(parts)


def bundle(root: Path, limit: int) -> tuple[str, int, list[str]]:
    """The file's text, how many test modules it has, and which did not fit into ``limit`` bytes."""
    sources: dict[str, str] = {}
    modules: dict[str, tuple[str, bool]] = {}
    tests: dict[str, list[str]] = {}
    conftests: dict[Path, str] = {}
    left_out: list[str] = []
    # Helpers first: a test module without them is worth nothing.
    files = sorted(root.rglob("*.py"), key=lambda file: (is_test(file), str(file)))
    for file in files:
        name = module_name(file, root)
        if not name:
            continue
        if name in modules:  # two files that pytest would call alike: it refuses the second, we rename it
            name = "_".join(file.relative_to(root).with_suffix("").parts)
        relative = str(file.relative_to(root))
        try:
            text = file.read_text(encoding="utf-8")
            compile(text, relative, "exec", dont_inherit=True)
        except (ValueError, SyntaxError):
            left_out.append(relative)
            continue
        if file.name == "conftest.py":
            conftests[file.parent] = name
        trial = {**sources, relative: text}, {**modules, name: (relative, file.name == "__init__.py")}
        seen = [conftests[parent] for parent in reversed(file.parents) if parent in conftests]
        more = {**tests, name: seen} if is_test(file) else tests
        if len(render(root, *trial, more).encode()) > limit:
            left_out.append(relative)
            continue
        (sources, modules), tests = trial, more
    return render(root, sources, modules, tests), len(tests), left_out


def is_test(file: Path) -> bool:
    """Whether pytest collects tests from a file of this name."""
    return fnmatch(file.name, "test_*.py") or fnmatch(file.name, "*_test.py")


def render(
    root: Path,
    sources: dict[str, str],
    modules: dict[str, tuple[str, bool]],
    tests: dict[str, list[str]],
) -> str:
    """The text of the one file."""
    texts = "".join(f"    {name!r}: {text!r},\n" for name, text in sources.items())
    return (
        '"""The upstream test suite in one file."""\n\n'
        f"ROOT = {str(root)!r}\n"
        f"SOURCES = {{\n{texts}}}\n"
        f"MODULES = {modules!r}\n"
        f"TESTS = {tests!r}\n{LOADER}"
    )


def main(suite: Path, target: Path, limit: int) -> dict[str, object]:
    """Write the file unless there is nothing to write; what to report."""
    text, tests, left_out = bundle(suite, limit)
    if tests:
        target.write_text(text, encoding="utf-8")
    return {"tests": tests, "left_out": left_out}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))  # noqa: T201
