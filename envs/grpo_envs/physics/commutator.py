"""Commutators of x and p and of ladder operators, hbar = 1: numbers, polynomials, coefficients, matrix elements."""

from __future__ import annotations

import math

from grpo_envs.math.derivative import nonzero, signed_polynomial
from grpo_envs.math.exact import factor, joined, scaled, surd
from grpo_envs.math.writing import polynomial, power
from grpo_envs.physics.style import PHYSICS, Steps, asked, operand
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

UNITS = "Let [x, p] = i, with hbar = 1."


@task("physics.commutator", **PHYSICS)
def commutator(rng: Rng, tier: int) -> Problem:
    """Find commutators: of powers (0), linear (1), polynomials (3), in order (4); of ladder operators (2, 5)."""
    return (_powers, _linear, _word, _polynomials, _ordered, _commuted_words)[tier](rng)


def times_i(terms: list[tuple[int, str]]) -> str:
    """Write i times a sum of coefficient times symbol."""
    return joined(scaled(c, f"i{symbol}") for c, symbol in terms)


def _linear(rng: Rng) -> Problem:
    a, b, c, d = (nonzero(rng, 12) for _ in range(4))
    steps = Steps()
    value = a * d - b * c
    one = steps.rational(f"{a} * {operand(d)}", a * d)
    two = steps.rational(f"{b} * {operand(c)}", b * c)
    steps.get(f"{one} - {operand(two)}", value)
    left, right = (joined([scaled(m, "x"), scaled(n, "p")]) for m, n in ((a, b), (c, d)))
    return asked(f"{UNITS} Find [{left}, {right}].", steps, times_i([(value, "")]))


def _powers(rng: Rng) -> Problem:
    """Take a multiple of a power of one against the other."""
    c, d, n = nonzero(rng, 12), nonzero(rng, 12), rng.integer(2, 12)
    letter, steps = rng.choice("xp"), Steps()
    value = times_i([(c * d * n, power(letter, n - 1))])
    steps.get(f"{c} * {f'({d})' if d < 0 else d} * {n}", c * d * n)
    f, g = scaled(c, power(letter, n)), scaled(d, "p" if letter == "x" else "x")
    pair = (f, g) if letter == "x" else (g, f)
    return asked(f"{UNITS} Find [{pair[0]}, {pair[1]}].", steps, value)


def _polynomials(rng: Rng) -> Problem:
    """Take a polynomial in one against the other: i times its derivative, minus i where p stands first."""
    f = signed_polynomial(rng, 3, 9)
    letter, first, d = rng.choice("xp"), rng.chance(1, 2), nonzero(rng, 6)
    degree = len(f) - 1
    sign = d * (1 if (letter == "x") == first else -1)
    slope = [(c * (degree - k), degree - k - 1) for k, c in enumerate(f[:-1])]
    steps = Steps()
    inner = joined(scaled(c, power(letter, n)) if n else str(c) for c, n in slope if c)
    steps.lines.append(f"\\frac{{d}}{{d{letter}}}({polynomial(f, letter)}) = {inner}")
    value = times_i([(sign * c, power(letter, n) if n else "") for c, n in slope])
    steps.get(f"{scaled(sign, 'i')}({inner})", value)
    pair = [factor(polynomial(f, letter)).strip("()"), scaled(d, "p" if letter == "x" else "x")]
    left, right = pair if first else pair[::-1]
    return asked(f"{UNITS} Find [{left}, {right}].", steps, value)


def _ordered(rng: Rng) -> Problem:
    """Use p^n x^m = sum of (-i)^k k! C(m, k) C(n, k) x^(m-k) p^(n-k): ask for one coefficient of [x^m, p^n]."""
    m, n, c = rng.integer(4, 10), rng.integer(4, 10), nonzero(rng, 9)
    k = rng.integer(3, min(m, n))
    steps = Steps()
    first, second = math.comb(m, k), math.comb(n, k)
    steps.lines.append(f"\\frac{{{_falling(m, k)}}}{{{math.factorial(k)}}} = {first}")
    steps.lines.append(f"\\frac{{{_falling(n, k)}}}{{{math.factorial(k)}}} = {second}")
    size = math.factorial(k) * first * second
    steps.lines.append(f"(-i)^{k} = {('1', '-i', '-1', 'i')[k % 4]}")
    steps.get(f"{math.factorial(k)} * {first} * {second}", size)
    value = [-c * size, 0] if k % 2 == 0 else [0, c * size]
    if k % 4 in (2, 3):  # -(-i)^k is i, 1, -i, -1 for k = 1, 2, 3, 4
        value = [-v for v in value]
    answer = str(value[0]) if value[0] else times_i([(value[1], "")])
    steps.get(f"-{factor(str(c))} * (-i)^{k} * {size}" if c < 0 else f"-{c} * (-i)^{k} * {size}", answer)
    left, right = scaled(c, power("x", m)), power("p", n)
    where = "".join(filter(None, [power("x", m - k) if m > k else "", power("p", n - k) if n > k else ""]))
    asks = f"What is the coefficient of {where}?" if where else "What is the term without x and p?"
    return asked(f"{UNITS} Write [{left}, {right}] with every x to the left of every p. {asks}", steps, answer)


def _falling(n: int, k: int) -> str:
    return " * ".join(str(n - j) for j in range(k))


# --- ladder operators: a|n> is \sqrt{n}|n-1>, a+|n> is \sqrt{n+1}|n+1>


def _apply(steps: Steps, word: str, n: int) -> tuple[int, int]:
    """Apply a word of "a" and "A" (its adjoint), the last letter first, to |n>.

    Returns:
        The square of the factor, 0 where the state is lost, and the level reached.
    """
    square, numbers = 1, []
    for letter in reversed(word):
        numbers.append(n if letter == "a" else n + 1)
        square *= numbers[-1]
        n += -1 if letter == "a" else 1
        if square == 0:
            break
    steps.get(" * ".join(map(str, numbers)), square)
    return square, n


def _written(word: str) -> str:
    return " ".join({"a": "a", "A": "a+"}[letter] for letter in word)


def _draw(rng: Rng, length: int, n: int) -> str:
    """Return a word that does not lose the state |n>, with both letters in it."""
    while True:
        letters = ["A", "a", *(rng.choice("Aa") for _ in range(length - 2))]
        rng.shuffle(letters)
        level, low = n, n
        for letter in reversed(letters):
            level += 1 if letter == "A" else -1
            low = min(low, level)
        if low >= 0:
            return "".join(letters)


LADDER = "With the ladder operators a and a+, where [a, a+] = 1 and a+ a|n> = n|n>,"


def _word(rng: Rng) -> Problem:
    n = rng.integer(1, 20)
    word, c = _draw(rng, rng.integer(4, 6), n), nonzero(rng, 6)
    steps = Steps()
    square, m = _apply(steps, word, n)
    value = surd(c, 1, square)
    steps.get(f"{c}\\sqrt{{{square}}}" if abs(c) > 1 else f"{'-' if c < 0 else ''}\\sqrt{{{square}}}", value)
    return asked(f"{LADDER} find the exact value of <{m}|{scaled(c, f'({_written(word)})')}|{n}>.", steps, value)


def _commuted_words(rng: Rng) -> Problem:
    """Ask for a matrix element of the commutator of two words."""
    while True:
        n = rng.integer(1, 12)
        words = [_draw(rng, rng.integer(2, 4), n) for _ in range(2)]
        steps = Steps()
        one, m = _apply(steps, words[0] + words[1], n)
        other, back = _apply(steps, words[1] + words[0], n)
        if one and other and m == back and one != other:
            break
    first, second = surd(1, 1, one), surd(1, 1, other)
    for square, value in ((one, first), (other, second)):
        steps.get(f"\\sqrt{{{square}}}", value)
    answer = joined([str(first), f"-{second}"])
    if first.radicand == second.radicand:
        answer = str(surd(first.top - second.top, 1, first.radicand))
        steps.get(f"{first} - {second}", answer)
    left, right = map(_written, words)
    return asked(f"{LADDER} find the exact value of <{m}|[{left}, {right}]|{n}>.", steps, answer)
