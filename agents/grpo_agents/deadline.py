"""A deadline for calls into code of others, in the main thread: a call that hangs is cut, wherever it waits.

A watchdog thread sends the main thread a signal, whose handler raises. It is SIGURG, which nobody uses for a timer and
which is ignored where nothing handles it; SIGALRM, which checkers of others use, is left alone. What it raises is no
Exception, so that `except Exception` in a loop does not swallow it, and it is sent again until the call has ended.

It cuts whatever lets Python run: sleeps, sockets, pipes, locks, loops. Code in C that neither returns nor looks at
signals cannot be cut. In other threads, and where there is no such signal (Windows), there is no deadline, and the log
says so once.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

logger = logging.getLogger(__name__)

AGAIN = 1.0
"""Seconds after which a call that swallowed the signal gets another."""

_active: list[_Watchdog] = []
"""Those that watch now, the outermost first; only the main thread has any."""

_said: set[str] = set()


class LateError(TimeoutError):
    """A call took longer than it may, and was cut."""


class Cut(BaseException):
    """Raised inside a call that is late; `within` makes a LateError of it."""

    def __init__(self, by: _Watchdog) -> None:
        super().__init__("the deadline is over")
        self.by = by


def within(seconds: float, call: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Return what a call returns.

    Args:
        seconds: How long it may take, from the start or from the last `progress`.
        call: What is called.
        args: Handed on to it.
        kwargs: Handed on to it.

    Raises:
        LateError: It took longer and was cut.
        Exception: Whatever the call raises.
    """
    if not _can_cut():
        return call(*args, **kwargs)
    watchdog = _Watchdog(seconds)
    try:
        try:
            watchdog.start()
            return call(*args, **kwargs)
        finally:
            watchdog.end()
    except Cut as cut:
        watchdog.end()  # where the signal came so late that it cut the first end
        if cut.by is not watchdog:
            raise
        raise LateError(f"no answer within {seconds:g} s") from None


def progress() -> None:
    """Let the time of all deadlines begin anew: one part of the work that they limit is done."""
    if threading.current_thread() is threading.main_thread():
        for watchdog in _active:
            watchdog.extend()


class _Watchdog:
    """A thread that sends the main thread a signal when the time is over, and the handler of that signal."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.thread = threading.Thread(target=self._watch, name="grpo-gym deadline", daemon=True)
        self._main = threading.get_ident()
        self._over = threading.Event()
        self._is_armed = True
        self._is_due = False
        self._ends = 0.0
        self._before: Any = None

    def start(self) -> None:
        """Begin to watch."""
        self.extend()
        self._before = signal.signal(signal.SIGURG, self._handle)
        _active.append(self)
        self.thread.start()

    def extend(self) -> None:
        """Let the time begin anew."""
        self._ends = time.monotonic() + self.seconds

    def end(self) -> None:
        """Watch no longer. A signal that was sent at the last moment finds the handler still there, and idle."""
        self._is_armed = False
        if self not in _active:
            return
        self._over.set()
        self.thread.join()
        _active.remove(self)
        signal.signal(signal.SIGURG, self._before)

    def _watch(self) -> None:
        while not self._over.wait(max(0.0, self._ends - time.monotonic())):
            if time.monotonic() < self._ends:  # extended meanwhile
                continue
            self._is_due = True
            signal.pthread_kill(self._main, signal.SIGURG)
            self._ends = time.monotonic() + AGAIN

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._is_due and self._is_armed:
            raise Cut(self)
        if callable(self._before):  # a deadline around this one, or whoever else listens
            self._before(number, frame)


def _can_cut() -> bool:
    """Whether calls can be cut here; the log says once where they cannot."""
    if not hasattr(signal, "SIGURG") or not hasattr(signal, "pthread_kill"):
        why = "this system has no signal that could cut a call"
    elif threading.current_thread() is not threading.main_thread():
        why = "only calls in the main thread can be cut, and this is another"
    elif signal.getsignal(signal.SIGURG) is None:
        why = "another library listens to the signal that would cut a call"
    else:
        return True
    if why not in _said:
        _said.add(why)
        logger.warning("calls into environments have no deadline: %s", why)
    return False
