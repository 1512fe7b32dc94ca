r"""Trigonometry in radians: exact values, ratios from one ratio, sums of angles, equations in one turn."""

from __future__ import annotations

import math

from grpo_envs.math.angles import FULL, SPECIAL, add, angle, cosine, product, sine, tangent
from grpo_envs.math.derivative import nonzero
from grpo_envs.math.exact import EXACT, Surd, box, joined, plain, ratio, scaled, solved, surd, total
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

FUNCTIONS = {"sin": sine, "cos": cosine, "tan": tangent}

TRIPLES = tuple(
    (m * m - n * n, 2 * m * n, m * m + n * n)
    for m in range(2, 13)
    for n in range(1, m)
    if (m - n) % 2 and math.gcd(m, n) == 1
)
"""Legs and hypotenuse of right triangles without a common factor."""


def others(problem: Problem) -> list[str]:
    """Return other right answers, boxed: the plain spelling, and a list of solutions backwards."""
    reference = str(problem.reference)
    backwards = ", ".join(reversed(reference.split(", ")))
    return [box(text) for text in dict.fromkeys((plain(reference), backwards)) if text != reference]


@task("math.trigonometry", **{**EXACT, "equivalents": others})
def trigonometry(rng: Rng, tier: int) -> Problem:
    """Exact values (0, 2), the double angle (1), sums of angles (3), equations (4), quadratic ones (5)."""
    return (_sum, _quadrant, _products, _two_angles, _equation, _quadratic)[tier](rng)


def call(name: str, twelfths: int) -> str:
    r"""Write a function of an angle: "\sin(\frac{\pi}{6})"."""
    return f"\\{name}({angle(twelfths)})"


def times_value(number: int, value: Surd) -> Surd:
    """Return a multiple of a surd."""
    return surd(number * value.top, value.bottom, value.radicand)


# --- values


def _sum(rng: Rng) -> Problem:
    """Ask for a sin(s) + b cos(t) in the upper half-plane."""
    s, t = rng.choice(SPECIAL[1:9]), rng.choice(SPECIAL[:9])
    a, b = rng.integer(2, 9), nonzero(rng, 9)
    f = joined([scaled(a, call("sin", s)), scaled(b, call("cos", t))])
    parts = [times_value(a, sine(s)), times_value(b, cosine(t))]
    answer = total(*add(parts))
    lines = [f"{call('sin', s)} = {sine(s)}", f"{call('cos', t)} = {cosine(t)}"]
    shown = joined(str(part) for part in parts)
    return solved(f"Compute {f}.", [*lines, *([f"{shown} = {answer}"] if shown != answer else [])], answer)


def _products(rng: Rng) -> Problem:
    """Ask for a f(s) g(t) with any functions, angles of up to two turns either way."""
    lines, values, texts = [], [], []
    for _ in range(2):
        name = rng.choice(("sin", "cos", "tan"))
        m = rng.choice([m for m in SPECIAL if m % 12 and m % 12 != 6])
        turned = m + FULL * rng.choice((-2, -1, 1))
        values.append(FUNCTIONS[name](m))
        texts.append(call(name, turned))
        lines.append(f"{texts[-1]} = {call(name, m)} = {values[-1]}")
    a = nonzero(rng, 12)
    f, answer = scaled(a, texts[0] + texts[1]), str(times_value(a, product(*values)))
    return solved(f"Compute {f}.", [*lines, f"{f} = {answer}"], answer)


# --- ratios


def _signs(quadrant: int) -> tuple[int, int]:
    """Return the signs of sine and cosine in a quadrant, 1 to 4."""
    return (1 if quadrant <= 2 else -1), (1 if quadrant in (1, 4) else -1)


def _ends(quadrant: int, name: str) -> str:
    return f"{angle(6 * quadrant - 6)} < {name} < {angle(6 * quadrant)}"


def _right_angled(rng: Rng) -> tuple[int, int, int, int]:
    """Return signed sine and cosine over one hypotenuse, and the quadrant."""
    legs = rng.choice(TRIPLES)
    opposite, adjacent = legs[:2] if rng.chance(1, 2) else legs[1::-1]
    quadrant = rng.integer(1, 4)
    s, c = _signs(quadrant)
    return s * opposite, c * adjacent, legs[2], quadrant


def _quadrant(rng: Rng) -> Problem:
    s, c, h, quadrant = _right_angled(rng)
    known = rng.choice(("sin", "cos", "tan"))
    values = {"sin": ratio(s, h), "cos": ratio(c, h), "tan": ratio(s, c)}
    name = rng.choice(("sin", "cos", "tan"))
    if name == "tan":
        shown, answer = "\\frac{2\\sin(t)\\cos(t)}{\\cos^2(t) - \\sin^2(t)}", ratio(2 * s * c, c * c - s * s)
    elif name == "sin":
        shown, answer = "2\\sin(t)\\cos(t)", ratio(2 * s * c, h * h)
    else:
        shown, answer = "\\cos^2(t) - \\sin^2(t)", ratio(c * c - s * s, h * h)
    lines = [f"{abs(s)}^2 + {abs(c)}^2 = {h}^2", *(f"\\{f}(t) = {values[f]}" for f in ("sin", "cos"))]
    lines += [f"\\{name}(2t) = {shown}", f"{shown} = {answer}"]
    prompt = f"Let \\{known}(t) = {values[known]} with {_ends(quadrant, 't')}. Find \\{name}(2t)."
    return solved(prompt, lines, answer)


def _two_angles(rng: Rng) -> Problem:
    r"""\sin(s + t) and the like from one ratio of either angle."""
    p, q, h, first = _right_angled(rng)
    r, w, g, second = _right_angled(rng)
    known_s, known_t = rng.choice(("sin", "cos")), rng.choice(("sin", "cos"))
    name, sign = rng.choice(("sin", "cos")), rng.choice((1, -1))
    top = p * w + sign * q * r if name == "sin" else q * w - sign * p * r
    answer = ratio(top, h * g)
    angles = "s + t" if sign > 0 else "s - t"
    given = {"sin": (ratio(p, h), ratio(r, g)), "cos": (ratio(q, h), ratio(w, g))}
    lines = [f"{abs(p)}^2 + {abs(q)}^2 = {h}^2", f"{abs(r)}^2 + {abs(w)}^2 = {g}^2"]
    lines += [f"\\{f}({x}) = {given[f][k]}" for f in ("sin", "cos") for k, x in enumerate("st")]
    if name == "sin":
        shown = f"\\sin(s)\\cos(t) {'+' if sign > 0 else '-'} \\cos(s)\\sin(t)"
    else:
        shown = f"\\cos(s)\\cos(t) {'-' if sign > 0 else '+'} \\sin(s)\\sin(t)"
    lines += [f"\\{name}({angles}) = {shown}", f"{shown} = {answer}"]
    prompt = (
        f"Let \\{known_s}(s) = {given[known_s][0]} with {_ends(first, 's')} and "
        f"\\{known_t}(t) = {given[known_t][1]} with {_ends(second, 't')}. Find \\{name}({angles})."
    )
    return solved(prompt, lines, answer)


# --- equations


def _solutions(name: str, value: Surd, k: int) -> list[int]:
    """Return the angles x of one turn, in twelfths of pi over k, where the function of kx has the value."""
    period = range(FULL * k)
    found = [m for m in SPECIAL if (name != "tan" or m % 12 != 6) and FUNCTIONS[name](m) == value]
    return [m for m in period if m % FULL in found]


def _ask(equation: str) -> str:
    return f"Solve {equation} for 0 \\le x < 2\\pi. Give all solutions."


def _listed(k: int, found: list[int]) -> str:
    return ", ".join(angle(m, 12 * k) for m in found)


def _equation(rng: Rng) -> Problem:
    """Equate a f(kx) + b and c f(kx) + d, or the same with a root in it."""
    name, k = rng.choice(("sin", "cos", "tan")), rng.integer(2, 3)
    m = rng.choice([m for m in SPECIAL if name != "tan" or m % 12 != 6])
    value, f = FUNCTIONS[name](m), f"\\{name}({scaled(k, 'x')})"
    n = rng.integer(1, 9) * value.bottom
    right = times_value(n, value)
    c = nonzero(rng, 9)
    if value.radicand == 1 and rng.chance(3, 4):
        b = nonzero(rng, 12)
        equation = f"{joined([scaled(n + c, f), str(b)])} = {joined([scaled(c, f), str(b + right.top)])}"
    else:
        equation = f"{scaled(n + c, f) if n + c else '0'} = {joined([scaled(c, f), str(right)])}"
    found = _solutions(name, value, k)
    lines = [f"{scaled(n, f)} = {right}"] if n > 1 else []
    lines += [f"{f} = {value}", f"{scaled(k, 'x')} = {_listed(1, found)}", f"x = {_listed(k, found)}"]
    return solved(_ask(equation), lines, _listed(k, found))


def _quadratic(rng: Rng) -> Problem:
    """Multiply out (p f - q)(r f - s) = 0; every second one has the other function's square for 1 - f^2."""
    name, k = rng.choice(("sin", "cos")), rng.integer(2, 3)
    inside = ((-1, 1), (-1, 2), (0, 1), (1, 2), (1, 1))
    q, p = rng.choice(inside)
    s, r = rng.choice([root for root in (*inside, (2, 1), (-2, 1), (3, 1), (-3, 1), (3, 2), (-3, 2)) if root != (q, p)])
    scale = rng.integer(1, 6)
    a, b, c = scale * p * r, -scale * (p * s + q * r), scale * q * s
    other = "cos" if name == "sin" else "sin"
    argument = f"({scaled(k, 'x')})"
    f, square = f"\\{name}{argument}", f"\\{name}^2{argument}"
    equation = joined([scaled(a, square), scaled(b, f), str(c)])
    lines = [f"{equation} = 0"]
    shift = nonzero(rng, 9)
    if rng.chance(1, 2):  # a f^2 = a - a (1 - f^2)
        terms = [scaled(-a, f"\\{other}^2{argument}"), scaled(b, f), str(a + c)]
    else:
        terms = [scaled(a, square), scaled(b, f), str(c)]
    left = joined([*terms[:2], str(shift + int(terms[2]))])
    factors = [joined([scaled(w, f), str(-v)]) for v, w in ((q, p), (s, r))]
    shown = "".join(f"({text})" if " " in text else text for text in sorted(factors, key=lambda text: " " in text))
    lines.append(f"{scaled(scale, shown)} = 0")
    roots = [surd(q, p), *([surd(s, r)] if abs(s) <= r else [])]
    found = sorted(m for value in roots for m in _solutions(name, value, k))
    lines += [f"{f} = {value}" for value in roots]
    lines += [f"{scaled(k, 'x')} = {_listed(1, found)}", f"x = {_listed(k, found)}"]
    return solved(_ask(f"{left} = {shift}"), lines, _listed(k, found))
