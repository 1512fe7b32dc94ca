"""Make a number of given numbers, each used at most once: every expression that does it is right.

A problem is built around a solution that uses all numbers. The number to be made is neither given nor made of two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.numbers_game import (
    Hunt,
    Tree,
    check,
    closest,
    combined,
    read,
    spellings,
    taken_apart,
    written,
)
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import PuzzleReward


class Size(NamedTuple):
    """What a tier's numbers are like.

    Attributes:
        largest: The largest number that may be given.
        signs: The signs of the solution that a problem is built around; one of each group.
        low: Least number to be made.
        high: Largest number to be made.
    """

    largest: int
    signs: tuple[str, ...]
    low: int
    high: int


SIZES = (
    Size(20, ("+-", "+-"), 2, 60),
    Size(20, ("*", "+-"), 2, 400),
    Size(15, ("*", "+-", "+-"), 10, 300),
    Size(99, ("*", "+-/", "+-/"), 100, 9_999),
    Size(25, ("*", "*", "+-", "+-"), 100, 999),
    Size(99, ("*", "*", "+-/", "+-"), 1_000, 99_999),
)
TRIES = 3
"""Blind combinations that the weak solver tries."""


def given(problem: Problem) -> tuple[list[int], int]:
    """Return the numbers and the target."""
    return problem.meta["numbers"], problem.meta["target"]


def others(problem: Problem) -> list[str]:
    """Return other solutions, each written in several ways."""
    numbers, target = given(problem)
    return spellings(Hunt(numbers, target, 2).found, target)


def solutions(problem: Problem) -> Iterable[str]:
    """Return a few solutions that are searched for from nothing."""
    return [f"\\boxed{{{written(tree)}}}" for tree in Hunt(*given(problem), 4).found]


def combinations_tried(problem: Problem) -> float:
    """How many combinations a search from nothing tries until one is right."""
    return float(Hunt(*given(problem)).tried)


def blind(problem: Problem, rng: Rng) -> str:
    """Combine all numbers blindly a few times and answer what comes closest."""
    numbers, target = given(problem)
    return f"\\boxed{{{written(closest(rng, numbers, target, '+-*' if problem.tier else '+-', TRIES))}}}"


def hostile() -> tuple[Probe, ...]:
    """Answers that try to be paid without being right."""
    return (
        Probe("the number itself", lambda p: f"\\boxed{{{p.meta['target']}}}"),
        Probe("a number used twice", lambda p: f"\\boxed{{{p.reference} + {(n := p.meta['numbers'][0])} - {n}}}"),
        Probe("times one more", lambda p: f"\\boxed{{({p.reference}) * 1 * 1 * 1 * 1 * 1 * 1}}"),
        Probe("a power", lambda p: "\\boxed{9**9**9**9}"),
        Probe("nearly", lambda p: f"\\boxed{{{p.reference} = {p.meta['target'] + 1}}}"),
    )


@task(
    "logic.countdown",
    reward=PuzzleReward(read, check, hostile=hostile),
    answer_format=r"Answer with one expression in \boxed{}.",
    answer=boxed,
    default_tiers=(2, 3),
    equivalents=others,
    solver=solutions,
    effort=combinations_tried,
    guess=blind,
)
def countdown(rng: Rng, tier: int) -> Problem:
    """Make a number of three numbers by sums and differences (tier 0), of four by default (2, 3), of five (4, 5)."""
    size = SIZES[tier]
    while True:
        numbers = [rng.integer(1 if tier else 2, size.largest) for _ in range(len(size.signs) + 1)]
        target, tree = combined(rng, numbers, [rng.choice(group) for group in size.signs])
        if size.low <= target <= size.high and not _is_trivial(numbers, target):
            break
    numbers.sort()  # else the same problem in another order could be in another split
    listed = ", ".join(map(str, numbers))
    prompt = (
        f"Make {target} from the numbers {listed}. Use each number at most once, with +, -, *, / and brackets, and no "
        "other number."
    )
    lines = taken_apart(tree)
    if len(numbers) == 3:
        lines, tree = searched(numbers, target, products=tier > 0)
    reference = written(tree)
    solution = "\n".join([*lines, f"\\boxed{{{reference}}}"])
    return Problem(prompt, reference, solution, {"numbers": numbers, "target": target})


def searched(numbers: list[int], target: int, products: bool) -> tuple[list[str], Tree]:
    """Search among all ways to combine three numbers: what must two of them give, and what do they give?

    Returns:
        A line for what is needed and one for what there is, for each number that is set aside; and the solution.
    """
    lines: list[str] = []
    for place, aside in enumerate(numbers):
        b, a = sorted(numbers[:place] + numbers[place + 1 :])
        needed: dict[int, tuple[str, bool]] = {}
        said = []
        for sign, there, wanted in (("-", target > aside, target - aside), ("+", True, target + aside)):
            if there:
                needed[wanted] = ("+" if sign == "-" else "-", True)
                said.append(f"{target} {sign} {aside} = {wanted}")
        if aside > target:
            needed[aside - target] = ("-", False)
            said.append(f"{aside} - {target} = {aside - target}")
        if products and aside > 1 and target % aside == 0:
            needed[target // aside] = ("*", True)
            said.append(f"{target} / {aside} = {target // aside}")
        lines.append(f"without {aside}: {', '.join(said)}")
        ways: list[tuple[int, Tree]] = [(a + b, ("+", a, b)), (a - b, ("-", a, b))]
        ways += [(a * b, ("*", a, b))] if products else []
        lines.append(", ".join(f"{written(pair)} = {made}" for made, pair in ways))
        for made, pair in ways:
            if made in needed:
                sign, first = needed[made]
                return lines, (sign, pair, aside) if first else (sign, aside, pair)
    raise ValueError(f"no way from {numbers} to {target}")


def _is_trivial(numbers: list[int], target: int) -> bool:
    """Whether the target is given, or made of two of the numbers."""
    return target in numbers or any(
        target in (a + b, a - b, b - a, a * b) or a == target * b or b == target * a
        for k, a in enumerate(numbers)
        for b in numbers[:k]
    )
