"""Give a point: any point with whole coordinates that fulfils the conditions is right; it is checked by putting it in.

The conditions stand in `meta` as the reward reads them and in the prompt as people do. Every problem is built around a
point that fulfils them; how many others do is left open.
"""

from __future__ import annotations

import math

from grpo_envs.boxed import boxed
from grpo_envs.math.answers import boxes, tuple_forms
from grpo_envs.math.derivative import nonzero
from grpo_envs.math.exact import joined, length_of_working, scaled
from grpo_envs.math.style import ANSWER_FORMAT, Working
from grpo_envs.math.writing import in_words
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.math.substitution import SubstitutionReward

Point = tuple[int, int]


def others(problem: Problem) -> list[str]:
    """Return other right answers, boxed: other spellings of the point, another point where one is known."""
    x, y = str(problem.reference)[1:-1].split(", ")
    return [*tuple_forms(problem), *boxes([f"x = {x}, y = {y}", *problem.meta.get("also", ())])]


@task(
    "math.lattice_point",
    reward=SubstitutionReward(),
    answer_format=ANSWER_FORMAT,
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=others,
    effort=length_of_working,
)
def lattice_point(rng: Rng, tier: int) -> Problem:
    """Give a point: on a line (0, 1), at equal distances (2), of a right angle (3), an area (4), at a distance (5)."""
    return (_on_line, _far_on_line, _equal_distances, _right_angle, _area, _at_distance)[tier](rng)


def ask(lines: list[str], point: Point, where: list[str], conditions: list[str], also: Point | None = None) -> Problem:
    """Return the problem: `where` says in words what `conditions` say in formulas."""
    reference = f"({point[0]}, {point[1]})"
    prompt = f"Give a point (x, y) with integer coordinates {in_words(where)}."
    meta = {"variables": ["x", "y"], "conditions": conditions, "integers": True}
    if also is not None and also != point:
        meta["also"] = [f"({also[0]}, {also[1]})"]
    return Problem(prompt, reference, "\n".join([*lines, f"\\boxed{{{reference}}}"]), meta)


def _signed(n: int) -> str:
    return f"({n})" if n < 0 else str(n)


def _less(name: str, n: int) -> str:
    """Write (x - n), or x where n is 0."""
    return name if n == 0 else f"({name} - {n})" if n > 0 else f"({name} + {-n})"


def _side(a: int, b: int) -> str:
    return joined([scaled(a, "x"), scaled(b, "y")])


def _coprime(rng: Rng, largest: int) -> tuple[int, int]:
    while True:
        a, b = rng.integer(2, largest), rng.integer(2, largest) * rng.choice((1, -1))
        if math.gcd(a, b) == 1:
            return a, b


def _on_line(rng: Rng) -> Problem:
    """Put the point on ax + y = c, above a given x."""
    a, x, y = nonzero(rng, 12), nonzero(rng, 40), nonzero(rng, 40)
    c = a * x + y
    work = Working()
    work.subtract(c, work.multiply(a, x))
    conditions = [f"{_side(a, 1)} = {c}", f"x > {x - 1}"]
    where = [f"on the line {conditions[0]}", f"with {conditions[1]}"]
    return ask(work.lines, (x, y), where, conditions, (x + 1, y - a))


def _far_on_line(rng: Rng) -> Problem:
    """Put the point on ax + by = c, with x beyond a bound: try one x after the other."""
    a, b = _coprime(rng, 9)
    bound, y = rng.integer(5, 60), rng.integer(-20, 20)
    x = bound + rng.integer(1, abs(b))
    c = a * x + b * y
    work = Working()
    for tried in range(bound + 1, x + 1):
        work.line(f"{c} - {a} * {tried}", c - a * tried)
    work.divide(c - a * x, b)
    conditions = [f"{_side(a, b)} = {c}", f"x > {bound}"]
    where = [f"on the line {conditions[0]}", f"with {conditions[1]}"]
    return ask(work.lines, (x, y), where, conditions, (x + abs(b), y - (a if b > 0 else -a)))


def _apart(p: Point, square: int, sign: str = "=") -> str:
    """Write that (x, y) has a square distance from p."""
    return f"{_less('x', p[0])}^2 + {_less('y', p[1])}^2 {sign} {square}"


def _check_distance(work: Working, p: Point, q: Point) -> None:
    for k in (0, 1):
        work.subtract(q[k], p[k])
    dx, dy = q[0] - p[0], q[1] - p[1]
    work.line(f"{_signed(dx)}^2 + {_signed(dy)}^2", dx * dx + dy * dy)


def _at_distance(rng: Rng) -> Problem:
    r"""Put the point at distance \sqrt{n} from a given one, to one side of it and above or below it."""
    p = (rng.integer(-20, 20), rng.integer(-20, 20))
    dx, dy = nonzero(rng, 15), nonzero(rng, 15)
    q = (p[0] + dx, p[1] + dy)
    square = dx * dx + dy * dy
    work = Working()
    for tried in range(1, abs(dx) + 1):
        work.line(f"{square} - {tried}^2", square - tried * tried)
    work.line(f"{_signed(dy)}^2", dy * dy)
    _check_distance(work, p, q)
    conditions = [_apart(p, square), f"x {'>' if dx > 0 else '<'} {p[0]}", f"y {'>' if dy > 0 else '<'} {p[1]}"]
    where = [f"at distance \\sqrt{{{square}}} from ({p[0]}, {p[1]})", f"with {conditions[1]}", conditions[2]]
    swapped = (p[0] + abs(dy) * (1 if dx > 0 else -1), p[1] + abs(dx) * (1 if dy > 0 else -1))
    return ask(work.lines, q, where, conditions, swapped)


def _equal_distances(rng: Rng) -> Problem:
    """Put the point at equal distances from two others: on their bisector, beyond a bound."""
    a, b = rng.sample([n for n in range(-4, 5) if n], 2)
    m = (rng.integer(-12, 12), rng.integer(-12, 12))
    p, q = (m[0] - a, m[1] - b), (m[0] + a, m[1] + b)
    common, k = math.gcd(a, b), rng.integer(1, 6) * rng.choice((1, -1))
    step = (-b // common, a // common)
    x, y = m[0] + k * step[0], m[1] + k * step[1]
    work = Working()
    _check_distance(work, p, (x, y))
    _check_distance(work, q, (x, y))
    bound = x - (1 if k * step[0] > 0 else -1) if step[0] else x
    sign = ">" if k * step[0] > 0 else "<"
    equal = f"{_less('x', p[0])}^2 + {_less('y', p[1])}^2 = {_less('x', q[0])}^2 + {_less('y', q[1])}^2"
    conditions = [equal, f"x {sign} {bound}"]
    where = [f"at equal distances from ({p[0]}, {p[1]}) and ({q[0]}, {q[1]})", f"with {conditions[1]}"]
    further = k + (1 if k > 0 else -1)
    return ask(work.lines, (x, y), where, conditions, (m[0] + further * step[0], m[1] + further * step[1]))


def _right_angle(rng: Rng) -> Problem:
    """Make the angle at q right: (x, y) - q stands on p - q, and is at least so long."""
    a, b = rng.sample([n for n in range(-7, 8) if n], 2)
    q, k = (rng.integer(-9, 9), rng.integer(-9, 9)), rng.integer(1, 4) * rng.choice((1, -1))
    common = math.gcd(a, b)
    p = (q[0] + a, q[1] + b)
    step = (-b // common * k, a // common * k)
    x, y = q[0] + step[0], q[1] + step[1]
    work = Working()
    for end in (p, (x, y)):
        for axis in (0, 1):
            work.subtract(end[axis], q[axis])
    work.line(f"{_signed(a)} * {_signed(step[0])} + {_signed(b)} * {_signed(step[1])}", 0)
    square = step[0] ** 2 + step[1] ** 2
    work.line(f"{_signed(a)}^2 + {_signed(b)}^2", a * a + b * b)
    work.line(f"{_signed(step[0])}^2 + {_signed(step[1])}^2", square)
    scalar = joined([scaled(a, _less("x", q[0])), scaled(b, _less("y", q[1]))])
    conditions = [f"{scalar} = 0", _apart(q, square - 1, ">")]
    where = [
        f"such that the triangle with corners ({p[0]}, {p[1]}), ({q[0]}, {q[1]}) and (x, y) has a right angle at "
        f"({q[0]}, {q[1]})",
        f"the side from ({q[0]}, {q[1]}) to (x, y) is longer than \\sqrt{{{square - 1}}}",
    ]
    return ask(work.lines, (x, y), where, conditions, (q[0] - step[0], q[1] - step[1]))


def _area(rng: Rng) -> Problem:
    """Give a triangle's third corner from its area, on a given line."""
    while True:
        p, q = (rng.integer(-9, 9), rng.integer(-9, 9)), (rng.integer(-9, 9), rng.integer(-9, 9))
        a, b = _coprime(rng, 5)
        x, y = rng.integer(-12, 12), rng.integer(-12, 12)
        dx, dy = q[0] - p[0], q[1] - p[1]
        double = dx * (y - p[1]) - dy * (x - p[0])
        if double and a * dy != -b * dx and double % 2 == 0:
            break
    c = a * x + b * y
    work = Working()
    work.line(f"{_signed(a)} * {_signed(x)} + {_signed(b)} * {_signed(y)}", c)
    for end in (q, (x, y)):
        for axis in (0, 1):
            work.subtract(end[axis], p[axis])
    work.line(f"{_signed(dx)} * {_signed(y - p[1])} - {_signed(dy)} * {_signed(x - p[0])}", double)
    work.line(f"\\frac{{|{double}|}}{{2}}", abs(double) // 2)
    cross = joined([scaled(dx, _less("y", p[1])), scaled(-dy, _less("x", p[0]))])
    conditions = [f"({cross})^2 = {double * double}", f"{_side(a, b)} = {c}"]
    where = [
        f"on the line {conditions[1]}",
        f"such that the triangle with corners ({p[0]}, {p[1]}), ({q[0]}, {q[1]}) and (x, y) "
        f"has area {abs(double) // 2}",
    ]
    return ask(work.lines, (x, y), where, conditions)
