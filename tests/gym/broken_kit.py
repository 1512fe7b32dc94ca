"""How purpose-broken tasks are made: an honest problem, one fault, and the lines of a check that must find it.

    @broken("near miss")
    def rounds(response, problem):
        return float(int(number(response)) == int(problem.reference))

The module attribute becomes a Task, so a child process finds it by its name, lambdas and all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from grpo_gym import Problem, Procedural, Reward, Rng, Task
from grpo_gym.reward import PlainReward
from grpo_gym.sources import Generator, Source
from grpo_rewards.exact import ExactReward
from grpo_rewards.math import MathReward
from grpo_rewards.math.extract import final_answer


@dataclass(frozen=True)
class Case:
    """A broken task and the lines that must fail, all others must not."""

    subject: str
    lines: frozenset[str]


CASES: list[Case] = []


def boxed(problem: Problem) -> str:
    return f"\\boxed{{{problem.reference}}}"


def plain(problem: Problem) -> str:
    return str(problem.reference)


def sums(rng: Rng, tier: int) -> Problem:
    """Honest numbers: sums of three to four digits."""
    a, b = rng.integer(100, 4_999), rng.integer(100, 4_999)
    return Problem(f"What is {a} + {b}?", str(a + b))


CITIES = (
    *("Lisbon", "Madrid", "Vienna", "Prague", "Warsaw", "Dublin", "Zagreb", "Athens", "Ankara", "Bogota"),
    *(
        "Havana",
        "Nairobi",
        "Tokyo",
        "Jakarta",
        "Helsinki",
        "Budapest",
        "Canberra",
        "Montevideo",
        "Reykjavik",
        "Tallinn",
    ),
)


def cities(rng: Rng, tier: int) -> Problem:
    """Honest words: one city of twenty, to be found by decoding."""
    city = rng.choice(CITIES)
    shift = rng.integer(1, 25)
    key = rng.integer(1, 10**6)
    coded = "".join(chr((ord(c) - 97 + shift) % 26 + 97) for c in city.lower())
    return Problem(f"Message {key}: each letter was moved by {shift} places to {coded!r}. Which city is meant?", city)


def multiples(rng: Rng, tier: int) -> Problem:
    """Honest lists: four numbers in their order."""
    start, step = rng.integer(100, 999), rng.integer(11, 99)
    following = ", ".join(str(start + k * step) for k in range(1, 5))
    return Problem(f"Which four numbers follow {start} in steps of {step}?", following)


def said(response: str) -> str:
    """The final answer of a response, found as an honest reward finds it; "" when there is none."""
    found = final_answer(response)
    return "" if found.hedged or found.text is None or len(found.text) > 200 else found.text


def number(response: str) -> Fraction | None:
    """The final answer as a number."""
    return read_number(said(response))


def read_number(text: str) -> Fraction | None:
    """A whole number, decimal or fraction, as people write one."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text.strip(" \n$*`").rstrip("."))
    return Fraction(plain) if re.fullmatch(r"[+-]?\d{1,300}(\.\d{1,300}|/0*[1-9]\d{0,300})?", plain, re.ASCII) else None


def is_right(response: str, problem: Problem) -> bool:
    """Whether an honest reward would pay."""
    reward = MathReward() if read_number(str(problem.reference)) is not None else ExactReward()
    return bool(reward.score(response, problem))


def broken(*lines: str, on: Generator = sums, **fields: Any) -> Callable[[PlainReward | type[Reward]], Task]:
    """Make a task of honest problems with this broken reward: a function, or a class of rewards."""

    def decorate(scorer: PlainReward | type[Reward]) -> Task:
        reward: Any = scorer() if isinstance(scorer, type) else scorer
        return _task(scorer, lines, Procedural(on), reward, fields)

    return decorate


def broken_problems(*lines: str, **fields: Any) -> Callable[[Generator], Task]:
    """Make a task of this broken generator with an honest reward."""
    return lambda generate: _task(generate, lines, Procedural(generate), MathReward(), fields)


def broken_source(*lines: str, **fields: Any) -> Callable[[type[Source]], Task]:
    """Make a task of this broken source with an honest reward."""
    return lambda source: _task(source, lines, source(), MathReward(), fields)


def _task(made_of: Any, lines: tuple[str, ...], source: Source, reward: Any, fields: dict[str, Any]) -> Task:
    asked = {"answer": boxed, "answer_format": r"Answer in \boxed{}."}
    CASES.append(Case(f"{made_of.__module__}:{made_of.__name__}", frozenset(lines)))
    name = f"broken.{made_of.__name__.lower()}".rstrip("_")
    return Task(**{"name": name, "source": source, "reward": reward, "namespace": "tests", **asked, **fields})
