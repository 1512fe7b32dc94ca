"""Short proofs about equations: from given ones to another, in the step language of `grpo_rewards.math.proof`.

The generator applies the rules itself and writes down what it does, so a known proof comes with every problem: linear
equations, where the steps are those of solving, and powers of two or three numbers from their sum and product, where
they have to be found.
"""

from __future__ import annotations

from grpo_envs.math.derivative import nonzero
from grpo_envs.math.exact import length_of_working
from grpo_envs.math.writing import in_words, signed_sum
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.math.proof import ProofReward

Terms = dict[str, int]
"""A polynomial in writing: monomial -> coefficient; "" is 1."""

ANSWER_FORMAT = (
    'Write one step a line, numbered on, each with its reason, for example "(3) 2x = 8 by subtract 4 from (1)". '
    "The reasons are: add A to (i); subtract A from (i); multiply (i) by A; divide (i) by n; square (i); "
    "substitute (i) in (j), where (i) says what a variable is. A is an expression or an earlier equation. "
    "The last step is the equation to prove. Fewer steps are better."
)


def steps_alone(problem: Problem) -> str:
    """Return the known proof."""
    return str(problem.solution)


@task(
    "math.proof",
    reward=ProofReward(),
    answer_format=ANSWER_FORMAT,
    answer=steps_alone,
    default_tiers=(0, 1),
    effort=length_of_working,
)
def proof(rng: Rng, tier: int) -> Problem:
    """Prove an equation: linear in one (0), two (1), three unknowns (3); squares (2), powers (4), three numbers (5)."""
    return (_one_unknown, _two_unknowns, _squares, _chain, _powers, _three)[tier](rng)


class Proof:
    """The given equations, and the steps as they are written."""

    def __init__(self, *given: str) -> None:
        self.given = list(given)
        self.lines: list[str] = []

    def step(self, left: Terms | str, right: Terms | str, reason: str) -> int:
        """Write a step and return its number."""
        sides = [side if isinstance(side, str) else write(side) for side in (left, right)]
        number = len(self.given) + len(self.lines) + 1
        self.lines.append(f"({number}) {sides[0]} = {sides[1]} by {reason}")
        return number

    def problem(self) -> Problem:
        """Ask for the last step."""
        goal = self.lines[-1].split(") ", 1)[1].split(" by ")[0]
        numbered = in_words(f"({k + 1}) {text}" for k, text in enumerate(self.given))
        meta = {"given": self.given, "steps": len(self.lines)}
        return Problem(f"Given {numbered}, prove {goal}.", goal, "\n".join(self.lines), meta)


def write(terms: Terms) -> str:
    """Write a polynomial."""
    return signed_sum((c, name) for name, c in terms.items())


def without(terms: Terms, number: int) -> str:
    """Write the reason that takes terms away from both sides of an equation."""
    kept = {name: c for name, c in terms.items() if c}
    if all(c < 0 for c in kept.values()):
        return f"add {write({name: -c for name, c in kept.items()})} to ({number})"
    return f"subtract {write(kept)} from ({number})"


# --- linear


def _one_unknown(rng: Rng) -> Problem:
    """Derive x from ax + b = c or from ax + b = cx + d."""
    a, x, b = rng.integer(2, 12), nonzero(rng, 15), nonzero(rng, 30)
    c = 0 if rng.chance(1, 2) else rng.choice([c for c in range(-9, 10) if c not in (0, a, a - 1)])
    work = Proof(f"{write({'x': a, '': b})} = {write({'x': c, '': (a - c) * x + b})}")
    work.step({"x": a - c}, {"": (a - c) * x}, without({"x": c, "": b}, 1))
    work.step("x", str(x), f"divide (2) by {a - c}")
    return work.problem()


def _two_unknowns(rng: Rng) -> Problem:
    """Derive x by substitution, or by making the coefficients of y equal."""
    x, y = nonzero(rng, 12), nonzero(rng, 12)
    if rng.chance(1, 2):
        a, b, c, k = nonzero(rng, 9), nonzero(rng, 6), nonzero(rng, 9), rng.choice((-4, -3, -2, 2, 3, 4))
        total = a * k - c if a * k - c not in (0, 1) else a * k + c
        c = a * k - total
        work = Proof(_line({"x": a, "y": b}, a * x + b * y), _line({"x": c, "y": b * k}, c * x + b * k * y))
        work.step({"x": a * k, "y": b * k}, str(k * (a * x + b * y)), f"multiply (1) by {k}")
        work.step({"x": total}, str(total * x), "subtract (2) from (3)")
    else:
        b, p, total = nonzero(rng, 9), nonzero(rng, 6), rng.choice([n for n in range(-15, 16) if n not in (0, 1)])
        q = y - p * x
        work = Proof(f"y = {write({'x': p, '': q})}", _line({"x": total - b * p, "y": b}, total * x + b * q))
        work.step({"x": total, "": b * q}, str(total * x + b * q), "substitute (1) in (2)")
        if q:
            work.step({"x": total}, str(total * x), without({"": b * q}, 3))
    last = len(work.given) + len(work.lines)
    work.step("x", str(x), f"divide ({last}) by {total}")
    return work.problem()


def _chain(rng: Rng) -> Problem:
    """Derive x from y and z in terms of x, and one equation between all three."""
    x, b, c, p, r = nonzero(rng, 9), nonzero(rng, 6), nonzero(rng, 6), nonzero(rng, 5), nonzero(rng, 5)
    q, s = nonzero(rng, 9), nonzero(rng, 9)
    total = rng.choice([n for n in range(-15, 16) if n not in (0, 1)])
    a = total - b * p - c * r
    right = str(total * x + b * q + c * s)
    given = (f"y = {write({'x': p, '': q})}", f"z = {write({'x': r, '': s})}")
    work = Proof(*given, f"{write({'x': a, 'y': b, 'z': c})} = {right}")
    work.step({"x": a + b * p, "z": c, "": b * q}, right, "substitute (1) in (3)")
    work.step({"x": total, "": b * q + c * s}, right, "substitute (2) in (4)")
    if b * q + c * s:
        work.step({"x": total}, str(total * x), without({"": b * q + c * s}, 5))
    last = len(work.given) + len(work.lines)
    work.step("x", str(x), f"divide ({last}) by {total}")
    return work.problem()


def _line(left: Terms, right: int) -> str:
    return f"{write(left)} = {right}"


# --- two numbers from their sum and product


def _sum_and_product(rng: Rng, largest: int) -> tuple[Proof, int, int, int, int]:
    """Give ax + by = s and xy = p."""
    a, b = rng.integer(1, largest), nonzero(rng, largest)
    s, p = nonzero(rng, 12), nonzero(rng, 12)
    return Proof(f"{write({'x': a, 'y': b})} = {s}", f"xy = {p}"), a, b, s, p


def _square_of_sum(work: Proof, a: int, b: int, s: int, p: int, times: int) -> tuple[int, int]:
    """Write (ax + by)^2 minus a multiple of xy; return the number of the equation and its right side."""
    squared = work.step({"x^2": a * a, "xy": 2 * a * b, "y^2": b * b}, str(s * s), "square (1)")
    product = work.step({"xy": times}, str(times * p), f"multiply (2) by {times}")
    left = {"x^2": a * a, "xy": 2 * a * b - times, "y^2": b * b}
    value = s * s - times * p
    return work.step(left, str(value), f"subtract ({product}) from ({squared})"), value


def _squares(rng: Rng) -> Problem:
    """Derive a^2x^2 + b^2y^2, or the square of ax - by."""
    work, a, b, s, p = _sum_and_product(rng, 5)
    _square_of_sum(work, a, b, s, p, 2 * a * b if rng.chance(1, 2) else 4 * a * b)
    return work.problem()


def _powers(rng: Rng) -> Problem:
    """Derive the sum of the cubes, or of the fourth powers, of ax and by."""
    work, a, b, s, p = _sum_and_product(rng, 4)
    if rng.chance(1, 2):
        number, value = _square_of_sum(work, a, b, s, p, 3 * a * b)
        work.step({"x^3": a**3, "y^3": b**3}, str(value * s), f"multiply ({number}) by (1)")
        return work.problem()
    number, value = _square_of_sum(work, a, b, s, p, 2 * a * b)
    squared = work.step({"x^4": a**4, "x^2y^2": 2 * (a * b) ** 2, "y^4": b**4}, str(value**2), f"square ({number})")
    product = work.step({"x^2y^2": 1}, str(p * p), "square (2)")
    twice = 2 * (a * b) ** 2
    double = work.step({"x^2y^2": twice}, str(twice * p * p), f"multiply ({product}) by {twice}")
    right = str(value**2 - twice * p * p)
    work.step({"x^4": a**4, "y^4": b**4}, right, f"subtract ({double}) from ({squared})")
    return work.problem()


# --- three numbers from their elementary symmetric functions


def _three(rng: Rng) -> Problem:
    """Derive the sum of the cubes, or of the fourth powers, of three numbers."""
    s, q, r = nonzero(rng, 12), nonzero(rng, 12), nonzero(rng, 12)
    work = Proof(f"x + y + z = {s}", f"xy + yz + zx = {q}", f"xyz = {r}")
    pairs, squares, cubes = ("xy", "yz", "zx"), ("x^2", "y^2", "z^2"), ("x^3", "y^3", "z^3")
    times = rng.integer(2, 3)
    work.step(_all(squares, 1) | _all(pairs, 2), str(s * s), "square (1)")
    work.step(_all(pairs, times), str(times * q), f"multiply (2) by {times}")
    value = s * s - times * q
    work.step(_all(squares, 1) | _all(pairs, 2 - times), str(value), "subtract (5) from (4)")
    if times == 3:
        work.step(_all(cubes, 1) | {"xyz": -3}, str(value * s), "multiply (6) by (1)")
        work.step({"xyz": 3}, str(3 * r), "multiply (3) by 3")
        work.step(_all(cubes, 1), str(value * s + 3 * r), "add (8) to (7)")
        return work.problem()
    fourths, pair_squares = ("x^4", "y^4", "z^4"), ("x^2y^2", "y^2z^2", "x^2z^2")
    mixed = ("x^2yz", "xy^2z", "xyz^2")
    work.step(_all(fourths, 1) | _all(pair_squares, 2), str(value * value), "square (6)")
    work.step(_all(pair_squares, 1) | _all(mixed, 2), str(q * q), "square (2)")
    work.step(_all(mixed, 1), str(r * s), "multiply (3) by (1)")
    work.step(_all(mixed, 2), str(2 * r * s), "multiply (9) by 2")
    work.step(_all(pair_squares, 1), str(q * q - 2 * r * s), "subtract (10) from (8)")
    double = 2 * (q * q - 2 * r * s)
    work.step(_all(pair_squares, 2), str(double), "multiply (11) by 2")
    work.step(_all(fourths, 1), str(value * value - double), "subtract (12) from (7)")
    return work.problem()


def _all(names: tuple[str, ...], coefficient: int) -> Terms:
    return dict.fromkeys(names, coefficient)
