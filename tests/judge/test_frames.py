"""Messages arrive whole whatever the pieces they come in, and garbage is never a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbtbench.judge.inner import frames

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.lists(json_values), st.data())
def test_any_cutting_of_the_stream_gives_the_same_messages(
    messages: list[object], data: st.DataObject
) -> None:
    stream = b"".join(frames.encode(message) for message in messages)
    decoder, decoded = frames.Decoder(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        decoded += decoder.feed(stream[:size])
        stream = stream[size:]
    assert decoded == messages
    assert not decoder.pending


@pytest.mark.parametrize("garbage", [b"\xff\xff\xff\xffjunk", b"\x00\x00\x00\x03{,}"])
def test_garbage_is_refused(garbage: bytes) -> None:
    with pytest.raises(frames.FrameError):
        frames.Decoder().feed(garbage)
