"""Choosing jobs in time: profits, pauses between them, limits on their number, and what counts as an overlap."""

from __future__ import annotations

from functools import partial
from itertools import combinations, pairwise
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

Jobs = list[list[int]]


def _fits(a: list[int], b: list[int], pause: int, strict: bool) -> bool:
    gap = b[0] - a[1]
    return gap > pause if strict else gap >= pause


def _statement(low: int, limit: int, gap: str, words: str, tier: int) -> list[Any]:
    return [
        "It takes a list of jobs [start, end, profit] of whole numbers with 0 <= start < end and profit >= 1, in "
        "any order; "
        "the list may be empty.",
        f"Only jobs with a start of at least {low} count; leave out the others." if low else "",
        "Of two jobs that are both done, one must begin after the other has ended, and the pause between them "
        "(the start of the "
        f"later one minus the end of the earlier one) must be {gap}.",
        f"At most {limit} jobs may be done." if limit else "Any number of jobs may be done.",
        f"A job that is done is worth {words}.",
        "Return the largest possible sum of the worths of the jobs that are done; doing none is worth 0.",
        "There may be 200 jobs, so do not try all choices." if tier == 5 else "",
    ]


def _edges(low: int, s: int, pause: int) -> list[Any]:
    return [
        [[]],
        [[[low, low + 3, 4]]],
        [[[s, s + 3, 9], [s + 3 + pause, s + 5 + pause, 9]]],
        [[[s, s + 3, 9], [s + 4 + pause, s + 5 + pause, 9]]],
        [[[low - 1 if low else 0, s + 1, 9]]],
        [[[s + 2 + pause, s + 6 + pause, 8], [s, s + 3, 7]]],
        [[[s, s + 1, 1]]],
    ]


def _rule(*, wage: str, pause: int, strict: bool, a: int, c: int, limit: int, low: int) -> Any:
    def worth(job: list[int]) -> int:
        start, end, profit = job
        return {
            "profit": a * profit - c,
            "length": profit + a * (end - start) - c,
            "minus": 5 * profit - a * (end - start) - c,
        }[wage]

    def compute(jobs: Jobs) -> int:
        jobs = sorted((job for job in jobs if job[0] >= low), key=lambda job: (job[0], job[1]))
        if limit:
            return _by_choice(jobs, worth, limit, pause, strict)
        after: list[int] = [0] * (len(jobs) + 1)
        for i in range(len(jobs) - 1, -1, -1):
            lo, hi = i + 1, len(jobs)
            while lo < hi:
                middle = (lo + hi) // 2
                if _fits(jobs[i], jobs[middle], pause, strict):
                    hi = middle
                else:
                    lo = middle + 1
            after[i] = max(after[i + 1], worth(jobs[i]) + after[lo])
        return after[0]

    return compute


@coding("code.schedules", tiers=(3, 4, 5))
def schedules(rng: Rng, tier: int) -> Draft:
    """Choose jobs of the largest worth; from tier 4 on at most a few, at tier 5 among too many to try all choices."""
    pause, strict = rng.integer(0, 8), rng.chance(1, 2)
    a, c = rng.integer(2, 4), rng.integer(1, 5)
    wage = rng.choice(("profit", "length", "minus"))
    limit = rng.integer(2, 3) if tier == 4 else 0
    low = rng.integer(0, 8)

    rule = partial(_rule, wage=wage, pause=pause, strict=strict, a=a, c=c, limit=limit, low=low)

    def inputs(rng: Rng) -> list[Any]:
        wide = rng.choice((14, 25, 40))
        jobs: Jobs = []
        for _ in range(rng.integer(3, 7)):
            start = rng.integer(0, wide)
            if jobs and rng.chance(1, 3):
                start = jobs[-1][1] + pause + rng.integer(-1, 1)
            jobs.append([max(0, start), max(0, start) + rng.integer(1, 9), rng.integer(1, 14)])
        return [jobs]

    def heavy(rng: Rng) -> list[Any]:
        p, q = rng.choice((7919, 7907, 7901)), rng.integer(3, 40)
        jobs = [[i * p % 997, i * p % 997 + 1 + i * q % 37, 1 + i * i % 53] for i in range(160)]
        return [[jobs]]

    formula, words = {
        "profit": (f"{a} * profit - {c}", f"{a} times its profit, minus {c} (which may be negative)"),
        "length": (
            f"profit + {a} * (end - start) - {c}",
            f"its profit plus {a} times its length (end minus start), minus {c} (which may be negative)",
        ),
        "minus": (
            f"5 * profit - {a} * (end - start) - {c}",
            f"5 times its profit minus {a} times its length (end minus start), minus {c} (which may be negative)",
        ),
    }[wage]
    gap = f"{'greater than' if strict else 'at least'} {pause}"
    s = low + 2
    edges = _edges(low, s, pause)
    mistakes = [
        rule(pause=pause + 1),
        rule(pause=pause - 1),
        rule(strict=not strict),
        rule(a=a + 1),
        rule(c=c + 1),
        rule(low=low + 1),
    ]
    mistakes += [rule(limit=limit + 1), rule(limit=limit - 1)] if limit else []
    return Draft(
        head="solve(jobs: list[list[int]]) -> int",
        statement=_statement(low, limit, gap, words, tier),
        code=_code(pause, strict, formula, limit, low),
        expected=rule(),
        inputs=inputs,
        edges=edges,
        mistakes=mistakes,
        needed=([rule(limit=99)] if limit else []) + [rule(pause=-99)],
        heavy=heavy if tier == 5 else None,
        rules=tier + 2,
    )


def _by_choice(jobs: Jobs, worth: Any, limit: int, pause: int, strict: bool) -> int:
    """Try all choices of at most `limit` jobs."""
    best = 0
    for k in range(1, limit + 1):
        for chosen in combinations(jobs, k):
            if all(_fits(x, y, pause, strict) for x, y in pairwise(chosen)):
                best = max(best, sum(map(worth, chosen)))
    return best


def _code(pause: int, strict: bool, formula: str, limit: int, low: int) -> str:
    """Return the program: a table over the jobs by their ends, with a row for each number of jobs if that counts."""
    kept = f"(job for job in jobs if job[0] >= {low})" if low else "jobs"
    side = "left" if strict else "right"
    last = f"start - {pause}" if pause else "start"
    body = [
        "from bisect import bisect_" + side,
        "",
        "",
        "def solve(jobs: list[list[int]]) -> int:",
        f"    jobs = sorted({kept}, key=lambda job: job[1])",
        "    ends = [end for _, end, _ in jobs]",
    ]
    if limit:
        body += [
            f"    best = [[0] * (len(jobs) + 1) for _ in range({limit + 1})]",
            f"    for k in range(1, {limit + 1}):",
            "        for i, (start, end, profit) in enumerate(jobs):",
            f"            worth = {formula}",
            f"            before = bisect_{side}(ends, {last}, 0, i)",
            "            best[k][i + 1] = max(best[k][i], worth + best[k - 1][before])",
            f"    return best[{limit}][-1]",
        ]
    else:
        body += [
            "    best = [0]",
            "    for i, (start, end, profit) in enumerate(jobs):",
            f"        worth = {formula}",
            f"        before = bisect_{side}(ends, {last}, 0, i)",
            "        best.append(max(best[i], worth + best[before]))",
            "    return best[-1]",
        ]
    return "\n".join(body)
