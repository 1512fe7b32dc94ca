"""Products of polynomials, multiplied out. The reward wants a polynomial, not just any expression equal to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grpo_envs.math.answers import polynomial_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.polynomials import Polynomial, multiply, nonzero
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import polynomial, power
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.math import MathReward
from grpo_rewards.math.extract import final_answer

_SPACING = re.compile(r"\\[,;:! ]|\\left|\\right|\\displaystyle|\\[()]|[\s${}]")
_TERM = re.compile(r"[+-]*(?:(?P<number>\d+(?:/\d+)?)(?:\*|\\cdot|\\times)?)?(?P<power>x(?:\^\d+)?)?")


class Expanded(MathReward):
    """`MathReward` for polynomials that must be multiplied out: the question itself is equal to its answer."""

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response; an equal expression that is no sum of different powers of x is wrong."""
        verdict = super().score(response, problem)
        if verdict and not is_expanded(final_answer(response).text or ""):
            return Verdict(0.0, Reason.WRONG, feedback="equal, but not multiplied out and collected")
        return verdict

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being right, the question among them."""
        echo = Probe("the product that was given", lambda p: f"\\boxed{{{p.meta['product']}}}")
        apart = Probe("a term in two parts", lambda p: f"\\boxed{{{p.reference} + x - x}}")
        return (*super().probes(), echo, apart)


def is_expanded(text: str) -> bool:
    """Whether a text is a sum of terms such as `-3x^2`, each power of x once. What stands before `=` does not count."""
    if re.search(r"\{[^{}]*[+-]", text):
        return False  # braces that group a sum are brackets in disguise
    rest, powers = _SPACING.sub("", text.rpartition("=")[2]).replace("\u2212", "-"), list[str]()
    while rest:
        term = _TERM.match(rest)
        if term is None or not term.end() or (powers and rest[0] not in "+-") or not (term["number"] or term["power"]):
            return False
        powers.append(term["power"] or "")
        rest = rest[term.end() :]
    return 0 < len(powers) == len(dict.fromkeys(powers))


@task("math.expand", equivalents=polynomial_forms, effort=digit_operations, **{**MATHS, "reward": Expanded()})
def expand(rng: Rng, tier: int) -> Problem:
    """Multiply out: a number with a binomial, two binomials, a quadratic (3), three binomials, one with a quadratic."""
    factors = _factors(rng, tier)
    work = Working()
    result: Polynomial = factors[0]
    for factor in factors[1:]:
        result = multiply(work, result, factor)
    text = _shown(factors)
    answer = polynomial(result)
    prompt = f"Expand {text} and write it as a polynomial in x."
    return worked(prompt, [*work.lines, f"{text} = {answer}"], answer, product=text)


def _factors(rng: Rng, tier: int) -> list[Polynomial]:
    if tier == 0:
        return [[rng.integer(2, 12)], _random(rng, 2, 12)]
    if tier == 1:
        return [[1, nonzero(rng, 30)], [1, nonzero(rng, 30)]]
    if tier == 2:
        return [_random(rng, 2, 15), _random(rng, 2, 15)]
    if tier == 3:
        return [_random(rng, 2, 12), _random(rng, 3, 12)]
    if tier == 4:
        return [_random(rng, 2, 12)] * 3 if rng.chance(1, 5) else [_random(rng, 2, 7) for _ in range(3)]
    return [_random(rng, 2, 9), _random(rng, 2, 9), _random(rng, 3, 9)]


def _random(rng: Rng, length: int, largest: int) -> Polynomial:
    """Return a polynomial with a leading coefficient from 2 on and no zero coefficient."""
    return [rng.integer(2, largest), *(nonzero(rng, largest) for _ in range(length - 1))]


def _shown(factors: Sequence[Polynomial]) -> str:
    if len(factors) > 1 and all(factor == factors[0] for factor in factors):
        return power(f"({polynomial(factors[0])})", len(factors))
    return "".join(f"({polynomial(factor)})" if len(factor) > 1 else str(factor[0]) for factor in factors)
