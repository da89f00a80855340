"""The closed vocabularies of pbtbench's own problems."""

from __future__ import annotations

CANARY = "pbtbench-8cd0d1aa-85ad-4d9a-ac54-2c04090d0f11"
"""In every file of benchmark data, so that training corpora can leave it out."""

TAGS: dict[str, tuple[str, ...]] = {
    "prop": (
        "algebraic", "boundary", "conservation", "equivalence", "idempotence", "invariant", "metamorphic",
        "model", "monotonicity", "ordering", "round-trip", "state-machine", "type",
    ),
    "bug": (
        "aliasing", "boundary", "default-value", "error-handling", "lost-update", "missing-reset",
        "normalisation", "off-by-one", "ordering", "precedence", "rounding", "scope", "sharing",
        "stale-cache", "table-entry", "tie-break", "type-coercion", "unit", "wrong-argument",
        "wrong-branch",
    ),
    "strat": (
        "collision", "composite", "duplicates", "exact-boundary", "mixed-types", "nested",
        "numeric-range", "overlapping", "sequence", "size-threshold", "text-alphabet", "ties", "timing",
    ),
}  # fmt: skip
"""Prefix -> values. ``prop``: the kind of property that finds the bug; ``bug``: the kind of mistake;
``strat``: what a generator has to do to meet it."""

TAG_COUNTS = {"prop": (1, 1), "bug": (1, 1), "strat": (1, 2)}
"""Prefix -> how many tags of it a bug has, at least and at most."""


def tag_problems(tags: tuple[str, ...]) -> list[str]:
    """What is wrong with a bug's tags, one sentence each; empty when all is well."""
    problems = []
    for tag in tags:
        prefix, _, value = tag.partition(":")
        if prefix not in TAGS:
            problems.append(f"tag {tag!r} does not begin with {', '.join(f'{p}:' for p in TAGS)}")
        elif value not in TAGS[prefix]:
            problems.append(f"unknown tag {tag!r}; allowed after {prefix}: {', '.join(TAGS[prefix])}")
    for prefix, (least, most) in TAG_COUNTS.items():
        count = len({tag for tag in tags if tag.startswith(f"{prefix}:")})
        if not least <= count <= most:
            wanted = "one" if least == most else "one or two"
            problems.append(f"{count} tags begin with {prefix}: but a bug has {wanted}")
    return problems
