# pbtbench canary pbtbench-8cd0d1aa-85ad-4d9a-ac54-2c04090d0f11 — benchmark data must not appear in training corpora
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyasn1.codec.ber import encoder as ber
from pyasn1.codec.der import encoder as der
from pyasn1.codec.native import encoder as native
from pyasn1.type import char, namedtype, namedval, opentype, tag, univ

relaxed = settings(deadline=None, max_examples=40, phases=[Phase.generate])

# --- labels and numbers of NamedValues map to one another -------------------


@relaxed
@given(
    numbers=st.lists(st.integers(-3, 8), unique=True, max_size=4),
    anonymous=st.integers(0, 4),
    keywords=st.booleans(),
)
def test_every_label_has_its_own_number(numbers, anonymous, keywords):
    given_numbers = {f"n{i}": number for i, number in enumerate(numbers)}
    labels = [f"a{i}" for i in range(anonymous)]
    if keywords:
        values = namedval.NamedValues(*labels, **given_numbers)
    else:
        values = namedval.NamedValues(*labels, *given_numbers.items())
    assert set(values) == set(labels) | set(given_numbers)
    for name, number in given_numbers.items():
        assert values[name] == number
    assert len(set(values.values())) == len(values)
    for name in values:
        assert values[values[name]] == name


# --- an IMPLICIT tag overrides the EXPLICIT tag put on before ----------------

tags = st.builds(
    lambda cls, form, number: tag.Tag(cls, form, number),
    st.sampled_from(
        [tag.tagClassApplication, tag.tagClassContext, tag.tagClassPrivate]
    ),
    st.sampled_from([tag.tagFormatSimple, tag.tagFormatConstructed]),
    st.sampled_from([0, 1, 5, 30, 31, 128, 20000]),
)

values = st.one_of(
    st.integers(-300, 300).map(univ.Integer),
    st.binary(max_size=6).map(univ.OctetString),
    st.text("abc", max_size=4).map(char.UTF8String),
    st.booleans().map(univ.Boolean),
    st.just(univ.Null("")),
)


@settings(relaxed, max_examples=25)
@given(value=values, first=tags, second=tags, below=st.none() | tags)
def test_implicit_tag_replaces_explicit_one(value, first, second, below):
    if below is not None:
        value = value.subtype(explicitTag=below)
    replaced = value.subtype(explicitTag=first).subtype(implicitTag=second)
    direct = value.subtype(explicitTag=second)
    assert replaced.tagSet == direct.tagSet
    for encode in (ber.encode, der.encode):
        assert encode(replaced) == encode(direct)


# --- working on a value leaves the schema's DEFAULT alone --------------------


class Point(univ.Sequence):
    componentType = namedtype.NamedTypes(
        namedtype.NamedType("x", univ.Integer()),
        namedtype.OptionalNamedType("y", univ.Integer()),
    )


class Row(univ.SequenceOf):
    componentType = univ.Integer()


def item_of(kind, numbers):
    if kind == "row":
        item = Row()
        item.extend(numbers)
        return item
    item = Point()
    item["x"] = numbers[0]
    item["y"] = numbers[-1]
    return item


@settings(relaxed, max_examples=25)
@given(
    outer=st.sampled_from([univ.SequenceOf, univ.SetOf, univ.Sequence]),
    kind=st.sampled_from(["row", "point"]),
    content=st.lists(
        st.lists(st.integers(0, 9), min_size=1, max_size=3), min_size=1, max_size=3
    ),
    data=st.data(),
)
def test_instances_do_not_share_the_default(outer, kind, content, data):
    items = [item_of(kind, numbers) for numbers in content]
    component = Row() if kind == "row" else Point()
    if outer is univ.Sequence:
        default = univ.Sequence(
            componentType=namedtype.NamedTypes(
                *[namedtype.NamedType(f"i{n}", component) for n in range(len(items))]
            )
        )
    else:
        default = outer(componentType=component)
    for position, item in enumerate(items):
        default[position] = item
    schema = univ.Sequence(
        componentType=namedtype.NamedTypes(
            namedtype.NamedType("id", univ.Integer()),
            namedtype.DefaultedNamedType("body", default),
        )
    )

    def fresh():
        instance = schema.clone()
        instance["id"] = 1
        return native.encode(instance)

    before = fresh()
    worked_on = schema.clone()
    worked_on["id"] = 2
    chosen = data.draw(st.integers(0, len(items) - 1))
    target = worked_on["body"][chosen]
    target[0 if kind == "row" else "x"] = data.draw(st.integers(10, 20))
    assert native.encode(worked_on)["body"] != before["body"]
    assert fresh() == before


# --- OpenType keeps looking at the map it was given -------------------------

entries = st.dictionaries(
    st.integers(0, 5),
    st.sampled_from([univ.Integer, univ.OctetString, univ.Null]).map(lambda t: t()),
    max_size=3,
)


@settings(relaxed, max_examples=80)
@given(initial=entries, later=entries, removed=st.sets(st.integers(0, 5), max_size=2))
def test_open_type_follows_its_map(initial, later, removed):
    type_map = dict(initial)
    open_type = opentype.OpenType("id", type_map)
    type_map.update(later)
    for key in removed:
        type_map.pop(key, None)
    assert list(open_type) == list(type_map)
    assert list(open_type.items()) == list(type_map.items())
    for key in range(6):
        assert (key in open_type) == (key in type_map)
        if key in type_map:
            assert open_type[key] is type_map[key]
