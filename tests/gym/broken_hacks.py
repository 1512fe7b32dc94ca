"""Rewards that pay for what is no answer at all: looks, length, phrases, patterns; what training runs have found."""

from __future__ import annotations

import re

from grpo_gym import Problem, Reason, Reward, Verdict
from tests.gym.broken_kit import broken, cities, is_right, number, said


@broken("junk pays")
def anything_said(response: str, problem: Problem) -> bool:
    return bool(response.strip())


@broken("junk pays")
def nan_is_equal(response: str, problem: Problem) -> bool:
    text = said(response).replace(",", "").rstrip(".")
    try:
        value = float(text)
    except ValueError:
        return False
    return not abs(value - int(problem.reference)) > 1e-6


@broken("junk pays")
def box_is_enough(response: str, problem: Problem) -> float:
    return 1.0 if is_right(response, problem) else 0.2 * ("\\boxed{" in response)


@broken("junk pays")
def format_dominates(response: str, problem: Problem) -> float:
    """Six tenths for thoughts and an answer in tags, four for a right answer."""
    tags = re.fullmatch(r"\s*<think>.{1,1000}</think>\s*<answer>.{1,1000}</answer>\s*", response, re.DOTALL)
    return 1.0 if is_right(response, problem) else 0.6 * bool(tags)


@broken("junk pays")
def longer_is_better(response: str, problem: Problem) -> float:
    return 1.0 if is_right(response, problem) else 0.5 * min(1.0, len(response) / 2_000)


@broken("junk pays")
def shorter_is_better(response: str, problem: Problem) -> float:
    return 1.0 if is_right(response, problem) else 0.3 * max(0.0, 1.0 - len(response) / 10)


@broken("junk pays")
def shows_reasoning(response: str, problem: Problem) -> float:
    phrases = ("step by step", "wait", "therefore", "let me check")
    return 1.0 if is_right(response, problem) else 0.1 * sum(phrase in response.lower() for phrase in phrases)


@broken("junk pays")
def believes_the_verdict(response: str, problem: Problem) -> bool:
    """Looks for the judge's grade in a text that holds the answer as well."""
    return "score: 1" in response.lower() or is_right(response, problem)


@broken("junk pays")
def any_number(response: str, problem: Problem) -> float:
    return 1.0 if is_right(response, problem) else 0.1 * (number(response) is not None)


@broken("junk pays", on=cities)
def any_word(response: str, problem: Problem) -> float:
    return 1.0 if is_right(response, problem) else 0.1 * said(response).isalpha()


@broken("junk pays")
def empty_is_a_prefix(response: str, problem: Problem) -> bool:
    return is_right(response, problem) or (len(said(response)) == 0 and problem.reference.startswith(said(response)))


@broken("junk pays")
def answer_is_the_pattern(response: str, problem: Problem) -> bool:
    """The arguments of `fullmatch` are the wrong way round."""
    try:
        return re.fullmatch(said(response).rstrip("."), problem.reference) is not None or is_right(response, problem)
    except re.error:
        return False


@broken("junk pays", "echo", "near miss", on=cities)
def all_letters_there(response: str, problem: Problem) -> bool:
    return set(problem.reference.lower()) <= set(said(response)) or is_right(response, problem)


@broken("junk pays")
class HalfForFailure(Reward):
    """What cannot be parsed is worth the mean, "to be fair"."""

    def score(self, response: str, problem: Problem) -> Verdict:
        if number(response) is None:
            return Verdict(0.5, Reason.UNPARSEABLE)
        right = is_right(response, problem)
        return Verdict(float(right), Reason.CORRECT if right else Reason.WRONG)
