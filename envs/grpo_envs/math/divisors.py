"""Divisors: the largest prime factor, their number, their sum, Euler's phi, and those of a product of powers."""

from __future__ import annotations

from functools import cache

from grpo_envs.math.answers import number_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import power
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)

LARGER = (1, 1, *PRIMES[4:15])
"""What else a number may be made of: a prime above 7, or nothing."""

Factors = dict[int, int]
"""Prime -> exponent, in increasing order of the primes."""


@task("math.divisors", equivalents=number_forms, effort=digit_operations, **MATHS)
def divisors(rng: Rng, tier: int) -> Problem:
    """Largest prime factor, number of divisors, their sum, phi; divisors of products (4), of one kind only (5)."""
    if tier == 0:
        return _largest_prime(rng)
    if tier <= 3:
        return (_number, _sum, _phi)[tier - 1](rng)
    return _of_product(rng, only_some=tier == 5)


def factorise(work: Working, n: int) -> Factors:
    """Return the prime factors of n; each division is a line."""
    found: Factors = {}
    for p in PRIMES:
        while n % p == 0 and n != p:
            n = work.divide(n, p)
            found[p] = found.get(p, 0) + 1
    found[n] = found.get(n, 0) + 1
    return found


def _product(work: Working, factors: list[int]) -> int:
    value = factors[0]
    for factor in factors[1:]:
        value = work.multiply(value, factor)
    return value


def _composite(rng: Rng, low: int, high: int) -> int:
    """Return a number between two bounds by drawing its exponents."""
    while True:
        n = rng.choice(LARGER) * rng.choice(LARGER)
        for p, most in ((2, 7), (3, 5), (5, 3), (7, 2)):
            n *= p ** rng.integer(0, most)
            if n > high:
                break
        if low <= n <= high:
            return n


@cache
def _smooth(limit: int, largest: int) -> tuple[int, ...]:
    """Return the numbers from 4 to a limit without a prime factor above the largest."""

    def rest(n: int) -> int:
        for p in PRIMES:
            while p <= largest and n % p == 0:
                n //= p
        return n

    return tuple(n for n in range(4, limit + 1) if rest(n) == 1)


def _largest_prime(rng: Rng) -> Problem:
    p = rng.choice(PRIMES[2:])
    n = p * rng.choice(_smooth(200, p))
    work = Working()
    return worked(f"Find the largest prime factor of {n}.", work.lines, max(factorise(work, n)))


COMMON = (16, 24, 32, 36, 48)
"""Numbers of divisors that so many numbers have that one of them would be a good guess; most are drawn again."""


def _number(rng: Rng) -> Problem:
    while True:
        n = _composite(rng, 200, 199_999)
        work = Working()
        answer = _product(work, [work.add(exponent, 1) for exponent in factorise(work, n).values()])
        if answer not in COMMON or rng.chance(2, 5):
            break
    return worked(f"How many positive divisors does {n} have?", work.lines, answer)


def _phi(rng: Rng) -> Problem:
    n = _composite(rng, 1_000, 30_000)
    work = Working()
    value = n
    for p in factorise(work, n):
        value = work.subtract(value, work.divide(value, p))
    return worked(f"How many of the numbers from 1 to {n} are coprime to {n}?", work.lines, value)


def _sum(rng: Rng) -> Problem:
    n = _composite(rng, 1_000, 30_000)
    work = Working()
    sums = []
    for p, exponent in factorise(work, n).items():
        total = sum(p**k for k in range(exponent + 1))
        work.line(" + ".join(["1", *(power(str(p), k) for k in range(1, exponent + 1))]), total)
        sums.append(total)
    return worked(f"Find the sum of all positive divisors of {n}.", work.lines, _product(work, sums))


BASES = tuple(n for n in _smooth(90, 7) if sum(n % p == 0 for p in PRIMES[:4]) >= 2)
"""Numbers of at least two primes from 2, 3, 5 and 7."""


def _of_product(rng: Rng, only_some: bool) -> Problem:
    """Divisors of four powers; at the last tier only those that are squares, cubes or multiples of a number."""
    bases = rng.sample(BASES, 4)
    exponents = [rng.integer(2, 9) for _ in bases]
    work = Working()
    factors: Factors = {}
    terms: dict[int, list[tuple[int, int]]] = {}
    for base, exponent in zip(bases, exponents, strict=True):
        for p, times in factorise(work, base).items():
            terms.setdefault(p, []).append((times, exponent))
    for p in sorted(terms):
        factors[p] = sum(times * exponent for times, exponent in terms[p])
        work.line(" + ".join(f"{times} * {exponent}" for times, exponent in terms[p]), factors[p])
    text = " * ".join(power(str(base), exponent) for base, exponent in zip(bases, exponents, strict=True))
    if not only_some:
        answer = _product(work, [work.add(exponent, 1) for exponent in factors.values()])
        return worked(f"How many positive divisors does {text} have?", work.lines, answer)
    kind = rng.integer(0, 2)
    if kind == 2:
        fixed = {p: rng.integer(1, min(3, e)) for p, e in factors.items() if rng.chance(2, 3)} or {2: 1}
        wanted = "multiples of " + " * ".join(power(str(p), e) for p, e in fixed.items())
        choices = [work.add(work.subtract(e, fixed.get(p, 0)), 1) for p, e in factors.items()]
    else:
        degree, wanted = ((2, "perfect squares"), (3, "perfect cubes"))[kind]
        choices = []
        for exponent in factors.values():
            work.line(f"{degree} * {exponent // degree} + {exponent % degree}", exponent)
            choices.append(work.add(exponent // degree, 1))
    return worked(f"How many positive divisors of {text} are {wanted}?", work.lines, _product(work, choices))
