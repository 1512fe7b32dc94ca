"""The algebra tasks, solved a second time by substitution, search and sympy; their forms, prompts and tiers."""

from __future__ import annotations

import dataclasses
import itertools
import re
import statistics
from fractions import Fraction

import pytest

from grpo_envs.index import FAMILIES
from grpo_envs.math.answers import number_forms
from grpo_envs.math.divisors import factorise
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.expand import is_expanded
from grpo_envs.math.inequality import is_solved
from grpo_envs.math.modular import inverse
from grpo_envs.math.polynomials import horner, multiply
from grpo_envs.math.quadratic import solve
from grpo_envs.math.sequence import nth
from grpo_envs.math.stories import names_only
from grpo_envs.math.style import Working
from grpo_envs.math.writing import (
    bracketed,
    in_words,
    plus_minus,
    polynomial,
    power,
    signed_sum,
    square_part,
    surd,
    tex,
)
from grpo_gym import Problem, Task
from grpo_gym.problem import SPLITS
from grpo_gym.registration import load_tasks
from tests.envs import second_algebra, second_numbers, second_stories
from tests.envs.formulas import line_is_true, value

SOLVERS = {**second_algebra.SOLVERS, **second_numbers.SOLVERS, **second_stories.SOLVERS}
TASKS = {name: load_tasks(f"grpo/{name}")[0] for name in SOLVERS}
TIERS = [pytest.param(task, tier, id=f"{name}-{tier}") for name, task in TASKS.items() for tier in task.tiers]


def problems(task: Task, tier: int, seeds: int = 8) -> list[Problem]:
    return [task.problem(tier, split, seed, 0) for split in SPLITS for seed in range(seeds)]


# --- right


def test_the_tasks_are_of_the_family():
    assert set(SOLVERS) <= set(FAMILIES["math"])


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_the_reference_is_what_another_method_finds(task, tier):
    for problem in problems(task, tier, seeds=12):
        assert SOLVERS[task.name](problem), (problem.prompt, problem.reference)


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_the_other_method_can_say_no(task, tier):
    made = problems(task, tier, seeds=3)
    for problem, other in itertools.pairwise(made):
        if problem.reference != other.reference:
            with pytest.raises((AssertionError, ValueError)):
                assert SOLVERS[task.name](dataclasses.replace(problem, reference=other.reference))


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_every_line_of_a_solution_is_true_and_leads_to_the_answer(task, tier):
    for problem in problems(task, tier):
        assert problem.solution is not None
        *lines, last = problem.solution.split("\n")
        assert last == f"\\boxed{{{problem.reference}}}"
        assert last == task.answer(problem)
        for line in lines:
            left, right = line.split(" = ")
            assert line_is_true(line), line
            assert left != right, line
        seen = set(re.findall(r"\d+", " ".join([problem.prompt, *lines])))
        assert set(re.findall(r"\d+", problem.reference)) <= seen | {"1"}, problem.solution


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_right_answers_are_paid_in_every_form(task, tier):
    for problem in problems(task, tier, seeds=4):
        assert task.equivalents is not None
        assert problem.solution is not None
        for text in (problem.solution, task.answer(problem), *task.equivalents(problem)):
            verdict = task.reward.score(text, problem)
            assert verdict.value == 1.0, (text, problem.reference, verdict)


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_wrong_answers_and_the_question_itself_are_not_paid(task, tier):
    made = problems(task, tier, seeds=4)
    for problem, other in zip(made, [*made[1:], made[0]], strict=True):
        wrong = [*spoilt(str(problem.reference)), problem.prompt, f"{problem.prompt}\n{task.answer_format}"]
        wrong += [f"\\boxed{{{core(problem.prompt)}}}", f"\\boxed{{{problem.prompt}}}"]
        if other.reference != problem.reference:
            wrong.append(task.answer(other))
        for text in wrong:
            assert task.reward.score(text, problem).value == 0.0, (text, problem.reference)


def core(prompt: str) -> str:
    """Return the formula that a prompt asks about."""
    text = re.sub(r"^(Compute|Solve|Expand|Write|Find n with) ", "", prompt.split(". ")[0].removesuffix("."))
    return re.split(r" for \(?x| and write| as ", text)[0]


def spoilt(reference: str) -> list[str]:
    """Return boxed answers that are near and wrong: a digit added, a member left out, an order or a bracket changed."""
    inside = reference.removeprefix("(").removesuffix(")")
    members = inside.split(", ")
    texts = [f"{reference}1" if reference[-1].isdigit() else f"{reference} + 1"]
    if "\\infty" in reference or "]" in reference or "[" in reference:
        swapped = reference.translate(str.maketrans("[]()", "()[]"))
        texts = [re.sub(r"\[-\\infty", r"(-\\infty", re.sub(r"\\infty\]", r"\\infty)", swapped))]
        texts.append(re.sub(r"\d+", lambda m: m[0] + "1", reference))
    elif len(members) > 1:
        texts.append(", ".join(members[:-1]) if inside == reference else f"({', '.join(members[:-1])})")
        texts.append(", ".join([*members, "987"]) if inside == reference else f"({', '.join([*members, '987'])})")
        if inside != reference and members[::-1] != members:
            texts.append(f"({', '.join(members[::-1])})")
    elif "x" in reference:
        texts = [reference.replace(" - ", " = ").replace(" + ", " - ").replace(" = ", " + "), f"{reference} + x - 2x"]
        texts = [text for text in texts if text != reference]
    elif reference != "0":
        texts.append(reference[1:] if reference.startswith("-") else f"-{reference}")
    return [f"\\boxed{{{text}}}" for text in texts]


# --- fair


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_a_prompt_is_plain(task, tier):
    for problem in problems(task, tier):
        assert problem.prompt.isascii()
        assert "  " not in problem.prompt
        assert not re.search(r"(?<![\d.])[01][xyt]\b|\+ -|- -|--|\^1\b|\^\{1\}|\b1 hours\b", problem.prompt), (
            problem.prompt
        )
        assert not re.search(r"\ba [aeiou]\w|-0\b", problem.prompt), problem.prompt
        assert len(problem.prompt) < 200


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_no_constant_and_no_copied_number_is_right_too_often(task, tier):
    made = [task.problem(tier, "train", seed, 1) for seed in range(300)]
    references = [problem.reference for problem in made]
    most = max(references.count(reference) for reference in set(references))
    assert most <= 0.12 * len(made), max(set(references), key=references.count)
    numbers = [re.findall(r"-?\d+", problem.prompt) for problem in made]
    for place in (0, 1, 2, 3, -2, -1):
        copied = sum(len(n) > place >= -len(n) and n[place] == r for n, r in zip(numbers, references, strict=True))
        assert copied <= 0.12 * len(made), place


@pytest.mark.parametrize("task", [pytest.param(task, id=name) for name, task in TASKS.items()])
def test_tiers_get_harder(task):
    efforts = [
        statistics.median(digit_operations(task.problem(tier, "train", seed, 2)) for seed in range(150))
        for tier in task.tiers
    ]
    assert efforts == sorted(efforts), efforts
    assert efforts[-1] >= 1.5 * efforts[0]


@pytest.mark.parametrize("task", [pytest.param(task, id=name) for name, task in TASKS.items()])
def test_answers_come_with_either_sign_where_they_can(task):
    """A generator that never draws a negative number teaches that there is none."""
    if task.name in ("math.expand", "math.quadratic", "math.roots", "math.system", "math.linear", "math.sequence"):
        references = [str(task.problem(2, "train", seed, 3).reference) for seed in range(40)]
        assert any("-" in reference for reference in references)
        assert any("-" not in reference.removeprefix("(")[:1] for reference in references)


# --- parts


WRITTEN = [
    (tex(Fraction(-3, 4)), r"-\frac{3}{4}"),
    (tex(0), "0"),
    (bracketed(-3) + bracketed(5) + bracketed(Fraction(1, 2)), "(-3)5(1/2)"),
    (power("x", 1) + power("x", 2) + power("x", 12) + power("x", "n-1"), "xx^2x^{12}x^{n-1}"),
    (signed_sum([(1, "x"), (-1, "y"), (0, "z"), (-3, "")]), "x - y - 3"),
    (signed_sum([(2, "u"), (-1, "v")], " * "), "2 * u - v"),
    (signed_sum([(0, "x")]), "0"),
    (polynomial([-1, 0, 1, 0]), "-x^3 + x"),
    (polynomial([Fraction(1, 2), -1, Fraction(-2, 3)], "t"), r"\frac{1}{2}t^2 - t - \frac{2}{3}"),
    (polynomial([7]), "7"),
    (in_words([1, 2, 3]) + in_words([1]), "1, 2 and 31"),
    (nth(1) + nth(2) + nth(3) + nth(11) + nth(23), "1st2nd3rd11th23rd"),
    (surd(2, 1, 20, 4), r"\frac{1 + \sqrt{5}}{2}"),
    (surd(0, -1, 5, 2), r"-\frac{\sqrt{5}}{2}"),
    (surd(3, -1, 5, -2), r"\frac{-3 + \sqrt{5}}{2}"),
    (surd(1, 2, -9), "1 + 6i"),
    (surd(1, 1, -3, 2), r"\frac{1 + i\sqrt{3}}{2}"),
    (surd(1, 1, 9, 2), "2"),
    (surd(1, 1, 0, 2), r"\frac{1}{2}"),
    (surd(1, 0, 5, 2), r"\frac{1}{2}"),
    (plus_minus(3, 1, 8, 1), r"3 \pm 2\sqrt{2}"),
    (plus_minus(0, 1, -4, 2), r"\pm i"),
]


def test_formulas_are_written_as_people_do():
    assert [written for written, _ in WRITTEN] == [text for _, text in WRITTEN]


def test_surds_keep_their_value():
    for a, b, n, d in [(1, 3, 12, 6), (-4, -1, 18, -2), (5, 2, -8, 4), (0, 3, 50, -10), (7, -2, 3, 1)]:
        number = value(surd(a, b, n, d))
        assert value(f"({a} + {b}*\\sqrt{{{n}}})/{d}".replace("+ -", "- ")).equals(number)


def test_the_square_part_is_the_largest():
    for n in range(1, 500):
        s, r = square_part(n)
        assert s * s * r == n
        assert all(r % (k * k) for k in range(2, 23))


def test_the_workings_show_what_they_compute():
    work = Working()
    assert solve(work, 1, -5, 6) == (["2", "3"], "")
    assert solve(work, 1, 4, 4)[0] == ["-2"]
    assert solve(work, -1, 0, 2) == ([r"-\sqrt{2}", r"\sqrt{2}"], r"\pm \sqrt{2}")
    assert horner(work, [1, -6, 11, -6], 2) == ([1, -4, 3], 0)
    assert multiply(work, [1, -1], [2, 3]) == [2, 1, -3]
    assert inverse(work, 5, 12) * 5 % 12 == 1
    assert factorise(work, 360) == {2: 3, 3: 2, 5: 1}
    assert all(line_is_true(line) for line in work.lines)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("x^2 - 3x + 2", True), ("-x^{2} + 3\\cdot x", True), ("p(x) = x^2 + 2", True), ("2 - 3x + x^2", True),
        ("$x^2 + -3x$", True), ("\\frac{1}{2}x", False), ("(x - 1)(x - 2)", False), ("{x - 1}{x - 2}", False),
        ("x^2 - x - 2x + 2", False), ("x^2 + 2 = (x + 1)x", False), ("", False), ("x x", False), ("[x - 1]x", False),
    ],
)  # fmt: skip
def test_a_product_that_is_left_is_not_expanded(text, expanded):
    assert is_expanded(text) == expanded


@pytest.mark.parametrize(
    ("text", "solved"),
    [
        ("x < 3", True), ("3 > x", True), ("1 < x \\le 2", True), (r"x \in (-\infty, 3)", True), ("(1, 2]", True),
        (r"x < 1 \text{ or } x > 2", True), ("x<1 or x>=2", True), (r"\{x \mid x < 3\}", True), ("2x < 6", False),
        ("x - 3 < 0", False), ("|x| < 3", False), ("x^2 < 9", False), ("-x > -3", False),
    ],
)  # fmt: skip
def test_an_inequality_that_is_not_solved_is_no_solution(text, solved):
    assert is_solved(text) == solved


@pytest.mark.parametrize(
    ("text", "named"),
    [("84", True), (r"84 \text{ marbles}", True), ("84 marble", True), (r"x = 84\,\mathrm{km}/\mathrm{h}", False),
     (r"84 \text{ furlongs}", False), ("Ada's marbles = 84", True), ("$84$ red", True)],
)  # fmt: skip
def test_a_story_knows_its_units(text, named):
    assert names_only(text, "Ada has 90 marbles. Some of them are red.") == named


def test_a_number_has_its_other_forms():
    assert number_forms(Problem("", "-3/4")) == [
        r"\boxed{-\frac{3}{4}}", r"\boxed{-9/12}", r"\boxed{-0.75}"
    ]  # fmt: skip
    assert r"\boxed{12.0}" in number_forms(Problem("", "12"))
    assert len(number_forms(Problem("", "1/3"))) == 2


def test_effort_counts_digit_operations():
    assert digit_operations(Problem("", "", solution="12 * 345 = 4140\n7 + 85 = 92\n\\boxed{92}")) == (1 + 6) + (1 + 2)
    assert digit_operations(Problem("", "", solution="12^3 = 1728\n\\boxed{1}")) == 1 + 4 * 2
    assert digit_operations(Problem("", "")) == 0
