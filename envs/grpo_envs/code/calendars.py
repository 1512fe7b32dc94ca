"""Dates in made-up calendars: months of drawn lengths, leap years by a drawn rule, weeks of a drawn length."""

from __future__ import annotations

from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

_HEAD = """LENGTHS = {lengths}


def is_leap(year: int) -> bool:
    return {leap}


def length(year: int, month: int) -> int:
    return LENGTHS[month - 1] + (1 if month == {month} and is_leap(year) else 0)


def days_before(year: int) -> int:
    leaps = {leaps}
    return (year - 1) * sum(LENGTHS) + leaps


def number(year: int, month: int, day: int) -> int:
    return days_before(year) + sum(length(year, m) for m in range(1, month)) + day


"""

_TAILS = {
    "weekday": """def solve(year: int, month: int, day: int) -> int:
    return (number(year, month, day) - 1 + {first}) % {week}
""",
    "between": """def solve(first: list[int], second: list[int]) -> int:
    return number(*second) - number(*first)
""",
    "later": """def solve(year: int, month: int, day: int, n: int) -> list[int]:
    day += n
    while day > length(year, month):
        day -= length(year, month)
        month += 1
        if month > len(LENGTHS):
            year, month = year + 1, 1
    return [year, month, day]
""",
    "date": """def solve(n: int) -> list[int]:
    low, high = 1, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        if days_before(middle) < n:
            low = middle
        else:
            high = middle
    year, month, day = low, 1, n - days_before(low)
    while day > length(year, month):
        day -= length(year, month)
        month += 1
    return [year, month, day]
""",
}


class Calendar:
    """Counts days one year and one month after the other."""

    def __init__(self, lengths: list[int], a: int, b: int, month: int) -> None:
        self.lengths, self.a, self.b, self.month = lengths, a, b, month

    def months(self, year: int) -> list[int]:
        """Return the lengths of the months of a year."""
        leap = year % self.a == 0 and (self.b == 0 or year % self.b != 0)
        return [n + (leap and i == self.month) for i, n in enumerate(self.lengths, 1)]

    def number(self, year: int, month: int, day: int) -> int:
        """Return the number of a day; 1/1/1 is day 1."""
        before = (year - 1) // self.a - ((year - 1) // self.b if self.b else 0)
        return (year - 1) * sum(self.lengths) + before + sum(self.months(year)[: month - 1]) + day

    def date(self, n: int) -> list[int]:
        """Return the date of a day."""
        per = sum(self.lengths)
        year = max(1, (n - 1) // (per + 1))
        n -= self.number(year, 1, 1) - 1
        while n > sum(self.months(year)):
            skip = max(1, n // (per + 1) - 1)
            n -= self.number(year + skip, 1, 1) - self.number(year, 1, 1)
            year += skip
        month = 1
        for days in self.months(year):
            if n <= days:
                break
            n -= days
            month += 1
        return [year, month, n]


def _asked(kind: str, week: int, first: int) -> str:
    return {
        "weekday": f"A week has {week} days, numbered from 0 to {week - 1}, one after the other without a break; day "
        "1 of "
        f"month 1 of year 1 is a day {first}. Return the number of the weekday of the given date.",
        "between": "Both arguments are dates [year, month, day]. Return how many days the second is after the first "
        "(negative if it is before, 0 if they are equal).",
        "later": "Return the date [year, month, day] that is n days after the given date (n is at least 0).",
        "date": "Day 1 of month 1 of year 1 is day number 1, the day after it number 2, and so on. Return the date "
        "[year, month, day] of day number n. The number may be as large as 10**15, so do not go through the years one "
        "by one.",
    }[kind]


def _edges(kind: str, a: int, month: int, b: int, year: int, lengths: list[int], right: Calendar) -> list[Any]:
    table: dict[str, list[Any]] = {
        "weekday": [
            [1, 1, 1],
            [a, month, lengths[month - 1] + 1],
            [a + 1, 1, 1],
            [b, len(lengths), lengths[-1]],
            [b + 1, 1, 1],
        ],
        "between": [[[2, 1, 3], [2, 1, 3]], [[a, 1, 1], [a + 1, 1, 1]], [[b + 1, 1, 1], [b, 1, 1]]],
        "later": [
            [1, 1, 1, 0],
            [1, len(lengths), lengths[-1], 1],
            [a, month, lengths[month - 1], 1],
            [b, month, lengths[month - 1], 1],
            [a, 1, 1, sum(lengths)],
        ],
        "date": [[1], [sum(lengths)], [sum(lengths) + 1], [year - 1], [year], [right.number(b + 1, 1, 1) - 1]],
    }
    return table[kind]


def _near(lengths: list[int], a: int, month: int, b: int, other: int) -> list[Calendar]:
    return [
        Calendar(lengths, a, 0, month),
        Calendar(lengths, b, 0, month),
        Calendar(lengths, a, b, other),
        Calendar(lengths, a + 1, b, month),
        Calendar(lengths, 10**9, 0, month),
    ]


@coding("code.calendars", tiers=(2, 3, 4))
def calendars(rng: Rng, tier: int) -> Draft:
    """Weekdays (tier 2), distances and later dates (3), and the date of a far day (4), in a calendar of its own."""
    lengths = [rng.integer(6, 14) for _ in range(rng.integer(3, 5))]
    a = rng.integer(2, 5)
    b = a * rng.integer(2, 4)
    month, week = rng.integer(1, len(lengths)), rng.integer(4, 9)
    first = rng.integer(1, week - 1)
    kind = {2: "weekday", 3: rng.choice(("between", "later")), 4: "date"}[tier]
    right = Calendar(lengths, a, b, month)
    other = month % len(lengths) + 1
    near = _near(lengths, a, month, b, other)

    def rule(calendar: Calendar, shift: int = 0) -> Any:
        if kind == "weekday":
            return lambda *date: (calendar.number(*date) - 1 + first + shift) % week
        if kind == "between":
            return lambda one, two: calendar.number(*two) - calendar.number(*one) + shift
        if kind == "later":
            return lambda y, m, d, n: calendar.date(calendar.number(y, m, d) + n + shift)
        return lambda n: calendar.date(max(1, n + shift))

    def date(rng: Rng, latest: int = 60) -> list[int]:
        year, m = rng.integer(1, latest), rng.integer(1, len(lengths))
        days = right.months(year)[m - 1]
        return [year, m, rng.choice((1, days, days, rng.integer(1, days)))]

    def inputs(rng: Rng) -> list[Any]:
        if kind == "weekday":
            return date(rng)
        if kind == "between":
            return [date(rng, 20), date(rng, 20)]
        return [*date(rng, 9), rng.integer(0, 60)] if kind == "later" else [rng.integer(1, 2_000)]

    year = right.number(a + 1, 1, 1)
    edges = _edges(kind, a, month, b, year, lengths, right)
    asked = _asked(kind, week, first)
    head = _TAILS[kind].splitlines()[0].removeprefix("def ").removesuffix(":")
    code = _HEAD.format(
        lengths=lengths,
        leap=f"year % {a} == 0 and year % {b} != 0",
        month=month,
        leaps=f"(year - 1) // {a} - (year - 1) // {b}",
    )
    return Draft(
        head=head,
        statement=[
            f"In a calendar with years 1, 2, 3 and so on, a year has {len(lengths)} months of {_listed(lengths)} days. "
            f"A year is a leap year if it is divisible by {a} but not by {b}; in a leap year month {month} has one day "
            "more. Months and days are counted from 1.",
            asked,
        ],
        code=code + _TAILS[kind].format(first=first, week=week),
        expected=rule(right),
        inputs=inputs,
        edges=edges,
        mistakes=[*map(rule, near), rule(right, 1), rule(right, -1)],
        heavy=(lambda rng: [[10**15 - rng.below(10**14)], [10**12 + rng.below(10**12)]]) if kind == "date" else None,
        rules=tier + 2,
    )


def _listed(numbers: list[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
