"""Triangles and circles, solved by putting them into the plane: floats, bisection, counting the cells of a grid."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

from grpo_gym import Problem
from tests.numeric import value

Point = tuple[float, float]


def numbers(text: str) -> list[float]:
    return [float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)]


def distance(p: Point, q: Point) -> float:
    return math.hypot(p[0] - q[0], p[1] - q[1])


def area(*corners: Point) -> float:
    x, y = [p[0] for p in corners], [p[1] for p in corners]
    return abs(sum(x[k - 1] * y[k] - x[k] * y[k - 1] for k in range(len(corners)))) / 2


# --- triangles: put them into the plane


def placed(a: float, b: float, c: float) -> tuple[Point, Point, Point]:
    """Return corners A, B, C with |BC| = a, |CA| = b, |AB| = c."""
    x = (b * b + c * c - a * a) / (2 * c)
    return (0.0, 0.0), (c, 0.0), (x, math.sqrt(b * b - x * x))


def three_sides(prompt: str) -> float:
    sides = numbers(prompt.split(". ", 1)[0])
    asked = prompt.split("Find ", 1)[1]
    if "side of length" in asked:
        special = numbers(asked)[0]
        sides.remove(special)
        a_corner, b_corner, apex = placed(sides[0], sides[1], special)
        if "altitude" in asked:
            return apex[1]
        if "median" in asked:
            return distance(apex, (special / 2, 0.0))
        # the bisector: the point of the base that sees both other sides at equal distances
        low, high = a_corner[0], b_corner[0]
        for _ in range(100):
            middle = (low + high) / 2
            left = area(a_corner, (middle, 0.0), apex) / distance(a_corner, apex)
            right = area(b_corner, (middle, 0.0), apex) / distance(b_corner, apex)
            low, high = (middle, high) if left < right else (low, middle)
        return distance(apex, (low, 0.0))
    corners = placed(*sides)
    if "inscribed" in asked:
        return 2 * area(*corners) / sum(sides)
    if "circumscribed" in asked:
        (x0, y0), (x1, y1), (x2, y2) = corners
        matrix = [[2 * (x1 - x0), 2 * (y1 - y0)], [2 * (x2 - x0), 2 * (y2 - y0)]]
        centre = np.linalg.solve(matrix, [x1**2 + y1**2 - x0**2 - y0**2, x2**2 + y2**2 - x0**2 - y0**2])
        return distance(corners[0], (float(centre[0]), float(centre[1])))
    assert "exact area" in asked
    return area(*corners)


def triangle(problem: Problem) -> float:
    prompt = problem.prompt
    if prompt.startswith("A triangle has sides"):
        return three_sides(prompt)
    if prompt.startswith("Two sides"):
        a, b, degrees = numbers(prompt)
        far = (b * math.cos(math.radians(degrees)), b * math.sin(math.radians(degrees)))
        return area((0.0, 0.0), (a, 0.0), far) if "area" in prompt else distance((a, 0.0), far)
    one, two = numbers(prompt)
    legs = (one, two) if "legs" in prompt else (two, math.sqrt(one * one - two * two))
    hypotenuse = math.hypot(*legs)
    if "altitude" in prompt:
        return 2 * area((0.0, 0.0), (legs[0], 0.0), (0.0, legs[1])) / hypotenuse
    if "perimeter" in prompt:
        return sum(legs) + hypotenuse
    if "its area" in prompt:
        return legs[0] * legs[1] / 2
    return hypotenuse if "legs" in prompt else legs[1]


# --- circles


def mean_over_disc(r: float, inside: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
    """Return the area of a part of the disc of radius r, by counting the cells of a grid."""
    steps = (np.arange(-800, 800) + 0.5) * (r / 800)
    x, y = np.meshgrid(steps, steps)
    return float(np.count_nonzero((x * x + y * y <= r * r) & inside(x, y))) * (r / 800) ** 2


def circle(problem: Problem) -> float:  # noqa: C901  # one branch for each question
    prompt, n = problem.prompt, numbers(problem.prompt)
    if "has area" in prompt or "has circumference" in prompt:
        given = value(re.search(r"(?:area|circumference) (\S+)\. ", prompt)[1]).real  # type: ignore[index]
        r = math.sqrt(given / math.pi) if "has area" in prompt else given / (2 * math.pi)
        return 2 * math.pi * r if "exact circumference" in prompt else math.pi * r * r
    if "same centre" in prompt:
        return math.pi * (n[1] ** 2 - n[0] ** 2)
    if "polygon" in prompt:
        sides, r = n
        return math.pi * r * r - sides / 2 * r * r * math.sin(2 * math.pi / sides)
    if "sector of a circle" in prompt or "exact length of an arc" in prompt or "of a sector" in prompt:
        return sector(prompt, n)
    if "both tangents" in prompt:
        d, r = n
        return 2 * r * math.sin(math.acos(r / d))  # the half angle between the radii of contact
    if "A line from a point" in prompt:
        r, near, chord = n
        middle = math.sqrt(r * r - chord * chord / 4)
        return math.hypot(near + chord / 2, middle)
    if "inner tangent" in prompt or "outer tangent" in prompt:
        r, s, d = n
        sine = (r + s if "inner" in prompt else r - s) / d
        return d * math.cos(math.asin(sine))
    if "common chord" in prompt:
        r, s, d = n
        return 2 * area((0.0, 0.0), (d, 0.0), placed(s, r, d)[2]) * 2 / d
    if "Two circles of radius" in prompt:
        r, d = n[0], value(re.search(r"distance (.+?)\. ", prompt)[1]).real  # type: ignore[index]
        shared = mean_over_disc(r, lambda x, y: (x - d) ** 2 + y**2 <= r * r)
        return shared if "shared" in prompt else 2 * math.pi * r * r - shared
    if "central angle" in prompt:
        r, half = n[0], math.radians(n[1]) / 2
        if "perimeter" in prompt:
            return 2 * r * math.sin(half) + 2 * half * r
        smaller = mean_over_disc(r, lambda x, y: x >= r * math.cos(half))
        return smaller if "smaller" in prompt else math.pi * r * r - smaller
    if "distance from the centre" in prompt:
        return math.sqrt(n[1] ** 2 - (n[0] / 2) ** 2)
    if "chord is at distance" in prompt:
        return 2 * math.sqrt(n[0] ** 2 - n[1] ** 2)
    r = n[0] / 2 if "diameter" in prompt else n[0]
    return 2 * math.pi * r if "circumference" in prompt else math.pi * r * r


def sector(prompt: str, n: list[float]) -> float:
    r = n[0]
    if "has an arc of length" in prompt:
        angle = value(re.search(r"arc of length (\S+)\. ", prompt)[1]).real / r  # type: ignore[index]
    else:
        angle = math.radians(n[1])
    if "perimeter" in prompt:
        return angle * r + 2 * r
    return angle * r if "length of an arc" in prompt else angle * r * r / 2
