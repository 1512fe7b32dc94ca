"""Sound twins of the broken tasks: every kind of honest task, none of which a check may complain about."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from fractions import Fraction
from itertools import permutations
from typing import Any

from grpo_gym import Problem, Procedural, Reason, Reward, Rng, Task, Verdict
from grpo_gym.sources import Generator
from grpo_gym.task import Transcript, Turn
from grpo_rewards.compose import Gate, WeightedSum
from grpo_rewards.exact import ExactReward
from grpo_rewards.length import SoftOverlong
from grpo_rewards.math import MathReward
from tests.gym.broken_kit import boxed, cities, is_right, multiples, number, plain, said, sums


def graded(response: str, problem: Problem) -> float:
    return 1.0 if is_right(response, problem) else -1.0 if said(response) else -0.5


class Graded(Reward):
    """1, -1 for a wrong answer, -0.5 for none."""

    range = (-1.0, 1.0)

    def score(self, response: str, problem: Problem) -> Verdict:
        value = graded(response, problem)
        return Verdict(value, Reason.CORRECT if value == 1.0 else Reason.WRONG)


class Penalty(Reward):
    """0 at best."""

    range = (-1.0, 0.0)

    def score(self, response: str, problem: Problem) -> Verdict:
        right = is_right(response, problem)
        return Verdict(0.0 if right else -1.0, Reason.CORRECT if right else Reason.WRONG)


class Stars(Reward):
    """One to five."""

    range = (1.0, 5.0)

    def score(self, response: str, problem: Problem) -> Verdict:
        right = is_right(response, problem)
        return Verdict(5.0 if right else 1.0, Reason.CORRECT if right else Reason.WRONG)


class AddsUp(Reward):
    """Says of itself that it is a weighted sum."""

    def score(self, response: str, problem: Problem) -> Verdict:
        right = float(is_right(response, problem))
        leaves = {"right": {"value": right, "weight": 0.75}, "checked": {"value": right, "weight": 0.25}}
        reason = Reason.CORRECT if right else Reason.WRONG
        return Verdict(right, reason, {"right": right}, details={"leaves": leaves, "sum": True})


class Slow(MathReward):
    cost = "slow"
    time_limit = 2.0


class Fills(Reward):
    """Reads four rows of four and checks the rules and the clues."""

    def score(self, response: str, problem: Problem) -> Verdict:
        text = response.strip().strip("`").strip().rstrip(".") if len(response) < 1_000 else ""
        rows = [line.split() for line in text.splitlines()]
        whole = len(rows) == 4 and all(len(row) == 4 and set(row) <= set("1234") for row in rows)
        right = whole and self.holds(rows, problem.meta["clues"])
        return Verdict(float(right), Reason.CORRECT if right else Reason.WRONG)

    @staticmethod
    def holds(grid: list[list[str]], clues: list[list[str]]) -> bool:
        lines = [*grid, *zip(*grid, strict=True)]
        boxes = [[grid[r + i][c + j] for i in (0, 1) for j in (0, 1)] for r in (0, 2) for c in (0, 2)]
        fits = all(a in ("_", b) for mine, row in zip(clues, grid, strict=True) for a, b in zip(mine, row, strict=True))
        return fits and all(len(set(unit)) == 4 for unit in [*lines, *boxes])


def template(response: str, problem: Problem) -> bool:
    """Puts the answer into a template: a text in braces is no execution."""
    with suppress(ValueError, IndexError, KeyError, AttributeError):
        said(response).format("")
    return is_right(response, problem)


def as_json(response: str, problem: Problem) -> bool:
    text = response.strip().removeprefix("```").removesuffix("```").strip().rstrip(".")
    if len(text) > 200:
        return False
    try:
        return bool(json.loads(text) == problem.meta["value"])
    except (ValueError, RecursionError):
        return False


def as_code(response: str, problem: Problem) -> bool:
    return "".join(said(response).rstrip(".").split()) == "".join(problem.reference.split())


def as_set(response: str, problem: Problem) -> bool:
    items = re.split(r"\s*,\s*", said(response).rstrip(". "))
    return sorted(items) == sorted(problem.reference.split(", "))


def within_a_percent(response: str, problem: Problem) -> bool:
    value = number(response)
    return value is not None and abs(value - Fraction(problem.reference)) <= Fraction(problem.reference) / 100


def sound(generate: Generator, reward: Any, **fields: Any) -> Task:
    """Make a sound task; its name does not matter, a check finds it by its attribute."""
    asked = {"answer": boxed, "answer_format": r"Answer in \boxed{}.", "namespace": "tests"}
    return Task(**{"name": "sound.task", "source": Procedural(generate), "reward": reward, **asked, **fields})


def negatives(rng: Rng, tier: int) -> Problem:
    a, b = rng.integer(100, 999), rng.integer(1_000, 9_999)
    return Problem(f"What is {a} - {b}?", str(a - b))


def tenths(rng: Rng, tier: int) -> Problem:
    """The best constant answer is right in a tenth of all problems, and in more of some by chance."""
    n = rng.integer(1, 10**9)
    return Problem(f"What is the last digit of {n} squared plus {n % 7}?", str((n * n + n % 7) % 10))


def whole(rng: Rng, tier: int) -> Problem:
    """The reference is an int, not a text."""
    a, b = rng.integer(10, 999), rng.integer(10, 999)
    return Problem(f"What is {a} * {b}?", a * b)


def fractions(rng: Rng, tier: int) -> Problem:
    a, b = Fraction(rng.integer(1, 99), rng.integer(2, 99)), Fraction(rng.integer(1, 99), rng.integer(2, 99))
    return Problem(f"What is {a} + {b}?", str(a + b))


def decimals(rng: Rng, tier: int) -> Problem:
    a, b = rng.integer(100, 99_999), rng.integer(100, 99_999)
    total = a + b
    return Problem(f"What is {a / 100:.2f} + {b / 100:.2f}?", f"{total // 100}.{total % 100:02d}")


def parities(rng: Rng, tier: int) -> Problem:
    n = rng.integer(1, 10**9)
    return Problem(f"Is {n} divisible by 2? Say yes or no.", "yes" if n % 2 == 0 else "no")


def truths(rng: Rng, tier: int) -> Problem:
    a, b = rng.integer(1, 10**6), rng.integer(1, 10**6)
    return Problem(f"True or False: {a} < {b}?", str(a < b))


def choices(rng: Rng, tier: int) -> Problem:
    problem = sums(rng, tier)
    right = int(problem.reference)
    values = [right, right + 10, right - 7, right + 100]
    rng.shuffle(values)
    listed = "\n".join(f"{letter}) {value}" for letter, value in zip("ABCD", values, strict=True))
    return Problem(f"{problem.prompt}\n{listed}", "ABCD"[values.index(right)])


def names(rng: Rng, tier: int) -> Problem:
    """The reference lists all accepted spellings."""
    problem = cities(rng, tier)
    return Problem(problem.prompt, [problem.reference, f"the city of {problem.reference}"])


def objects(rng: Rng, tier: int) -> Problem:
    a, b = rng.integer(1, 999), rng.integer(1, 999)
    value = {"sum": a + b, "product": a * b}
    prompt = f"Write an object with the sum and the product of {a} and {b}."
    return Problem(prompt, json.dumps(value), meta={"value": value})


def programs(rng: Rng, tier: int) -> Problem:
    a = rng.integer(10, 9_999)
    return Problem(
        f"Write a call of print with the list of {a} and {a + 1}, larger one first.", f"print([{a + 1}, {a}])"
    )


def divisors(rng: Rng, tier: int) -> Problem:
    p, q = rng.choice((3, 5, 7, 11, 13, 17)), rng.choice((19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61))
    n = rng.integer(1, 10**6)
    return Problem(f"Question {n}: name the prime factors of {p * q}, separated by commas.", f"{p}, {q}")


def orders(problem: Problem) -> list[str]:
    return [rf"\boxed{{{', '.join(order)}}}" for order in permutations(problem.reference.split(", "))]


def grids(rng: Rng, tier: int) -> Problem:
    """A grid of four by four with a row and more left, so that the rules leave one solution."""
    digits = list("1234")
    rng.shuffle(digits)
    a, b, c, d = digits
    grid = [[a, b, c, d], [c, d, a, b], [b, a, d, c], [d, c, b, a]]
    clues = [[value if rng.chance(2, 3) else "_" for value in row] for row in grid]
    problem = Problem("", "\n".join(" ".join(row) for row in grid), meta={"clues": clues})
    if len(solutions(problem)) > 1 or all("_" not in row for row in clues):
        return grids(rng, tier)
    shown = "\n".join(" ".join(row) for row in clues)
    return Problem(f"Fill the blanks of the grid:\n\n{shown}", problem.reference, meta=problem.meta)


def solutions(problem: Problem) -> list[str]:
    """Every grid that keeps clues and rules, by trying rows."""
    clues = problem.meta["clues"]
    rows = [
        [p for p in permutations("1234") if all(c in ("_", v) for c, v in zip(clue, p, strict=True))] for clue in clues
    ]
    grids = [[list(a), list(b), list(c), list(d)] for a in rows[0] for b in rows[1] for c in rows[2] for d in rows[3]]
    return ["\n".join(" ".join(row) for row in grid) for grid in grids if Fills.holds(grid, clues)]


class Countdown:
    """An episode: say the number of the last message less one, until it is 0."""

    def __init__(self, problem: Problem) -> None:
        self.left = problem.meta["start"]

    def reply(self, action: str) -> Turn:
        found = re.findall(r"-?\d+", action[:1_000])
        if found != [str(self.left - 1)]:
            return Turn("Wrong.", Verdict(0.0, Reason.WRONG))
        self.left -= 1
        return Turn(f"Now {self.left}.") if self.left % 3 else Turn("Right.", Verdict(1.0, Reason.CORRECT))

    def give_up(self) -> Verdict:
        return Verdict(0.0, Reason.WRONG)


def countdown_action(problem: Problem, transcript: Transcript) -> str:
    return str(problem.meta["start"] - 1 - sum(role == "policy" for role, _ in transcript))


def countdowns(rng: Rng, tier: int) -> Problem:
    start = rng.integer(1_000, 10**6)
    return Problem(f"Count down from {start} in steps of one.", None, meta={"start": start})


numbers = sound(sums, MathReward())
negative_numbers = sound(negatives, MathReward())
whole_numbers = sound(whole, MathReward())
ratios = sound(fractions, MathReward())
decimal_numbers = sound(decimals, MathReward())
one_of_ten = sound(tenths, MathReward())
words = sound(cities, ExactReward())
bare_one_of_ten = sound(tenths, MathReward())
words = sound(cities, ExactReward(), answer=plain, answer_format="Answer with the city.")
several_spellings = sound(names, ExactReward(), answer=lambda p: rf"\boxed{{{p.reference[0]}}}")
lists = sound(multiples, ExactReward())
sets = sound(divisors, as_set, equivalents=orders, small_tiers=(0, 1, 2, 3, 4, 5))
objects_as_json = sound(objects, as_json, answer=plain, answer_format="Answer with JSON.")
code = sound(programs, as_code)
yes_or_no = sound(parities, ExactReward(), answer=plain, floors={"constant answer": 0.5})
true_or_false = sound(truths, ExactReward(), floors={"constant answer": 0.5})
multiple_choice = sound(choices, ExactReward(), floors={"constant answer": 0.25})
grid_puzzle = sound(
    grids,
    Fills(),
    answer=plain,
    answer_format="Answer with the grid.",
    solver=solutions,
    small_tiers=(0, 1, 2, 3, 4, 5),
)
episodes = sound(countdowns, MathReward(), dialogue=Countdown, oracle=countdown_action, max_turns=5)
slow = sound(sums, Slow())
penalties = sound(sums, Graded())
only_penalties = sound(sums, Penalty())
stars = sound(sums, Stars())
templates = sound(sums, template)
overlong = sound(sums, WeightedSum({"right": (1.0, MathReward()), "overlong": (0.5, SoftOverlong(2_000, 500))}))
explained = sound(sums, AddsUp())
gated = sound(sums, Gate({"right": MathReward(), "brief": lambda response, problem: 1.0}))
tolerant = sound(sums, within_a_percent, floors={"near miss": 1.0})

SOUND = [name for name, value in list(globals().items()) if isinstance(value, Task)]
