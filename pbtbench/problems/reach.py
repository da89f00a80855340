"""Which code a bug touches: the code objects that are not the same with and without it.

A test run that starts none of them, and imports the library the same way, cannot behave differently
when the bug is removed; the judge leaves such runs out. So the answer errs on the large side:

* code objects are compared by bytecode, constants, names and signature, not by source text; line
  numbers and file names do not count, nested code is compared on its own;
* what shows of a function without running it (signature, docstring, whether it is a generator) also
  touches the code that defines it, and so does code that is there on one side only;
* changes in module or class bodies and in files other than ``.py`` act when the library is imported.

Not covered is code that reads its own source, bytecode or line numbers.
"""

from __future__ import annotations

import ast
import functools
import inspect
import warnings
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType

from pbtbench.problems.tree import BUGGY, CLEAN, Tree, fixed, only
from pbtbench.problems.trees import changed_files

# Scopes that the compiler makes by itself; another Python version may compile them into the code
# around them.
_COMPILER_MADE = ("<generic parameters", "<listcomp>", "<setcomp>", "<dictcomp>", "__annotate__")
_HAS_DOCSTRING: int | None = getattr(inspect, "CO_HAS_DOCSTRING", None)  # Python 3.13


@dataclass(frozen=True)
class CodeKey:
    """A code object as ``sys.monitoring`` shows it in one tree."""

    path: str
    """Relative to site-packages."""
    qualname: str
    firstlineno: int


@dataclass(frozen=True)
class Touched:
    """What a bug touches, in the coordinates of one tree."""

    keys: frozenset[CodeKey]
    at_import: bool
    """The bug can show without any of ``keys`` running after the import of the library."""


def touched_code(trees: Mapping[str, Tree], bug_id: str, tree_name: str) -> Touched:
    """The code of ``trees[tree_name]`` that can behave differently because of the bug.

    Compares ``buggy`` with ``fixed:<bug>`` and ``clean`` with ``only:<bug>``; what differs in either
    pair counts.
    """
    files = trees[tree_name].files
    keys: set[CodeKey] = set()
    at_import = False
    for one, two in ((BUGGY, fixed(bug_id)), (CLEAN, only(bug_id))):
        pair = trees[one], trees[two]
        for path in changed_files(pair):
            touched = _touched_parts(path, pair[0].files.get(path), pair[1].files.get(path))
            if touched is None:
                at_import = True
                continue
            parts = _parts(path, files[path]) if path in files else {}
            if parts is None:
                at_import = True
                continue
            for part in touched:
                at_import |= part.at_import
                there = parts.get(part.qualname, ())
                # Same number of code objects of this name: order tells which one is meant.
                same = there[part.ordinal : part.ordinal + 1] if len(there) == part.siblings else there
                keys |= {CodeKey(path, each.qualname, each.firstlineno) for each in same}
    return Touched(frozenset(keys), at_import)


@dataclass(frozen=True)
class _Part:
    """One code object of a file."""

    qualname: str
    ordinal: int
    """Position among the code objects of this name in the file."""
    firstlineno: int
    code: CodeType
    parent: _Part | None
    at_import: bool
    """Runs whenever the file is imported: a module or class body."""


@dataclass(frozen=True)
class _TouchedPart:
    qualname: str
    ordinal: int
    siblings: int
    """How many code objects of this name both sides have; -1: not equally many."""
    at_import: bool


_Parts = dict[str, tuple[_Part, ...]]


@functools.lru_cache(maxsize=256)
def _touched_parts(path: str, one: bytes | None, two: bytes | None) -> frozenset[_TouchedPart] | None:
    """What differs between two versions of a file; None: the file as a whole."""
    if one is None or two is None:
        return None
    left, right = _parts(path, one), _parts(path, two)
    if left is None or right is None:
        return None
    touched: set[_TouchedPart] = set()
    for qualname in left.keys() | right.keys():
        ours, theirs = left.get(qualname, ()), right.get(qualname, ())
        if len(ours) == len(theirs):
            for a, b in zip(ours, theirs, strict=True):
                if _behaviour(a.code) != _behaviour(b.code):
                    outside = _interface(a.code) != _interface(b.code)
                    touched |= {_mark(a, left, right), _mark(b, left, right)}
                    if outside or a.code.co_name.startswith(_COMPILER_MADE):
                        touched |= {_mark(part.parent, left, right) for part in (a, b) if part.parent}
        else:
            for part in ours + theirs:
                touched |= {_mark(each, left, right) for each in (part, part.parent) if each}
    return frozenset(touched)


def _mark(part: _Part, left: _Parts, right: _Parts) -> _TouchedPart:
    counts = {len(side.get(part.qualname, ())) for side in (left, right)}
    siblings = counts.pop() if len(counts) == 1 else -1
    return _TouchedPart(part.qualname, part.ordinal, siblings, part.at_import)


@functools.lru_cache(maxsize=64)
def _parts(path: str, content: bytes) -> _Parts | None:
    """The code objects of a file by qualified name; None when it is not Python that compiles."""
    if not path.endswith(".py"):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(content, path)
            module = compile(tree, path, "exec", dont_inherit=True, optimize=0)
            # A class body stores the line it is at (Python 3.13), which is no difference here.
            for node in _classes(tree):
                (node.decorator_list[0] if node.decorator_list else node).lineno = 1
            comparable = compile(tree, path, "exec", dont_inherit=True, optimize=0)
        except (SyntaxError, ValueError, RecursionError):
            return None
    parts: dict[str, tuple[_Part, ...]] = {}

    def add(real: CodeType, code: CodeType, parent: _Part | None) -> None:
        there = parts.get(real.co_qualname, ())
        body = not real.co_flags & inspect.CO_OPTIMIZED or real.co_name.startswith("<generic parameters")
        at_import = body and (parent is None or parent.at_import)
        part = _Part(real.co_qualname, len(there), real.co_firstlineno, code, parent, at_import)
        parts[real.co_qualname] = (*there, part)
        for nested, comparable_nested in zip(_nested(real), _nested(code), strict=True):
            add(nested, comparable_nested, part)

    add(module, comparable, None)
    return parts


def _classes(node: ast.AST) -> Iterator[ast.ClassDef]:
    """Every class statement; much faster than ``ast.walk``, which goes through expressions too."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, field, ()):
            if isinstance(statement, ast.ClassDef):
                yield statement
            yield from _classes(statement)


def _nested(code: CodeType) -> Iterator[CodeType]:
    return (value for value in code.co_consts if isinstance(value, CodeType))


def _interface(code: CodeType) -> Hashable:
    """What of a function shows, or decides how a call behaves, before its first instruction."""
    variables = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    arguments = code.co_argcount + code.co_kwonlyargcount + variables
    documented = _HAS_DOCSTRING is None or code.co_flags & _HAS_DOCSTRING
    first = code.co_consts[0] if code.co_consts and documented else None
    return (
        code.co_flags,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_varnames[:arguments],
        first if isinstance(first, str) else None,
    )


def _behaviour(code: CodeType) -> Hashable:
    """All that makes a code object behave as it does, without the code nested in it."""
    return (
        _interface(code),
        code.co_code,
        code.co_exceptiontable,
        tuple(_constant(value) for value in code.co_consts),
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
    )


def _constant(value: object) -> Hashable:
    """Tells apart what ``==`` does not: 1, 1.0 and True, 0.0 and -0.0, also inside tuples."""
    if isinstance(value, CodeType):
        return "code", value.co_qualname
    if isinstance(value, tuple):
        return "tuple", tuple(_constant(item) for item in value)
    if isinstance(value, frozenset):
        return "frozenset", frozenset(_constant(item) for item in value)
    return type(value).__name__, repr(value)
