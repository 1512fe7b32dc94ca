"""Second solvers of sequences and number theory: by listing, by search, and with sympy."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable
from fractions import Fraction

import sympy

from grpo_gym import Problem
from tests.envs.formulas import parts
from tests.envs.second_algebra import groups


def answer(problem: Problem) -> Fraction:
    return Fraction(problem.reference)


def matched(patterns: dict[str, Callable[..., object]], problem: Problem) -> bool:
    """Find the one pattern that the prompt reads as, and compare what its function makes of the numbers in it."""
    found = [(m, f) for pattern, f in patterns.items() if (m := re.fullmatch(pattern, problem.prompt))]
    assert len(found) == 1, (problem.prompt, len(found))
    match, function = found[0]
    return function(*(int(g) if re.fullmatch(r"-?\d+", g or "") else g for g in match.groups())) == answer(problem)


def sequence(problem: Problem) -> bool:
    text = problem.prompt
    numbers = [Fraction(n) for n in re.findall(r"-?\d+(?:/\d+)?", text)]
    if "arithmetic sequence" in text and text.startswith("Find"):
        count, start, following = (int(k) for k in numbers[:3])
        step = following - start
        return list(range(start, start + count * step, step))[count - 1] == answer(problem)
    if text.startswith("In an arithmetic"):
        i, low, j, high, terms = numbers
        return sum(low + (k - i) * (high - low) / (j - i) for k in range(1, int(terms) + 1)) == answer(problem)
    if "polynomial in n" in text:
        assert numbers[0] == 2
        x = sympy.Symbol("x")
        law = sympy.interpolate([(k, int(v)) for k, v in enumerate(numbers[1:4], 1)], x)
        assert sympy.degree(law, x) == 2
        return bool(law.subs(x, int(numbers[4])) == int(problem.reference))
    if "geometric" in text:
        terms, first, second = numbers[:3]
        assert second / first == numbers[3] / second
        return sum(first * (second / first) ** k for k in range(int(terms))) == answer(problem)
    return recurrence(problem)


def recurrence(problem: Problem) -> bool:
    law, n = groups(r"A sequence has .* and a_n = (.+) for n > 2\. Find a_\{?(\d+)\}?\.", problem.prompt)
    terms = [int(k) for k in re.findall(r"a_[12] = (-?\d+)", problem.prompt)]
    python = law.replace("a_{n-1}", "terms[-1]").replace("a_{n-2}", "terms[-2]")
    while len(terms) < int(n):
        terms.append(eval(python, {"__builtins__": {}}, {"terms": terms}))
    return terms[-1] == answer(problem)


def divisors(problem: Problem) -> bool:
    product = r"(\d+\^\d+(?: \* \d+(?:\^\d+)?)*|\d+(?: \* \d+(?:\^\d+)?)+)"
    factor = r"(\d+(?:\^\d+)?(?: \* \d+(?:\^\d+)?)*)"
    return matched(
        {
            r"Find the largest prime factor of (\d+)\.": lambda n: max(sympy.primefactors(n)),
            r"How many positive divisors does (\d+) have\?": lambda n: sum(n % d == 0 for d in range(1, n + 1)),
            r"Find the sum of all positive divisors of (\d+)\.": lambda n: sum(
                d for d in range(1, n + 1) if n % d == 0
            ),
            r"How many of the numbers from 1 to (\d+) are coprime to (\d+)\?": (
                lambda n, m: sum(math.gcd(k, n) == 1 for k in range(1, n + 1)) if n == m else None
            ),
            rf"How many positive divisors does {product} have\?": lambda p: len(sympy.divisors(_number(p))),
            rf"How many positive divisors of {product} are perfect squares\?": lambda p: _powers_dividing(p, 2),
            rf"How many positive divisors of {product} are perfect cubes\?": lambda p: _powers_dividing(p, 3),
            rf"How many positive divisors of {product} are multiples of {factor}\?": _multiples_dividing,
        },
        problem,
    )


def _number(product: str | int) -> int:
    return math.prod(int(b) ** int(e or 1) for b, e in re.findall(r"(\d+)(?:\^(\d+))?", str(product)))


def _powers_dividing(product: str, degree: int) -> int:
    """Count k with k^degree | n among the products of the primes of n."""
    n = _number(product)
    ranges = [range(n.bit_length()) for _ in sympy.primefactors(n)]
    count = 1
    for p, exponents in zip(sympy.primefactors(n), ranges, strict=True):
        count *= sum(n % p ** (degree * k) == 0 for k in exponents)
    return count


def _multiples_dividing(product: str, factor: str | int) -> int:
    n, m = _number(product), _number(factor)
    return int(sympy.divisor_count(n // m)) if n % m == 0 else 0


def _tower(base: int, middle: int, top: int, p: int) -> int:
    return pow(base, middle**top, p)


MODULAR: dict[str, Callable[..., object]] = {
    r"Find the remainder when (\d+) \* (\d+) \+ (\d+) is divided by (\d+)\.": lambda a, b, c, m: (a * b + c) % m,
    r"Find the x from 0 to (\d+) for which (\d+)x leaves remainder 1 when divided by (\d+)\.": (
        lambda last, a, m: _only(x for x in range(last + 1) if a * x % m == 1)
    ),
    r"Find the x from 0 to (\d+) for which (\d+)x \+ (\d+) leaves remainder (\d+) when divided by (\d+)\.": (
        lambda last, a, b, c, m: _only(x for x in range(last + 1) if (a * x + b) % m == c)
    ),
    r"Find the remainder when (\d+)\^\{?(\d+)\}? is divided by (\d+)\.": lambda a, n, m: a**n % m,
    r"Find the smallest non-negative integer that leaves remainder (\d+) when divided by (\d+), (\d+) when divided by "
    r"(\d+) and (\d+) when divided by (\d+)\.": (
        lambda r, m, s, n, t, k: next(x for x in itertools.count(r, m) if x % n == s and x % k == t)
    ),
    r"Find the remainder when (\d+)\^\{\((\d+)\^\{?(\d+)\}?\)\} is divided by the prime (\d+)\.": _tower,
}


def _only(found: Iterable[int]) -> int:
    (value,) = found
    return value


def diophantine(problem: Problem) -> bool:
    text = problem.prompt
    numbers = [int(n) for n in re.findall(r"\d+", text.replace("(x", "(1x").replace(" x ", " 1x "))]
    if "coins of" in text:
        a, b = numbers[:2]
        payable = [False] * (a * b + 1)
        payable[0] = True
        for n in range(1, a * b + 1):
            payable[n] = (n >= a and payable[n - a]) or (n >= b and payable[n - b])
        missing = [n for n, possible in enumerate(payable) if not possible]
        return answer(problem) == (max(missing) if "largest" in text else len(missing))
    if "tickets" in text:
        number, total, high, middle, low = (int(n) for n in re.findall(r"\d+", text)[:5])
        triples = ((x, y, number - x - y) for x in range(number + 1) for y in range(number - x + 1))
        first = next(t for t in triples if t[0] * high + t[1] * middle + t[2] * low == total)
        return parts(problem.reference) == list(first)
    first_factor, sign, second_factor, right = groups(r".* (\d*)x ([+-]) (\d*)y = (\d+).*", text)
    p, q, n = int(first_factor or 1), int(second_factor or 1) * (1 if sign == "+" else -1), int(right)
    least = 0 if "non-negative" in text else 1
    xs = range(least, n // p + 1) if q > 0 else range(least, 10**6)
    found = ((x, (n - p * x) // q) for x in xs if (n - p * x) % q == 0 and (n - p * x) // q >= least)
    if text.startswith("How many"):
        return answer(problem) == sum(1 for _ in found)
    return parts(problem.reference) == list(next(found))


SOLVERS: dict[str, Callable[[Problem], bool]] = {
    "math.sequence": sequence,
    "math.divisors": divisors,
    "math.modular": lambda problem: matched(MODULAR, problem),
    "math.diophantine": diophantine,
}
