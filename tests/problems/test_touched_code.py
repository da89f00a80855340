"""No code that a bug can change is missed, and what it cannot change is left out."""

from __future__ import annotations

import sys
from types import CodeType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbtbench.problems.reach import CodeKey, Touched, touched_code
from pbtbench.problems.tree import BUGGY, CLEAN, Tree, fixed, only


def trees_of(clean: dict[str, str], buggy: dict[str, str]) -> dict[str, Tree]:
    """The trees of a problem with one bug, ``bug_1``."""
    states = {CLEAN: clean, fixed("bug_1"): clean, BUGGY: buggy, only("bug_1"): buggy}
    return {
        name: Tree(name, {path: text.encode() for path, text in files.items()}, name)
        for name, files in states.items()
    }


def touched(clean: str, buggy: str, tree: str = BUGGY) -> Touched:
    return touched_code(trees_of({"m.py": clean}, {"m.py": buggy}), "bug_1", tree)


def names(result: Touched) -> list[str]:
    return sorted(key.qualname for key in result.keys)


MODULE = '''\
"""Module docstring."""
import functools

LIMIT = 10


def plain(a, b=1, *, c=2):
    """Docstring of plain."""
    total = a + b
    return [total * item for item in range(c)]


class Box:
    """Docstring of Box."""

    size = 3

    @functools.lru_cache
    def grow(self, by: int = 1):
        def inner(x):
            return x + by

        return inner(self.size)

    @property
    def half(self):
        return self.size / 2


TABLE = {"add": lambda x: x + 1, "sub": lambda x: x - 1}


def pick(items):
    if not items:
        return None
    return sorted(items, key=lambda item: item[0])[0]


def stream(n):
    for i in range(n):
        yield i


def lazy(n):
    return sum(i * i for i in range(n))
'''

CASES = {
    # name: (text, its replacement, qualnames touched in the buggy tree, at_import)
    "nothing": ("LIMIT", "LIMIT", [], False),
    "lines moved": ("LIMIT = 10\n", "LIMIT = 10\n\n\n# a comment\n", [], False),
    "comment": ("    if not items:\n", "    # none\n    if not items:\n", [], False),
    "layout": ("total = a + b\n", "total = (  a+b  )\n\n", [], False),
    "body": ("a + b", "a - b", ["plain"], False),
    "constant": ("/ 2", "/ 2.0", ["Box.half"], False),
    "comprehension": ("total * item", "total + item", ["plain"], False),
    "nested function": ("x + by", "x - by", ["Box.grow.<locals>.inner"], False),
    "lambda in a function": ("item[0]", "item[1]", ["pick.<locals>.<lambda>"], False),
    "one lambda of two": ("x - 1", "x - 2", ["<lambda>"], False),
    "generator expression": ("i * i", "i + i", ["lazy.<locals>.<genexpr>"], False),
    "generator": ("yield i", "yield i + 1", ["stream"], False),
    "default argument": ("b=1", "b=2", ["<module>"], True),
    "default of a method": ("by: int = 1", "by: int = 2", ["Box"], True),
    "annotation": ("by: int", "by: float", ["Box"], True),
    "keyword-only default": ("c=2", "c=3", ["<module>"], True),
    "argument renamed": ("def pick(items)", "def pick(items, /)", ["<module>", "pick"], True),
    "decorator": ("@functools.lru_cache", "@functools.cache", ["Box"], True),
    "decorator removed": ("    @property\n", "", ["Box"], True),
    "class constant": ("size = 3", "size = 4", ["Box"], True),
    "module constant": ("LIMIT = 10", "LIMIT = 11", ["<module>"], True),
    "base class": ("class Box:", "class Box(dict):", ["<module>"], True),
    "method added": (
        "    @property\n",
        "    def more(self):\n        return 1\n\n    @property\n",
        ["Box", "Box.more"],
        True,
    ),
    "function removed": ("def lazy(n):\n    return sum(i * i for i in range(n))\n", "", ["<module>"], True),
    "generator turned function": ("        yield i\n", "        return i\n", ["<module>", "stream"], True),
    "function turned async": ("def lazy", "async def lazy", None, True),
    "docstring of a function": ("Docstring of plain", "Other", ["<module>", "plain"], True),
    "docstring of a class": ("Docstring of Box", "Other", ["Box"], True),
    "lambda added": (
        "    return sorted",
        "    _ = lambda: 1\n    return sorted",
        ["pick", "pick.<locals>.<lambda>", "pick.<locals>.<lambda>"],
        False,
    ),
    "syntax error": ("def lazy(n):", "def lazy(n:", [], True),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_change_touches_exactly_this(case):
    old, new, expected, at_import = CASES[case]
    assert old in MODULE
    result = touched(MODULE, MODULE.replace(old, new))
    assert result.at_import == at_import
    if expected is not None:
        if sys.version_info < (3, 13) and "constant" not in case:
            assert set(expected) <= set(names(result))
        elif sys.version_info < (3, 14):
            assert names(result) == sorted(expected)


def test_keys_are_in_the_coordinates_of_the_tree_asked_for():
    buggy = MODULE.replace("LIMIT = 10", "LIMIT = 10\n\n").replace("a + b", "a - b")
    line = MODULE.splitlines().index("def plain(a, b=1, *, c=2):") + 1
    for tree, expected in (
        (BUGGY, line + 2),
        (only("bug_1"), line + 2),
        (CLEAN, line),
        (fixed("bug_1"), line),
    ):
        assert touched(MODULE, buggy, tree).keys == {CodeKey("m.py", "plain", expected)}


def test_the_first_line_of_decorated_code_is_that_of_its_decorator():
    clean = "import functools\n\n@functools.cache\ndef f():\n    return 1\n"
    assert touched(clean, clean.replace("return 1", "return 2")).keys == {CodeKey("m.py", "f", 3)}


def test_code_that_only_the_fixed_tree_has_touches_what_encloses_it_in_the_buggy_one():
    clean = "def f(x):\n    def g():\n        return x\n    return g\n"
    buggy = "def f(x):\n    return x\n"
    assert names(touched(clean, buggy)) == ["f"]
    assert names(touched(clean, buggy, CLEAN)) == ["f", "f.<locals>.g"]


def test_files_that_are_not_python_act_at_import():
    trees = trees_of({"m.py": "", "data.txt": "1"}, {"m.py": "", "data.txt": "2"})
    assert touched_code(trees, "bug_1", BUGGY) == Touched(frozenset(), at_import=True)


def test_a_file_that_only_one_side_has_acts_at_import():
    trees = trees_of({"m.py": ""}, {"m.py": "", "n.py": "x = 1\n"})
    assert touched_code(trees, "bug_1", CLEAN).at_import


def test_lines_moved_before_a_class_touch_nothing():
    """Since Python 3.13 a class body stores its own line number."""
    clean = """\
class A:
    class B:
        x = 1
@print
class C:
    x = 5
def f():
    for _ in ():
        try:
            pass
        except ImportError:
            class D: pass
        else:
            class E: pass
        finally:
            class F: pass
    else:
        class G: pass
    match f:
        case _:
            class H: pass
    return [lambda: 1 if f else 2]
"""
    assert touched(clean, "# more\n" * 300 + clean) == Touched(frozenset(), at_import=False)


@pytest.mark.parametrize(
    ("one", "two"), [("1", "True"), ("0.0", "-0.0"), ("(1, 2)", "(1, 2.0)"), ("b'a'", "'a'"), ("1", "1.0")]
)
def test_equal_constants_of_other_types_differ(one, two):
    assert names(touched(f"def f():\n    return {one}\n", f"def f():\n    return {two}\n")) == ["f"]


def test_a_frozen_set_with_another_equal_constant_differs():
    code = "def f(x):\n    return x in {{{}, 2}}\n"
    assert names(touched(code.format("1"), code.format("1.0"))) == ["f"]


def test_in_a_tree_with_more_code_of_the_same_name_all_of_it_counts():
    """Another bug's patch can put a lambda before the one in question."""
    clean = "def f():\n    return lambda: 1\n"
    trees = trees_of({"m.py": clean}, {"m.py": clean.replace("lambda: 1", "lambda: 2")})
    more = clean.replace("return", "g = lambda: 0\n    return")
    trees["other"] = Tree("other", {"m.py": more.encode()}, "other")
    lines = [key.firstlineno for key in touched_code(trees, "bug_1", "other").keys]
    assert sorted(lines) == [2, 3]


# -- soundness, against what really runs ---------------------------------------------------------

PARTS = [
    ("def base(x{0}):\n    return x + {1}\n", ["", ", y=2", ", /", ", *rest"], ["1", "2", "len('ab')"]),
    ("def gen(n):\n    for i in range(n):\n        {0} i{1}\n", ["yield", "return"], [" ", " + 1"]),
    (
        "class Box:\n    size = {0}\n    def get(self):\n        return [self.size{1} for _ in 'a']\n",
        ["1", "2"],
        ["", " + 1"],
    ),
    (
        "def outer(k={0}):\n    def inner(x):\n        return x{1}\n    return inner(k)\n",
        ["1", "5"],
        ["", " * 2"],
    ),
    ("PICK = [lambda x: x{0}, lambda x: -x{1}]\n", ["", " + 1"], ["", " - 1"]),
    ("{0}\ndef total(n):\n    '''doc{1}'''\n    return sum(i for i in range(n))\n", ["", "@str"], ["", "!"]),
    (
        "class Sub(Box):\n{0}    def twice(self):\n        return self.get() * 2{1}\n",
        ["", "    def get(self): return [9]\n"],
        ["", "  # note"],
    ),
]
PROBES = [
    "base(1)", "base(x=1)", "base(1, 2)", "list(gen(2))", "type(gen(0)).__name__", "Box().get()", "Box.size",
    "outer()", "outer(3)", "[f(2) for f in PICK]", "PICK[0](1)", "PICK[1](1)", "total(3)", "total.__doc__",
    "Sub().twice()", "Sub().get()", "Box().get.__name__",
]  # fmt: skip


@st.composite
def modules(draw: st.DrawFn) -> tuple[str, str]:
    """A module and the same module with one or two places changed."""
    slots = [(part, slot) for part, (_, *choices) in enumerate(PARTS) for slot in range(len(choices))]
    filled = {(part, slot): draw(st.sampled_from(PARTS[part][slot + 1])) for part, slot in slots}
    changed = dict(filled)
    for part, slot in draw(st.lists(st.sampled_from(slots), min_size=1, max_size=2)):
        changed[part, slot] = draw(st.sampled_from(PARTS[part][slot + 1]))

    def text(values: dict[tuple[int, int], str]) -> str:
        return "\n".join(
            template.format(*(values[part, slot] for slot in range(len(choices))))
            for part, (template, *choices) in enumerate(PARTS)
        )

    return text(filled), text(changed)


def behaviours(source: str) -> dict[str, tuple[str, set[CodeKey]]]:
    """What each probe gives, and the code it started after the import."""
    ran: set[CodeKey] = set()

    def on_start(code: CodeType, offset: int) -> None:
        if code.co_filename == "m.py":
            ran.add(CodeKey("m.py", code.co_qualname, code.co_firstlineno))

    namespace: dict[str, object] = {}
    exec(compile(source, "m.py", "exec", dont_inherit=True), namespace)
    monitoring = sys.monitoring
    tool = next(tool for tool in range(6) if monitoring.get_tool(tool) is None)
    monitoring.use_tool_id(tool, "test")
    monitoring.register_callback(tool, monitoring.events.PY_START, on_start)
    monitoring.set_events(tool, monitoring.events.PY_START)
    results = {}
    try:
        for probe in PROBES:
            ran.clear()
            try:
                result = repr(eval(probe, namespace))
            except Exception as error:  # noqa: BLE001 - part of the behaviour
                result = repr(error)
            results[probe] = result, set(ran)
    finally:
        monitoring.free_tool_id(tool)
    return results


@settings(deadline=None)
@given(modules())
def test_what_behaves_differently_has_run_touched_code(sources):
    clean, buggy = sources
    for tree, here, there in ((BUGGY, buggy, clean), (CLEAN, clean, buggy)):
        found = touched(clean, buggy, tree)
        others = behaviours(there)
        for probe, (result, ran) in behaviours(here).items():
            if result != others[probe][0]:
                assert found.at_import or ran & found.keys, f"{probe}: {result}, {others[probe][0]}"
