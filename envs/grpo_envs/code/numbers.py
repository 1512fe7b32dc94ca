"""The whole numbers of a range with certain properties: divisibility, digits, divisors, bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

Test = Callable[[int], bool]


@dataclass(frozen=True)
class Property:
    """A property of a positive number: in words, as an expression in n, as a function, and mistaken."""

    words: str
    code: str
    holds: Test
    wrong: Test
    needs: str = ""


_DIGITS = """def digits(n: int, base: int) -> list[int]:
    found = []
    while n > 0:
        found.append(n % base)
        n //= base
    return found


"""
_DIVISORS = """def divisors(n: int) -> int:
    return sum(n % d == 0 for d in range(1, n + 1))


"""


@lru_cache(maxsize=4096)
def _digits(n: int, base: int) -> list[int]:
    return [] if n == 0 else [*_digits(n // base, base), n % base]


@lru_cache(maxsize=512)
def _divisors(n: int) -> int:
    count, d = 0, 1
    while d * d <= n:
        if n % d == 0:
            count += 1 if d * d == n else 2
        d += 1
    return count


def remainder(rng: Rng) -> Property:
    """A remainder of a division."""
    m = rng.integer(3, 12)
    r = rng.below(m)
    return Property(
        f"n leaves remainder {r} when divided by {m}",
        f"n % {m} == {r}",
        lambda n: (n - r) % m == 0,
        lambda n: (n - r - 1) % m == 0,
    )


def digit_sum(rng: Rng) -> Property:
    """The sum of digits in a base."""
    base, m = rng.choice((2, 3, 5, 7, 8, 10)), rng.integer(2, 5)
    r = rng.below(m)
    return Property(
        f"the sum of the digits of n in base {base} leaves remainder {r} when divided by {m}",
        f"sum(digits(n, {base})) % {m} == {r}",
        lambda n: sum(_digits(n, base)) % m == r,
        lambda n: sum(_digits(n, base + 1)) % m == r,
        _DIGITS,
    )


def digit_count(rng: Rng) -> Property:
    """How often a digit occurs."""
    base = rng.choice((2, 3, 4, 6, 10))
    d, k = rng.below(base), rng.integer(1, 2)
    return Property(
        f"the digit {d} occurs at least {k} time{'s' * (k > 1)} among the digits of n in base {base} "
        "(without leading zeros)",
        f"digits(n, {base}).count({d}) >= {k}",
        lambda n: sum(digit == d for digit in _digits(n, base)) >= k,
        lambda n: sum(digit == d for digit in _digits(n, base)) > k,
        _DIGITS,
    )


def palindrome(rng: Rng) -> Property:
    """Same digits from both sides."""
    base = rng.integer(2, 10)
    sign, word = rng.choice((("==", "reads"), ("!=", "does not read")))
    return Property(
        f"n {word} the same from left to right and from right to left in base {base}",
        f"digits(n, {base}) {sign} digits(n, {base})[::-1]",
        lambda n: (_digits(n, base) == _digits(n, base)[::-1]) is (sign == "=="),
        lambda n: (_digits(n, base) == _digits(n, base)[::-1]) is (sign != "=="),
        _DIGITS,
    )


def divisor_count(rng: Rng) -> Property:
    """The number of divisors."""
    k = rng.integer(2, 6)
    sign, word = rng.choice(((">", "more than"), ("<=", "at most"), ("==", "exactly")))
    compare: Any = {">": lambda c: c > k, "<=": lambda c: c <= k, "==": lambda c: c == k}[sign]
    near: Any = {">": lambda c: c >= k, "<=": lambda c: c < k, "==": lambda c: c == k + 1}[sign]
    return Property(
        f"n has {word} {k} positive divisors (1 and n count)",
        f"divisors(n) {sign} {k}",
        lambda n: bool(compare(_divisors(n))),
        lambda n: bool(near(_divisors(n))),
        _DIVISORS,
    )


def coprime(rng: Rng) -> Property:
    """A common divisor with a number."""
    k = rng.choice((6, 10, 12, 14, 15, 20, 21, 30, 42))
    sign, word = rng.choice((("==", "no"), (">", "a")))
    return Property(
        f"n and {k} have {word} common divisor greater than 1",
        f"gcd(n, {k}) {sign} 1",
        lambda n: (gcd(n, k) == 1) is (sign == "=="),
        lambda n: (gcd(n, k) == 1) is (sign != "=="),
        "from math import gcd\n\n\n",
    )


PROPERTIES = (remainder, digit_sum, digit_count, palindrome, divisor_count, coprime)

_AGGREGATES: dict[str, tuple[str, str, Callable[[list[int], int], Any], Callable[[list[int], int], Any]]] = {
    "how many they are": ("return len(found)", "int", lambda ns, m: len(ns), lambda ns, m: len(ns[1:])),
    "their sum": ("return sum(found)", "int", lambda ns, m: sum(ns), lambda ns, m: sum(ns[1:])),
    "the largest of them (-1 if there is none)": (
        "return max(found, default=-1)",
        "int",
        lambda ns, m: ns[-1] if ns else -1,
        lambda ns, m: ns[-1] if ns else 0,
    ),
    "the list of them, in descending order": (
        "return found[::-1]",
        "list[int]",
        lambda ns, m: sorted(ns, reverse=True),
        lambda ns, m: ns,
    ),
    "the sum of their squares, modulo {m}": (
        "return sum(n * n for n in found) % {m}",
        "int",
        lambda ns, m: sum(n * n % m for n in ns) % m,
        lambda ns, m: sum(ns) ** 2 % m,
    ),
    "the largest distance between two that follow one another (0 if there are fewer than two)": (
        "return max((b - a for a, b in zip(found, found[1:])), default=0)",
        "int",
        lambda ns, m: max([0] + [ns[i + 1] - ns[i] for i in range(len(ns) - 1)]),
        lambda ns, m: min([999] + [ns[i + 1] - ns[i] for i in range(len(ns) - 1)]),
    ),
}


def _range(rng: Rng) -> list[int]:
    a = rng.integer(1, 50)
    return [a, a + rng.integer(0, 50)]


@coding("code.numbers", tiers=range(4))
def numbers(rng: Rng, tier: int) -> Draft:
    """Collect the numbers of a range that have one property, or tier + 1 at most 3 of them, one of them a choice."""
    makers = rng.sample(PROPERTIES, min(tier + 1, 3))
    found = [make(rng) for make in makers]
    either = tier == 3 or (tier == 2 and rng.chance(1, 2))
    what, (code, kind, collect, miscollect) = rng.choice(list(_AGGREGATES.items()))
    m = rng.integer(20, 200)
    if either:
        *first, a, b = found
        condition = " and ".join([*(p.code for p in first), f"({a.code} or {b.code})"])
        words = [p.words for p in first] + [f"{a.words}, or {b.words}, or both"]
    else:
        condition, words = " and ".join(p.code for p in found), [p.words for p in found]

    def rule(
        properties: list[Test], ends: tuple[int, int] = (0, 1), get: Any = collect, disjoint: bool = either
    ) -> Any:
        def compute(a: int, b: int) -> Any:
            ns = [n for n in range(a + ends[0], b + ends[1]) if _holds(properties, n, disjoint)]
            return get(ns, m)

        return compute

    right = [p.holds for p in found]
    wrong = [[*right[:i], p.wrong, *right[i + 1 :]] for i, p in enumerate(found)]
    head = f"solve(a: int, b: int) -> {kind}"
    listed = words[0] if len(words) == 1 else "; ".join(f"({i}) {w}" for i, w in enumerate(words, 1))
    needs = "".join(sorted({p.needs for p in found}, key=lambda text: (not text.startswith("from"), text)))
    idle = [rule([*right[:i], *right[i + 1 :]], disjoint=False) for i in range(len(found) - 2 * either)]
    idle += [rule([*right[:-2], one], disjoint=False) for one in right[-2:]] if either else []
    return Draft(
        head=head,
        statement=[
            (
                "It is given two whole numbers a and b, both at least 1.",
                "Both arguments are whole numbers, at least 1.",
            ),
            f"Consider the whole numbers n with a <= n <= b (there are none if a > b) for which "
            f"{'all of the following holds' if len(words) > 1 else 'the following holds'}: {listed}.",
            f"Return {what.format(m=m)}.",
        ],
        code=f"{needs}def {head}:\n    found = [n for n in range(a, b + 1) if {condition}]\n    {code.format(m=m)}",
        expected=rule(right),
        inputs=_range,
        edges=([5, 4], [1, 1], [1, 40], [36, 36], [90, 128]),
        mistakes=[rule(w) for w in wrong] + [rule(right, (1, 1)), rule(right, (0, 0)), rule(right, get=miscollect)],
        needed=[rule([]), *idle],
        rules=len(found) + 1,
    )


def _holds(properties: list[Test], n: int, disjoint: bool) -> bool:
    if disjoint:
        return all(test(n) for test in properties[:-2]) and any(test(n) for test in properties[-2:])
    return all(test(n) for test in properties)
