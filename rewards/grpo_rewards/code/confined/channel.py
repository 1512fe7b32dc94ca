"""Messages between the judge's processes: JSON texts, each after its length in four bytes.

Both ends use this, the trusted one too, and the other end may be hostile. So whatever arrives ends in an object of
JSON or in one of four errors; nothing else is raised by `receive`. Values are not interpreted here: see `codec.py`.
"""

from __future__ import annotations

import json
import os
import select
import struct
import time
from typing import Any, NoReturn

LARGEST = 8 * 2**20
"""Bytes of a message that the processes of the judge accept from one another."""

_CHUNK = 1 << 16
_HEADER = struct.Struct(">I")


class ChannelError(Exception):
    """The other end cannot be talked to."""


class Closed(ChannelError):
    """The other end is gone."""


class TooLarge(ChannelError):
    """A message is longer than allowed."""


class Malformed(ChannelError):
    """What arrived is no message, or not one that is expected."""


class TimedOut(ChannelError):
    """Nothing arrived, or nothing could be sent, before the deadline."""


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


_WRITER = json.JSONEncoder(check_circular=False, allow_nan=False, separators=(",", ":"))
_READER = json.JSONDecoder(parse_constant=_refuse)


class Channel:
    """One end of a stream of messages over a file descriptor, which stays the caller's.

    Args:
        fd: A stream socket, readable and writable.
        blocking: False makes `send` keep its deadline too; the descriptor is then switched to non-blocking.
    """

    def __init__(self, fd: int, *, blocking: bool = True) -> None:
        self.fd = fd
        self._arrived = bytearray()
        if not blocking:
            os.set_blocking(fd, False)

    def send(self, message: Any, deadline: float | None = None, limit_bytes: int = 2**32 - 1) -> None:
        """Send one object of JSON.

        Args:
            message: What to send; made of dicts, lists, strings, numbers, booleans and None.
            deadline: A time of `time.monotonic()`, kept when the channel is not blocking.
            limit_bytes: What the other end accepts.

        Raises:
            Closed: The other end is gone.
            TimedOut: The other end does not read.
            TooLarge: The text is longer than that; nothing was sent.
        """
        text = self.packed(message)
        if len(text) - _HEADER.size > limit_bytes:
            raise TooLarge(f"a message of {len(text)} bytes")
        left = memoryview(text)
        while left:
            try:
                left = left[os.write(self.fd, left) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)
            except OSError as error:
                raise Closed(f"cannot send: {error}") from None

    @staticmethod
    def packed(message: Any) -> bytes:
        """Return a message as it is sent."""
        body = _WRITER.encode(message).encode("ascii")
        return _HEADER.pack(len(body)) + body

    def arrived(self, limit_bytes: int = LARGEST) -> bool:
        """Read what is there without waiting; return whether `receive` has a whole message. Not for blocking ends.

        Raises:
            Closed: The stream ended before a whole message.
            TooLarge: The message says that it is longer.
        """
        while len(self._arrived) < self._due(limit_bytes):
            try:
                chunk = os.read(self.fd, _CHUNK)
            except BlockingIOError:
                return False
            except OSError as error:
                raise Closed(f"cannot read: {error}") from None
            if not chunk:
                raise Closed("the other end closed the channel")
            self._arrived += chunk
        return True

    def _due(self, limit_bytes: int) -> int:
        """Return the size of the message that arrives, with its header; as far as its header is known."""
        if len(self._arrived) < _HEADER.size:
            return _HEADER.size
        (length,) = _HEADER.unpack_from(self._arrived)
        if length > limit_bytes:
            raise TooLarge(f"a message of {length} bytes, and {limit_bytes} are allowed")
        return _HEADER.size + int(length)

    def receive(self, limit_bytes: int = LARGEST, deadline: float | None = None) -> Any:
        """Wait for one message and return it.

        Args:
            limit_bytes: The longest text to accept.
            deadline: A time of `time.monotonic()`; None waits for ever.

        Raises:
            Closed: The stream ended.
            TooLarge: The message says that it is longer; nothing after it can be read.
            Malformed: It is no JSON, or nested too deeply to be read.
            TimedOut: The deadline passed.
        """
        self._fill(_HEADER.size, deadline)
        end = self._due(limit_bytes)
        self._fill(end, deadline)
        body = self._arrived[_HEADER.size : end]
        del self._arrived[:end]
        try:
            text = body.decode("ascii")
            value, read = _READER.scan_once(text, 0)  # type: ignore[attr-defined]  # not in its stubs
            if read != len(text):
                raise ValueError("something follows the message")
            return value
        except (ValueError, StopIteration, RecursionError, MemoryError) as error:
            raise Malformed(f"no message: {type(error).__name__}: {str(error)[:100]}") from None

    def _fill(self, size: int, deadline: float | None) -> None:
        """Read until so many bytes have arrived; what comes beyond them is kept for the next message."""
        while len(self._arrived) < size:
            if deadline is not None:
                self._wait(select.POLLIN, deadline)
            try:
                chunk = os.read(self.fd, max(_CHUNK, min(size - len(self._arrived), 1 << 20)))
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)
                continue
            except OSError as error:
                raise Closed(f"cannot read: {error}") from None
            if not chunk:
                raise Closed("the other end closed the channel")
            self._arrived += chunk

    def _wait(self, event: int, deadline: float | None) -> None:
        poll = select.poll()
        poll.register(self.fd, event)
        left = None if deadline is None else (deadline - time.monotonic()) * 1000
        if (left is not None and left <= 0) or not poll.poll(left):  # past it even a trickle of bytes is too late
            raise TimedOut("the deadline passed")
