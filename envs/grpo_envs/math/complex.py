"""Complex numbers: arithmetic, quotients, moduli, powers, roots, quadratic equations with complex coefficients."""

from __future__ import annotations

import math

from grpo_envs.math.answers import list_forms
from grpo_envs.math.derivative import nonzero
from grpo_envs.math.exact import EXACT, also, box, joined, ratio, root_of, scaled, solved
from grpo_envs.math.style import Working
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

Gauss = tuple[int, int]
"""Real and imaginary part."""


def others(problem: Problem) -> list[str]:
    """Return other right answers, boxed: the imaginary part first, other spellings, lists backwards."""
    text = str(problem.reference)
    if ", " in text:
        return list_forms(problem)
    terms = text.replace(" - ", " + -").split(" + ")
    return [*also(problem), box(joined(reversed(terms)))]


@task("math.complex", **{**EXACT, "equivalents": others})
def complex(rng: Rng, tier: int) -> Problem:
    """Compute: products (0), moduli (1), quotients (2), powers (3); solve for a square (4), a quadratic (5)."""
    return (_product, _modulus, _quotient, _power, _root, _quadratic)[tier](rng)


def show(z: Gauss, divisor: int = 1) -> str:
    r"""Write z / divisor: "3 - 2i", "\frac{1}{2} + \frac{i}{2}"."""
    a, b = z
    imaginary = math.gcd(b, divisor)
    top = scaled(b // imaginary, "i")
    if divisor != imaginary and b:
        sign, top = ("-", top[1:]) if top[0] == "-" else ("", top)
        top = f"{sign}\\frac{{{top}}}{{{divisor // imaginary}}}"
    return joined([ratio(a, divisor), top])


def multiply(x: Gauss, y: Gauss) -> Gauss:
    """Return the product."""
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def _draw(rng: Rng, largest: int) -> Gauss:
    return nonzero(rng, largest), nonzero(rng, largest)


def _line(work: Working, x: Gauss, y: Gauss) -> Gauss:
    value = multiply(x, y)
    work.line(f"({show(x)})({show(y)})", show(value))
    return value


def _product(rng: Rng) -> Problem:
    x, y, z = _draw(rng, 6), _draw(rng, 6), _draw(rng, 12)
    work = Working()
    a, b = _line(work, x, y)
    value = (a + z[0], b + z[1])
    work.line(f"{joined([show((a, b)), str(z[0]), scaled(z[1], 'i')])}", show(value))
    return solved(f"Compute ({show(x)})({show(y)}) + ({show(z)}).", work.lines, show(value))


def _quotient(rng: Rng) -> Problem:
    x, y = _draw(rng, 9), _draw(rng, 6)
    conjugate = (y[0], -y[1])
    work = Working()
    top = _line(work, x, conjugate)
    bottom = y[0] ** 2 + y[1] ** 2
    work.line(f"{abs(y[0])}^2 + {abs(y[1])}^2", bottom)
    answer = show(top, bottom)
    lines = [*work.lines, f"\\frac{{{show(top)}}}{{{bottom}}} = {answer}"]
    return solved(f"Compute \\frac{{{show(x)}}}{{{show(y)}}}.", lines, answer)


def _modulus(rng: Rng) -> Problem:
    """Ask for |xy| as a surd."""
    x, y = _draw(rng, 9), _draw(rng, 9)
    work = Working()
    squares = []
    for w in (x, y):
        squares.append(w[0] ** 2 + w[1] ** 2)
        work.line(f"|{show(w)}|^2", squares[-1])
    f = f"({show(x)})({show(y)})"
    square = work.multiply(*squares)
    answer = str(root_of(square))
    return solved(f"Find the modulus of {f}.", [*work.lines, f"|{f}| = {answer}"], answer)


def _power(rng: Rng) -> Problem:
    """A small base to a power of 6 or 7, times a number: by squares, then one factor after the other."""
    base, factor, n = _draw(rng, 3), _draw(rng, 4), rng.integer(6, 7)
    work = Working()
    square = _line(work, base, base)
    value, done = square, 2
    while 2 * done <= n:
        value, done = _line(work, value, value), 2 * done
    while done < n:
        value, step = (_line(work, value, square), 2) if done + 2 <= n else (_line(work, value, base), 1)
        done += step
    value = _line(work, value, factor)
    f = f"({show(base)})^{n}({show(factor)})"
    return solved(f"Compute {f}.", work.lines, show(value))


def _root(rng: Rng) -> Problem:
    """Solve (z - w)^2 = v where v is a square."""
    root, centre = (rng.integer(1, 9), nonzero(rng, 9)), _draw(rng, 9)
    square, left = multiply(root, root), f"z - ({show(centre)})"
    work = Working()
    _square_root(work, root, square)
    found = []
    for sign in (1, -1):
        shift = (sign * root[0], sign * root[1])
        work.lines.append(f"{left} = {show(shift)}")
        found.append((centre[0] + shift[0], centre[1] + shift[1]))
    answer = ", ".join(show(z) for z in sorted(found))
    prompt = f"Find all complex numbers z with ({left})^2 = {show(square)}."
    return solved(prompt, [*work.lines, f"z = {answer}"], answer)


def _square_root(work: Working, root: Gauss, square: Gauss) -> None:
    """Write why (a + bi)^2 is the square: a^2 - b^2 and 2ab are its parts, a^2 + b^2 is its modulus."""
    a, b = root[0], f"({root[1]})" if root[1] < 0 else str(root[1])
    work.line(f"{a}^2 - {b}^2", square[0])
    work.line(f"2 * {a} * {b}", square[1])
    modulus = root[0] ** 2 + root[1] ** 2
    work.line(f"|{show(square)}|", modulus)
    work.line(f"{a}^2 + {b}^2", modulus)
    work.line(f"({show(root)})^2", show(square))


def _term(z: Gauss, symbol: str = "") -> str:
    """Write z times a symbol as a signed term of a sum."""
    a, b = z
    if a and b:
        return f"({show(z)}){symbol}"
    return scaled(b, f"i{symbol}") if b else (scaled(a, symbol) if symbol else str(a))


def _quadratic(rng: Rng) -> Problem:
    """Solve z^2 - (p + q)z + pq = 0 by its discriminant (p - q)^2."""
    p, half = (rng.integer(-6, 6), rng.integer(-6, 6)), _draw(rng, 4)
    q = (p[0] + 2 * half[0], p[1] + 2 * half[1])
    total, product = (p[0] + q[0], p[1] + q[1]), multiply(p, q)
    work = Working()
    square = _line(work, total, total)
    four = (4 * product[0], 4 * product[1])
    difference = (square[0] - four[0], square[1] - four[1])
    work.line(f"{show(square)} - ({show(four)})", show(difference))
    root = (2 * abs(half[0]), 2 * half[1] * (1 if half[0] > 0 else -1))
    _square_root(work, root, difference)
    found = sorted((p, q))
    for sign, z in zip("+-", sorted((p, q), reverse=True), strict=True):
        work.line(f"\\frac{{{show(total)} {sign} ({show(root)})}}{{2}}", show(z))
    answer = ", ".join(show(z) for z in found)
    left = joined(["z^2", _term((-total[0], -total[1]), "z"), _term(product)])
    prompt = f"Find all complex numbers z with {left} = 0."
    return solved(prompt, [*work.lines, f"z = {answer}"], answer)
