"""An environment that a random policy can learn in a test: half of its babble is right. And one of another maker."""

from __future__ import annotations

import os
import time
from typing import Any

import gymnasium

from grpo_gym import Problem, Rng, TextSpace, Verdict, register_task, task
from grpo_gym.verdict import Reason

PAUSE_S = float(os.environ.get("TOY_PAUSE_S", "0"))
"""Seconds that judging a training answer takes, so that a test can meet a run in the middle."""


def on_judging() -> None:
    """What happens whenever a training answer is judged; a test may put something else here."""
    time.sleep(PAUSE_S)


def starts_with_a_letter(response: str, problem: Problem) -> Verdict:
    if problem.split == "train":
        on_judging()
    right = response[:1].isalpha()
    return Verdict(float(right), Reason.CORRECT if right else Reason.WRONG, feedback=f"it starts with {response[:1]!r}")


@task(
    "toy.letters",
    namespace="toy",
    reward=starts_with_a_letter,
    tiers=(0, 1),
    default_tiers=(0,),
    answer_format="Start with a letter.",
    answer=lambda problem: "a",
)
def letters(rng: Rng, tier: int) -> Problem:
    """Say anything that starts with a letter."""
    number = rng.integer(0, 10 ** (tier + 4))
    return Problem(f"Say something about {number}.", "a", solution=f"a[/bold]\x1b[31m {number}")


class Parrot(gymnasium.Env[str, str]):
    """An environment that has never heard of grpo_gym: says a word, and likes answers of more than two characters."""

    def __init__(self) -> None:
        self.observation_space = TextSpace()
        self.action_space = TextSpace()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return f"word {int(self.np_random.integers(10_000))}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "", float(len(action) > 2), True, False, {}


LETTERS = "tests.cli.toy:toy/Toy.Letters-v0"
PARROT = "tests.cli.toy:other/Parrot-v0"

register_task("toy.letters", letters, namespace="toy")
gymnasium.register("other/Parrot-v0", entry_point="tests.cli.toy:Parrot")
