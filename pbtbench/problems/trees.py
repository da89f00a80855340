"""Builds the trees of a problem by content, from the files of the clean library.

``fixed:i`` is made in two ways, by putting all other patches in and by taking patch i out of
``buggy``; they must agree byte for byte. So no bug can be silently absent, left behind, or tied to
another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from pbtbench.errors import PatchError
from pbtbench.problems.diff import parse_patch
from pbtbench.problems.model import Problem
from pbtbench.problems.patch import Patch
from pbtbench.problems.tree import BUGGY, CLEAN, Tree, fixed, only


def build_trees(clean_files: Mapping[str, bytes], problem: Problem) -> dict[str, Tree]:
    """All trees of ``problem`` by name: ``clean``, ``buggy``, ``fixed:<bug>`` and ``only:<bug>``.

    ``clean_files`` is what the library's wheel puts into site-packages (POSIX path -> content); the
    problem's ``lib_patches`` go on it first, one after the other, and are part of every tree.
    Raises PatchError when a patch does not apply or reverse exactly, or when two patches interfere.
    """
    clean: Mapping[str, bytes] = dict(clean_files)
    for name, text in problem.lib_patches:
        clean = _parse(text, name, problem, clean).apply(clean)
    patches = {bug.id: _parse(bug.patch_text, f"{bug.id}.patch", problem, clean) for bug in problem.bugs}
    # Alone first: errors then speak of lines of the clean tree, which the patches are written against.
    states = {CLEAN: clean} | {only(bug_id): patch.apply(clean) for bug_id, patch in patches.items()}
    states[BUGGY] = _apply_all(clean, list(patches.values()))
    for bug_id, patch in patches.items():
        others = [other for key, other in patches.items() if key != bug_id]
        states[fixed(bug_id)] = _apply_all(clean, others)
        if patch.over(others).reverse(states[BUGGY]) != states[fixed(bug_id)]:
            raise PatchError("reversing it does not give the tree without it", where=patch.name)
    digest = _Digest()
    return {name: Tree(name, files, digest(files)) for name, files in states.items()}


def changed_files(trees: Iterable[Tree]) -> frozenset[str]:
    """Paths that are not the same, or not there, in all of ``trees``."""
    first, *rest = trees
    return frozenset(
        path
        for tree in rest
        for path in first.files.keys() | tree.files.keys()
        if first.files.get(path) != tree.files.get(path)
    )


def _parse(text: bytes, name: str, problem: Problem, clean: Mapping[str, bytes]) -> Patch:
    patch = parse_patch(text, _where(problem, name))
    return patch.located(clean) if problem.published else patch


def _where(problem: Problem, name: str) -> str:
    return f"{problem.id}/{name}"


def _apply_all(clean: Mapping[str, bytes], patches: Sequence[Patch]) -> Mapping[str, bytes]:
    files = clean
    for index, patch in enumerate(patches):
        files = patch.over(patches[:index]).apply(files)
    return files


class _Digest:
    """Hash of a tree: sha256 over its sorted (path, sha256 of content) pairs.

    Trees of one problem share nearly all their files as objects; each is hashed once.
    """

    def __init__(self) -> None:
        self._of_file: dict[bytes, bytes] = {}

    def __call__(self, files: Mapping[str, bytes]) -> str:
        total = hashlib.sha256()
        for path, content in sorted(files.items()):
            if content not in self._of_file:
                self._of_file[content] = hashlib.sha256(content).digest()
            total.update(path.encode("utf-8", "surrogateescape") + b"\0" + self._of_file[content])
        return total.hexdigest()
