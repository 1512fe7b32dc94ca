"""Tasks whose problems are few, shared, slow, in the wrong order or tell their answer; verdicts that are no numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

from grpo_gym import Problem, Reason, Rng, Verdict
from grpo_gym.sources import Key, Procedural, labelled
from tests.gym.broken_kit import broken, broken_problems, broken_source, is_right, number, said, sums


def _work() -> None:
    """Two milliseconds where the limits were chosen: a multiple of the declared levels, on a slower machine as well."""
    sum(k & 7 for k in range(40_000))


# --- cost ---


@broken_problems("generation cost", floors={"generation cost": 0.0005})
def searches_long(rng: Rng, tier: int) -> Problem:
    """One problem in four takes long to find."""
    if rng.below(4) == 0:
        _work()
    return sums(rng, tier)


@broken("scoring cost", floors={"scoring cost": 0.0005})
def judges_long(response: str, problem: Problem) -> bool:
    right = is_right(response, problem)
    if right:
        _work()
    return right


# --- duplicates ---


@broken_problems("duplicates")
def sixty_problems(rng: Rng, tier: int) -> Problem:
    a = rng.integer(1, 60)
    return Problem(f"What is {a} * {a}?", str(a * a))


# --- neighbouring seeds ---


@broken_source("neighbouring seeds")
class SeedPlusIndex:
    """Problem k + 1 of seed s is problem k of seed s + 1."""

    def problem(self, key: Key) -> Problem:
        return Procedural(sums).problem(dataclasses.replace(key, seed=key.seed + key.index, index=0))


@broken_source("neighbouring seeds")
class SeedDropped:
    """Accepted, and then not used."""

    def problem(self, key: Key) -> Problem:
        return Procedural(sums).problem(dataclasses.replace(key, seed=0))


# --- splits ---


@broken_source("splits")
class OneListForAll:
    """Train, val and test draw from the same list of problems."""

    def problem(self, key: Key) -> Problem:
        rng = Rng("list", key.seed, key.index)
        return labelled(sums(Rng("item", rng.below(2_000)), key.tier), key)


# --- tiers ---


@broken_problems("tiers", default_tiers=(0, 1))
def the_last_tier_fails(rng: Rng, tier: int) -> Problem:
    """A tier that nobody has played: its list of names is one too short."""
    names = ("one", "two", "three", "four", "five", "six", "seven")
    word = names[rng.below(8)] if tier == 5 else "one"
    a = rng.integer(100, 10**6)
    return Problem(f"What is twice {a} plus {word} minus {word}?", str(2 * a))


# --- effort ---


@broken_problems("effort", effort=lambda problem: len(problem.reference))
def easier_at_the_end(rng: Rng, tier: int) -> Problem:
    digits = (2, 3, 4, 5, 6, 4)[tier] + 2
    a = rng.integer(10 ** (digits - 1), 10**digits // 2 - 1)
    return Problem(f"What is twice {a}?", str(2 * a))


# --- leaks ---


@broken_problems("leaks")
def answer_in_the_prompt(rng: Rng, tier: int) -> Problem:
    """The prompt was built from the worked solution."""
    problem = sums(rng, tier)
    return Problem(f"{problem.prompt} (Check: \\boxed{{{problem.reference}}})", problem.reference)


@broken_problems("leaks")
def long_number_in_the_prompt(rng: Rng, tier: int) -> Problem:
    a, b = rng.integer(10_000, 99_999), rng.integer(10_000, 99_999)
    return Problem(f"Question {a + b}: what is {a} + {b}?", str(a + b))


@broken_source("leaks")
class NamedByItsAnswer:
    """The name of the problem, which is part of every info, is its answer."""

    def problem(self, key: Key) -> Problem:
        problem = Procedural(sums).problem(key)
        return dataclasses.replace(problem, problem_id=problem.reference)


# --- finite numbers ---


@broken("finite numbers")
def unparsed_is_nan(response: str, problem: Problem) -> Verdict:
    value = number(response)
    right = is_right(response, problem)
    return Verdict(float("nan") if value is None else float(right), Reason.CORRECT if right else Reason.WRONG)


@broken("finite numbers")
def component_is_infinite(response: str, problem: Problem) -> Verdict:
    right = is_right(response, problem)
    parts = {"per character": 1 / len(said(response)) if said(response) else float("inf")}
    return Verdict(float(right), Reason.CORRECT if right else Reason.WRONG, parts)


@broken("finite numbers")
def component_is_none(response: str, problem: Problem) -> Verdict:
    right = is_right(response, problem)
    parts: dict[str, Any] = {"distance": None if number(response) is None else 0.5}
    return Verdict(float(right), Reason.CORRECT if right else Reason.WRONG, parts)


# --- parts add up ---


@broken("parts add up")
def forgotten_part(response: str, problem: Problem) -> Verdict:
    """A weight was changed in one of two places."""
    right = float(is_right(response, problem))
    leaves = {"right": {"value": right, "weight": 1.0}, "said": {"value": float(bool(said(response))), "weight": 0.2}}
    return Verdict(right, Reason.CORRECT if right else Reason.WRONG, details={"leaves": leaves, "sum": True})


# --- range ---


@broken("range")
def more_than_the_maximum(response: str, problem: Problem) -> float:
    return 1.5 if is_right(response, problem) else 0.0


@broken("range")
def counts_hits(response: str, problem: Problem) -> float:
    """Half for every repetition, once the answer is right."""
    return (0.5 + 0.5 * response.count(said(response))) * is_right(response, problem)


@broken("range")
def undeclared_penalty(response: str, problem: Problem) -> float:
    return 1.0 if is_right(response, problem) else -0.5
