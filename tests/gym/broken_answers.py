"""Tasks whose right answers are not paid: not at all, not as others write them, not in every process."""

from __future__ import annotations

import re
from itertools import permutations

from grpo_gym import Problem, Rng
from grpo_rewards.exact import ExactReward
from grpo_rewards.math import MathReward
from tests.gym.broken_kit import boxed, broken, broken_problems, is_right, multiples, number, said, sums

# --- generator ---


@broken_problems("generator")
def fails_rarely(rng: Rng, tier: int) -> Problem:
    """A denominator that is 0 once in nine times."""
    a, b = rng.integer(1_000, 9_999), rng.integer(0, 8)
    return Problem(f"How often does {b} go into {a} tens?", str(10 * a // b))


@broken_problems("generator")
def reference_is_a_set(rng: Rng, tier: int) -> Problem:
    return Problem(f"Name the divisors of {rng.integer(1, 10**6)}.", {1, 2})


@broken_problems("generator", answer=lambda problem: problem.reference)
def answer_is_no_text(rng: Rng, tier: int) -> Problem:
    a = rng.integer(1, 10**6)
    return Problem(f"What is {a} + 1?", a + 1)


# --- oracle ---


@broken_problems("oracle")
def solution_of_another(rng: Rng, tier: int) -> Problem:
    """The worked solution ends with the last step but one."""
    a = rng.integer(1_000, 9_999)
    return Problem(f"What is {a} + 7?", str(a + 7), solution=f"{a} + 5 = {a + 5}\n\\boxed{{{a + 5}}}")


@broken("oracle")
def asks_for_another_format(response: str, problem: Problem) -> bool:
    """The task asks for a box, the reward looks for a tag."""
    found = re.search(r"<answer>\s*(\d+)\s*</answer>", response[:10_000])
    return found is not None and found[1] == problem.reference


@broken("oracle")
def never_the_maximum(response: str, problem: Problem) -> float:
    return 0.9 * is_right(response, problem)


# --- round trip ---


def _pairs(rng: Rng, tier: int) -> Problem:
    a, b = rng.integer(100, 999), rng.integer(100, 999)
    return Problem(f"Add ({a}, {b}) and (1, 2).", f"{a + 1}, {b + 2}", meta={"pair": (a + 1, b + 2)})


@broken("round trip", on=_pairs)
def compares_a_tuple(response: str, problem: Problem) -> bool:
    return tuple(map(int, re.findall(r"\d{1,9}", said(response)))) == problem.meta["pair"] and is_right(
        response, problem
    )


def _tables(rng: Rng, tier: int) -> Problem:
    a, b = rng.integer(100, 9_999), rng.integer(100, 9_999)
    return Problem(f"What is {a} + {b}?", str(a + b), meta={"allowed": {a + b: 1.0}})


@broken("round trip", on=_tables)
def looks_up_a_number(response: str, problem: Problem) -> float:
    """An integer key comes back from JSON as a text."""
    value = number(response)
    return problem.meta["allowed"].get(int(value), 0.0) if value is not None and value.denominator == 1 else 0.0


# --- fresh process ---

_ANSWERS: dict[str, str] = {}


def _remembered(rng: Rng, tier: int) -> Problem:
    problem = sums(rng, tier)
    _ANSWERS[problem.prompt] = problem.reference
    return problem


@broken("fresh process", on=_remembered)
def looks_into_a_cache(response: str, problem: Problem) -> bool:
    """The generator has filled it, in its own process."""
    return problem.prompt in _ANSWERS and is_right(response, problem)


# --- spellings ---


@broken("spellings")
def exactly_this_text(response: str, problem: Problem) -> bool:
    return response == boxed(problem)


@broken("spellings")
def no_separators(response: str, problem: Problem) -> bool:
    return bool(said(response).rstrip(".") == problem.reference)


@broken("spellings", forms=("as it is", "upper case"), on=lambda rng, tier: _coded(rng), answer=lambda p: p.reference)
class CaseMatters(ExactReward):
    """The task declares that upper case holds, and it does not."""

    def __init__(self) -> None:
        super().__init__(ignore_case=False)


# --- equivalents ---


@broken(
    "equivalents",
    on=lambda rng, tier: _roots(rng),
    equivalents=lambda p: [rf"\boxed{{{', '.join(order)}}}" for order in permutations(p.reference.split(", "))],
)
class OneOrderOnly(ExactReward):
    """Any order of the roots is right; the reward knows the stored one."""


# --- second solver ---


def _solutions(problem: Problem) -> list[str]:
    total = problem.meta["total"]
    return [rf"\boxed{{{a}, {total - a}}}" for a in range(1, 10) if 1 <= total - a <= 9 and a <= total - a]


@broken("second solver", on=lambda rng, tier: _splittings(rng), solver=_solutions)
class StoredSolution(ExactReward):
    """Two solutions, one of them paid."""


@broken("second solver", solver=lambda problem: [])
class UnsolvableByTheSolver(MathReward):
    """The solver finds nothing where the generator says that there is an answer."""


@broken("equivalents", on=multiples, equivalents=lambda p: [p.meta["missing"]])
class EquivalentsRaise(ExactReward):
    """The declaration itself fails."""


def _coded(rng: Rng) -> Problem:
    word = "".join(rng.choice("bcdfghklmnprst") + rng.choice("aeiou") for _ in range(3))
    return Problem(f"Which word is written backwards as {word[::-1]}?", word)


def _roots(rng: Rng) -> Problem:
    a, b = sorted(rng.sample(range(10, 99), 2))
    return Problem(f"Solve x^2 - {a + b}x + {a * b} = 0.", f"{a}, {b}")


def _splittings(rng: Rng) -> Problem:
    total, number = rng.integer(6, 9), rng.integer(1, 10**6)
    a = rng.integer(1, total // 2)
    prompt = f"Problem {number}: write {total} as a sum of two digits, the smaller one first."
    return Problem(prompt, f"{a}, {total - a}", meta={"total": total})
