"""Coordinate geometry: distances and midpoints, lines, where they meet, areas, feet of perpendiculars, circles.

Points and coefficients are whole; every answer is a number, a point or the equation of a line.
"""

from __future__ import annotations

import math
from fractions import Fraction

from grpo_envs.math.answers import boxes, tuple_forms
from grpo_envs.math.exact import EXACT, also, joined, ratio, root_of, scaled, solved, step, surd
from grpo_envs.math.style import Working
from grpo_envs.math.writing import bracketed as _signed
from grpo_envs.math.writing import in_words
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

Point = tuple[int, int]


def others(problem: Problem) -> list[str]:
    """Return other right answers, boxed: of a point, of the equation of a line, of a number."""
    text = str(problem.reference)
    if text[0] == "(":
        return tuple_forms(problem)
    if " = " in text:
        left, right = text.split(" = ")
        return [*also(problem), *boxes([f"{right} = {left}", text.replace(" ", "")])]
    return also(problem)


@task("math.coordinates", **{**EXACT, "equivalents": others})
def coordinates(rng: Rng, tier: int) -> Problem:
    """Find: distances, midpoints (0), lines (1), areas (2), feet and images (3), crossings (4), circles (5)."""
    kinds = (
        (_distance, _midpoint),
        (_equation, _axis),
        (_triangle_area, _quadrilateral_area),
        (_moved, _moved, _distance_to_line),
        (_crossing,),
        (_circumcentre, _circle_through),
    )
    return rng.choice(kinds[tier])(rng)


def points(rng: Rng, count: int, largest: int) -> list[Point]:
    """Return different points with coordinates from -largest to largest."""
    while True:
        drawn = [(rng.integer(-largest, largest), rng.integer(-largest, largest)) for _ in range(count)]
        if len(set(drawn)) == count:
            return drawn


def show(x: int | Fraction, y: int | Fraction) -> str:
    """Write a point."""
    return f"({x}, {y})"


def _minus(n: int) -> str:
    return f"- {n}" if n >= 0 else f"+ {-n}"


def line_through(p: Point, q: Point) -> tuple[int, int, int]:
    """Return a, b, c with ax + by = c for both points, without a common factor, the first of a and b not negative."""
    a, b = q[1] - p[1], p[0] - q[0]
    common = math.gcd(a, b) * (1 if a > 0 or (a == 0 and b > 0) else -1)
    a, b = a // common, b // common
    return a, b, a * p[0] + b * p[1]


def equation(a: int, b: int, c: int) -> str:
    """Write ax + by = c."""
    return f"{joined([scaled(a, 'x'), scaled(b, 'y')])} = {c}"


# --- two points


def _distance(rng: Rng) -> Problem:
    p, q = points(rng, 2, 12)
    dx, dy = q[0] - p[0], q[1] - p[1]
    square = dx * dx + dy * dy
    lines = [f"{q[0]} {_minus(p[0])} = {dx}", f"{q[1]} {_minus(p[1])} = {dy}"]
    lines += [f"{_signed(dx)}^2 + {_signed(dy)}^2 = {square}", *step(f"\\sqrt{{{square}}}", root_of(square))]
    return solved(f"Find the exact distance between {show(*p)} and {show(*q)}.", lines, str(root_of(square)))


def _midpoint(rng: Rng) -> Problem:
    """Ask for the middle, or for the other end."""
    p, q = points(rng, 2, 20)
    middle = Fraction(p[0] + q[0], 2), Fraction(p[1] + q[1], 2)
    if rng.chance(1, 2):
        lines = [f"\\frac{{{p[k]} + {_signed(q[k])}}}{{2}} = {ratio(p[k] + q[k], 2)}" for k in (0, 1)]
        return solved(f"Find the midpoint of the segment from {show(*p)} to {show(*q)}.", lines, show(*middle))
    lines = [f"2 * {'(' + ratio(p[k] + q[k], 2) + ')'} {_minus(p[k])} = {q[k]}" for k in (0, 1)]
    prompt = f"The midpoint of a segment is {show(*middle)} and one end is {show(*p)}. Find the other end."
    return solved(prompt, lines, show(*q))


# --- lines


def _sloping(rng: Rng, largest: int) -> tuple[Point, Point]:
    """Return two points on a line that crosses both axes."""
    while True:
        p, q = points(rng, 2, largest)
        if p[0] != q[0] and p[1] != q[1]:
            return p, q


def _slope(p: Point, q: Point) -> tuple[str, Fraction]:
    m = Fraction(q[1] - p[1], q[0] - p[0])
    return f"\\frac{{{q[1]} {_minus(p[1])}}}{{{q[0]} {_minus(p[0])}}} = {ratio(m.numerator, m.denominator)}", m


def _equation(rng: Rng) -> Problem:
    p, q = _sloping(rng, 9)
    line, m = _slope(p, q)
    n = p[1] - m * p[0]
    number = ratio(n.numerator, n.denominator)
    slope = ratio(m.numerator, m.denominator)
    text = {"1": "x", "-1": "-x"}.get(slope, f"{slope}x")
    right = joined([text, number])
    lines = [line, f"{p[1]} - ({slope}) * {_signed(p[0])} = {number}"]
    prompt = f"Find the equation y = mx + n of the line through {show(*p)} and {show(*q)}."
    return solved(prompt, lines, f"y = {right}")


def _axis(rng: Rng) -> Problem:
    """Ask where a line meets an axis."""
    p, q = _sloping(rng, 12)
    line, m = _slope(p, q)
    slope = ratio(m.numerator, m.denominator)
    if rng.chance(1, 2):
        n = p[1] - m * p[0]
        where, point = "y-axis", (Fraction(0), n)
        lines = [line, f"{p[1]} - ({slope}) * {_signed(p[0])} = {ratio(n.numerator, n.denominator)}"]
    else:
        x = p[0] - p[1] / m
        where, point = "x-axis", (x, Fraction(0))
        lines = [line, f"{p[0]} - \\frac{{{p[1]}}}{{{slope}}} = {ratio(x.numerator, x.denominator)}"]
    prompt = f"At which point does the line through {show(*p)} and {show(*q)} meet the {where}?"
    return solved(prompt, lines, show(*point))


def _line_lines(p: Point, q: Point) -> tuple[tuple[int, int, int], list[str]]:
    """Return the line through two points, and the lines that show that both lie on it."""
    a, b, c = line_through(p, q)
    checks = [f"{_signed(a)} * {_signed(x)} + {_signed(b)} * {_signed(y)} = {c}" for x, y in (p, q)]
    return (a, b, c), checks


def _cross(work: list[str], one: tuple[int, int, int], two: tuple[int, int, int]) -> tuple[Fraction, Fraction]:
    """Return where two lines meet, by Cramer's rule; its three determinants go into the working."""
    (a, b, c), (d, e, f) = one, two
    values = []
    for p, q, r, s in ((a, b, d, e), (c, b, f, e), (a, c, d, f)):
        values.append(p * s - q * r)
        work.append(f"{_signed(p)} * {_signed(s)} - {_signed(q)} * {_signed(r)} = {values[-1]}")
    x, y = Fraction(values[1], values[0]), Fraction(values[2], values[0])
    work += step(f"\\frac{{{values[1]}}}{{{values[0]}}}", ratio(x.numerator, x.denominator))
    work += step(f"\\frac{{{values[2]}}}{{{values[0]}}}", ratio(y.numerator, y.denominator))
    return x, y


def _crossing(rng: Rng) -> Problem:
    while True:
        p, q, r, s = points(rng, 4, 9)
        (one, first), (two, second) = _line_lines(p, q), _line_lines(r, s)
        if one[0] * two[1] != one[1] * two[0]:
            break
    lines = [*first, *second]
    x, y = _cross(lines, one, two)
    prompt = f"Line g goes through {show(*p)} and {show(*q)}, line h through {show(*r)} and {show(*s)}."
    return solved(f"{prompt} Find the point where g and h meet.", lines, show(x, y))


# --- areas


def _area(work: Working, corners: list[Point]) -> str:
    total = 0
    for (a, b), (c, d) in zip(corners, [*corners[1:], corners[0]], strict=True):
        work.line(f"{_signed(a)} * {_signed(d)} - {_signed(c)} * {_signed(b)}", a * d - c * b)
        total += a * d - c * b
    area = ratio(abs(total), 2)
    sums = " + ".join(_signed(int(line.split(" = ")[1])) for line in work.lines)
    work.line(sums, total)
    work.line(f"\\frac{{|{total}|}}{{2}}", area)
    return area


def _triangle_area(rng: Rng) -> Problem:
    while True:
        corners = points(rng, 3, 12)
        (a, b), (c, d), (e, f) = corners
        if (c - a) * (f - b) != (e - a) * (d - b):
            break
    work = Working()
    area = _area(work, corners)
    return solved(f"Find the area of the triangle with corners {_listed(corners)}.", work.lines, area)


def _quadrilateral_area(rng: Rng) -> Problem:
    """Take one corner in each quadrant around a centre, so that the sides cannot cross."""
    x, y = rng.integer(-5, 5), rng.integer(-5, 5)
    signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    corners = [(x + s * rng.integer(1, 9), y + t * rng.integer(1, 9)) for s, t in signs]
    start = rng.below(4)
    corners = corners[start:] + corners[:start]
    work = Working()
    area = _area(work, corners)
    prompt = f"Find the area of the quadrilateral with corners {_listed(corners)}, in this order."
    return solved(prompt, work.lines, area)


def _listed(corners: list[Point]) -> str:
    return in_words(show(*p) for p in corners)


# --- a point and a line


def _point_and_line(rng: Rng) -> tuple[Point, tuple[int, int, int], int]:
    """Return a point, a line that is not parallel to an axis, and how far the point is off, times a^2 + b^2."""
    while True:
        x, y = rng.integer(-9, 9), rng.integer(-9, 9)
        a, b = rng.integer(1, 6), rng.integer(1, 6) * rng.choice((1, -1))
        c = rng.integer(-20, 20)
        if math.gcd(a, b, c) == 1 and a * x + b * y != c:
            return (x, y), (a, b, c), a * x + b * y - c


def _off(p: Point, line: tuple[int, int, int], off: int) -> list[str]:
    (x, y), (a, b, c) = p, line
    left = f"{a} * {_signed(x)} + {_signed(b)} * {_signed(y)} {_minus(c)} = {off}"
    return [left, f"{a}^2 + {_signed(b)}^2 = {a * a + b * b}"]


def _moved(rng: Rng) -> Problem:
    """Move the point along the normal by its distance: once to the foot of the perpendicular, twice to its image."""
    steps = rng.integer(1, 2)
    asked = ("the foot of the perpendicular from {} to", "the image of {} under reflection in")[steps - 1]
    p, line, off = _point_and_line(rng)
    square = line[0] ** 2 + line[1] ** 2
    t = Fraction(steps * off, square)
    shift = ratio(t.numerator, t.denominator)
    lines = [*_off(p, line, off), *step(f"\\frac{{{steps * off}}}{{{square}}}", shift)]
    moved = []
    for k in (0, 1):
        moved.append(p[k] - t * line[k])
        value = ratio(moved[k].numerator, moved[k].denominator)
        lines.append(f"{p[k]} - {_signed(line[k])} * ({shift}) = {value}")
    return solved(f"Find {asked.format(show(*p))} the line {equation(*line)}.", lines, show(*moved))


def _distance_to_line(rng: Rng) -> Problem:
    p, line, off = _point_and_line(rng)
    square = line[0] ** 2 + line[1] ** 2
    value = surd(abs(off), square, square)
    lines = [*_off(p, line, off), *step(f"\\frac{{{abs(off)}}}{{\\sqrt{{{square}}}}}", value)]
    return solved(f"Find the exact distance of {show(*p)} from the line {equation(*line)}.", lines, str(value))


# --- the circle through three points


def _three(rng: Rng) -> tuple[list[Point], list[str], tuple[Fraction, Fraction]]:
    """Return three points, the working, and the point at equal distance: two perpendicular bisectors meet there."""
    while True:
        corners = points(rng, 3, 6)
        (a, b), (c, d), (e, f) = corners
        if (c - a) * (f - b) != (e - a) * (d - b):
            break
    lines: list[str] = []
    bisectors = []
    for x, y in ((c, d), (e, f)):
        value = x * x + y * y - a * a - b * b
        lines.append(f"{_signed(x)}^2 + {_signed(y)}^2 - {_signed(a)}^2 - {_signed(b)}^2 = {value}")
        bisectors.append((2 * (x - a), 2 * (y - b), value))
    return corners, lines, _cross(lines, bisectors[0], bisectors[1])


def _circumcentre(rng: Rng) -> Problem:
    corners, lines, centre = _three(rng)
    return solved(f"Find the centre of the circle through {_listed(corners)}.", lines, show(*centre))


def _circle_through(rng: Rng) -> Problem:
    corners, lines, (x, y) = _three(rng)
    square = (x - corners[0][0]) ** 2 + (y - corners[0][1]) ** 2
    value = root_of(square.numerator, square.denominator)
    shown = [ratio(c.numerator, c.denominator) for c in (x, y)]
    squares = " + ".join(f"({shown[k]} {_minus(corners[0][k])})^2" for k in (0, 1))
    number = ratio(square.numerator, square.denominator)
    lines += [f"{squares} = {number}", *step(f"\\sqrt{{{number}}}", value)]
    return solved(f"Find the exact radius of the circle through {_listed(corners)}.", lines, str(value))
