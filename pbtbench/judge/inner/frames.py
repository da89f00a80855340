"""Length-prefixed JSON messages, used on every pipe and socket of the judge."""

from __future__ import annotations

import json
import struct
from typing import Any

HEADER = struct.Struct(">I")
MAX_FRAME = 16 * 1024 * 1024
"""Bytes. Anything longer is garbage written by an answer, not a message."""


class FrameError(ValueError):
    """The byte stream is not a sequence of frames."""


def encode(message: Any) -> bytes:
    """One message as bytes: a four-byte big-endian length, then compact JSON."""
    body = json.dumps(message, separators=(",", ":")).encode()
    return HEADER.pack(len(body)) + body


class Decoder:
    """Turns a byte stream that arrives in pieces into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Any]:
        """All messages completed by ``data``. Raises FrameError for what cannot be a message."""
        self._buffer += data
        messages = []
        while len(self._buffer) >= HEADER.size:
            (length,) = HEADER.unpack_from(self._buffer)
            if length > MAX_FRAME:
                raise FrameError(f"frame of {length} bytes")
            end = HEADER.size + length
            if len(self._buffer) < end:
                break
            try:
                messages.append(json.loads(self._buffer[HEADER.size : end]))
            except ValueError as error:
                raise FrameError("frame is not JSON") from error
            del self._buffer[:end]
        return messages

    @property
    def pending(self) -> bool:
        """Whether a message has begun and not ended."""
        return bool(self._buffer)
