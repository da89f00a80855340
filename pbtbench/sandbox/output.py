"""Capturing output that may be endless: the two ends are kept, the middle is counted and dropped."""

from __future__ import annotations


class CappedOutput:
    """Takes any amount of bytes in bounded memory.

    The first ``limit - limit // 2`` and the last ``limit // 2`` bytes are kept.
    """

    def __init__(self, limit: int) -> None:
        self._head_room = limit - limit // 2
        self._tail_room = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._total += len(data)
        room = self._head_room - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        # Twice the room before cutting: each byte is then moved at most once on average.
        if len(self._tail) > 2 * self._tail_room:
            del self._tail[: len(self._tail) - self._tail_room]

    @property
    def dropped(self) -> int:
        """Bytes cut out of the middle."""
        return max(0, self._total - self._head_room - self._tail_room)

    def value(self) -> bytes:
        """The bytes kept."""
        tail = self._tail[-self._tail_room :] if self._tail_room else b""
        return bytes(self._head + tail)


def mark_cut(data: bytes, dropped: int) -> bytes:
    """``data`` as ``CappedOutput`` kept it, with a line in place of the ``dropped`` bytes."""
    if not dropped:
        return data
    cut = len(data) - len(data) // 2
    return b"%s\n[... %d bytes left out ...]\n%s" % (data[:cut], dropped, data[cut:])
