# pbtbench canary pbtbench-8cd0d1aa-85ad-4d9a-ac54-2c04090d0f11 — benchmark data must not appear in training corpora
import functools

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from lark import Lark, UnexpectedInput
from lark.indenter import Indenter

quick = {"deadline": None, "phases": [Phase.explicit, Phase.generate]}


@settings(max_examples=20, **quick)
@given(
    letters=st.lists(st.sampled_from("abcdefgh"), min_size=5, max_size=6, unique=True),
    shorter=st.integers(1, 2),
    flag=st.sampled_from(["i", "s", "m"]),
    flag_on_shorter=st.booleans(),
    names=st.permutations(["P", "Q"]),
    lexer=st.sampled_from(["basic", "contextual"]),
)
def test_the_longer_definition_wins_between_terminals(letters, shorter, flag, flag_on_shorter, names, lexer):
    """Of two equally wide patterns the one with the longer definition is matched."""
    flags = (flag, "") if flag_on_shorter else ("", flag)
    grammar = f"""
        start: {names[0]} | {names[1]}
        {names[0]}: /[{"".join(letters[:shorter])}]/{flags[0]}
        {names[1]}: /[{"".join(letters)}]/{flags[1]}
    """
    tree = Lark(grammar, parser="lalr", lexer=lexer).parse(letters[0])
    assert tree.children[0].type == names[1]


@settings(max_examples=20, **quick)
@given(
    sizes=st.tuples(st.integers(1, 2), st.integers(4, 6)),
    priorities=st.lists(st.integers(1, 6), min_size=2, max_size=2, unique=True),
    sign=st.sampled_from([1, -1]),
    short_first=st.booleans(),
)
def test_rule_priority_counts_once_per_rule(sizes, priorities, sign, short_first):
    """Between two rules for one text Earley takes the rule of higher priority."""
    rules = list(zip(["few", "many"], sizes, [sign * p for p in priorities]))
    lines = ["start: few | many" if short_first else "start: many | few"]
    for name, size, priority in rules:
        pieces = ["x"] * (size - 1) + ["x" * (7 - size)]
        lines.append(f"{name}.{priority}: " + " ".join(f'"{p}"' for p in pieces))
    tree = Lark("\n".join(lines)).parse("x" * 6)
    assert tree.children[0].data == max(rules, key=lambda rule: rule[2])[0]


class Blocks(Indenter):
    NL_type = "_NL"
    OPEN_PAREN_types = ["LPAR"]
    CLOSE_PAREN_types = ["RPAR"]
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 4


BLOCKS = r"""
    start: (_NL? item)*
    item: NAME args? _NL [_INDENT item+ _DEDENT]
    args: "(" NAME* ")"
    NAME: /[a-z]+/
    _NL: /(\r?\n[\t ]*)+/
    %ignore " "
    %declare _INDENT _DEDENT
"""


def new_parser():
    return Lark(BLOCKS, parser="lalr", postlex=Blocks())


def outcome(parser, text):
    try:
        return parser.parse(text)
    except UnexpectedInput as error:
        return type(error)


@functools.cache
def fresh_outcome(text):
    return outcome(new_parser(), text)


texts = st.lists(
    st.tuples(st.booleans(), st.sampled_from(["a", "b (c)", "d (e\nf)", "g (", "h (i", "j )"])),
    min_size=1,
    max_size=3,
).map(lambda lines: "".join(("    " if deep and i else "") + line + "\n" for i, (deep, line) in enumerate(lines)))


@settings(max_examples=30, **quick)
@given(history=st.lists(texts, min_size=3, max_size=5))
def test_a_failed_parse_leaves_the_indenter_as_new(history):
    """What a parser was given before doesn't change how it reads a text."""
    used = new_parser()
    for text in history:
        assert outcome(used, text) == fresh_outcome(text)
