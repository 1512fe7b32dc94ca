"""Analysis and linear algebra, solved a second time: numeric derivatives, quadrature, numpy, complex arithmetic."""

from __future__ import annotations

import cmath
import itertools
import math
import re
from collections.abc import Callable

import numpy as np
import pytest
import sympy

from grpo_envs.math.exact import plain
from grpo_gym import Problem, Task
from grpo_gym.problem import SPLITS
from grpo_gym.registration import load_tasks
from tests.numeric import close, limit, value

NAMES = ["derivative", "integral", "antiderivative", "limit", "trigonometry", "complex"]
NAMES += ["determinant", "inverse", "matrix_product", "eigenvalues"]
OURS = {f"math.{name}": load_tasks(f"grpo/math.{name}")[0] for name in NAMES}
TIERS = [pytest.param(task, tier, id=f"{name}-{tier}") for name, task in OURS.items() for tier in task.tiers]
SEEDS = 45

POINTS = (0.37 + 0.21j, 1.21 - 0.4j, 2.63 + 0.3j)
"""Off the real axis: logarithms of negative numbers jump on it."""


ODD = re.compile(r"(?<![\d.])1[a-z\\](?!boxed)|\+ -|- -|(?<![\d.])0[a-z\\]|--|\{\}|-0(?![.\d])")
"""What nobody writes: 1x, 0x, + -3, - -3, -0, empty braces."""


def problems(task: Task, tier: int) -> list[Problem]:
    return [task.problem(tier, split, seed, 0) for split in SPLITS for seed in range(SEEDS // 3)]


def read(pattern: str, text: str) -> list[str]:
    match = re.fullmatch(pattern, text)
    assert match is not None, text
    return list(match.groups())


def rows(text: str) -> np.ndarray:
    """Read [[1, 2], [3, 4/5]] or a pmatrix."""
    text = text.removeprefix("\\begin{pmatrix}").removesuffix("\\end{pmatrix}")
    if "&" in text or "\\\\" in text:
        return np.array([[value(cell).real for cell in row.split("&")] for row in text.split("\\\\")])
    found = [[value(cell).real for cell in row.split(",")] for row in re.findall(r"\[([^\[\]]+)\]", text)]
    return np.array(found)


def same_function(f: str, g: str) -> bool:
    return all(close(value(f, x=x), value(g, x=x), 1e-6) for x in POINTS)


# --- the second solvers: they assert that the reference of a problem is right


def derivative(problem: Problem) -> None:
    if "f'(" in problem.prompt:
        f, at = read(r"Let f\(x\) = (.+)\. Find f'\((-?\d+)\)\.", problem.prompt)
        assert close(value(f"\\frac{{d}}{{dx}}({f})", x=float(at)), value(problem.reference), 1e-6)
        return
    (f,) = read(r"Find the derivative of (.+) with respect to x\.", problem.prompt)
    assert same_function(f"\\frac{{d}}{{dx}}({f})", problem.reference)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def integral(problem: Problem) -> None:
    f, low, high = read(r"Compute the integral of (.+) from x = (.+) to x = (.+)\.", problem.prompt)
    a, b = value(low).real, value(high).real
    total, pieces = 0.0, 4
    for k in range(pieces):
        left, width = a + (b - a) * k / pieces, (b - a) / pieces
        total += (
            sum(w * value(f, x=left + width * (1 + t) / 2).real for t, w in zip(NODES, WEIGHTS, strict=True))
            * width
            / 2
        )
    assert close(total, value(problem.reference), 1e-4 if "sqrt" in f else 1e-8)


def antiderivative(problem: Problem) -> None:
    (f,) = read(r"Find an antiderivative of (.+) with respect to x\.", problem.prompt)
    assert problem.meta["integrand"] == f
    assert same_function(f"\\frac{{d}}{{dx}}({problem.reference})", f)


def limit_of(problem: Problem) -> None:
    f, to = read(r"Find the limit of (.+) as x approaches (.+)\.", problem.prompt)
    assert close(limit(f, to), value(problem.reference), 1e-4), problem


def roots_in_a_turn(equation: str) -> list[float]:
    """Scan [0, 2 pi) for roots."""
    left, right = equation.split(" = ")

    def difference(x: float) -> float:
        return (value(left, x=x) - value(right, x=x)).real

    grid = [k * math.pi / 72 for k in range(144)]  # every root of these equations is on it
    return [x for x in grid if abs(difference(x)) < 1e-9]


def trigonometry(problem: Problem) -> None:
    prompt, reference = problem.prompt, problem.reference
    if prompt.startswith("Compute"):
        assert close(value(prompt.removeprefix("Compute ").removesuffix(".")), value(reference))
    elif prompt.startswith("Solve"):
        (equation,) = read(r"Solve (.+) for 0 \\le x < 2\\pi\. Give all solutions\.", prompt)
        answers = [value(part).real for part in reference.split(", ")]
        assert len(answers) == len(roots_in_a_turn(equation))
        assert all(close(a, b) for a, b in zip(answers, roots_in_a_turn(equation), strict=True))
    else:
        given = re.findall(r"\\(sin|cos|tan)\(([st])\) = (\S+) with (\S+) < [st] < (\S+?)(?=\.| and)", prompt)
        angles = {}
        for name, letter, ratio, low, high in given:
            a, b, target = value(low).real, value(high).real, value(ratio).real
            function = {"sin": math.sin, "cos": math.cos, "tan": math.tan}[name]
            for _ in range(200):  # the functions are monotonous within a quadrant
                middle = (a + b) / 2
                rising = function(b - 1e-9 * (b - a)) > function(a + 1e-9 * (b - a))
                a, b = (middle, b) if (function(middle) < target) == rising else (a, middle)
            angles[letter] = (a + b) / 2
        (asked,) = read(r".*Find (.+)\.", prompt)
        assert close(value(asked, **angles), value(reference), 1e-7)


def complex_numbers(problem: Problem) -> None:
    prompt, reference = problem.prompt, problem.reference
    if prompt.startswith("Compute"):
        assert close(value(prompt.removeprefix("Compute ").removesuffix(".")), value(reference))
    elif prompt.startswith("Find the modulus"):
        (f,) = read(r"Find the modulus of (.+)\.", prompt)
        assert close(abs(value(f)), value(reference))
    else:
        (equation,) = read(r"Find all complex numbers z with (.+)\.", prompt)
        left, right = equation.split(" = ")
        found = [value(part) for part in reference.split(", ")]
        assert len(found) == 2
        assert abs(found[0] - found[1]) > 0.5
        for z in found:
            assert close(value(left, z=z), value(right, z=z))


def determinant(problem: Problem) -> None:
    if "k" not in problem.prompt.replace("Find k", "").replace("determinant of", ""):
        (matrix,) = read(r"Find the determinant of (.+)\.", problem.prompt)
        assert close(np.linalg.det(rows(matrix)), value(problem.reference), 1e-9)
        return
    matrix, target = read(r"The determinant of (.+) is (-?\d+)\. Find k\.", problem.prompt)
    assert close(np.linalg.det(rows(matrix.replace("k", problem.reference))), float(target), 1e-9)
    other = matrix.replace("k", str(int(problem.reference) + 1))
    assert not close(np.linalg.det(rows(other)), float(target), 1e-9)


def inverse(problem: Problem) -> None:
    (matrix,) = read(r"Find the inverse of the matrix (.+)\.", problem.prompt)
    a, b = rows(matrix), rows(problem.reference)
    assert np.allclose(a @ b, np.eye(len(a)), atol=1e-9)


def matrix_product(problem: Problem) -> None:
    if problem.prompt.endswith("Find A^3."):
        (matrix,) = read(r"Let A = (.+)\. Find A\^3\.", problem.prompt)
        expected = np.linalg.matrix_power(rows(matrix), 3)
    else:
        left, right, asked = read(r"Let A = (.+) and B = (.+)\. Find (AB|AB - BA)\.", problem.prompt)
        a, b = rows(left), rows(right)
        expected = a @ b - b @ a if asked == "AB - BA" else a @ b
    assert np.array_equal(rows(problem.reference), expected)


def eigenvalues(problem: Problem) -> None:
    (matrix,) = read(r"Find all eigenvalues of the matrix (.+), complex ones.+", problem.prompt)
    a = rows(matrix)
    found = [value(part) for part in problem.reference.split(", ")]
    for t in found:
        assert abs(np.linalg.det(a - t * np.eye(len(a)))) < 1e-6 * max(1.0, np.abs(a).max() ** len(a))
    assert all(abs(s - t) > 1e-6 for s, t in itertools.combinations(found, 2))
    for t in np.linalg.eigvals(a):  # a double one is found to a few digits only
        assert min(abs(t - s) for s in found) < 1e-3


SOLVERS: dict[str, Callable[[Problem], None]] = {
    "math.derivative": derivative,
    "math.integral": integral,
    "math.antiderivative": antiderivative,
    "math.limit": limit_of,
    "math.trigonometry": trigonometry,
    "math.complex": complex_numbers,
    "math.determinant": determinant,
    "math.inverse": inverse,
    "math.matrix_product": matrix_product,
    "math.eigenvalues": eigenvalues,
}


def test_every_task_here_has_a_second_solver():
    assert set(SOLVERS) == set(OURS)


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_the_reference_is_what_another_method_finds(task, tier):
    for problem in problems(task, tier):
        SOLVERS[task.name](problem)


# --- the working


def check_line(line: str, problem: Problem) -> None:
    """Assert that a line of working is true: an identity, or a step of solving that holds for an answer."""
    if line.startswith("\\lim"):
        values = []
        for side in line.split(" = "):
            match = re.fullmatch(r"\\lim_\{x \\to ([^}]+)\} (.+)", side)
            values.append(limit(match[2], match[1]) if match else value(side))
        assert all(close(a, b, 1e-4) for a, b in itertools.pairwise(values)), line
    elif "[[" in line:
        left, right = line.split(" = ")
        operator = " - " if " - " in left else " * "
        parts = [rows(part) if "[" in part else value(part).real for part in left.split(operator)]
        right_parts = [rows(part) if "[" in part else value(part).real for part in right.split(" * ")]
        expected = right_parts[0] if len(right_parts) == 1 else right_parts[0] * right_parts[1]
        found = parts[0]
        if len(parts) == 2:
            one, two = parts
            both = isinstance(one, np.ndarray) and isinstance(two, np.ndarray)
            found = one - two if operator == " - " else (np.matmul(one, two) if both else one * two)
        assert np.allclose(found, expected), line
    elif match := re.fullmatch(r"(\d*[xtz]) = (.+)", line):
        assert ", " in match[2] or value(match[2]) is not None
    else:
        sides = line.split(" = ")
        assert len(sides) >= 2, line
        bare = re.sub(r"\\[a-z]+|d\}\{dx\}", " ", line)
        unknowns = sorted(set(re.findall(r"(?<![a-zA-Z\\])[xtzks](?![a-zA-Z])", bare)))
        candidates: list[dict[str, complex]] = [dict.fromkeys(unknowns, point) for point in POINTS]
        if all(all_equal(sides, point) for point in candidates):
            return
        assert any(all_equal(sides, point) for point in solutions(problem, unknowns)), (line, problem.prompt)


def all_equal(sides: list[str], point: dict[str, complex]) -> bool:
    return all(close(a, b, 1e-6) for a, b in itertools.pairwise(value(side, **point) for side in sides))


def solutions(problem: Problem, unknowns: list[str]) -> list[dict[str, complex]]:
    """Return the values that an answer gives its unknown, or the angles that a question describes."""
    if problem.task == "math.trigonometry" and problem.prompt.startswith("Let"):
        points: list[dict[str, complex]] = [{}]
        for name, letter, ratio, low, high in re.findall(
            r"\\(sin|cos|tan)\(([st])\) = (\S+) with (\S+) < [st] < (\S+?)(?=\.| and)", problem.prompt
        ):
            inverse_function = {"sin": math.asin, "cos": math.acos, "tan": math.atan}[name]
            base = inverse_function(value(ratio).real)
            angles = [s * base + k * math.pi for s in (1, -1) for k in (-1, 0, 1, 2, 3)]
            function = {"sin": math.sin, "cos": math.cos, "tan": math.tan}[name]
            inside = [a for a in angles if value(low).real < a < value(high).real]
            inside = [a for a in inside if close(function(a), value(ratio), 1e-9)]
            points = [{**point, letter: angle} for point in points for angle in inside]
        return points
    return [{name: value(part) for name in unknowns} for part in problem.reference.split(", ")]


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_every_line_of_a_solution_is_true_and_the_last_is_the_answer(task, tier):
    for problem in problems(task, tier):
        assert problem.solution is not None
        *lines, last = str(problem.solution).split("\n")
        assert last == f"\\boxed{{{problem.reference}}}" == task.answer(problem)
        assert lines or tier == 0, problem
        antiderivatives = [line.removeprefix("F(x) = ") for line in lines if line.startswith("F(x) = ")]
        for line in lines:
            if line.startswith("F("):
                at, shown = read(r"F\((.+?)\) = (.+)", line)
                if at == "x":
                    (f,) = read(r"Compute the integral of (.+) from x = .+", problem.prompt)
                    assert same_function(f"\\frac{{d}}{{dx}}({shown})", f), line
                else:
                    assert close(value(antiderivatives[0], x=value(at)), value(shown)), line
            else:
                check_line(line, problem)


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_a_prompt_is_written_as_people_do(task, tier):
    for problem in problems(task, tier):
        for text in (problem.prompt, str(problem.solution)):
            assert text.isascii()
            assert "  " not in text
            assert not ODD.search(text), text
        assert len(problem.prompt) < 260
        assert f"boxed{{{problem.reference}}}" not in problem.prompt


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_no_constant_answer_and_no_copied_number_is_right_too_often(task, tier):
    drawn = [task.problem(tier, "train", seed, 1) for seed in range(200)]
    references = [problem.reference for problem in drawn]
    assert max(references.count(reference) for reference in set(references)) <= 20
    for place in (*range(6), -1, -2, -3):
        copied = [re.findall(r"-?\d+", problem.prompt) for problem in drawn]
        hits = sum(len(c) > abs(place) and c[place] == r for c, r in zip(copied, references, strict=True))
        assert hits <= 20, place


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_right_answers_in_every_form_are_paid_and_others_are_not(task, tier):
    drawn = problems(task, tier)[:20]
    for problem, other in itertools.pairwise(drawn):
        assert task.reward.score(problem.solution, problem).value == 1.0, problem
        for text in task.equivalents(problem):
            verdict = task.reward.score(text, problem)
            assert verdict.value == 1.0, (text, problem.reference, verdict)
        if other.reference != problem.reference:
            assert task.reward.score(task.answer(other), problem).value == 0.0


# --- the second opinion itself


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\frac{5\pi\sqrt{3}}{2}", 5 * math.pi * math.sqrt(3) / 2),
        (r"3x^2\cos(x^2 + 1)", 3 * 4 * math.cos(5)),
        (r"\sin^2(2x)e^{-x}", math.sin(4) ** 2 * math.exp(-2)),
        ("(3 - 2i)^2", (3 - 2j) ** 2),
        (r"|-3 + 4i|^2", 25),
        (r"\frac{d}{dx}(x^3\ln(x))", 12 * math.log(2) + 4),
        ("2 * -3^2", -18),
        (r"\cos(60^\circ)", 0.5),
    ],
)
def test_the_second_opinion_can_count(text, expected):
    assert close(value(text, x=2), expected, 1e-9)
    if "d}" not in text and "circ" not in text:
        assert close(value(plain(text), x=2), expected, 1e-9)


def test_the_second_opinion_agrees_with_sympy_on_limits():
    x = sympy.Symbol("x")
    assert close(limit(r"\frac{\sin(3x)}{2x}", "0"), float(sympy.limit(sympy.sin(3 * x) / (2 * x), x, 0)), 1e-9)
    assert close(limit(r"(1 + \frac{2}{x})^{3x}", "\\infty"), cmath.exp(6), 1e-6)
