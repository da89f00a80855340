"""Messages over a unix stream socket: a JSON object, with open descriptors beside it."""

from __future__ import annotations

import json
import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_LENGTH = struct.Struct("!I")
_MAX_DESCRIPTORS = 64


def send_message(sock: socket.socket, message: Mapping[str, Any], fds: Sequence[int] = ()) -> None:
    """Send one message. Raises OSError when the other end is gone.

    The descriptors travel with the length, so that the receiver has them before it acts.
    """
    payload = json.dumps(message).encode()
    socket.send_fds(sock, [_LENGTH.pack(len(payload))], list(fds))
    sock.sendall(payload)


def encode(message: Mapping[str, Any]) -> bytes:
    """A message as it stands in a stream without descriptors."""
    payload = json.dumps(message).encode()
    return _LENGTH.pack(len(payload)) + payload


def decode(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The message at the start of ``data``, and the rest. Raises EOFError when it is not whole."""
    if len(data) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack_from(data)
    end = _LENGTH.size + length
    if len(data) < end:
        raise EOFError
    return json.loads(data[_LENGTH.size : end]), data[end:]


def read_message(fd: int) -> dict[str, Any]:
    """The next message of such a stream, and not one byte more. Raises EOFError."""

    def exactly(count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = os.read(fd, count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    (length,) = _LENGTH.unpack(exactly(_LENGTH.size))
    message: dict[str, Any] = json.loads(exactly(length))
    return message


def receive_message(sock: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """The next message and its descriptors. Raises EOFError at a clean end of the stream."""
    header, fds, _, _ = socket.recv_fds(sock, _LENGTH.size, _MAX_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
    try:
        header += _exactly(sock, _LENGTH.size - len(header))
        (length,) = _LENGTH.unpack(header)
        message = json.loads(_exactly(sock, length))
    except BaseException:
        for fd in fds:
            os.close(fd)
        raise
    return message, list(fds)


def _exactly(sock: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = sock.recv(min(count, 65536))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
