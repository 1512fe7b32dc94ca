"""The parent's end of the socket to a child: many short replies, read as they come, each with a deadline.

The frames are those of `multiprocessing.connection`, which the child speaks. With its `poll` and `recv_bytes` a reply
takes six system calls; here what has arrived is read at once.
"""

from __future__ import annotations

import socket
import struct

_LENGTH = struct.Struct("!i")
_AT_ONCE = 1 << 16


class Frames:
    """A socket of which whole messages are read.

    Args:
        end: The socket; closed with this object.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._read = bytearray()

    def send(self, message: bytes) -> None:
        """Send a message. Raises OSError when the other end is gone."""
        self._socket.settimeout(None)
        self._socket.sendall(_LENGTH.pack(len(message)) + message)

    def receive(self, seconds: float) -> bytes:
        """Return the next message.

        Raises:
            TimeoutError: Nothing comes for so long.
            EOFError: The other end is closed.
            ValueError: It is no message.
        """
        self._fill(_LENGTH.size, seconds)
        (length,) = _LENGTH.unpack_from(self._read)
        if length < 0:
            raise ValueError(f"a message of {length} bytes")
        end = _LENGTH.size + length
        self._fill(end, seconds)
        message = bytes(self._read[_LENGTH.size : end])
        del self._read[:end]
        return message

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _fill(self, size: int, seconds: float) -> None:
        """Read on until so many bytes are there."""
        while len(self._read) < size:
            self._socket.settimeout(seconds)
            more = self._socket.recv(_AT_ONCE)
            if not more:
                raise EOFError
            self._read += more
