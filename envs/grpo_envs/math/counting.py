"""Counting: products, committees, words with equal letters, paths and shares, inclusion-exclusion, derangements."""

from __future__ import annotations

import math

from grpo_envs.math.answers import number_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import in_words
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

MENUS = (("starter", "main course", "dessert"), ("shirt", "skirt", "hat"), ("frame", "saddle", "bell"))
GROUPS = (("teachers", "pupils"), ("nurses", "doctors"), ("violinists", "singers"), ("painters", "plumbers"))
LETTERS = "ABCDEFGH"


@task("math.counting", equivalents=number_forms, effort=digit_operations, **MATHS)
def counting(rng: Rng, tier: int) -> Problem:
    """Count: choices, committees, words, shares and paths, inclusion-exclusion, bounded shares and derangements."""
    if tier == 3:
        return _shares(rng) if rng.chance(1, 2) else _paths(rng)
    if tier == 5:
        return _derangements(rng) if rng.chance(1, 12) else _bounded_shares(rng)
    return {0: _choices, 1: _committee, 2: _words, 4: _multiples}[tier](rng)


def choose(work: Working, n: int, k: int) -> int:
    """Return n over k, written as a quotient of products."""
    value, k = math.comb(n, k), min(k, n - k)
    if k == 1:
        return value
    if k > 1:
        top, bottom = (" * ".join(str(m) for m in range(start, start - k, -1)) for start in (n, k))
        work.line(f"({top}) / ({bottom})", value)
    return value


def _choices(rng: Rng) -> Problem:
    kinds = rng.choice(MENUS)
    numbers = [rng.integer(3, 20) for _ in kinds]
    optional = rng.chance(1, 2)
    work = Working()
    first = work.add(numbers[2], 1) if optional else numbers[2]
    answer = work.multiply(work.multiply(numbers[0], numbers[1]), first)
    listed = in_words(f"{n} {kind}s" for n, kind in zip(numbers, kinds, strict=True))
    last = f"at most one {kinds[2]}" if optional else f"one {kinds[2]}"
    rule = f"A choice is one {kinds[0]}, one {kinds[1]} and {last}."
    return worked(f"There are {listed}. {rule} How many choices are there?", work.lines, answer)


def _committee(rng: Rng) -> Problem:
    one, two = rng.choice(GROUPS)
    n, m = rng.integer(5, 16), rng.integer(5, 16)
    j, k = rng.integer(2, 3), rng.integer(2, 4)
    work = Working()
    answer = work.multiply(choose(work, n, j), choose(work, m, k))
    prompt = f"From {n} {one} and {m} {two}, how many committees of {j} {one} and {k} {two} can be chosen?"
    return worked(prompt, work.lines, answer)


def _words(rng: Rng) -> Problem:
    """Arrangements of letters of which some are equal."""
    counts = [rng.integer(1, 5) for _ in range(4)]
    n = sum(counts)
    chosen = rng.sample(LETTERS, len(counts))
    letters = [letter for letter, count in zip(chosen, counts, strict=True) for _ in range(count)]
    rng.shuffle(letters)
    work = Working()
    answer, left = 1, n
    for count in counts[:-1]:
        ways = choose(work, left, count)
        answer = work.multiply(answer, ways) if answer > 1 else ways
        left = work.subtract(left, count)
    prompt = f"In how many different ways can the letters {''.join(letters)} be arranged in a row?"
    return worked(prompt, work.lines, answer)


def _shares(rng: Rng) -> Problem:
    """Equal things to different people, each of whom gets a least number."""
    least = [rng.integer(1, 12) for _ in range(rng.integer(5, 8))]
    people, spare = len(least), rng.integer(9, 25)
    things = sum(least) + spare
    work = Working()
    work.line(" - ".join(map(str, [things, *least])), spare)
    answer = choose(work, work.subtract(work.add(spare, people), 1), work.subtract(people, 1))
    prompt = (
        f"In how many ways can {things} equal coins be shared among {people} people "
        f"if they get at least {in_words(least)} coins respectively?"
    )
    return worked(prompt, work.lines, answer)


def _paths(rng: Rng) -> Problem:
    """Shortest paths on a grid through a point."""
    a, b, c, d = (rng.integer(4, 9) for _ in range(4))
    work = Working()
    answer = work.multiply(choose(work, work.add(a, b), a), choose(work, work.add(c, d), c))
    prompt = (
        f"A path on the grid goes from (0, 0) to ({a + c}, {b + d}) in steps of one to the right or one up. "
        f"How many such paths pass through ({a}, {b})?"
    )
    return worked(prompt, work.lines, answer)


def _multiples(rng: Rng) -> Problem:
    """Numbers up to N that are multiples of one of three: inclusion and exclusion."""
    top = rng.integer(200, 2_999)
    divisors = sorted(rng.sample((2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 3))
    work = Working()

    def multiples(*of: int) -> int:
        common = math.lcm(*of)
        work.line(f"{top // common} * {common} + {top % common}", top)
        return top // common

    a, b, c = divisors
    singles = [multiples(n) for n in divisors]
    pairs = [multiples(a, b), multiples(a, c), multiples(b, c)]
    added = work.add(work.add(singles[0], singles[1]), singles[2])
    taken = work.add(work.add(pairs[0], pairs[1]), pairs[2])
    answer = work.add(work.subtract(added, taken), multiples(a, b, c))
    if rng.chance(1, 2):
        answer = work.subtract(top, answer)
        asked = f"none of {in_words(divisors).replace(' and ', ' or ')}"
        return worked(f"How many of the numbers from 1 to {top} are divisible by {asked}?", work.lines, answer)
    asked = f"at least one of {in_words(divisors)}"
    return worked(f"How many of the numbers from 1 to {top} are divisible by {asked}?", work.lines, answer)


def _bounded_shares(rng: Rng) -> Problem:
    """Solutions of x + y + z + w = n with bounds: those that break some bounds are taken away and added again."""
    bounds = [rng.integer(3, 9) for _ in range(4)]
    n = sum(bounds) // 2 + rng.integer(0, 5)
    work = Working()
    total = 0
    for broken in range(16):
        over = [bounds[k] + 1 for k in range(4) if broken >> k & 1]
        left = n - sum(over)
        if left < 0:
            continue
        if over:
            work.line(" - ".join(map(str, [n, *over])), left)
        ways = choose(work, left + 3, 3)
        total = ways if not over else work.add(total, -ways if len(over) % 2 else ways)
    limits = ", ".join(f"{x} <= {bound}" for x, bound in zip("xyzw", bounds, strict=True))
    prompt = f"How many solutions in non-negative integers has x + y + z + w = {n} with {limits}?"
    return worked(prompt, work.lines, total)


def _derangements(rng: Rng) -> Problem:
    """Permutations of which exactly k elements stay in place; the others are deranged."""
    n, k = rng.integer(7, 14), rng.choice((0, 2, 3, 4))
    work = Working()
    ways = choose(work, n, k)
    before, last = 1, 0  # derangements of no thing and of one
    for m in range(2, n - k + 1):
        work.line(f"{m - 1} * ({before} + {last})", (m - 1) * (before + last))
        before, last = last, (m - 1) * (before + last)
    prompt = rng.choice((
        f"{n} letters are put into {n} addressed envelopes, one into each. "
        f"In how many ways are exactly {k} of them in the right envelope?",
        f"{n} guests leave with {n} coats, one each. In how many ways do exactly {k} of them have their own?",
        f"How many permutations of the numbers 1 to {n} leave exactly {k} of them in place?",
    ))  # fmt: skip
    return worked(prompt, work.lines, work.multiply(ways, last))
