"""Geometry and proofs, solved a second time: coordinates and floats, brute force over points, Groebner bases."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable
from fractions import Fraction

import pytest
import sympy

from grpo_gym import Problem, Task
from grpo_gym.problem import SPLITS
from grpo_gym.registration import load_tasks
from grpo_rewards.math.proof import FLOOR, UnsoundError, check_proof
from tests.geometry import area, circle, distance, triangle
from tests.numeric import close, value

NAMES = ["triangle", "circle", "coordinates", "lattice_point", "proof"]
OURS = {f"math.{name}": load_tasks(f"grpo/math.{name}")[0] for name in NAMES}
TIERS = [pytest.param(task, tier, id=f"{name}-{tier}") for name, task in OURS.items() for tier in task.tiers]
SEEDS = 60

ODD = re.compile(r"(?<![\d.])1[a-z\\](?!boxed)|\+ -|- -|(?<![\d.])0[a-z\\]|--|\{\}|-0(?![.\d])")
"""What nobody writes: 1x, 0x, + -3, - -3, -0, empty braces."""


def problems(task: Task, tier: int) -> list[Problem]:
    return [task.problem(tier, split, seed, 0) for split in SPLITS for seed in range(SEEDS // 3)]


# --- coordinates


def points(text: str) -> list[tuple[Fraction, Fraction]]:
    pairs = re.findall(r"\((-?\d+(?:/\d+)?), (-?\d+(?:/\d+)?)\)", text)
    return [(Fraction(x), Fraction(y)) for x, y in pairs]


def coordinates(problem: Problem) -> None:  # noqa: C901  # one branch for each question
    prompt, reference = problem.prompt, problem.reference
    p = points(prompt)
    is_point = reference[0] == "("
    answer = points(reference)[0] if is_point else (Fraction(0), Fraction(0))
    if "midpoint" in prompt:
        middle = answer if "Find the midpoint" in prompt else p[0]
        one, two = p if "Find the midpoint" in prompt else (p[1], answer)
        assert all(one[k] + two[k] == 2 * middle[k] for k in (0, 1))
    elif "exact distance between" in prompt:
        assert close(distance(*p), value(reference))  # type: ignore[arg-type]
    elif "y = mx + n" in prompt:
        right = reference.removeprefix("y = ")
        assert all(close(value(right, x=float(x)), float(y)) for x, y in p)
    elif "meet the" in prompt:
        assert answer[1 if "x-axis" in prompt else 0] == 0
        assert area(*((float(x), float(y)) for x, y in (*p, answer))) < 1e-9
    elif "area of" in prompt:
        assert close(area(*((float(x), float(y)) for x, y in p)), value(reference))
        if "quadrilateral" in prompt:
            assert simple(p)
    elif "the line " in prompt:
        point_and_line(prompt, reference, p[0])
    elif "where g and h meet" in prompt:
        for pair in (p[:2], p[2:]):
            (a, b), (c, d) = pair
            assert (c - a) * (answer[1] - b) == (answer[0] - a) * (d - b)
    else:
        corners = [(float(x), float(y)) for x, y in p]
        if is_point:
            distances = [(x - answer[0]) ** 2 + (y - answer[1]) ** 2 for x, y in p]
            assert len(set(distances)) == 1
        else:
            sides = math.prod(distance(corners[i], corners[j]) for i, j in ((0, 1), (1, 2), (0, 2)))
            assert close(sides / (4 * area(*corners)), value(reference))


def point_and_line(prompt: str, reference: str, p: tuple[Fraction, Fraction]) -> None:
    equation = re.search(r"the line (.+) = (-?\d+)", prompt)
    assert equation is not None

    def off(x: float, y: float) -> float:
        return value(equation[1], x=x, y=y).real - float(equation[2])

    a, b = off(1, 0) - off(0, 0), off(0, 1) - off(0, 0)
    if "exact distance" in prompt:
        assert close(abs(off(float(p[0]), float(p[1]))) / math.hypot(a, b), value(reference))
        return
    q = points(reference)[0]
    dx, dy = float(q[0] - p[0]), float(q[1] - p[1])
    assert abs(dx * b - dy * a) < 1e-9  # along the normal
    assert abs(off(float(q[0]), float(q[1])) + (off(float(p[0]), float(p[1])) if "image" in prompt else 0)) < 1e-9


def simple(corners: list[tuple[Fraction, Fraction]]) -> bool:
    """Whether no two sides that are no neighbours cross."""
    a, b, c, d = corners

    def turn(p: tuple[Fraction, Fraction], q: tuple[Fraction, Fraction], r: tuple[Fraction, Fraction]) -> Fraction:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    def cross(p: object, q: object, r: object, s: object) -> bool:
        return turn(p, q, r) * turn(p, q, s) < 0 and turn(r, s, p) * turn(r, s, q) < 0  # type: ignore[arg-type]

    return not cross(a, b, c, d) and not cross(b, c, d, a)


def lattice_point(problem: Problem) -> None:
    """What the prompt says in words holds for the reference, and for no other point than those the reward pays."""
    prompt = problem.prompt
    x, y = (int(n) for n in points(problem.reference)[0])
    given = [(int(a), int(b)) for a, b in points(prompt)]

    def fits(x: int, y: int) -> bool:
        ok = True
        for left, sign, right in re.findall(r"(?:on the line |with |and )([-\dxy+ ]+?) (=|<|>) (-?\d+)", prompt):
            a, b = value(left, x=x, y=y).real, float(right)
            ok = ok and {"=": a == b, "<": a < b, ">": a > b}[sign]
        if match := re.search(r"at distance \\sqrt\{(\d+)\}", prompt):
            ok = ok and (x - given[0][0]) ** 2 + (y - given[0][1]) ** 2 == int(match[1])
        if "equal distances" in prompt:
            one, two = ((x - a) ** 2 + (y - b) ** 2 for a, b in given)
            ok = ok and one == two
        if "right angle" in prompt:
            p, q = given[:2]
            ok = ok and (p[0] - q[0]) * (x - q[0]) + (p[1] - q[1]) * (y - q[1]) == 0
            longer = re.search(r"longer than \\sqrt\{(\d+)\}", prompt)
            ok = ok and (x - q[0]) ** 2 + (y - q[1]) ** 2 > int(longer[1])  # type: ignore[index]
        if match := re.search(r"has area (\d+)", prompt):
            ok = ok and area(*given, (x, y)) == int(match[1])
        return ok

    assert fits(x, y)
    task = OURS["math.lattice_point"]
    source = random.Random(problem.prompt)
    near = [(x + source.randint(-6, 6), y + source.randint(-6, 6)) for _ in range(12)]
    for a, b in near:
        assert task.reward.score(f"\\boxed{{({a}, {b})}}", problem).value == float(fits(a, b)), (problem.prompt, a, b)
    assert task.reward.score(f"\\boxed{{({x + 0.5}, {y})}}", problem).value == 0.0


# --- proofs: every step follows from the given equations


SYMBOLS = sympy.symbols("x y z")


def expression(text: str) -> sympy.Expr:
    spelled = re.sub(r"(?<=[\dxyz)])(?=[xyz(])", "*", text.replace("^", "**"))
    return sympy.sympify(spelled, locals=dict(zip("xyz", SYMBOLS, strict=True)))


def equation(text: str) -> sympy.Expr:
    left, right = text.split(" = ")
    return sympy.expand(expression(left) - expression(right))


def proof(problem: Problem) -> None:
    """The goal lies in the ideal of the given equations: it holds wherever they do."""
    basis = sympy.groebner([equation(text) for text in problem.meta["given"]], *SYMBOLS, order="grevlex")
    assert basis.contains(equation(problem.reference))
    assert problem.prompt.endswith(f"prove {problem.reference}.")
    assert len(str(problem.solution).split("\n")) == problem.meta["steps"]
    if all(len(re.findall(r"[xyz]", text)) <= 4 and "^" not in text for text in problem.meta["given"]):
        assert basis.exprs != [1]  # the given equations do not contradict each other


def number(solve: Callable[[Problem], float], tolerance: float = 1e-9) -> Callable[[Problem], None]:
    def check(problem: Problem) -> None:
        found = solve(problem)
        assert close(found, value(problem.reference), tolerance), (problem.prompt, problem.reference, found)

    return check


SOLVERS: dict[str, Callable[[Problem], None]] = {
    "math.triangle": number(triangle),
    "math.circle": number(circle, 5e-3),  # areas are counted on a grid
    "math.coordinates": coordinates,
    "math.lattice_point": lattice_point,
    "math.proof": proof,
}


def test_every_task_here_has_a_second_solver():
    assert set(SOLVERS) == set(OURS)


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_the_reference_is_what_another_method_finds(task, tier):
    few = problems(task, tier)
    for problem in few[::4] if task.name in ("math.proof", "math.circle") else few:
        SOLVERS[task.name](problem)


@pytest.mark.parametrize(("task", "tier"), [p for p in TIERS if "proof" not in str(p.id)])
def test_every_line_of_a_solution_is_true_and_the_last_is_the_answer(task, tier):
    for problem in problems(task, tier):
        *lines, last = str(problem.solution).split("\n")
        assert last == f"\\boxed{{{problem.reference}}}" == task.answer(problem)
        for line in lines:
            sides = line.split(" = ")
            assert len(sides) == 2, line
            assert sides[0] != sides[1], line
            assert close(value(sides[0]), value(sides[1])), line


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_a_prompt_is_written_as_people_do(task, tier):
    for problem in problems(task, tier):
        for text in (problem.prompt, str(problem.solution)):
            assert text.isascii()
            assert "  " not in text
            assert not ODD.search(text), text
        assert len(problem.prompt) < 260
        if task.name != "math.proof":
            assert f"boxed{{{problem.reference}}}" not in problem.prompt


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_no_constant_answer_is_right_too_often(task, tier):
    drawn = [task.problem(tier, "train", seed, 1) for seed in range(60)]
    answers = sorted({*(task.answer(problem) for problem in drawn[:30]), "\\boxed{1}", "\\boxed{(0, 0)}"})
    for answer in answers:
        paid = sum(float(task.reward.score(answer, problem)) for problem in drawn[30:])
        assert paid <= 4, answer


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_right_answers_in_every_form_are_paid_and_others_are_not(task, tier):
    paid = 0.0
    for problem, other in itertools.pairwise(problems(task, tier)[:25]):
        assert task.reward.score(problem.solution, problem).value == 1.0, problem
        for text in task.equivalents(problem) if task.equivalents else ():
            verdict = task.reward.score(text, problem)
            assert verdict.value == 1.0, (text, problem.reference, verdict)
        if other.reference != problem.reference:
            paid += float(task.reward.score(task.answer(other), problem))
        for probe in task.reward.probes():
            assert float(task.reward.score(probe.response(problem), problem)) <= probe.at_most, probe.name
    assert paid <= (1 if task.name == "math.lattice_point" else 0)  # a constructed answer may fit by chance


# --- the checker of proofs


GIVEN = ["x + y = 5", "xy = 6"]
GOAL = "x^2 + y^2 = 13"
RIGHT = """(3) x^2 + 2xy + y^2 = 25 by square (1)
(4) 2xy = 12 by multiply (2) by 2
(5) x^2 + y^2 = 13 by subtract (4) from (3)"""


def test_a_sound_proof_counts_its_steps_whatever_stands_around_it():
    assert check_proof(GIVEN, GOAL, RIGHT) == 3
    talk = "Let us begin.\n" + RIGHT.replace("(4)", "\nNow the product.\n- (4)", 1) + "\nThat was to be shown."
    assert check_proof(GIVEN, GOAL, talk) == 3
    latex = RIGHT.replace("2xy = 12", "$2 \\cdot x \\cdot y = 12$").replace("x^2 + 2xy", "x^{2} + 2xy")
    assert check_proof(GIVEN, GOAL, latex) == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("= 25", "= 24", "does not follow by square"),
        ("2xy = 12", "2xy = 13", "does not follow by multiply"),
        ("subtract (4) from (3)", "subtract (3) from (4)", "does not follow"),
        ("subtract (4) from (3)", "subtract (5) from (3)", "there is no equation"),
        ("(4) 2xy", "(5) 2xy", "should have the number"),
        ("square (1)", "divide (1) by 0", "only a number that is not 0"),
        ("square (1)", "divide (1) by x", "only a number that is not 0"),
        ("square (1)", "substitute (1) in (2)", "does not say what a variable is"),
        ("x^2 + y^2 = 13", "x^2 + y^2 = 13 + 0x^3y", ""),
        ("x^2 + y^2 = 13 by", "13 = x^2 + y^2 by", "does not follow"),
    ],
)
def test_an_unsound_step_is_refused(old, new, message):
    proof_text = RIGHT.replace(old, new, 1)
    if not message:
        assert check_proof(GIVEN, GOAL, proof_text) == 3  # the same polynomial in other words
        return
    with pytest.raises(UnsoundError, match=re.escape(message)):
        check_proof(GIVEN, GOAL, proof_text)


def test_a_longer_sound_proof_is_worth_less_and_never_nothing():
    task = OURS["math.proof"]
    problem = Problem("?", GOAL, meta={"given": GIVEN, "steps": 3})
    values = []
    for padding in range(0, 40, 6):
        lines = RIGHT.split("\n")
        for k in range(padding):
            lines.append(f"({6 + k}) x^2 + y^2 = 13 by add 0 to ({5 + k})")
        values.append(float(task.reward.score("\n".join(lines), problem)))
    assert values[0] == 1.0
    assert values == sorted(values, reverse=True)
    assert values[1] == pytest.approx(3 / 9)
    assert values[-1] == FLOOR


@pytest.mark.parametrize(
    "hostile",
    [
        "(3) x = " + "9" * 15_000 + " by square (1)",
        "(3) (x + y + z)^40 = 1 by square (1)",
        "(3) " * 4_000,
        "(3) x = 1 by add (x+1)^(2^9) to (1)",
        "(3) " + "(" * 9_000 + " = 1 by square (1)",
        "(3) x = 1 by " + "by " * 5_000,
    ],
)
def test_a_hostile_proof_is_worth_nothing_and_costs_little(hostile):
    problem = Problem("?", GOAL, meta={"given": GIVEN, "steps": 3})
    assert OURS["math.proof"].reward.score(hostile, problem).value == 0.0
