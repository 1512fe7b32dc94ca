"""Second solvers of the word problems, counting and probability: simulation, tables, and listing every case."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import sympy

from grpo_gym import Problem
from tests.envs.second_algebra import groups
from tests.envs.second_numbers import answer, matched

# --- stories


def changed(price: Fraction | int, verb: str, rate: int) -> Fraction:
    return Fraction(price) * (100 + (rate if verb in ("rises", "risen") else -rate)) / 100


def first_price(verb: str, rate: int, verb2: str, rate2: int, last: int) -> int:
    return next(p for p in range(1, 200_000) if changed(changed(p, verb, rate), verb2, rate2) == last)


def balance(deposit: int, rate: int, years: int) -> Fraction:
    return deposit * (1 + Fraction(rate, 100)) ** years


def coins(a: int, b: int, c: int, d: int, have: int) -> Fraction:
    second = Fraction(have * b, a)
    return have + second + second * d / c


WORD = r"[A-Z]?[a-z]+"
PERCENT: dict[str, Callable[..., object]] = {
    rf"{WORD} has (\d+) {WORD}\. (\d+)% of them are {WORD}\. How many are {WORD}\?": lambda n, p: Fraction(n * p, 100),
    rf"A {WORD} costs (\d+) dollars\. Its price ({WORD}) by (\d+)%\. What does it cost then, in dollars\?": changed,
    rf"The price of a {WORD} {WORD} from (\d+) to (\d+) dollars\. By how many percent\?": (
        lambda a, b: abs(Fraction(b, a) - 1) * 100
    ),
    rf"The price of a {WORD} has ({WORD}) by (\d+)% and is now (\d+) dollars\. What was it before, in dollars\?": (
        lambda verb, p, after: next(n for n in range(1, 20_000) if changed(n, verb, p) == after)
    ),
    rf"A {WORD} costs (\d+) dollars\. Its price ({WORD}) by (\d+)% and then ({WORD}) by (\d+)%\. "
    r"What does it cost in the end, in dollars\?": lambda n, v, p, w, q: changed(changed(n, v, p), w, q),
    rf"The price of a {WORD} ({WORD}) by (\d+)% and then ({WORD}) by (\d+)%\. In the end it is (\d+) dollars\. "
    r"What was it at first, in dollars\?": first_price,
    rf"(\d+) ml of a mixture with (\d+)% of {WORD} and (\d+) ml of one with (\d+)% are put together\. "
    rf"How many ml of water must be added so that (\d+)% is {WORD}\?": (
        lambda a, p, b, q, r: next(w for w in range(40_000) if (a + b + w) * r == a * p + b * q)
    ),
    rf"{WORD} and {WORD} share coins as (\d+) to (\d+), {WORD} and {WORD} as (\d+) to (\d+)\. "
    rf"{WORD} has (\d+) coins\. How many do all three have\?": coins,
    rf"{WORD} has (\d+) dollars (\d+) years after a deposit that earns (\d+)% a year, which is added to it every "
    r"year\. How large was the deposit\?": lambda b, years, p: b / (1 + Fraction(p, 100)) ** years,
    rf"{WORD} deposits (\d+) dollars and earns (\d+)% a year, which is added to it every year\. "
    r"How many dollars are there after (\d+) years\?": balance,
    rf"{WORD} deposits (\d+) dollars and earns (\d+)% a year, which is added to it every year\. "
    r"How many dollars of interest are earned in (\d+) years\?": lambda d, p, years: balance(d, p, years) - d,
}


def age(total: int, shift: int, when: str, times: int) -> int:
    sign = 1 if when == "In" else -1
    (found,) = [a for a in range(total + 1) if a + sign * shift == times * (total - a + sign * shift)]
    return found


def ages(problem: Problem) -> bool:
    total, now, past, times = groups(
        rf"{WORD} and {WORD} are (\d+) years old together\. (?:In (\d+) years {WORD} will be|(\d+) years ago {WORD} "
        rf"was) (\d+) times as old as {WORD}\. How old is {WORD} now\?",
        problem.prompt,
    )
    return age(int(total), int(now or past), "In" if now else "ago", int(times)) == answer(problem)


def meet(way: int, u: int, wait: int, v: int, asked: str) -> Fraction:
    """Step in small pieces of time would not be exact: solve u t + v (t - wait) = way for t."""
    t = sympy.Symbol("t")
    (time,) = sympy.solve(u * t + v * (t - wait) - way, t)
    assert time >= wait
    return Fraction(int(time.p), int(time.q)) * (1 if asked.startswith("hours") else u)


def tank(a: int, b: int, drain: int | None) -> Fraction:
    return 1 / (Fraction(1, a) + Fraction(1, b) - (Fraction(1, drain) if drain else 0))


def painted(a: int, b: int, c: int, alone: int) -> Fraction:
    return alone + (1 - Fraction(alone, a)) / (Fraction(1, a) + Fraction(1, b) + Fraction(1, c))


RATES: dict[str, Callable[..., object]] = {
    rf"A {WORD} makes (\d+) {WORD} in (\d+) hours\. How many does it make in (\d+) hours at the same rate\?": (
        lambda n, short, long: Fraction(n, short) * long
    ),
    r"A train runs for (\d+) hours? at (\d+) km/h and (\d+) hours? at (\d+) km/h\. What is its mean speed in km/h\?": (
        lambda s, u, t, v: Fraction(s * u + t * v, s + t)
    ),
    rf"A and B are (\d+) km apart\. {WORD} leaves A for B at (\d+) km/h; (\d+) hours? later {WORD} leaves B for A "
    r"at (\d+) km/h\. How many (km from A|hours after [A-Z][a-z]+ has left) do they meet\?": meet,
    r"One pipe fills a tank in (\d+) hours, another in (\d+) hours(?:\. Both|, and a drain empties it in (\d+) hours\. "
    r"All three) are open\. How many hours does it take to fill the empty tank\?": tank,
    rf"{WORD} alone paints a house in (\d+) hours, {WORD} in (\d+), {WORD} in (\d+)\. {WORD} works alone for (\d+) "
    r"hours?, then the other two join\. How many hours does the house take in all\?": painted,
}


def rates(problem: Problem) -> bool:
    return ages(problem) if "together. " in problem.prompt else matched(RATES, problem)


# --- counting


@cache
def _ways(n: int, bounds: tuple[int, ...]) -> int:
    """Ways to write n as an ordered sum with these upper bounds."""
    if not bounds:
        return int(n == 0)
    return sum(_ways(n - k, bounds[1:]) for k in range(min(n, bounds[0]) + 1))


def _arrangements(letters: str) -> int:
    @cache
    def count(left: tuple[int, ...]) -> int:
        return sum(count((*left[:k], left[k] - 1, *left[k + 1 :])) for k in range(len(left)) if left[k]) or int(
            not any(left)
        )

    return count(tuple(letters.count(letter) for letter in sorted(set(letters))))


def _grid(across: int, up: int, a: int, b: int) -> int:
    @cache
    def paths(x: int, y: int, seen: bool) -> int:
        seen = seen or (x, y) == (a, b)
        if (x, y) == (across, up):
            return int(seen)
        return (paths(x + 1, y, seen) if x < across else 0) + (paths(x, y + 1, seen) if y < up else 0)

    return paths(0, 0, False)


def _fixed(n: int, k: int) -> int:
    """Permutations with k fixed points: the rest is deranged, and d(m) = m d(m-1) + (-1)^m counts how."""
    d = [1]
    for m in range(1, n + 1):
        d.append(m * d[-1] + (-1) ** m)
    return math.factorial(n) // math.factorial(k) // math.factorial(n - k) * d[n - k]


def _divisible(top: int, kind: str, listed: str) -> int:
    divisors = [int(n) for n in re.findall(r"\d+", listed)]
    hit = sum(any(n % d == 0 for d in divisors) for n in range(1, top + 1))
    return hit if kind == "at least one" else top - hit


def _shared(things: int, people: int, listed: str) -> int:
    least = [int(n) for n in re.findall(r"\d+", listed)]
    assert len(least) == people
    return _ways(things - sum(least), (things,) * people)


def _subsets(n: int, k: int) -> int:
    return sum(1 for _ in itertools.combinations(range(n), k))


COUNTING: dict[str, Callable[..., object]] = {
    r"There are (\d+) .+, (\d+) .+ and (\d+) .+\. A choice is one .+, one .+ and (one|at most one) .+\. "
    r"How many choices are there\?": lambda a, b, c, last: a * b * (c + (last == "at most one")),
    r"From (\d+) (?:\w+) and (\d+) (?:\w+), how many committees of (\d+) \w+ and (\d+) \w+ can be chosen\?": (
        lambda n, m, j, k: _subsets(n, j) * _subsets(m, k)
    ),
    r"In how many different ways can the letters ([A-H]+) be arranged in a row\?": _arrangements,
    r"In how many ways can (\d+) equal coins be shared among (\d+) people if they get at least (.+) coins "
    r"respectively\?": _shared,
    r"A path on the grid goes from \(0, 0\) to \((\d+), (\d+)\) in steps of one to the right or one up\. "
    r"How many such paths pass through \((\d+), (\d+)\)\?": _grid,
    r"How many of the numbers from 1 to (\d+) are divisible by (at least one|none) of (.+)\?": _divisible,
    r"How many solutions in non-negative integers has x \+ y \+ z \+ w = (\d+) with x <= (\d+), y <= (\d+), "
    r"z <= (\d+), w <= (\d+)\?": lambda n, *bounds: _ways(n, bounds),
    r"(\d+) letters are put into \d+ addressed envelopes, one into each\. In how many ways are exactly (\d+) of them "
    r"in the right envelope\?": _fixed,
    r"(\d+) guests leave with \d+ coats, one each\. In how many ways do exactly (\d+) of them have their own\?": _fixed,
    r"How many permutations of the numbers 1 to (\d+) leave exactly (\d+) of them in place\?": _fixed,
}


# --- probability


def _one(listed: str, asked: str) -> Fraction:
    bag = {colour: int(n) for n, colour in re.findall(r"(\d+) (\w+)", listed)}
    good = [n for colour, n in bag.items() if (colour in asked.split()) != asked.startswith("not ")]
    return Fraction(sum(good), sum(bag.values()))


def _two(listed: str, asked: str) -> Fraction:
    balls = [colour for n, colour in re.findall(r"(\d+) (\w+)", listed) for _ in range(int(n))]
    pairs = list(itertools.combinations(balls, 2))
    return Fraction(sum((a == b) == asked.startswith("the same") for a, b in pairs), len(pairs))


def _dice(n: int, m: int, relation: str, s: int) -> Fraction:
    sums = [a + b for a in range(1, n + 1) for b in range(1, m + 1)]
    good = {"at least": [t >= s for t in sums], "at most": [t <= s for t in sums], "exactly": [t == s for t in sums]}
    return Fraction(sum(good[relation]), n * m)


def _hits(p: int, q: int, n: int, kind: str, k: int) -> Fraction:
    chances = [Fraction(1)]
    for _ in range(n):
        padded = [Fraction(0), *chances, Fraction(0)]
        chances = [padded[j] * Fraction(p, q) + padded[j + 1] * (1 - Fraction(p, q)) for j in range(len(chances) + 1)]
    return chances[k] if kind == "exactly" else sum(chances[k:], Fraction(0))


def _machine(made: str, faulty: str, which: str) -> Fraction:
    bad = [
        Fraction(int(n) * int(f), 100)
        for n, f in zip(re.findall(r"\d+", made), re.findall(r"\d+", faulty), strict=True)
    ]
    return bad["ABC".index(which)] / sum(bad)


def _drawn(a: int, colour: str, b: int, k: int, j: int, asked: str) -> Fraction:
    @cache
    def chance(red: int, rest: int, left: int, need: int) -> Fraction:
        if left == 0:
            return Fraction(need <= 0)
        total = Fraction(0)
        if red:
            total += Fraction(red, red + rest) * chance(red - 1, rest, left - 1, need - 1)
        if rest:
            total += Fraction(rest, red + rest) * chance(red, rest - 1, left - 1, need)
        return total

    assert colour == asked
    return chance(a, b, k, j)


PROBABILITY: dict[str, Callable[..., object]] = {
    r"A bag holds (.+) balls\. One is drawn at random\. What is the probability that it is (.+)\?": _one,
    r"A bag holds (.+) balls\. Two are drawn without replacement\. "
    r"What is the probability that they have (the same colour|different colours)\?": _two,
    r"A die with faces 1 to (\d+) and one with faces 1 to (\d+) are thrown\. "
    r"What is the probability that their sum is (at least|at most|exactly) (\d+)\?": _dice,
    r"An archer hits with probability (\d+)/(\d+), each time independently, and shoots (\d+) times\. "
    r"What is the probability of (exactly|at least) (\d+) hits?\?": _hits,
    r"Machines A, B and C make (.+) parts a day; (.+) of them are faulty, respectively\. A faulty part is found\. "
    r"What is the probability that ([ABC]) made it\?": _machine,
    r"A bag holds (\d+) (\w+) and (\d+) \w+ balls\. (\d+) are drawn without replacement\. "
    r"What is the probability that at least (\d+) are (\w+)\?": _drawn,
    r"A die with faces 1 to (\d+) and one with faces 1 to (\d+) are thrown\. A player gets (\d+) times the "
    r"larger of the two numbers as points\. What is the expected number of points\?": (
        lambda n, m, prize: prize * Fraction(sum(max(a, b) for a in range(1, n + 1) for b in range(1, m + 1)), n * m)
    ),
}


SOLVERS: dict[str, Callable[[Problem], bool]] = {
    "math.percent": lambda problem: matched(PERCENT, problem),
    "math.rates": rates,
    "math.counting": lambda problem: matched(COUNTING, problem),
    "math.probability": lambda problem: matched(PROBABILITY, problem),
}
