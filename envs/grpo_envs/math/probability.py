"""Probabilities as exact fractions: one draw, dice, two draws, repeated trials, Bayes, and several draws at once."""

from __future__ import annotations

import math

from grpo_envs.math.answers import number_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import in_words
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

COLOURS = ("red", "blue", "green", "white", "black", "yellow")


@task("math.probability", equivalents=number_forms, effort=digit_operations, **MATHS)
def probability(rng: Rng, tier: int) -> Problem:
    """Probabilities: one draw, two dice, two draws, repeated trials, a cause given its effect, expectations."""
    if tier == 5:
        return _expected_largest(rng) if rng.chance(1, 3) else _several_draws(rng)
    return (_one_draw, _dice, _two_draws, _trials, _cause)[tier](rng)


def _urn(rng: Rng, kinds: int, largest: int) -> tuple[list[str], list[int], str]:
    """Return colours, their numbers and a sentence."""
    colours = rng.sample(COLOURS, kinds)
    numbers = [rng.integer(2, largest) for _ in colours]
    listed = in_words(f"{n} {colour}" for n, colour in zip(numbers, colours, strict=True))
    return colours, numbers, f"A bag holds {listed} balls."


def _sum(work: Working, numbers: list[int]) -> int:
    total = numbers[0]
    for number in numbers[1:]:
        total = work.add(total, number)
    return total


def _one_draw(rng: Rng) -> Problem:
    colours, numbers, bag = _urn(rng, 3, 25)
    work = Working()
    total = _sum(work, numbers)
    if rng.chance(1, 2):
        value, asked = work.quotient(numbers[0], total), colours[0]
    else:
        value, asked = work.quotient(work.subtract(total, numbers[0]), total), f"not {colours[0]}"
    return worked(f"{bag} One is drawn at random. What is the probability that it is {asked}?", work.lines, value)


def _two_draws(rng: Rng) -> Problem:
    """Two balls without replacement: of one colour, or of two."""
    _, numbers, bag = _urn(rng, 2, 15)
    a, b = numbers
    work = Working()
    total = work.add(a, b)
    pairs = work.multiply(total, work.subtract(total, 1))
    if rng.chance(1, 2):
        good = work.add(work.multiply(a, a - 1), work.multiply(b, b - 1))
        asked = "have the same colour"
    else:
        good = work.multiply(work.multiply(2, a), b)
        asked = "have different colours"
    value = work.quotient(good, pairs)
    asked = f"What is the probability that they {asked}?"
    return worked(f"{bag} Two are drawn without replacement. {asked}", work.lines, value)


def _dice(rng: Rng) -> Problem:
    """Two dice with different numbers of faces: their sum is at least, at most, or exactly some number."""
    n, m = sorted(rng.sample(range(4, 21), 2))
    relation = rng.choice(("at least", "at most", "exactly"))
    s = rng.integer(5, n + m - 3)
    work = Working()
    counts = []
    for first in range(1, n + 1):
        left = s - first
        good = {"at least": m - max(left, 1) + 1, "at most": min(left, m), "exactly": int(1 <= left <= m)}[relation]
        counts.append(min(max(good, 0), m))
    good = sum(counts)
    work.line(" + ".join(str(count) for count in counts if count), good)
    value = work.quotient(good, work.multiply(n, m))
    prompt = f"A die with faces 1 to {n} and one with faces 1 to {m} are thrown."
    return worked(f"{prompt} What is the probability that their sum is {relation} {s}?", work.lines, value)


def _trials(rng: Rng) -> Problem:
    """Independent trials: exactly k successes, or at least two."""
    bottom = rng.integer(5, 30)
    top = rng.integer(1, bottom - 1)
    common = math.gcd(top, bottom)
    top, bottom = top // common, bottom // common
    n = rng.integer(4, 6)
    work = Working()
    miss = work.subtract(bottom, top)
    everything = bottom**n
    work.line(f"{bottom}^{n}", everything)
    if rng.chance(1, 2):
        k = rng.integer(1, n - 1)
        good = math.comb(n, k) * top**k * miss ** (n - k)
        work.line(f"{math.comb(n, k)} * {top}^{k} * {miss}^{n - k}", good)
        asked = f"exactly {k}"
    else:
        bad = miss**n + n * top * miss ** (n - 1)
        work.line(f"{miss}^{n} + {n} * {top} * {miss}^{n - 1}", bad)
        good = work.subtract(everything, bad)
        asked = "at least 2"
    value = work.quotient(good, everything)
    prompt = f"An archer hits with probability {top}/{bottom}, each time independently, and shoots {n} times."
    hits = "hit" if asked == "exactly 1" else "hits"
    return worked(f"{prompt} What is the probability of {asked} {hits}?", work.lines, value)


def _cause(rng: Rng) -> Problem:
    """Bayes: three machines with shares and faults; a faulty part comes from one of them."""
    shares = [rng.integer(2, 9) for _ in range(3)]
    faults = rng.sample(range(1, 12), 3)
    work = Working()
    parts = [work.multiply(100 * share, fault) for share, fault in zip(shares, faults, strict=True)]
    which = rng.integer(0, 2)
    value = work.quotient(parts[which], _sum(work, parts))
    makes = in_words(f"{100 * share}" for share in shares)
    faulty = in_words(f"{fault}%" for fault in faults)
    prompt = (
        f"Machines A, B and C make {makes} parts a day; {faulty} of them are faulty, respectively. "
        f"A faulty part is found. What is the probability that {'ABC'[which]} made it?"
    )
    return worked(prompt, work.lines, value)


def _several_draws(rng: Rng) -> Problem:
    """At least j balls of one colour in k draws without replacement."""
    colours = rng.sample(COLOURS, 2)
    k = rng.integer(4, 6)
    a, b = rng.integer(k, 14), rng.integer(k, 14)
    bag = f"A bag holds {a} {colours[0]} and {b} {colours[1]} balls."
    j = rng.integer(2, k - 2)
    work = Working()
    ways = []
    for red in range(j, k + 1):
        ways.append(math.comb(a, red) * math.comb(b, k - red))
        work.line(f"{_choose(a, red)} * {_choose(b, k - red)}", ways[-1])
    good = _sum(work, ways)
    total = work.add(a, b)
    everything = math.comb(total, k)
    work.line(_choose(total, k), everything)
    value = work.quotient(good, everything)
    asked = f"What is the probability that at least {j} are {colours[0]}?"
    return worked(f"{bag} {k} are drawn without replacement. {asked}", work.lines, value)


def _choose(n: int, k: int) -> str:
    """Write n over k as products, "1" for k = 0."""
    if k == 0:
        return "1"
    top, bottom = (" * ".join(str(m) for m in range(start, start - k, -1)) for start in (n, k))
    return f"({top}) / ({bottom})"


def _expected_largest(rng: Rng) -> Problem:
    """The expected larger value of two different dice, by counting how often each value is the larger one."""
    n, m = sorted(rng.sample(range(4, 13), 2))
    prize = rng.integer(2, 60)
    work = Working()
    counts = [(value, 2 * value - 1 if value <= n else n) for value in range(1, m + 1)]
    total = sum(value * count for value, count in counts)
    work.line(" + ".join(f"{value} * {count}" for value, count in counts), total)
    value = work.quotient(work.multiply(prize, total), work.multiply(n, m))
    prompt = (
        f"A die with faces 1 to {n} and one with faces 1 to {m} are thrown. A player gets {prize} times the "
        f"larger of the two numbers as points. What is the expected number of points?"
    )
    return worked(prompt, work.lines, value)
