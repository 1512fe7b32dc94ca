"""The game of 24: make 24 of four numbers, each used exactly once; every expression that does it is right.

The hands that have a solution, and how many of the ways to combine them are right, were found by trying them all
(`game24_store.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.game24_store import TARGET, WAYS, stored
from grpo_envs.logic.solvers.numbers_game import Tree, broken_rules, closest, read, spellings, taken_apart, written
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import Findings, PuzzleReward
from grpo_rewards.logic.arithmetic import Expression

TRIES = 12
"""Blind combinations that the weak solver tries."""


def check(found: Expression, problem: Problem) -> Findings:
    """Check that an expression makes 24 and uses every number of `meta["numbers"]` exactly once."""
    numbers: list[int] = problem.meta["numbers"]
    broken = broken_rules(found, numbers, TARGET)
    if unused := [number for number in numbers if found.numbers.count(number) < numbers.count(number)]:
        broken.append(f"{unused[0]} is not used as often as it is given")
    return Findings(broken)


def solution_of(hand: Sequence[int]) -> Tree:
    """Return a solution, a whole one throughout where there is one. Raises ValueError where there is none."""
    pool: list[tuple[float, Tree]] = [(number, number) for number in hand]
    tree = _search(pool, whole=True) or _search(pool, whole=False)
    if tree is None:
        raise ValueError(f"{list(hand)} do not make {TARGET}")
    return tree


def _search(pool: list[tuple[float, Tree]], whole: bool) -> Tree | None:
    for i in range(len(pool)):
        for j in range(i):
            rest = [*pool[:j], *pool[j + 1 : i], *pool[i + 1 :]]
            for pair in _ways(*pool[i], *pool[j], whole):
                if rest:
                    tree = _search([*rest, pair], whole)
                    if tree is not None:
                        return tree
                elif abs(pair[0] - TARGET) < 1e-9:
                    return pair[1]
    return None


def _ways(a: float, one: Tree, b: float, two: Tree, whole: bool) -> list[tuple[float, Tree]]:
    """Return what two numbers give. What is negative is left out: its opposite serves as well."""
    if a < b:
        a, one, b, two = b, two, a, one
    ways: list[tuple[float, Tree]] = [(a * b, ("*", one, two)), (a + b, ("+", one, two)), (a - b, ("-", one, two))]
    if b and (not whole or a % b == 0):
        ways.append((a / b, ("/", one, two)))
    if not whole and a:
        ways.append((b / a, ("/", two, one)))
    return ways


def signed(hand: Sequence[int]) -> tuple[list[str], Tree]:
    """Solve a hand by plus and minus: what is subtracted is half of what the sum is too large by.

    Returns:
        The working and the solution.
    """
    lines = []
    total = hand[0]
    for number in hand[1:]:
        lines.append(f"{total} + {number} = {total + number}")
        total += number
    too_much = total - TARGET
    lines.append(f"{total} - {TARGET} = {too_much}")
    lines.append(f"{too_much} / 2 = {too_much // 2}")
    away = next(chosen for chosen in _subsets(hand) if sum(hand[k] for k in chosen) * 2 == too_much)
    if len(away) > 1:
        lines.append(f"{' + '.join(str(hand[k]) for k in away)} = {too_much // 2}")
    tree: Tree | None = None
    for k in [*(k for k in range(len(hand)) if k not in away), *away]:
        tree = hand[k] if tree is None else ("-" if k in away else "+", tree, hand[k])
    assert tree is not None
    return lines, tree


def _subsets(hand: Sequence[int]) -> list[list[int]]:
    """Return the sets of places, smallest first."""
    sets = [[k for k in range(len(hand)) if bits >> k & 1] for bits in range(1 << len(hand))]
    return sorted(sets, key=len)


def others(problem: Problem) -> Iterable[str]:
    """Return right answers in other spellings."""
    numbers = problem.meta["numbers"]
    return spellings([solution_of(numbers), solution_of(numbers[::-1])], TARGET)


def solutions(problem: Problem) -> Iterable[str]:
    """Return solutions that are searched for from nothing, one for each of a few orders of the numbers."""
    numbers = problem.meta["numbers"]
    trees = [solution_of([*numbers[k:], *numbers[:k]]) for k in range(4)]
    return [f"\\boxed{{{text}}}" for text in dict.fromkeys(map(written, trees))]


def ways_for_a_right_one(problem: Problem) -> float:
    """How many ways to combine the numbers there are for every one that is right."""
    return float(WAYS / problem.meta["ways"])


def blind(problem: Problem, rng: Rng) -> str:
    """Combine the numbers blindly a few times and answer what comes closest."""
    return f"\\boxed{{{written(closest(rng, problem.meta['numbers'], TARGET, '+-*/', TRIES))}}}"


def hostile() -> tuple[Probe, ...]:
    """Answers that try to be paid without being right."""
    return (
        Probe("the number itself", lambda p: f"\\boxed{{{TARGET}}}"),
        Probe("numbers of one's own", lambda p: "\\boxed{4 * 6}"),
        Probe("a number left out", lambda p: f"\\boxed{{{p.reference} + {p.meta['numbers'][0]} * 0}}"),
        Probe("a number more", lambda p: f"\\boxed{{({p.reference}) * 1}}"),
    )


@task(
    "logic.game24",
    reward=PuzzleReward(read, check, hostile=hostile),
    answer_format=r"Answer with one expression in \boxed{}.",
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=others,
    solver=solutions,
    effort=ways_for_a_right_one,
    guess=blind,
)
def game24(rng: Rng, tier: int) -> Problem:
    """Make 24: by sums and differences (tier 0), then with ever fewer of the ways right, down to one or two (5)."""
    hand, ways = rng.choice(stored(tier))
    if tier == 0:
        lines, tree = signed(hand)
    else:
        tree = solution_of(hand)
        lines = taken_apart(tree)
    prompt = (
        f"Make {TARGET} from the numbers {', '.join(map(str, hand))}. Use each of them exactly once, with +, -, *, / "
        "and brackets, and no other number."
    )
    reference = written(tree)
    solution = "\n".join([*lines, f"\\boxed{{{reference}}}"])
    return Problem(prompt, reference, solution, {"numbers": list(hand), "ways": ways})
