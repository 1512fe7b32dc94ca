"""The maths tasks, solved a second time by other means: every reference is right, every line of every solution true."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction

import pytest

from grpo_envs.index import FAMILIES
from grpo_envs.math.linear import side
from grpo_envs.math.style import Working
from grpo_gym import Problem, Task
from grpo_gym.problem import SPLITS
from grpo_gym.registration import load_tasks
from grpo_rewards.math import verify
from tests.arithmetic import evaluate, solve

NAMES = ("math.chain", "math.linear", "math.fractions", "math.remainder", "math.gcd")
TASKS = {name: load_tasks(f"grpo/{name}")[0] for name in NAMES}
TIERS = [pytest.param(task, tier, id=f"{name}-{tier}") for name, task in TASKS.items() for tier in task.tiers]
SEEDS = 60


def numbers(pattern: str, prompt: str) -> list[int]:
    match = re.fullmatch(pattern, prompt)
    assert match is not None, prompt
    return [int(group) for group in match.groups()]


def computed(prompt: str) -> Fraction:
    return evaluate(prompt.removeprefix("Compute ").removesuffix("."))


def root(prompt: str) -> Fraction:
    return solve(prompt.removeprefix("Solve ").removesuffix(" for x."))


def divisor_or_multiple(prompt: str) -> Fraction:
    what, _, listed = prompt.removeprefix("Find the ").removesuffix(".").partition(" of ")
    parts = [int(n) for n in re.findall(r"\d+", listed)]
    assert len(set(parts)) == len(parts)
    return Fraction({"greatest common divisor": math.gcd, "least common multiple": math.lcm}[what](*parts))


def remainder(prompt: str) -> Fraction:
    if prompt.startswith("Find the smallest"):
        r, m, s, n = numbers(
            r"Find the smallest whole number that leaves remainder (\d+) when divided by (\d+) "
            r"and remainder (\d+) when divided by (\d+)\.",
            prompt,
        )
        assert math.gcd(m, n) == 1
        return Fraction(next(x for x in range(m * n) if x % m == r and x % n == s))
    match = re.fullmatch(r"Find the remainder when (.+) is divided by (\d+)\.", prompt)
    assert match is not None, prompt
    value, modulus = evaluate(match[1]), int(match[2])
    return value - modulus * (value // modulus)


SOLVERS: dict[str, Callable[[str], Fraction]] = {
    "math.chain": computed,
    "math.fractions": computed,
    "math.gcd": divisor_or_multiple,
    "math.linear": root,
    "math.remainder": remainder,
}


def problems(task: Task, tier: int) -> list[Problem]:
    return [task.problem(tier, split, seed, 0) for split in SPLITS for seed in range(SEEDS // 3)]


def test_every_maths_task_has_a_second_solver():
    assert set(SOLVERS) == set(TASKS) <= set(FAMILIES["math"])


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_the_reference_is_what_another_method_finds(task, tier):
    for problem in problems(task, tier):
        assert Fraction(problem.reference) == SOLVERS[task.name](problem.prompt), problem.prompt


def leads_to(lines: list[str], answer: Fraction, prompt: str) -> bool:
    """Whether the last lines yield the answer: as a value, as top and bottom, or as the last divisor of Euclid."""
    values = [evaluate(line.split(" = ")[1]) for line in lines[-2:]]
    if not values or answer in values:
        return True
    if values[-1] == 0:
        return lines[-2].startswith(f"{answer} * ") or lines[-1].endswith(f"* {answer} = 0")
    top_of_prompt = values[-1] == answer.numerator and f"/{answer.denominator}" in prompt
    return top_of_prompt or values[0] / values[-1] == answer or values[-1] / values[0] == answer


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_every_line_of_a_solution_is_true_and_the_whole_scores_one(task, tier):
    for problem in problems(task, tier):
        assert problem.solution is not None
        *lines, last = problem.solution.split("\n")
        assert last == f"\\boxed{{{problem.reference}}}"
        assert last == task.answer(problem)
        assert verify(problem.solution, problem.reference).value == 1.0
        for line in lines:
            left, right = line.split(" = ")
            assert evaluate(left) == evaluate(right), line
            assert left != right, line
        assert leads_to(lines, Fraction(problem.reference), problem.prompt), problem.solution


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_a_prompt_is_plain_and_does_not_carry_its_answer(task, tier):
    for problem in problems(task, tier):
        assert problem.prompt.isascii()
        assert "  " not in problem.prompt
        assert not re.search(r"\b1x|\+ -|- -|\b0x|--", problem.prompt), problem.prompt
        assert task.reward.score(problem.prompt, problem).value == 0.0
        assert task.reward.score(f"{problem.prompt}\n{task.answer_format}", problem).value == 0.0
        assert len(problem.prompt) < 200


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_no_constant_answer_is_right_too_often(task, tier):
    references = [task.problem(tier, "train", seed, 1).reference for seed in range(300)]
    most = max(references.count(reference) for reference in set(references))
    assert most / len(references) <= 0.35, f"{max(set(references), key=references.count)} is right in {most} of 300"


def test_the_working_shows_what_it_computes():
    work = Working()
    assert [work.add(3, -5), work.subtract(3, -5), work.multiply(-3, -5), work.divide(-15, 5)] == [-2, 8, 15, -3]
    assert work.remainder(17, 5) == 2
    assert work.remainder(3, 5) == 3
    assert work.lines == ["3 - 5 = -2", "3 + 5 = 8", "-3 * -5 = 15", "-15 / 5 = -3", "5 * 3 = 15", "17 - 15 = 2"]
    with pytest.raises(ValueError, match="7 / 2 is not whole"):
        work.divide(7, 2)


@pytest.mark.parametrize(
    ("coefficient", "constant", "text"),
    [(3, 4, "3x + 4"), (1, -4, "x - 4"), (-1, 0, "-x"), (-2, 1, "-2x + 1"), (1, 0, "x")],
)
def test_a_side_of_an_equation_is_written_as_people_do(coefficient, constant, text):
    assert side(coefficient, constant) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [("2 + 3 * 4", 14), ("(2 + 3) * 4", 20), ("7 - 2 - 1", 4), ("1/2 - 1/3", Fraction(1, 6)), ("2^3^1 - -1", 9)],
)
def test_the_second_opinion_can_count(text, value):
    assert evaluate(text) == value
    assert solve(f"3x + 4(x - 1) = x + {value}") == (value + 4) / Fraction(6)
    for wrong in ("2 +", "(2", "2)", "a", "2 2"):
        with pytest.raises((ValueError, IndexError)):
            evaluate(wrong)
