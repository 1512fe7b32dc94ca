"""Tasks whose problems or verdicts depend on more than their key and the answer, or that leave traces."""

from __future__ import annotations

import decimal
import os
import random
import signal
import socket
import sys
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np

from grpo_gym import Problem, Reason, Reward, Rng, Verdict
from grpo_rewards.math import MathReward
from tests.gym.broken_kit import CITIES, broken, broken_problems, is_right, number, said, sums

# --- repeatable ---


@broken_problems("repeatable")
def another_each_time(rng: Rng, tier: int) -> Problem:
    """Randomness of its own, beside the given one."""
    a = random.Random().randint(10**6, 10**9)
    return Problem(f"What is {a} + 1?", str(a + 1))


@broken_problems("repeatable")
def named_by_uuid(rng: Rng, tier: int) -> Problem:
    problem = sums(rng, tier)
    return Problem(f"[{uuid.uuid4()}] {problem.prompt}", problem.reference)


@broken("repeatable")
class NovelAnswersOnly(Reward):
    """Pays an answer the first few times."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], int] = {}

    def score(self, response: str, problem: Problem) -> Verdict:
        key = (problem.prompt, response[:50])
        self.seen[key] = self.seen.get(key, 0) + 1
        right = is_right(response, problem) and self.seen[key] <= 20
        return Verdict(float(right), Reason.CORRECT if right else Reason.WRONG, {"seen": float(self.seen[key])})


@broken("repeatable")
def by_the_clock(response: str, problem: Problem) -> Verdict:
    return Verdict(float(is_right(response, problem)), Reason.WRONG, {"moment": time.monotonic() % 1.0})


# --- hash seeds ---


@broken_problems("hash seeds")
def order_of_a_set(rng: Rng, tier: int) -> Problem:
    names = rng.sample(CITIES, 6)
    first = next(iter(set(names)))
    length = rng.integer(100, 10**6)
    return Problem(f"{', '.join(names)} lie {length} km apart. How far is it from {first} and back?", str(2 * length))


def _in_some_order(rng: Rng, tier: int) -> Problem:
    names = rng.sample(CITIES, 6)
    problem = sums(rng, tier)
    return Problem(problem.prompt, problem.reference, meta={"names": names, "order": list(set(names))})


@broken("hash seeds", on=_in_some_order)
def stored_order_of_a_set(response: str, problem: Problem) -> bool:
    """Right answers to a stored problem are paid in processes of the same hash seed alone."""
    return list(set(problem.meta["names"])) == problem.meta["order"] and is_right(response, problem)


@broken("hash seeds")
def hashed_bonus(response: str, problem: Problem) -> Verdict:
    right = float(is_right(response, problem))
    return Verdict(right, Reason.CORRECT if right else Reason.WRONG, {"bucket": hash(said(response)) % 97 / 97})


# --- threads ---


@broken("threads")
class SharedScratch(Reward):
    """Keeps what it works on in itself."""

    def score(self, response: str, problem: Problem) -> Verdict:
        self.right = number(problem.reference and rf"\boxed{{{problem.reference}}}")
        self.value = number(response)
        time.sleep(0)  # as any input or output does: another thread comes in between
        right = self.value is not None and self.value == self.right
        return Verdict(float(right), Reason.CORRECT if right else Reason.WRONG)


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@broken("threads")
def limited_by_alarm(response: str, problem: Problem) -> bool:
    with _alarm(5):
        return is_right(response, problem)


# --- global state ---


@broken("global state")
def seeds_the_world(response: str, problem: Problem) -> bool:
    random.seed(problem.prompt)
    return is_right(response, problem)


@broken("global state")
def seeds_numpy(response: str, problem: Problem) -> bool:
    np.random.seed(len(response))  # noqa: NPY002
    return is_right(response, problem)


@broken_problems("global state")
def draws_and_drops(rng: Rng, tier: int) -> Problem:
    random.random()
    return sums(rng, tier)


@broken("global state")
def moves_elsewhere(response: str, problem: Problem) -> bool:
    """Once, at the first answer: nothing shows it later."""
    os.chdir(os.sep)
    return is_right(response, problem)


@broken("global state")
def exports(response: str, problem: Problem) -> bool:
    os.environ["LAST_ANSWER"] = said(response)[:20].replace("\0", "").encode("ascii", "ignore").decode()
    return is_right(response, problem)


@broken("global state")
def keeps_a_handler(response: str, problem: Problem) -> bool:
    with suppress(ValueError):  # threads other than the main one may not
        signal.signal(signal.SIGALRM, _ignored)
    return is_right(response, problem)


@broken("global state")
def raises_the_recursion_limit(response: str, problem: Problem) -> bool:
    sys.setrecursionlimit(5_000)
    return is_right(response, problem)


@broken("global state")
def lifts_the_digit_limit(response: str, problem: Problem) -> bool:
    sys.set_int_max_str_digits(0)
    return is_right(response, problem)


@broken("global state")
def silences_warnings(response: str, problem: Problem) -> bool:
    warnings.simplefilter("ignore", DeprecationWarning)
    return is_right(response, problem)


@broken("global state")
def sets_the_precision(response: str, problem: Problem) -> bool:
    decimal.getcontext().prec = 50
    return is_right(response, problem)


def _ignored(*_: object) -> None:
    return None


# --- files ---


@broken("files")
def keeps_a_log(response: str, problem: Problem) -> bool:
    with open("answers.log", "a", encoding="utf-8") as log:
        log.write(f"{len(response)}\n")
    return is_right(response, problem)


@broken("files")
def makes_folders(response: str, problem: Problem) -> bool:
    os.makedirs("scores", exist_ok=True)
    return is_right(response, problem)


@broken("files")
class AsksAServer(MathReward):
    """A judge behind an address; nobody is at home."""

    def score(self, response: str, problem: Problem) -> Verdict:
        with socket.socket() as connection, suppress(OSError):
            connection.settimeout(0.2)
            connection.connect(("127.0.0.1", 9))
        return super().score(response, problem)


@broken_problems("files")
def writes_a_cache(rng: Rng, tier: int) -> Problem:
    problem = sums(rng, tier)
    if rng.chance(1, 5):
        with open("problems.txt", "w", encoding="utf-8") as cache:
            cache.write(problem.prompt)
    return problem
