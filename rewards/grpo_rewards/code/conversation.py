"""The caller's talk with one child: messages both ways, what it reads and what it prints, all within the limits.

One loop does everything, so that nobody waits for somebody who waits: a child that prints more than a pipe holds is
drained while its answer is awaited, and input is fed as fast as it is read.
"""

from __future__ import annotations

import os
import select
import socket
from collections import deque
from collections.abc import Container, Sequence
from contextlib import suppress
from typing import Any

from grpo_gym.verdict import Reason
from grpo_rewards.code.confined.channel import Channel, Closed, TooLarge
from grpo_rewards.code.sandbox import Allowance, Sandbox
from grpo_rewards.code.watch import LimitReached, Watch

TAIL = 2000
"""Bytes of a child's output that are kept for people to read."""

_CHUNK = 1 << 16
_LAST_MESSAGE = 1 << 16
_AHEAD = 1 << 15
"""Bytes of messages that are sent before the child has read the ones before."""


class Conversation:
    """One child that runs in a sandbox, from its start to `close`.

    Args:
        sandbox: Where it runs.
        allowance: What the kernel lets it use.
        output: Bytes that it may print; more is LimitReached.
        calls: Its calls channel; the caller's end of it stays the caller's to close.
        stdin: What it reads; None: nothing.
        whole: Whether everything it prints is kept, or the end of it.

    Attributes:
        printed: What it printed: all of it, or at most the last TAIL bytes.
        cpu_s: Seconds of CPU that it used, once this is closed.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        allowance: Allowance,
        output: int,
        calls: socket.socket | None = None,
        stdin: str | None = None,
        whole: bool = False,
    ) -> None:
        self.sandbox = sandbox
        self.printed = bytearray()
        self.cpu_s = 0.0
        self._left, self._whole = output, whole
        self._queue: deque[memoryview] = deque()
        ours, theirs = socket.socketpair()
        self._out, out = os.pipe()
        given = {3: theirs.fileno(), 1: out}
        self._in, self._input = -1, memoryview(b"")
        reading = -1
        if stdin is not None:
            reading, self._in = os.pipe()
            given[0] = reading
            self._input = memoryview(stdin.encode("utf-8", "surrogatepass"))
            os.set_blocking(self._in, False)
        if calls is not None:
            given[4] = calls.fileno()
        try:
            sandbox.start(given, allowance)
        except BaseException:
            ours.close()
            os.close(self._out)
            if self._in >= 0:
                os.close(self._in)
            raise
        finally:
            theirs.close()
            os.close(out)
            if reading >= 0:
                os.close(reading)
        self._socket = ours
        self.channel = Channel(ours.fileno(), blocking=False)
        os.set_blocking(self._out, False)

    def send(self, message: Any) -> None:
        """Send a message as soon as the child takes it; what it does not take is sent while its answers are read."""
        self._queue.append(memoryview(Channel.packed(message)))
        self._send_queued()

    def receive(self, limit_bytes: int, watch: Watch, beside: Sequence[Conversation] = ()) -> Any:
        """Return the child's next message.

        Args:
            limit_bytes: The longest that is accepted.
            watch: The limits of the run.
            beside: Others that must be drained and fed meanwhile, and are not listened to.

        Raises:
            Closed, TooLarge, Malformed: As `Channel.receive` does.
            LimitReached: It took or printed too much.
        """
        while not self.channel.arrived(limit_bytes):
            _wait(self, beside, watch)
        return self.channel.receive(limit_bytes)

    def exhaust(self, watch: Watch) -> Any | None:
        """Return the child's last message when it has printed everything; None when it ended without a message.

        Raises:
            TooLarge, Malformed: As `Channel.receive` does.
            LimitReached: It took or printed too much.
        """
        try:
            message = self.receive(_LAST_MESSAGE, watch)
        except Closed:
            clock = self.sandbox.clock()
            while self._out >= 0 or (clock.fileno() >= 0 and not clock.ended()):
                _wait(None, [self], watch, clock.fileno() if self._out < 0 else -1)
            return None
        self._drain()
        return message

    def pending(self) -> Any | None:
        """Return a message that has arrived already, or None. Raises Malformed."""
        try:
            return self.channel.receive(_LAST_MESSAGE) if self.channel.arrived(_LAST_MESSAGE) else None
        except (Closed, TooLarge):
            return None

    def close(self) -> None:
        """Kill the child and let go of everything. Raises WorkerLost when the zygote is gone."""
        self._drain_quietly()
        for descriptor in (self._out, self._in):
            if descriptor >= 0:
                os.close(descriptor)
        self._out = self._in = -1
        self._socket.close()
        clock = self.sandbox.clock()
        self.cpu_s, over = clock.cpu_s(), clock.ended()
        self.sandbox.stop()
        if over:  # the clock stood still, and only the zygote knows what it would have shown
            self.cpu_s = self.sandbox.ended().cpu_s

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def tail(self) -> str:
        """The end of what the child printed, as text."""
        return bytes(self.printed[-TAIL:]).decode("utf-8", "replace")

    def _wanted(self) -> dict[int, int]:
        """Return what is waited for besides messages: descriptor -> events."""
        wanted = {self._out: select.POLLIN, self._in: select.POLLOUT}
        if self._queue:
            wanted[self.channel.fd] = select.POLLOUT
        wanted.pop(-1, None)
        return wanted

    def _serve(self, ready: Container[int]) -> None:
        if self._out in ready:
            self._drain()
        if self._in in ready:
            self._feed()
        if self._queue:
            self._send_queued()

    def _drain(self) -> None:
        """Read what the child printed; raise LimitReached when it is too much."""
        while self._out >= 0:
            try:
                chunk = os.read(self._out, _CHUNK)
            except BlockingIOError:
                return
            if not chunk:
                os.close(self._out)
                self._out = -1
                return
            self._left -= len(chunk)
            self.printed += chunk
            if not self._whole and len(self.printed) > 8 * TAIL:
                del self.printed[:-TAIL]
            if self._left < 0:
                raise LimitReached(Reason.OUTPUT_LIMIT)

    def _drain_quietly(self) -> None:
        with suppress(LimitReached):
            self._drain()

    def _feed(self) -> None:
        try:
            self._input = self._input[os.write(self._in, self._input[:_CHUNK]) :] if self._input else self._input
        except BlockingIOError:
            return
        except OSError:  # it does not read on, which is its own business
            self._input = memoryview(b"")
        if not self._input:
            os.close(self._in)
            self._in = -1

    def _send_queued(self) -> None:
        while self._queue:
            try:
                sent = os.write(self._socket.fileno(), self._queue[0][:_AHEAD])
            except BlockingIOError:
                return
            except OSError:  # it is gone; reading will tell
                self._queue.clear()
                return
            self._queue[0] = self._queue[0][sent:]
            if not self._queue[0]:
                self._queue.popleft()


def _wait(listening: Conversation | None, others: Sequence[Conversation], watch: Watch, handle: int = -1) -> None:
    """Wait until something can be read or written, see to it, and check the limits."""
    poll = select.poll()
    talks = [*others, listening] if listening is not None else others
    for talk in talks:
        for descriptor, events in talk._wanted().items():
            poll.register(
                descriptor, events | (select.POLLIN if listening and descriptor == listening.channel.fd else 0)
            )
    if listening is not None and not listening._queue:
        poll.register(listening.channel.fd, select.POLLIN)
    if handle >= 0:
        poll.register(handle, select.POLLIN)
    ready = {descriptor for descriptor, _ in poll.poll(watch.timeout_ms())}
    for talk in talks:
        talk._serve(ready)
    watch.check()
