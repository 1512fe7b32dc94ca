"""Triangles: Pythagoras, areas, the law of cosines, heights and medians, the circles inside and around."""

from __future__ import annotations

import math

from grpo_envs.math.angles import cosine, sine
from grpo_envs.math.exact import EXACT, Surd, ratio, root_of, solved, step, surd
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

Sides = tuple[int, int, int]

RIGHT = tuple(
    (a, b, math.isqrt(a * a + b * b))
    for a in range(3, 300)
    for b in range(a + 1, 300)
    if a * a + b * b < 300 * 300 and math.isqrt(a * a + b * b) ** 2 == a * a + b * b
)
"""Legs and hypotenuse of right triangles with whole sides below 300."""


@task("math.triangle", **EXACT)
def triangle(rng: Rng, tier: int) -> Problem:
    """Find a length or an area: right angles (0, 1), an angle given (2), Heron (3), lines (4), circles (5)."""
    kinds = (
        (_pythagoras,),
        (_right_root, _right_root, _altitude),
        (_two_sides_area, _cosine_law, _median),
        (_heron,),
        (_height, _height, _bisector),
        (_incircle, _circumcircle),
    )
    return rng.choice(kinds[tier])(rng)


def sides(rng: Rng, largest: int) -> Sides:
    """Return whole sides of a triangle that is not flat, the longest last."""
    while True:
        a, b, c = sorted(rng.integer(2, largest) for _ in range(3))
        if a + b > c:
            return a, b, c


def _named(s: Sides) -> str:
    return f"sides of length {s[0]}, {s[1]} and {s[2]}"


# --- right angles


def _pythagoras(rng: Rng) -> Problem:
    """Ask for the third side, the perimeter or the area of a right triangle with whole sides."""
    a, b, c = rng.choice(RIGHT)
    known = rng.choice((a, b))
    other = a + b - known
    if rng.chance(1, 2):
        given = f"A right triangle has a hypotenuse of length {c} and one leg of length {known}."
        lines = [f"{c}^2 - {known}^2 = {other * other}", f"\\sqrt{{{other * other}}} = {other}"]
        asked, value = "the length of the other leg", other
    else:
        given = f"A right triangle has legs of length {known} and {other}."
        lines = [f"{known}^2 + {other}^2 = {c * c}", f"\\sqrt{{{c * c}}} = {c}"]
        asked, value = "the length of its hypotenuse", c
    kind = rng.below(3)
    if kind == 1:
        asked, value = "its perimeter", a + b + c
        lines.append(f"{known} + {other} + {c} = {value}")
    elif kind == 2 and "hypotenuse" in given:
        asked, value = "its area", a * b // 2
        lines.append(f"{known} * {other} / 2 = {value}")
    return solved(f"{given} Find {asked}.", lines, str(value))


def _right_root(rng: Rng) -> Problem:
    """Ask for a side that is a root."""
    a, b = rng.integer(1, 60), rng.integer(1, 60)
    if rng.chance(1, 2):
        square = a * a + b * b
        given, asked = f"A right triangle has legs of length {a} and {b}.", "its hypotenuse"
        line = f"{a}^2 + {b}^2 = {square}"
    else:
        a, b = min(a, b), max(a, b) + 1
        square = b * b - a * a
        given = f"A right triangle has a hypotenuse of length {b} and one leg of length {a}."
        asked, line = "the other leg", f"{b}^2 - {a}^2 = {square}"
    answer = str(root_of(square))
    lines = [line, *step(f"\\sqrt{{{square}}}", answer)]
    return solved(f"{given} Find the exact length of {asked}.", lines, answer)


def _altitude(rng: Rng) -> Problem:
    """Ask for the altitude on the hypotenuse."""
    a, b = rng.integer(1, 30), rng.integer(1, 30)
    square = a * a + b * b
    c, height = root_of(square), surd(a * b, square, square)
    lines = [f"{a}^2 + {b}^2 = {square}", *step(f"\\sqrt{{{square}}}", c), f"\\frac{{{a} * {b}}}{{{c}}} = {height}"]
    prompt = f"A right triangle has legs of length {a} and {b}. Find the exact altitude on its hypotenuse."
    return solved(prompt, lines, str(height))


# --- one angle


def _angle(rng: Rng) -> int:
    """Return an angle of a triangle whose sine is known, in twelfths of pi, the right angle left out."""
    return rng.choice((2, 3, 4, 8, 9, 10))


def _two_sides_area(rng: Rng) -> Problem:
    a, b, m = rng.integer(2, 30), rng.integer(2, 30), _angle(rng)
    s = sine(m)
    area = surd(a * b * s.top, 2 * s.bottom, s.radicand)
    given = f"Two sides of a triangle have lengths {a} and {b}, and the angle between them is {15 * m} degrees."
    lines = [f"\\sin({15 * m}^\\circ) = {s}", f"\\frac{{1}}{{2}} * {a} * {b} * {s} = {area}"]
    return solved(f"{given} Find the exact area.", lines, str(area))


def _cosine_law(rng: Rng) -> Problem:
    a, b, m = rng.integer(2, 30), rng.integer(2, 30), rng.choice((4, 8))
    c = cosine(m)
    square = a * a + b * b - 2 * a * b * c.top // c.bottom
    answer = str(root_of(square))
    given = f"Two sides of a triangle have lengths {a} and {b}, and the angle between them is {15 * m} degrees."
    lines = [f"\\cos({15 * m}^\\circ) = {c}", f"{a}^2 + {b}^2 - 2 * {a} * {b} * {_bracket(c)} = {square}"]
    lines += step(f"\\sqrt{{{square}}}", answer)
    return solved(f"{given} Find the exact length of the third side.", lines, answer)


def _bracket(value: Surd) -> str:
    return f"({value})" if value.top < 0 else str(value)


# --- three sides


def area(s: Sides) -> tuple[Surd, list[str]]:
    """Return the area by Heron's formula, 16 times its square a whole number, and its lines."""
    a, b, c = s
    total, parts = a + b + c, (b + c - a, a + c - b, a + b - c)
    square = total * math.prod(parts)
    value = surd(1, 4, square)
    lines = [f"{a} + {b} + {c} = {total}"]
    lines += [f"{b} + {c} - {a} = {parts[0]}", f"{a} + {c} - {b} = {parts[1]}", f"{a} + {b} - {c} = {parts[2]}"]
    lines.append(f"{total} * {parts[0]} * {parts[1]} * {parts[2]} = {square}")
    lines += step(f"\\frac{{\\sqrt{{{square}}}}}{{4}}", value)
    return value, lines


def _heron(rng: Rng) -> Problem:
    s = sides(rng, 30)
    value, lines = area(s)
    return solved(f"A triangle has {_named(s)}. Find its exact area.", lines, str(value))


def _height(rng: Rng) -> Problem:
    s = sides(rng, 25)
    base = rng.choice(s)
    value, lines = area(s)
    height = surd(2 * value.top, base * value.bottom, value.radicand)
    lines.append(f"2 * {value} / {base} = {height}")
    return solved(
        f"A triangle has {_named(s)}. Find the exact length of the altitude on the side of length {base}.",
        lines,
        str(height),
    )


def _median(rng: Rng) -> Problem:
    while True:
        s = sides(rng, 40)
        if len(set(s)) == 3:
            break
    base = rng.choice(s)
    a, b = (x for x in s if x != base)
    square = 2 * a * a + 2 * b * b - base * base
    answer = surd(1, 2, square)
    lines = [f"2 * {a}^2 + 2 * {b}^2 - {base}^2 = {square}"]
    lines += [f"\\frac{{{square}}}{{4}} = {ratio(square, 4)}"] if square % 2 == 0 else []
    lines += step(f"\\frac{{\\sqrt{{{square}}}}}{{2}}", answer)
    asked = f"the median to the side of length {base}"
    return solved(f"A triangle has {_named(s)}. Find the exact length of {asked}.", lines, str(answer))


def _bisector(rng: Rng) -> Problem:
    """Ask for the bisector of the angle between a and b: ab(1 - c^2 / (a + b)^2) is its square."""
    while True:
        s = sides(rng, 25)
        if len(set(s)) == 3:
            break
    c = rng.choice(s)
    a, b = (x for x in s if x != c)
    total = (a + b) ** 2
    square = a * b * (total - c * c)
    answer = surd(1, a + b, square)
    lines = [f"{a} + {b} = {a + b}", f"{a + b}^2 = {total}", f"{a} * {b} * ({total} - {c}^2) = {square}"]
    lines += step(f"\\frac{{\\sqrt{{{square}}}}}{{{a + b}}}", answer)
    asked = f"the bisector of the angle opposite to the side of length {c}, from its corner to that side"
    return solved(f"A triangle has {_named(s)}. Find the exact length of {asked}.", lines, str(answer))


def _incircle(rng: Rng) -> Problem:
    s = sides(rng, 30)
    value, lines = area(s)
    total = sum(s)
    radius = surd(2 * value.top, total * value.bottom, value.radicand)
    lines.append(f"2 * {value} / {total} = {radius}")
    return solved(f"A triangle has {_named(s)}. Find the exact radius of its inscribed circle.", lines, str(radius))


def _circumcircle(rng: Rng) -> Problem:
    s = sides(rng, 30)
    value, lines = area(s)
    product_of_sides = math.prod(s)
    radius = surd(product_of_sides * value.bottom, 4 * value.top * value.radicand, value.radicand)
    lines += [f"{s[0]} * {s[1]} * {s[2]} = {product_of_sides}"]
    lines.append(f"\\frac{{{product_of_sides}}}{{4 * {value}}} = {radius}")
    return solved(f"A triangle has {_named(s)}. Find the exact radius of its circumscribed circle.", lines, str(radius))
