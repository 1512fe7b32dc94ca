"""Terms of sequences far out: by one rule, by cases, and so far that only powers of a matrix get there."""

from __future__ import annotations

from functools import partial
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

_PLAIN = """def solve(n: int) -> int:
    terms = {start}
    for i in range({order}, n + 1):
{step}
    return terms[n]
"""

_MATRIX = """def multiply(x: list[list[int]], y: list[list[int]]) -> list[list[int]]:
    return [[sum(a * b for a, b in zip(row, column)) % {modulus} for column in zip(*y)] for row in x]


def solve(n: int) -> int:
    state = [{start}]
    step = {matrix}
    while n > 0:
        if n % 2 == 1:
            state = multiply(state, step)
        step = multiply(step, step)
        n //= 2
    return state[0][0] % {modulus}
"""


@coding("code.recurrences", tiers=(2, 3, 4, 5))
def recurrences(rng: Rng, tier: int) -> Draft:
    """Compute a term of a sequence: by one rule (tier 2), by cases (3), and for an n of up to 10**18 (4, 5)."""
    order = 2 if tier in (2, 4) else rng.integer(2, 3)
    start = [rng.integer(0, 9) for _ in range(order)]
    factors = [rng.choice((-3, -2, -1, 1, 2, 3, 4)) for _ in range(order)]
    constant, modulus = rng.integer(1, 9), rng.integer(50, 999)
    slope = rng.integer(1, 5) if tier == 5 else 0
    return (
        _far(start, factors, constant, slope, modulus, tier)
        if tier > 3
        else _near(rng, start, factors, constant, modulus, tier)
    )


def _formula(factors: list[int]) -> str:
    text = ""
    for back, factor in enumerate(factors, 1):
        sign = " - " if factor < 0 else " + " if text else ""
        times = "" if abs(factor) == 1 else f"{abs(factor)} * "
        text += f"{sign if text or factor > 0 else '-'}{times}a(n - {back})"
    return text.strip()


def _near_statement(
    firsts: str, cases: bool, order: int, constant: int, modulus: int, factors: list[int], how: tuple[str, str]
) -> list[Any]:
    return [
        f"A sequence of whole numbers begins with {firsts}.",
        f"For n >= {order}, a(n) is the remainder (from 0 to {modulus - 1}) of {_formula(factors)} + {constant} "
        f"when divided by {modulus}"
        + (
            f"; but if {how[0]}, a(n) is instead the remainder of floor(a(n - 1) / 2) + {constant} when divided "
            f"by {modulus}."
            if cases
            else "."
        ),
        "Return a(n) for a given n, at least 0.",
    ]


def _near_rule(
    *,
    order: int,
    by: str,
    start: list[int],
    factors: list[int],
    constant: int,
    modulus: int,
    k: int,
    bound: int,
    cases: bool,
    off: int = 0,
) -> Any:
    def compute(n: int) -> int:
        window = list(start)
        for i in range(order, n + 1 + off):
            last = window[-1]
            special = {"index": i % k, "term": last % k, "size": last <= bound}[by] == 0 and cases
            new = (
                last // 2 + constant
                if special
                else sum(f * t for f, t in zip(factors, reversed(window), strict=True)) + constant
            )
            window = [*window[1:], new % modulus]
        return window[n + off] if 0 <= n + off < order else window[-1]

    return compute


def _near(rng: Rng, start: list[int], factors: list[int], constant: int, modulus: int, tier: int) -> Draft:
    order, by, k = len(start), rng.choice(("index", "term", "size")), rng.integer(2, 5)
    bound = modulus // rng.integer(2, 4)
    cases = tier == 3
    how = {
        "index": (f"n is divisible by {k}", f"i % {k} == 0"),
        "term": (f"a(n - 1) is divisible by {k}", f"terms[i - 1] % {k} == 0"),
        "size": (f"a(n - 1) is greater than {bound}", f"terms[i - 1] > {bound}"),
    }[by]

    rule = partial(
        _near_rule,
        order=order,
        by=by,
        start=start,
        factors=factors,
        constant=constant,
        modulus=modulus,
        k=k,
        bound=bound,
        cases=cases,
    )

    whole = " ".join(
        f"+ {f} * terms[i - {back}]" if f > 0 else f"- {-f} * terms[i - {back}]" for back, f in enumerate(factors, 1)
    )
    whole = whole.removeprefix("+ ") + f" + {constant}"
    usual = f"terms.append(({whole}) % {modulus})"
    step = f"        {usual}"
    if cases:
        special = f"terms.append((terms[i - 1] // 2 + {constant}) % {modulus})"
        step = f"        if {how[1]}:\n            {special}\n        else:\n            {usual}"
    firsts = ", ".join(f"a({i}) = {value}" for i, value in enumerate(start))
    mistakes = [
        rule(constant=constant + 1),
        rule(modulus=modulus + 1),
        rule(start=[start[0], *start[1:-1], start[-1] + 1]),
        rule(off=1),
        *(rule(factors=[*factors[:i], f + 1, *factors[i + 1 :]]) for i, f in enumerate(factors)),
    ]
    mistakes += [rule(k=k + 1), rule(bound=bound - 1), rule(bound=bound + 1)] if cases else []
    return Draft(
        head="solve(n: int) -> int",
        statement=_near_statement(firsts, cases, order, constant, modulus, factors, how),
        code=_PLAIN.format(start=start, order=order, step=step),
        expected=rule(),
        inputs=lambda rng: [rng.integer(order, 40)],
        edges=[[n] for n in range(order + 2)],
        mistakes=mistakes,
        needed=[rule(cases=False)] if cases else [],
        rules=tier,
    )


def _far(start: list[int], factors: list[int], constant: int, slope: int, modulus: int, tier: int) -> Draft:
    order = len(start)

    def rule(factors: list[int] = factors, constant: int = constant, slope: int = slope, modulus: int = modulus) -> Any:
        def compute(n: int) -> int:
            return _term(n, start, factors, constant, slope, modulus)

        return compute

    size = order + 1 + (slope > 0)  # the state is a(n), ..., then 1, then n where the rule names it
    matrix = [[0] * size for _ in range(size)]
    for back, factor in enumerate(factors, 1):
        matrix[order - back][order - 1] = factor
    for place in range(order - 1):
        matrix[place + 1][place] = 1
    matrix[order][order - 1] = constant
    matrix[order][order] = 1
    first = [*start, 1]
    if slope:
        matrix[order + 1][order - 1] = slope
        matrix[order][order + 1] = matrix[order + 1][order + 1] = 1
        first.append(order)
    firsts = ", ".join(f"a({i}) = {value}" for i, value in enumerate(start))
    extra = f" + {slope} * n" if slope else ""
    extra = extra.replace("1 * n", "n") if slope == 1 else extra
    return Draft(
        head="solve(n: int) -> int",
        statement=[
            f"A sequence of whole numbers begins with {firsts}, and for n >= {order}, a(n) = "
            f"{_formula(factors)}{extra} + {constant}.",
            f"Return the remainder (from 0 to {modulus - 1}) of a(n) when divided by {modulus}, for a given n, at "
            "least 0.",
            "The number n may be as large as 10**18, so do not compute all terms.",
        ],
        code=_MATRIX.format(modulus=modulus, start=first, matrix=matrix),
        expected=rule(),
        inputs=lambda rng: [rng.integer(order, 60)],
        edges=[[n] for n in range(order + 2)],
        mistakes=[rule(constant=constant + 1), rule(modulus=modulus + 1), rule(slope=slope + 1)],
        heavy=lambda rng: [[10**18 - rng.below(10**17)], [10**17 + rng.below(10**17)]],
        rules=tier,
    )


def _term(n: int, start: list[int], factors: list[int], constant: int, slope: int, modulus: int) -> int:
    """Return a term: small ones one after the other, others by the period of the state modulo the modulus."""
    window = [value % modulus for value in start]
    if n < len(start):
        return window[n]
    if n < 1000:
        for i in range(len(start), n + 1):
            new = sum(f * t for f, t in zip(factors, reversed(window), strict=True)) + constant + slope * i
            window = [*window[1:], new % modulus]
        return window[-1]
    return _doubled(n, window, factors, constant, slope, modulus)


def _doubled(n: int, window: list[int], factors: list[int], constant: int, slope: int, modulus: int) -> int:
    """Return a far term through the polynomial x**n modulo the characteristic polynomial.

    The constant and the slope make the sequence a plain linear one of a higher order: times (x - 1), once or twice.
    """
    character = [1, *(-f for f in factors)]
    for _ in range(1 + (slope > 0)):
        character = [a - b for a, b in zip([*character, 0], [0, *character], strict=True)]
    order = len(character) - 1
    terms = list(window)
    for i in range(len(window), order):
        new = sum(f * t for f, t in zip(factors, reversed(terms[-len(window) :]), strict=True))
        terms.append((new + constant + slope * i) % modulus)

    def times(x: list[int], y: list[int]) -> list[int]:
        whole = [0] * (2 * order - 1)
        for i, a in enumerate(x):
            for j, b in enumerate(y):
                whole[i + j] += a * b
        for top in range(2 * order - 2, order - 1, -1):
            for back in range(1, order + 1):
                whole[top - back] -= whole[top] * character[back]
        return [value % modulus for value in whole[:order]]

    power, base = [1] + [0] * (order - 1), [0, 1] + [0] * (order - 2)
    for bit in bin(n)[2:]:
        power = times(power, power)
        if bit == "1":
            power = times(power, base)
    return sum(a * b for a, b in zip(power, terms, strict=True)) % modulus
