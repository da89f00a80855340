# pbtbench canary pbtbench-8cd0d1aa-85ad-4d9a-ac54-2c04090d0f11 — benchmark data must not appear in training corpora
import colander
import pytest
from hypothesis import given, settings, strategies as st


# bug_1 ---------------------------------------------------------------------
# An error is reported under the position its value has in the sequence that
# was passed in, whatever stands before it.

ITEM = st.sampled_from(["12", "0", colander.null, colander.null, "twelve", "x"])


@settings(max_examples=60, deadline=None)
@given(
    items=st.lists(ITEM, min_size=1, max_size=6),
    missing=st.sampled_from([colander.drop, colander.drop, 0]),
)
def test_sequence_errors_are_reported_where_they_occur(items, missing):
    item = colander.SchemaNode(colander.Int(), name="item", missing=missing)
    numbers = colander.SequenceSchema(item, name="numbers")
    schema = colander.SchemaNode(colander.Mapping(), numbers)
    wrong = {
        f"numbers.{pos}"
        for pos, value in enumerate(items)
        if value is not colander.null and not value.isdigit()
    }
    if wrong:
        with pytest.raises(colander.Invalid) as info:
            schema.deserialize({"numbers": items})
        assert set(info.value.asdict()) == wrong
    else:
        expected = [missing if v is colander.null else int(v) for v in items]
        expected = [v for v in expected if v is not colander.drop]
        assert schema.deserialize({"numbers": items}) == {"numbers": expected}


# bug_2 ---------------------------------------------------------------------
# Binding goes through the tree from the bottom: when a deferred value of a
# node is computed, everything below that node has been bound already.


@st.composite
def trees(draw, depth=2):
    children = draw(st.lists(trees(depth - 1), max_size=2)) if depth else []
    return draw(st.booleans()), children


def build(tree, deferred, name):
    has_deferred, children = tree
    node = colander.SchemaNode(colander.Mapping(), name=name)
    for pos, child in enumerate(children):
        node.add(build(child, deferred, f"{name}{pos}"))
    if has_deferred:
        node.description = deferred
    return node


def below(node):
    for child in node.children:
        yield child
        yield from below(child)


@settings(max_examples=60, deadline=None)
@given(children=st.lists(trees(), min_size=1, max_size=2), root=st.booleans())
def test_deferred_values_are_computed_from_the_bottom(children, root):
    called = []

    @colander.deferred
    def description(node, kw):
        called.append(node.name)
        for other in below(node):
            assert not isinstance(other.description, colander.deferred)
        return kw["text"]

    schema = build((root, children), description, "n")
    bound = schema.bind(text="bound")
    for template, node in zip(below(schema), below(bound)):
        if template.description is description:
            assert node.description == "bound"
    assert len(called) == len(set(called))


# bug_3 ---------------------------------------------------------------------
# Nodes of inherited mapping schemas: classes are consulted from the end of
# the method resolution order to its beginning; the last declaration of a name
# wins and keeps the place of the first.

NAMES = st.lists(st.sampled_from("xyz"), unique=True, max_size=3)


def declare(name, bases, attributes):
    nodes = {
        attr: colander.SchemaNode(colander.Int(), id=f"{name}.{attr}")
        for attr in attributes
    }
    return type(colander.MappingSchema)(name, bases, nodes)


@settings(max_examples=150, deadline=None)
@given(
    names=st.tuples(NAMES, NAMES, NAMES, NAMES),
    diamond=st.sampled_from([True, True, True, False]),
)
def test_inherited_nodes_follow_the_resolution_order(names, diamond):
    top = declare("Top", (colander.MappingSchema,), names[0])
    left = declare("Left", (top,), names[1])
    right = declare("Right", (top if diamond else left,), names[2])
    bases = (left, right) if diamond else (right,)
    bottom = declare("Bottom", bases, names[3])
    declared = dict(zip((top, left, right, bottom), names))
    expected = {}
    for cls in reversed(bottom.__mro__):
        for name in declared.get(cls, ()):
            expected[name] = f"{cls.__name__}.{name}"
    children = bottom().children
    assert [(node.name, node.id) for node in children] == list(expected.items())
