"""Slow rewards that do what the answer says: hang, die, raise. Importable, since worker processes must find them."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grpo_gym import Problem, Procedural, Reason, Reward, Rng, Task, Verdict
from grpo_gym.stream import Drawn


def spin(_: str) -> None:
    re.match(r"(a+)+$", "a" * 60 + "b")  # for ever, in C, with the interpreter lock held


def crash(_: str) -> None:
    ctypes.string_at(0)


def raise_error(_: str) -> None:
    raise ValueError("no such answer")


def die_once(mark: str) -> None:
    if not Path(mark).exists():
        Path(mark).write_text(str(os.getpid()))
        os._exit(9)


def wait_once(mark: str) -> None:
    """Wait to be killed from outside."""
    if not Path(mark).exists():
        Path(mark).write_text(str(os.getpid()))
        time.sleep(60)


def loop(_: str) -> Verdict:
    details: dict[str, Any] = {}
    details["again"] = details
    return Verdict(0.5, Reason.WRONG, details=details)


def odd(_: str) -> Verdict:
    details: dict[Any, Any] = {"path": Path("x"), (1, 2): 3}
    return Verdict(0.5, Reason.WRONG, {"part": 0.25}, "as told", details)


DEEDS: dict[str, Callable[[str], Verdict | None]] = {
    "sleep": lambda seconds: time.sleep(float(seconds)),
    "spin": spin,
    "exit": lambda code: os._exit(int(code)),
    "crash": crash,
    "signal": lambda name: os.kill(os.getpid(), getattr(signal, name)),
    "raise": raise_error,
    "quit": lambda _: sys.exit("gone"),
    "nan": lambda _: Verdict(float("nan"), Reason.WRONG),
    "die-once": die_once,
    "wait-once": wait_once,
    "loop": loop,
    "odd": odd,
}


class Obedient(Reward):
    """Does what the answer says; then 1 for the reference and for surviving, else 0."""

    cost = "slow"
    time_limit = 10.0

    def score(self, response: str, problem: Problem) -> Verdict:
        deed, _, detail = response.partition(" ")
        told = DEEDS[deed](detail) if deed in DEEDS else None
        if told is not None:
            return told
        right = response == problem.reference or deed in ("die-once", "wait-once")
        return Verdict(float(right), Reason.CORRECT if right else Reason.WRONG, details={"pid": os.getpid()})


class Hasty(Obedient):
    """As Obedient, with a deadline that a test can wait for."""

    time_limit = 0.5


class Closing(Obedient):
    """Leaves a mark where it is closed."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def close(self) -> None:
        super().close()
        Path(self.mark).write_text(str(os.getpid()))


def drawn(reward: Reward, reference: str = "right") -> Drawn:
    """A problem whose right answer is `reference`, judged by `reward`."""
    problem = Problem("say it", reference, task="test.slow", problem_id=f"test-{reference}")
    return Drawn(Task("test.slow", Procedural(lambda rng, tier: problem), reward), problem)


def numbers(rng: Rng, tier: int) -> Problem:
    n = rng.integer(0, 10**9)
    return Problem(f"say {n}", str(n))


def task(reward: Reward) -> Task:
    return Task("test.slow", Procedural(numbers), reward)
