"""Ctrl-C at a safe place: the first one asks the loop to stop after its step, a second one stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any


class StopFlag:
    """True once Ctrl-C (SIGINT) or SIGTERM came, inside a `with` block in the main thread; always False elsewhere.

    Args:
        on_ask: Called from the signal handler at the first signal, to tell the user what happens next.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, on_ask: Callable[[], None] = lambda: None) -> None:
        self.asked = False
        self.on_ask = on_ask
        self._previous: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return self.asked

    def __enter__(self) -> StopFlag:
        if threading.current_thread() is threading.main_thread():
            for number in self.SIGNALS:
                self._previous[number] = signal.signal(number, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self.on_ask()
