"""Deadlines in the main thread: whatever waits is cut, what does not is left alone, and nothing stays behind."""

from __future__ import annotations

import logging
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from grpo_agents import deadline
from grpo_agents.deadline import LateError, progress, within

LIMIT = 0.2


def busy() -> None:
    while True:
        pass


def swallowing() -> None:
    while True:
        try:
            time.sleep(60)
        except Exception:
            continue


def listening() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.recv(1)


def locked() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def joining() -> None:
    stuck = threading.Event()
    stuck.wait()


HANGS: list[Callable[[], None]] = [lambda: time.sleep(60), busy, swallowing, listening, locked, joining]


@pytest.mark.parametrize("hang", HANGS, ids=["sleep", "busy", "swallowing", "socket", "lock", "event"])
def test_a_call_that_hangs_is_cut_wherever_it_waits(hang):
    began = time.monotonic()
    before = signal.getsignal(signal.SIGURG)
    threads = threading.active_count()
    with pytest.raises(LateError, match=r"no answer within 0\.2 s"):
        within(LIMIT, hang)

    assert LIMIT <= time.monotonic() - began < 10
    assert signal.getsignal(signal.SIGURG) is before
    assert threading.active_count() == threads


def test_what_answers_in_time_is_left_alone():
    def fails() -> None:
        raise KeyError("own")

    assert within(60, lambda a, b=0: a + b, 2, b=3) == 5
    with pytest.raises(KeyError, match="own"):
        within(60, fails)


def test_an_alarm_of_the_call_itself_still_rings():
    """Checkers of others end their work by SIGALRM."""

    class AlarmError(Exception):
        pass

    def ring(number: int, frame: Any) -> None:
        raise AlarmError

    def call() -> None:
        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            time.sleep(60)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    with pytest.raises(AlarmError):
        within(30, call)


def test_the_inner_of_two_deadlines_is_the_one_that_is_late():
    def outer() -> str:
        with pytest.raises(LateError, match=r"within 0\.2 s"):
            within(LIMIT, time.sleep, 60)
        return "went on"

    assert within(30, outer) == "went on"


def test_the_outer_of_two_deadlines_cuts_both():
    with pytest.raises(LateError, match=r"within 0\.2 s"):
        within(LIMIT, within, 30, time.sleep, 60)


def test_progress_begins_the_time_anew():
    def steady() -> str:
        for _ in range(6):
            time.sleep(0.1)
            progress()
        return "done"

    assert within(0.4, steady) == "done"


def test_in_another_thread_there_is_none_and_the_log_says_so_once(caplog, monkeypatch):
    monkeypatch.setattr(deadline, "_said", set())
    found: list[int] = []

    def slow() -> int:
        time.sleep(2 * LIMIT)
        return 1

    def elsewhere() -> None:
        found.extend(within(LIMIT, slow) for _ in range(2))

    with caplog.at_level(logging.WARNING):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert found == [1, 1]
    assert len(caplog.messages) == 1
    assert "only calls in the main thread can be cut" in caplog.messages[0]
