"""What the word problems share: people, and a reward that knows which units a story speaks of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from grpo_envs.math.style import MATHS
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.math import MathReward, Policy
from grpo_rewards.math.extract import final_answer

PEOPLE = ("Ada", "Bruno", "Chen", "Dina", "Emil", "Farah", "Goran", "Hana", "Ivo", "Jana", "Kofi", "Lena")


class StoryReward(MathReward):
    """`MathReward` for numbers of a story: `84` and `84 marbles` are right, `84 furlongs` is of another story."""

    def __init__(self) -> None:
        super().__init__(Policy(plain_numbers=True))

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response; a right number with a unit that the question does not name is wrong."""
        verdict = super().score(response, problem)
        if verdict and not names_only(final_answer(response).text or "", problem.prompt):
            return Verdict(0.0, Reason.WRONG, feedback="the number is right, its unit is not")
        return verdict

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being right, one with a unit from elsewhere among them."""
        return (*super().probes(), Probe("another unit", lambda p: f"\\boxed{{{p.reference} \\text{{ furlongs}}}}"))


def names_only(answer: str, prompt: str) -> bool:
    """Whether every word of an answer is a word of the prompt, in singular or plural. LaTeX commands are no words."""
    known = re.findall(r"[a-z]+", prompt.lower())
    words = re.findall(r"[a-z]+", re.sub(r"\\[A-Za-z]+", " ", answer.rpartition("=")[2]).lower())
    return all(word in known or f"{word}s" in known or word.removesuffix("s") in known for word in words)


STORIES: dict[str, Any] = {**MATHS, "reward": StoryReward()}
"""The Task fields that the word problems share."""
