"""Logarithms: values, laws, equations, and quadratics in a logarithm."""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.math.answers import list_forms, number_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.polynomials import nonzero
from grpo_envs.math.quadratic import solve
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import bracketed, listed, polynomial, power, signed_sum
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

HIGHEST = {2: 8, 3: 5, 4: 4, 5: 4, 6: 3, 7: 3, 8: 3, 9: 3, 10: 5, 11: 2, 12: 2}
"""Base -> the highest power that is still read at a glance."""


def other_forms(problem: Problem) -> list[str]:
    """Write the answer otherwise, a list or a number."""
    return list_forms(problem, "x") if "," in str(problem.reference) else number_forms(problem)


@task("math.logs", equivalents=other_forms, effort=digit_operations, **MATHS)
def logs(rng: Rng, tier: int) -> Problem:
    """Logarithms: whole values, fractional values, the laws, equations (3 and 4), quadratics in a logarithm (5)."""
    return (_values, _fractional_values, _laws, _equation, _two_logarithms, _quadratic)[tier](rng)


def log(base: int, argument: object) -> str:
    """Write a logarithm: "log_2(8)", "log_{10}(1000)"."""
    shown = str(base) if base < 10 else f"{{{base}}}"
    return f"log_{shown}({argument})"


def _values(rng: Rng) -> Problem:
    work = Working()
    texts, values = [], []
    for _ in range(2):
        base = rng.choice(tuple(HIGHEST))
        value, factor = rng.integer(1, HIGHEST[base]), rng.integer(2, 12)
        work.line(f"{base}^{value}", base**value)
        values.append(work.multiply(factor, value))
        texts.append(f"{factor} * {log(base, base**value)}")
    return worked(f"Compute {texts[0]} + {texts[1]}.", work.lines, work.add(*values))


def _fractional_values(rng: Rng) -> Problem:
    """Logarithms of one power of a number to the base of another, with fractions as arguments."""
    work = Working()
    texts, values = list[str](), list[Fraction]()
    for _ in range(2):
        root = rng.choice((2, 3, 5, 6, 7))
        degree = rng.integer(2, 5 if root == 2 else 3)
        exponent = nonzero(rng, HIGHEST[root])
        argument = Fraction(root) ** exponent
        factor = rng.integer(2, 7)
        work.line(f"{root}^{degree}", root**degree)
        work.line(power(str(root), exponent) if exponent != 1 else f"{root}^1", argument)
        values.append(Fraction(factor * exponent, degree))
        work.line(f"{factor} * ({exponent}/{degree})", values[-1])
        texts.append(f"{factor} * {log(root**degree, argument)}")
    value = values[0] + values[1]
    work.line(f"{values[0]} + {bracketed(values[1])}", value)
    return worked(f"Compute {texts[0]} + {texts[1]}.", work.lines, value)


def _laws(rng: Rng) -> Problem:
    """Find the number whose logarithm is a combination of logarithms of others."""
    base = rng.integer(2, 12)
    u, v, w = (rng.integer(3, 20) for _ in range(3))
    m, n = rng.integer(2, 3), rng.integer(2, 3)
    work = Working()
    top = work.multiply(_power(work, u, m), _power(work, v, n))
    value = work.quotient(top, w)
    right = f"{m} * {log(base, u)} + {n} * {log(base, v)} - {log(base, w)}"
    return worked(f"Solve {log(base, 'x')} = {right} for x.", work.lines, value)


def _power(work: Working, base: int, exponent: int) -> int:
    work.line(f"{base}^{exponent}", base**exponent)
    return int(base**exponent)


def _equation(rng: Rng) -> Problem:
    """log_b(ax + c) - log_b(dx + e) = k: both arguments are positive at the root, by construction."""
    base = rng.choice(tuple(HIGHEST))
    k = rng.integer(1, min(HIGHEST[base], 4))
    large = base**k
    x, below = rng.integer(-12, 20), rng.integer(1, 20)
    a, d = nonzero(rng, 12), nonzero(rng, 9)
    if a == large * d:
        a = -a
    c, e = large * below - a * x, below - d * x
    work = Working()
    work.line(f"{base}^{k}", large)
    factor = work.subtract(a, work.multiply(large, d))
    constant = work.subtract(work.multiply(large, e), c)
    x = work.divide(constant, factor)
    for slope, shift in ((a, c), (d, e)):
        work.line(f"{slope} * {bracketed(x)} {signed_tail(shift)}", slope * x + shift)
    left = f"{log(base, polynomial([a, c]))} - {log(base, polynomial([d, e]))}"
    return worked(f"Solve {left} = {k} for x.", work.lines, x)


def _two_logarithms(rng: Rng) -> Problem:
    """log_b(x + p) + log_b(x + q) = log_b(c): one root of the quadratic makes both arguments positive."""
    base, x = rng.integer(2, 12), rng.integer(-12, 30)
    p, q = (rng.integer(1, 15) - x for _ in range(2))
    c = (x + p) * (x + q)
    work = Working()
    constant = work.subtract(work.multiply(p, q), c)
    found = [Fraction(text) for text in solve(work, 1, work.add(p, q), constant)[0]]
    for root in found:
        work.line(f"{root} {signed_tail(p)}", root + p)
    left = " + ".join(log(base, polynomial([1, shift])) for shift in (p, q))
    return worked(f"Solve {left} = {log(base, c)} for x.", work.lines, found[-1])


def signed_tail(n: int) -> str:
    """Write what is added: "+ 3" or "- 3"."""
    return f"+ {n}" if n >= 0 else f"- {-n}"


def _quadratic(rng: Rng) -> Problem:
    """A quadratic in log_b(x), terms on both sides; both roots are powers of the base."""
    base = rng.choice((2, 3, 4, 5, 6, 7))
    low, high = sorted(rng.sample(range(-3, 5), 2))
    a = rng.integer(2, 15)
    right = (rng.integer(2, 9), nonzero(rng, 9), nonzero(rng, 60))
    left = (a + right[0], right[1] - a * (low + high), right[2] + a * low * high)
    symbol = log(base, "x")
    symbols = (f"({symbol})^2", symbol, "")
    work = Working()
    exponents = solve(work, *(work.subtract(above, below) for above, below in zip(left, right, strict=True)))[0]
    found = []
    for exponent in exponents:
        found.append(Fraction(base) ** int(exponent))
        work.line(power(str(base), exponent) if exponent != "1" else f"{base}^1", found[-1])
    sides = [signed_sum(zip(side, symbols, strict=True), " * ") for side in (left, right)]
    return worked(f"Solve {sides[0]} = {sides[1]} for x. Give all solutions.", work.lines, listed(found))
