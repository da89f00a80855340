"""Whatever the size and pieces of the input: both ends are kept, and every byte is counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pbtbench.sandbox.output import CappedOutput, mark_cut


@given(st.lists(st.binary(max_size=40)), st.integers(0, 50))
def test_both_ends_are_kept_and_the_rest_is_counted(pieces: list[bytes], limit: int) -> None:
    output = CappedOutput(limit)
    for piece in pieces:
        output.feed(piece)
    whole = b"".join(pieces)
    if len(whole) <= limit:
        assert (output.value(), output.dropped) == (whole, 0)
    else:
        head, tail = limit - limit // 2, limit // 2
        assert output.value() == whole[:head] + whole[len(whole) - tail :]
        assert output.dropped == len(whole) - limit


@given(st.binary(min_size=1, max_size=200), st.integers(1, 50))
def test_the_mark_stands_where_bytes_are_missing(whole: bytes, limit: int) -> None:
    output = CappedOutput(limit)
    output.feed(whole)
    marked = mark_cut(output.value(), output.dropped)
    if output.dropped:
        head, tail = limit - limit // 2, limit // 2
        mark = b"\n[... %d bytes left out ...]\n" % (len(whole) - limit)
        assert marked == whole[:head] + mark + whole[len(whole) - tail :]
    else:
        assert marked == whole


def test_memory_stays_bounded_however_long_the_output() -> None:
    output = CappedOutput(1000)
    for _ in range(2000):
        output.feed(b"x" * 1000)
        assert len(output._head) + len(output._tail) <= 2000
    assert output.dropped == 2000 * 1000 - 1000
