"""Problems of both formats are read as they are written; what is wrong is named with file and line."""

# ruff: noqa: E501 - tables with one case a line, messages in full

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from pbtbench.errors import ProblemError, SelectionError
from pbtbench.problems.load import find_problems, load_problem, load_problems, shipped_problems_dir
from pbtbench.problems.trees import build_trees
from pbtbench.problems.vocabulary import CANARY

PUBLIC = Path(__file__).parents[1] / "data" / "public"
PATCH = "--- a/lib/x.py\n+++ b/lib/x.py\n@@ -1 +1 @@\n-a\n+b\n"
LIBRARY = f"""\
# {CANARY}
schema: 1
name: lib
version: 1.10
module: lib
domain: protocols
licence: MIT
sdist: {{file: lib-1.10.tar.gz, sha256: {"a" * 64}}}
wheel: {{file: lib-1.10-py3-none-any.whl, sha256: {"b" * 64}}}
requires: ["idna==3.11 --hash=sha256:{"c" * 64}"]
docs: ["docs/*.rst"]
tests:
  paths: [tests]
"""
PROBLEM = f"""\
canary: {CANARY}
schema: 1
id: LIBX-001
library: lib
library_version: 1.10
library_module: lib
category: protocols
difficulty: L2
title: A title
description: Prose.
bugs:
  - id: bug_1
    difficulty: L2
    description: What is wrong.
    bug_location: lib/x.py:1
    contract: {{file: docs/a.rst, heading: Rules, text: A promise.}}
    trigger: Always.
    ground_truth_strategy: Anything.
    tags: ["prop:invariant", "bug:boundary", "strat:sequence"]
  - id: bug_2
    difficulty: L3
    description: What else is wrong.
    contract: {{file: docs/a.rst, heading: Rules, text: Another promise.}}
    trigger: Twice.
    tags:
      - prop:model
      - bug:scope
      - strat:ties
      - strat:nested
measured:
  seeds: 20
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder ``problems`` with one problem in our format; errors name files relative to it."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "LIBX-001")
    return tmp_path


def write(root: Path, name: str, *, problem: str = PROBLEM, library: str = LIBRARY, lib: str = "lib") -> Path:
    place = root / lib / name
    place.mkdir(parents=True)
    (root / lib / "library.yaml").write_text(library)
    (place / "problem.yaml").write_text(problem)
    for number in (1, 2):
        (place / f"bug_{number}.patch").write_text(PATCH)
    return place


# -- our format ----------------------------------------------------------------------------------


def test_our_format_is_read(folder):
    (problem,) = load_problems(folder)
    assert (problem.id, problem.difficulty, problem.published) == ("LIBX-001", "L2", False)
    assert (problem.library.key, problem.library.requires) == (
        "lib-1.10",
        (f"idna==3.11 --hash=sha256:{'c' * 64}",),
    )
    assert problem.bug_ids == ("bug_1", "bug_2")
    first = problem.bugs[0]
    assert (first.trigger_condition, first.patch_text) == ("Always.", PATCH.encode())
    assert first.contract is not None
    assert first.contract.heading == "Rules"
    assert problem.reference is None
    assert problem.vendored_docs is None
    assert problem.vendored_tests is None
    assert problem.extra == {"measured": {"seeds": 20}}


def test_the_reference_is_found(folder):
    reference = folder / "lib/LIBX-001/reference/pbt_test.py"
    reference.parent.mkdir()
    reference.write_text("")
    assert load_problem(folder / "lib/LIBX-001").reference == reference


WHERE = "lib/LIBX-001/problem.yaml"
LEVELS = "allowed: L1, L2, L3"

BROKEN = [
    # (text in problem.yaml, its replacement, the error in full)
    ("difficulty: L3", "difficulty: L9", f"{WHERE}:21: bugs[1].difficulty is 'L9'; {LEVELS}"),
    ("difficulty: L2\ntitle", "difficulty: hard\ntitle", f"{WHERE}:8: difficulty is 'hard'; {LEVELS}"),
    ("    description: What is wrong.\n", "", f"{WHERE}:12: bugs[0].description is missing"),
    ("description: What is wrong.", "description: [a]", f"{WHERE}:14: bugs[0].description must be text, not a list"),
    ("title: A title", "title: true", f"{WHERE}:9: title must be text, not true or false (put it in quotes)"),
    ("title: A title", "title: {a: b}\nscope: x", f"{WHERE}:9: title must be text, not a mapping (and 1 more)"),
    ("title: A title", "title: A title\nscope: x", f"{WHERE}:10: scope must be a list, not text ('x')"),
    ("    trigger: Always.\n", "", f"{WHERE}:12: bugs[0].trigger is missing"),
    ("heading: Rules, text: A promise.", "heading: Rules", f"{WHERE}:16: bugs[0].contract.text is missing"),
    (
        "    contract: {file: docs/a.rst, heading: Rules, text: A promise.}\n",
        "",
        f"{WHERE}:12: bugs[0].contract is missing. Name file and heading of the documented promise, and its text",
    ),
    ("{file: docs/a.rst, heading: Rules, text: A promise.}", "docs",
     f"{WHERE}:16: bugs[0].contract must be a mapping (key: value), not text ('docs')"),
    ("prop:invariant", "prop:invariance",
     (f"{WHERE}:19: bugs[0].tags: unknown tag 'prop:invariance'; allowed after prop: algebraic, boundary, conservation, "
     "equivalence, idempotence, invariant, metamorphic, model, monotonicity, ordering, round-trip, state-machine, type")),
    ("prop:invariant", "invariant",
     f"{WHERE}:19: bugs[0].tags: tag 'invariant' does not begin with prop:, bug:, strat:"),
    ("      - prop:model\n", "", f"{WHERE}:25: bugs[1].tags: 0 tags begin with prop: but a bug has one"),
    ("      - strat:ties\n", "      - strat:ties\n      - strat:timing\n",
     f"{WHERE}:25: bugs[1].tags: 3 tags begin with strat: but a bug has one or two"),
    ("id: bug_2", "id: bug_1", f"{WHERE}:20: bugs[1].id: bug_1 is there twice"),
    ("id: bug_2", "id: bug_3", f"{WHERE}:20: the patch bug_3.patch of bug_3 is missing"),
    ("id: bug_2", "id: ../bug_2", f"{WHERE}:20: bugs[1].id is '../bug_2'; allowed: a name such as bug_1"),
    ("id: bug_2", "name: bug_2", f"{WHERE}:20: bugs[1].id is None; allowed: a name such as bug_1"),
    ("id: LIBX-001", "id: LIBX-002", f"{WHERE}:3: id is 'LIBX-002' but the folder is called 'LIBX-001'"),
    ("id: LIBX-001\n", "", f"{WHERE}:1: id is missing"),
    ("schema: 1", "schema: 2", f"{WHERE}:2: schema is 2; allowed: 1"),
    ("schema: 1\n", "", f"{WHERE}:1: schema is None; allowed: 1"),
    (f"canary: {CANARY}", "canary: other", f"{WHERE}:1: canary is 'other'; it must be {CANARY}"),
    ("library: lib", "library: bil", f"{WHERE}:4: library is 'bil' but lib/library.yaml says lib"),
    ("library_version: 1.10", "library_version: 1.1",
     f"{WHERE}:5: library_version is '1.1' but lib/library.yaml says 1.10"),
    ("library_module: lib", "library_module: l", f"{WHERE}:6: library_module is 'l' but lib/library.yaml says lib"),
    ("title: A title", "title: A title\ntitle: B", f"{WHERE}:10: the key 'title' is there twice"),
    ("title: A title", "title: [A title", f"{WHERE}:10: not valid YAML: did not find expected ',' or ']'"),
    ("title: A title", "title: A: title", f"{WHERE}:9: not valid YAML: mapping values are not allowed in this context"),
    ("title: A title", "title: *nothing", f"{WHERE}:9: not valid YAML: found undefined alias"),
    ("title: A title", "title: !new x", f"{WHERE}:9: not valid YAML: could not determine a constructor for the tag '!new'"),
    ("title: A title", "title: \x07", f"{WHERE}: not valid YAML: control characters are not allowed"),
    (PROBLEM, "", f"{WHERE}:1: expected a mapping (key: value)"),
    (PROBLEM, "- a\n", f"{WHERE}:1: expected a mapping (key: value)"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), BROKEN)
def test_an_error_is_one_line_with_file_line_and_what_is_allowed(folder, old, new, message):
    assert PROBLEM.count(old) == 1
    (folder / WHERE).write_text(PROBLEM.replace(old, new))
    with pytest.raises(ProblemError) as caught:
        load_problem(folder / "lib/LIBX-001")
    assert str(caught.value) == message


@pytest.mark.parametrize("bugs", ["", "bugs:\n", "bugs: []\n", "bugs: many\n"])
def test_a_problem_has_at_least_one_bug(folder, bugs):
    (folder / WHERE).write_text(PROBLEM[: PROBLEM.index("bugs:")] + bugs)
    with pytest.raises(ProblemError, match=f"^{WHERE}:(1|11): bugs must be a list with at least one bug$"):
        load_problem(folder / "lib/LIBX-001")


LIBRARY_BROKEN = [
    ("domain: protocols", "domain: text",
     ("lib/library.yaml:6: domain is 'text'; allowed: serialization, data-structures, date-time, validation, numerics, "
     "protocols, parsing")),
    ("a" * 64, "a" * 63,
     f"lib/library.yaml:8: sdist.sha256 must be a sha256 (64 hexadecimal digits), not '{'a' * 63}'"),
    ("licence: MIT\n", "", "lib/library.yaml:2: licence is missing"),
    ('docs: ["docs/*.rst"]', "docs: []", "lib/library.yaml:11: docs is missing"),
    (f" --hash=sha256:{'c' * 64}", "",
     ("lib/library.yaml:10: 'idna==3.11' is not an exact pin with hashes. "
     "Write name==version --hash=sha256:<64 hexadecimal digits>")),
    ("paths: [tests]", "requires: [attrs]",
     ("lib/library.yaml:13: 'attrs' is not an exact pin with hashes. "
     "Write name==version --hash=sha256:<64 hexadecimal digits>")),
    (f"# {CANARY}\n", "", f"lib/library.yaml:1: the canary is missing: put {CANARY} in a comment at the top"),
    ("schema: 1", "schema: one", "lib/library.yaml:2: schema is 'one'; allowed: 1"),
    ("name: lib\n", "", "lib/library.yaml:2: name is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), LIBRARY_BROKEN)
def test_an_error_in_a_library_is_one_line_too(folder, old, new, message):
    (folder / "lib/library.yaml").write_text(LIBRARY.replace(old, new))
    with pytest.raises(ProblemError) as caught:
        load_problem(folder / "lib/LIBX-001")
    assert str(caught.value) == message


def test_files_that_are_missing_empty_or_not_text_are_named(folder):
    place = folder / "lib/LIBX-001"
    (place / "bug_2.patch").write_text("\n")
    with pytest.raises(ProblemError, match=r"^lib/LIBX-001/bug_2.patch: the patch is empty$"):
        load_problem(place)
    (place / "problem.yaml").write_bytes(b"id: \xff\n")
    with pytest.raises(ProblemError, match=r"^lib/LIBX-001/problem.yaml: not UTF-8: byte 4 is wrong$"):
        load_problem(place)
    (place / "problem.yaml").write_text(PROBLEM)
    (folder / "lib/library.yaml").unlink()
    with pytest.raises(ProblemError, match=r"^lib/library.yaml: No such file or directory$"):
        load_problem(place)


# -- the public format ---------------------------------------------------------------------------


def test_the_public_format_is_read_with_all_its_quirks():
    (problem,) = load_problems(PUBLIC)
    place = PUBLIC / "tinytext/problems/TINY-001"
    assert problem.published
    assert (problem.library.name, problem.library.version) == ("tiny-text.tools", "2.10")
    assert problem.library.module == "tiny_text_tools"
    assert problem.library.requires is None
    assert problem.library.wheel is None
    assert (problem.category, problem.difficulty, problem.scope) == ("", None, ())
    assert problem.vendored_docs == (place / "docs/guide.md", place / "docs/more")
    assert problem.vendored_tests == (place / "existing_tests/test_basic.py",)
    assert problem.reference == place / "ground_truth/pbt_test.py"
    assert problem.extra == {"language": "Python", "released": "2024-05-01"}
    first, second = problem.bugs
    assert first.tags[-1] == "anything goes here"
    assert first.trigger_condition == "At least two words."
    assert first.model_extra is not None
    assert first.model_extra["sas_data"] == {"strategy_default": "~7%", "strategy_targeted": "0.9"}
    assert (first.patch_text, second.patch_text) == tuple(
        (place / f"bug_{number}.patch").read_bytes() for number in (1, 2)
    )


def test_public_patches_go_on_the_fixed_library():
    (problem,) = load_problems(PUBLIC)
    clean = (PUBLIC / "tinytext/core.py.txt").read_bytes()
    trees = build_trees({"tiny_text_tools/core.py": clean}, problem)
    results = {}
    for name, tree in trees.items():
        namespace: dict[str, object] = {}
        exec(tree.files["tiny_text_tools/core.py"], namespace)
        results[name] = eval("(shout('a'), join(['a', 'b']), count(['a']))", namespace)
    right, joined, counted = "A", ("a b", "a b "), ({"a": 1}, {"a": 2})
    assert results == {
        "clean": (right, joined[0], counted[0]),
        "buggy": (right, joined[1], counted[1]),
        "fixed:bug_1": (right, joined[0], counted[1]),
        "fixed:bug_2": (right, joined[1], counted[0]),
        "only:bug_1": (right, joined[1], counted[0]),
        "only:bug_2": (right, joined[0], counted[1]),
    }


@pytest.fixture
def public(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "lib" / "problems" / "LIBX-001"
    (place / "docs").mkdir(parents=True)
    (place / "docs" / "a.md").write_text("")
    (place / "bug_1.patch").write_text(PATCH)

    def load(*lines: str):
        bug = ["bugs:", "- id: bug_1", "  description: x"]
        (place / "problem.yaml").write_text("\n".join(["id: LIBX-001", *lines, *bug]))
        return load_problem(place)

    return load


BASE = ("library: PyYAML", "library_version: 6", "difficulty: L1")


def test_numbers_module_and_level_are_filled_in(public):
    problem = public(*BASE, "library_module: yaml")
    assert (problem.library.key, problem.library.module) == ("PyYAML-6", "yaml")
    assert problem.bugs[0].difficulty == "L1"


def test_tests_are_shown_unless_the_problem_says_no(public):
    assert public(*BASE, "existing_tests: [docs/a.md]").vendored_tests
    assert public(*BASE, "provides_base_tests: false", "existing_tests: [gone.py]").vendored_tests == ()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("library_version: 6",), "1: library is missing"),
        (("library: PyYAML",), "1: library_version is missing"),
        (("library: a", "library_version: 1"), "5: bugs[0].difficulty is missing"),
        ((*BASE, "library_module: [a]"), "5: library_module must be text"),
        ((*BASE, "problem_type: codeforces"), "5: problem_type is 'codeforces'; allowed: library"),
        ((*BASE, "provides_base_tests: maybe"), "5: provides_base_tests is 'maybe'; allowed: true, false"),
        ((*BASE, "docs_provided: [docs/a.md, docs/b.md]"), "5: docs_provided[1]: there is no docs/b.md"),
        ((*BASE, "docs_provided: docs"), "5: docs_provided must be a list of paths"),
        (
            (*BASE, "lib_patches: [../../x.patch]"),
            "5: lib_patches[0]: ../../x.patch leads out of the problem",
        ),
    ],
)
def test_what_is_wrong_in_the_public_format_is_named(public, lines, message):
    with pytest.raises(ProblemError) as caught:
        public(*lines)
    assert str(caught.value) == f"lib/problems/LIBX-001/problem.yaml:{message}"


# -- selection -----------------------------------------------------------------------------------


@pytest.fixture
def several(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("LIBX-001", "LIBX-002", "OTHR-001"):
        write(tmp_path, name, problem=PROBLEM.replace("LIBX-001", name), lib=name[:4].lower())
    return tmp_path


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([], ["LIBX-001", "LIBX-002", "OTHR-001"]),
        (["OTHR-001", "LIBX-001"], ["LIBX-001", "OTHR-001"]),
        (["*-001", "LIBX-001", "L*"], ["LIBX-001", "LIBX-002", "OTHR-001"]),
        (["LIBX-00[2-9]"], ["LIBX-002"]),
    ],
)
def test_ids_and_globs_select_in_one_order(several, patterns, expected):
    assert [problem.id for problem in load_problems(several, patterns)] == expected


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("LIBX-003", "no problem is called 'LIBX-003'. Did you mean LIBX-002 or LIBX-001?"),
        ("othr-001", "no problem is called 'othr-001'. Did you mean OTHR-001 or LIBX-001?"),
        ("zzz", "no problem is called 'zzz'. There are LIBX-001, LIBX-002, OTHR-001"),
        ("Z*", "no problem matches 'Z*'. There are LIBX-001, LIBX-002, OTHR-001"),
    ],
)
def test_what_selects_nothing_is_refused_with_a_suggestion(several, pattern, message):
    with pytest.raises(SelectionError) as caught:
        load_problems(several, ["LIBX-001", pattern])
    assert str(caught.value) == message


def test_a_broken_problem_stops_only_those_who_select_it(several):
    (several / "othr/OTHR-001/problem.yaml").write_text("id: OTHR-001\nbugs: [\n")
    assert [problem.id for problem in load_problems(several, ["LIBX-*"])] == ["LIBX-001", "LIBX-002"]
    for patterns in ([], ["OTHR-001"]):
        with pytest.raises(ProblemError, match=r"^othr/OTHR-001/problem\.yaml:3: not valid YAML: "):
            load_problems(several, patterns)


def test_one_id_in_two_folders_is_refused_with_both_files(several):
    write(several, "LIBX-001", lib="again")
    assert [problem.id for problem in load_problems(several, ["OTHR-001"])] == ["OTHR-001"]
    with pytest.raises(ProblemError) as caught:
        load_problems(several)
    assert str(caught.value) == (
        "libx/LIBX-001/problem.yaml: the id LIBX-001 is taken by again/LIBX-001/problem.yaml"
    )


def test_a_folder_without_problems_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SelectionError, match=r"^none: no such folder$"):
        find_problems(Path("none"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(SelectionError, match=r"^empty: no problem.yaml in it or in a folder below it$"):
        find_problems(Path("empty"))


@pytest.mark.parametrize(
    "line", ["id: LIBX-001", "id : 'LIBX-001'", 'id: "LIBX-001" # note', "id:\tLIBX-001  "]
)
def test_ids_are_seen_without_reading_the_problem(tmp_path, line):
    place = write(tmp_path, "folder", problem=f"# id: no\ntitle: |\n  id: no\n{line}\nbugs: [\n")
    assert [(found.id, found.folder) for found in find_problems(tmp_path)] == [("LIBX-001", place)]


def test_a_hundred_ids_are_listed_in_half_a_second(tmp_path):
    for number in range(100):
        write(tmp_path, f"LIBX-{number:03}", problem=PROBLEM, lib=f"lib{number}")
    start = time.perf_counter()
    assert len(find_problems(tmp_path)) == 100
    assert time.perf_counter() - start < 0.5


def test_every_shipped_problem_is_well_formed():
    if not any(shipped_problems_dir().rglob("problem.yaml")):
        pytest.skip("this checkout has no problems")
    problems = load_problems()
    assert all(re.fullmatch(r"[A-Z]{4}-\d{3}", problem.id) for problem in problems)
    assert all(problem.reference for problem in problems)
