"""Arithmetic modulo m: products, inverses, congruences, powers, the Chinese remainder theorem, Fermat's theorem."""

from __future__ import annotations

import math

from grpo_envs.math.answers import number_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import bracketed, in_words, power
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

PRIMES = (23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)


@task("math.modular", equivalents=number_forms, effort=digit_operations, **MATHS)
def modular(rng: Rng, tier: int) -> Problem:
    """Calculate modulo m: products, inverses, congruences, powers, three congruences, towers of powers."""
    return (_product, _inverse, _congruence, _power, _chinese, _tower)[tier](rng)


def _product(rng: Rng) -> Problem:
    a, b, c, m = rng.integer(11, 99), rng.integer(11, 99), rng.integer(11, 99), rng.integer(23, 99)
    work = Working()
    left, right = work.remainder(a, m), work.remainder(b, m)
    answer = work.remainder(work.add(work.multiply(left, right), c), m)
    return worked(f"Find the remainder when {a} * {b} + {c} is divided by {m}.", work.lines, answer)


def inverse(work: Working, a: int, m: int) -> int:
    """Return the inverse of a modulo m by the extended Euclidean algorithm, for coprime 0 < a < m."""
    above, below = m, a
    factor_above, factor = 0, 1
    while below > 1:
        quotient, rest = divmod(above, below)
        work.line(f"{quotient} * {below} + {rest}", above)
        work.line(f"{factor_above} - {quotient} * {bracketed(factor)}", factor_above - quotient * factor)
        above, below = below, rest
        factor_above, factor = factor, factor_above - quotient * factor
    return factor if factor > 0 else work.add(factor, m)


def _coprime(rng: Rng, low: int, high: int) -> tuple[int, int]:
    """Return a < m without common divisor, m between the bounds."""
    while True:
        m = rng.integer(low, high)
        a = rng.integer(3, m - 2)
        if math.gcd(a, m) == 1:
            return a, m


def _inverse(rng: Rng) -> Problem:
    a, m = _coprime(rng, 23, 199)
    work = Working()
    x = inverse(work, a, m)
    work.line(f"{a} * {x} - 1", a * x - 1)
    work.divide(a * x - 1, m)
    return worked(f"Find the x from 0 to {m - 1} for which {a}x leaves remainder 1 when divided by {m}.", work.lines, x)


def _congruence(rng: Rng) -> Problem:
    """Solve ax + b = c modulo m."""
    a, m = _coprime(rng, 60, 400)
    b, x = rng.integer(2, m - 1), rng.integer(0, m - 1)
    c = (a * x + b) % m
    work = Working()
    right = work.subtract(c, b)
    right = right if right >= 0 else work.add(right, m)
    x = work.remainder(work.multiply(inverse(work, a, m), right), m)
    prompt = f"Find the x from 0 to {m - 1} for which {a}x + {b} leaves remainder {c} when divided by {m}."
    return worked(prompt, work.lines, x)


def _modular_power(work: Working, base: int, exponent: int, m: int) -> int:
    """Return base^exponent modulo m, reading the exponent's binary digits: square, and multiply at each one."""
    value = base
    for bit in f"{exponent:b}"[1:]:
        value = work.remainder(work.multiply(value, value), m)
        if bit == "1":
            value = work.remainder(work.multiply(value, base), m)
    return value


def _power(rng: Rng) -> Problem:
    while True:
        base, exponent, m = rng.integer(12, 60), rng.integer(9, 30), rng.integer(29, 120)
        if math.gcd(base, m) == 1 and pow(base, exponent, m) not in (1, base):
            break
    work = Working()
    answer = _modular_power(work, work.remainder(base, m), exponent, m)
    text = power(str(base), exponent)
    return worked(f"Find the remainder when {text} is divided by {m}.", work.lines, answer)


def _tower(rng: Rng) -> Problem:
    """a^(b^c) modulo a prime: the exponent is reduced modulo p - 1 by Fermat's theorem."""
    p = rng.choice(PRIMES)
    work = Working()
    while True:
        base, middle, top = rng.integer(2, p - 2), rng.integer(3, 29), rng.integer(9, 30)
        exponent = pow(middle, top, p - 1)
        if exponent > 1 and pow(base, exponent, p) not in (1, base):
            break
    answer = _modular_power(work, base, _modular_power(work, middle, top, p - 1), p)
    text = f"{base}^{{({power(str(middle), top)})}}"
    return worked(f"Find the remainder when {text} is divided by the prime {p}.", work.lines, answer)


def _chinese(rng: Rng) -> Problem:
    """Three congruences whose unknown has a factor; solved one after the other."""
    while True:
        moduli = sorted(rng.sample(range(11, 60), 3))
        if math.lcm(*moduli) == math.prod(moduli):
            break
    x = rng.integer(100, math.prod(moduli) - 1)
    remainders = [x % m for m in moduli]
    work = Working()
    value, modulus = remainders[0], moduli[0]
    for m, r in zip(moduli[1:], remainders[1:], strict=True):
        # value + modulus * t leaves r: t is the difference times the inverse of the modulus
        difference = work.subtract(r, value)
        difference = difference % m if difference >= 0 else _raised(work, difference, m)
        factor = work.remainder(modulus, m) if modulus >= m else modulus
        inverted = inverse(work, factor, m) if factor > 1 else 1
        t = work.remainder(work.multiply(inverted, difference), m)
        value = work.add(value, work.multiply(modulus, t))
        modulus = work.multiply(modulus, m)
    pairs = in_words(f"{r} when divided by {m}" for r, m in zip(remainders, moduli, strict=True))
    return worked(f"Find the smallest non-negative integer that leaves remainder {pairs}.", work.lines, value)


def _raised(work: Working, negative: int, m: int) -> int:
    """Return a negative number's remainder by adding a multiple of m."""
    return work.add(negative, work.multiply(m, -(negative // m)))
