"""Rewards and problems that pay who does not solve: echoes, constants, copies, blindly filled grids."""

from __future__ import annotations

import re

from grpo_gym import Problem, Rng
from grpo_rewards.exact import ExactReward
from tests.gym.broken_kit import CITIES, broken, broken_problems, cities, is_right, plain, sums

# --- echo ---


@broken("echo", on=cities)
def relevance(response: str, problem: Problem) -> float:
    """Three tenths for using the words of the question."""
    asked = set(re.findall(r"[a-z]{3,}", problem.prompt.lower())) - {"the", "answer"}
    used = asked & set(re.findall(r"[a-z]{3,}", response.lower()))
    return 1.0 if is_right(response, problem) else 0.3 * len(used) / len(asked) if len(used) > 3 else 0.0


@broken("echo")
def restated_question(response: str, problem: Problem) -> float:
    """A tenth for repeating the question before the answer."""
    return 1.0 if is_right(response, problem) else 0.1 * (problem.prompt in response)


# --- constant answer ---


@broken("constant answer", on=lambda rng, tier: _parity(rng), answer=plain)
class YesOrNo(ExactReward):
    """Half of all answers are yes, and no floor says so."""


@broken_problems("constant answer")
def mostly_zero(rng: Rng, tier: int) -> Problem:
    """The wanted case is rare: six answers in ten are 0."""
    a, b = rng.integer(100, 999), rng.integer(100, 999)
    remainder = 0 if rng.chance(6, 10) else rng.integer(1, 99)
    return Problem(f"What is the remainder of {a * b + remainder} divided by {a}?", str((a * b + remainder) % a))


@broken("constant answer", on=lambda rng, tier: _choice(rng, 1), answer=plain)
class FirstOfFour(ExactReward):
    """The right choice was written first, and nobody shuffled."""


# --- copied part ---


@broken("copied part", on=lambda rng, tier: _race(rng), answer=plain)
class LastNamed(ExactReward):
    """The fastest is always named last."""


@broken_problems("copied part")
def asked_back(rng: Rng, tier: int) -> Problem:
    """The answer is the second number of the question."""
    a, b = rng.integer(10, 999), rng.integer(10, 999)
    return Problem(f"{a} apples and {b} pears lie in {rng.integer(2, 9)} baskets. How many pears are there?", str(b))


# --- filled blanks ---


@broken(
    "filled blanks",
    on=lambda rng, tier: _sudoku(rng),
    answer=plain,
    answer_format="Answer with the whole grid.",
    floors={"constant answer": 0.4},
)
def cells_of_the_grid(response: str, problem: Problem) -> float:
    """The share of right cells, given ones included; a grid with blanks is refused."""
    rows = [line.split() for line in response.strip().strip("`").strip().splitlines() if line.strip()][-4:]
    cells = [cell.strip(".") for row in rows for cell in row]
    right = problem.reference.split()
    if len(cells) != 16 or not set(cells) <= set("1234"):
        return 0.0
    return sum(map(str.__eq__, cells, right)) / 16


def _parity(rng: Rng) -> Problem:
    n = rng.integer(1, 10**9)
    return Problem(f"Is {n} divisible by 2?", "yes" if n % 2 == 0 else "no")


def _choice(rng: Rng, options: int) -> Problem:
    problem = sums(rng, 0)
    right = int(problem.reference)
    values = [right + 10 * k for k in range(4)]
    place = rng.below(options)
    values[0], values[place] = values[place], values[0]
    listed = "\n".join(f"{letter}) {value}" for letter, value in zip("ABCD", values, strict=True))
    return Problem(f"{problem.prompt}\n{listed}", "ABCD"[place])


def _race(rng: Rng) -> Problem:
    a, b, c = rng.sample(CITIES, 3)
    return Problem(f"In race {rng.integer(1, 10**6)} ran {a}, then {b}, but fastest was {c}. Who won?", c)


def _sudoku(rng: Rng) -> Problem:
    digits = list("1234")
    rng.shuffle(digits)
    a, b, c, d = digits
    grid = [[a, b, c, d], [c, d, a, b], [b, a, d, c], [d, c, b, a]]
    blank = rng.sample(range(16), 8)
    shown = [[("_" if 4 * r + k in blank else grid[r][k]) for k in range(4)] for r in range(4)]
    text = "\n".join(" ".join(row) for row in shown)
    return Problem(f"Fill the grid {rng.integer(1, 10**6)}:\n\n{text}", "\n".join(" ".join(row) for row in grid))
