"""Percent and ratio in short stories whose numbers come out even, from a part of a whole to compound interest."""

from __future__ import annotations

import math

from grpo_envs.math.answers import number_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.stories import PEOPLE, STORIES
from grpo_envs.math.style import Working, worked
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

THINGS = (("marbles", "red"), ("stamps", "old"), ("shells", "white"), ("buttons", "round"), ("apples", "ripe"))
GOODS = ("lamp", "coat", "chair", "bicycle", "radio", "table", "camera", "tent")
LIQUIDS = ("syrup", "acid", "alcohol", "juice")


@task("math.percent", equivalents=number_forms, effort=digit_operations, **STORIES)
def percent(rng: Rng, tier: int) -> Problem:
    """Percent: a part, a change, the value before, mixtures and ratios (3), two changes (4), compound interest."""
    if tier == 3:
        return _mixture(rng) if rng.chance(1, 2) else _ratio(rng)
    return {0: _part, 1: _change, 2: _before, 4: _two_changes, 5: _interest}[tier](rng)


RATES = tuple(p for p in range(4, 96) if p % 4 == 0 or p % 5 == 0)
"""Percentages of which round numbers have a whole share."""


def _whole(rng: Rng, hundredths: int, most: int, base: int = 100) -> int:
    """Return a number of which this many parts of the base are whole too."""
    step = base // math.gcd(hundredths, base)
    return step * rng.integer(max(1, 20 // step), max(4, most // step))


def _share(work: Working, n: int, hundredths: int) -> int:
    return work.divide(work.multiply(n, hundredths), 100)


def _changed(work: Working, rate: int, rises: bool) -> int:
    """Return the percentage that is left of 100 after a change."""
    return work.add(100, rate) if rises else work.subtract(100, rate)


def _part(rng: Rng) -> Problem:
    name, (things, kind) = rng.choice(PEOPLE), rng.choice(THINGS)
    rate = rng.choice(RATES)
    n = _whole(rng, rate, 900)
    work = Working()
    answer = _share(work, n, rate)
    return worked(f"{name} has {n} {things}. {rate}% of them are {kind}. How many are {kind}?", work.lines, answer)


def _change(rng: Rng) -> Problem:
    """The new price, or by how many percent it has changed."""
    goods, rate, rises = rng.choice(GOODS), rng.choice(RATES), rng.chance(1, 2)
    price = _whole(rng, rate, 600)
    verb = "rises" if rises else "falls"
    work = Working()
    if rng.chance(1, 2):
        after = _share(work, price, _changed(work, rate, rises))
        asked = f"costs {price} dollars. Its price {verb} by {rate}%. What does it cost then, in dollars?"
        return worked(f"A {goods} {asked}", work.lines, after)
    after = price + (price * rate // 100 if rises else -(price * rate // 100))
    difference = work.subtract(after, price) if rises else work.subtract(price, after)
    answer = work.divide(work.multiply(difference, 100), price)
    asked = f"The price of a {goods} {verb} from {price} to {after} dollars. By how many percent?"
    return worked(asked, work.lines, answer)


def _before(rng: Rng) -> Problem:
    """The price before a change, from the price after it."""
    goods, rate, rises = rng.choice(GOODS), rng.choice(RATES), rng.chance(1, 2)
    price = _whole(rng, rate, 9_000)
    work = Working()
    left = _changed(work, rate, rises)
    after = price * left // 100
    answer = work.divide(work.multiply(after, 100), left)
    change = f"risen by {rate}%" if rises else f"fallen by {rate}%"
    prompt = f"The price of a {goods} has {change} and is now {after} dollars. What was it before, in dollars?"
    return worked(prompt, work.lines, answer)


def _two_changes(rng: Rng) -> Problem:
    """Two changes, one after the other; the last price is asked for or the first."""
    goods = rng.choice(GOODS)
    changes = [(rng.integer(1, 14) * 5, rng.chance(1, 2)) for _ in range(2)]
    work = Working()
    left, then = (_changed(work, rate, rises) for rate, rises in changes)
    first = _whole(rng, left * then, 4_000, base=10_000)
    last = first * left * then // 10_000
    (one, up), (two, up_then) = changes
    story = f"{'rises' if up else 'falls'} by {one}% and then {'rises' if up_then else 'falls'} by {two}%"
    if rng.chance(1, 2):
        both = work.multiply(left, then)
        work.line(f"{first} * {both} / 10000", last)
        prompt = f"A {goods} costs {first} dollars. Its price {story}. What does it cost in the end, in dollars?"
        return worked(prompt, work.lines, last)
    both = work.multiply(left, then)
    work.line(f"{last} * 10000 / {both}", first)
    prompt = f"The price of a {goods} {story}. In the end it is {last} dollars. What was it at first, in dollars?"
    return worked(prompt, work.lines, first)


def _mixture(rng: Rng) -> Problem:
    """Two mixtures are put together, then water is added to reach a strength."""
    liquid = rng.choice(LIQUIDS)
    while True:
        a, b = (10 * rng.integer(5, 60) for _ in range(2))
        low, high = sorted(rng.sample(range(12, 90), 2))
        pure = a * low + b * high
        wanted = [q for q in range(4, low) if pure % q == 0]
        if wanted:
            break
    aim = rng.choice(wanted)
    work = Working()
    pure = work.add(work.multiply(a, low), work.multiply(b, high))
    answer = work.subtract(work.divide(pure, aim), work.add(a, b))
    prompt = (
        f"{a} ml of a mixture with {low}% of {liquid} and {b} ml of one with {high}% are put together. "
        f"How many ml of water must be added so that {aim}% is {liquid}?"
    )
    return worked(prompt, work.lines, answer)


def _ratio(rng: Rng) -> Problem:
    """Two ratios that share a member are put into one; what one person has gives what all have."""
    one, two, three = rng.sample(PEOPLE, 3)
    a, b = rng.sample(range(5, 30), 2)
    c, d = rng.sample(range(5, 30), 2)
    common = math.lcm(b, c)
    work = Working()
    left = work.multiply(a, work.divide(common, b))
    right = work.multiply(d, work.divide(common, c))
    unit = rng.integer(2, 20)
    total = work.add(work.add(left, common), right)
    have = unit * left
    answer = work.multiply(total, work.divide(have, left))
    prompt = (
        f"{one} and {two} share coins as {a} to {b}, {two} and {three} as {c} to {d}. "
        f"{one} has {have} coins. How many do all three have?"
    )
    return worked(prompt, work.lines, answer)


def _interest(rng: Rng) -> Problem:
    """Compound interest: the balance, the interest earned, or the deposit."""
    name, rate, years = rng.choice(PEOPLE), rng.choice((2, 4, 5, 8, 10, 12, 15, 20, 25)), rng.integer(2, 3)
    step = (100 // math.gcd(100, rate)) ** years
    deposit = step * rng.integer(max(1, 2_000 // step), max(12, 40_000 // step))
    work = Working()
    factor = work.add(100, rate)
    balance = deposit * factor**years // 100**years
    begin = f"{rate}% a year, which is added to it every year"
    if rng.chance(1, 3):
        value = balance
        for _ in range(years):
            value = work.divide(work.multiply(value, 100), factor)
        prompt = f"{name} has {balance} dollars {years} years after a deposit that earns {begin}."
        return worked(f"{prompt} How large was the deposit?", work.lines, value)
    value = deposit
    for _ in range(years):
        value = work.divide(work.multiply(value, factor), 100)
    prompt = f"{name} deposits {deposit} dollars and earns {begin}."
    if rng.chance(1, 2):
        return worked(f"{prompt} How many dollars are there after {years} years?", work.lines, value)
    earned = work.subtract(value, deposit)
    return worked(f"{prompt} How many dollars of interest are earned in {years} years?", work.lines, earned)
