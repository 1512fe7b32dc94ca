"""Intervals on a line: filtered, cut or grown, joined by a rule, and measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from grpo_envs.code.draft import Draft, Wording, coding
from grpo_gym.rng import Rng

Spans = list[list[int]]

_MERGE = """    joined = []
    for start, end in sorted(spans):
        if joined and start - joined[-1][1] <= {gap}:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
"""

_ENDS: dict[str, tuple[str, str, str]] = {
    "list": (
        "Return the list of the resulting intervals, sorted by their start.",
        "list[list[int]]",
        "return joined",
    ),
    "total": (
        "Return the sum of the lengths (end minus start) of the resulting intervals.",
        "int",
        "return sum(end - start for start, end in joined)",
    ),
    "longest": (
        "Return the resulting interval of the greatest length (end minus start), the leftmost of them if there are "
        "several, and [] if there is none.",
        "list[int]",
        "return max(joined, key=lambda span: span[1] - span[0], default=[])",
    ),
    "last": (
        "Return the resulting interval of the smallest length (end minus start), the rightmost of them if there are "
        "several, and [] if there is none.",
        "list[int]",
        "return min(joined[::-1], key=lambda span: span[1] - span[0], default=[])",
    ),
    "gaps": (
        "Return the list of the gaps between neighbouring resulting intervals, from left to right, each as [end of the "
        "left one, start of the right one].",
        "list[list[int]]",
        "return [[a[1], b[0]] for a, b in zip(joined, joined[1:])]",
    ),
}


def joined(spans: Spans, gap: int) -> Spans:
    """Join intervals whose gap is at most `gap`: by trying pairs until none is left."""
    found = [list(span) for span in spans]
    while (pair := _near_pair(found, gap)) is not None:
        a, b = pair
        found = [c for c in found if c is not a and c is not b] + [[min(a[0], b[0]), max(a[1], b[1])]]
    return sorted(found)


def _near_pair(spans: Spans, gap: int) -> tuple[list[int], list[int]] | None:
    for i, a in enumerate(spans):
        for b in spans[:i]:
            if max(a[0], b[0]) - min(a[1], b[1]) <= gap:
                return a, b
    return None


@dataclass(frozen=True)
class Rule:
    """What is done to intervals.

    Attributes:
        before: How they are changed first: "short", "cut" or "grow".
        after: How the joined ones are chosen: "long", "multiple" or not at all.
        kind: What is returned.
        gap: The largest gap over which two are joined.
        k: A length.
        low: Where they are cut on the left.
        high: Where they are cut on the right.
        m: A length, or a number of intervals.
        tie: 1 to take the first of equals, -1 for the last.
    """

    before: str
    after: str
    kind: str
    gap: int
    k: int
    low: int
    high: int
    m: int
    tie: int = 1

    def __call__(self, spans: Spans) -> Any:
        """Compute the result."""
        if self.before == "short":
            spans = [s for s in spans if s[1] - s[0] >= self.k]
        elif self.before == "cut":
            spans = [[max(a, self.low), min(b, self.high)] for a, b in spans if not (b < self.low or a > self.high)]
        elif self.before == "grow":
            spans = [[a - self.k, b + 2 * self.k] for a, b in spans]
        spans = joined(spans, self.gap)
        if self.after == "long":
            spans = [s for s in spans if s[1] - s[0] > self.m]
        elif self.after == "multiple":
            spans = [s for i, s in enumerate(spans) if i % self.m == 0]
        return self._measured(spans)

    def _measured(self, spans: Spans) -> Any:
        lengths = [b - a for a, b in spans]
        if self.kind == "list":
            return spans
        if self.kind == "total":
            return sum(lengths)
        if self.kind == "gaps":
            return [[spans[i - 1][1], spans[i][0]] for i in range(1, len(spans))]
        if not spans:
            return []
        wanted, order = (max(lengths), self.tie) if self.kind == "longest" else (min(lengths), -self.tie)
        return next(s for s in spans[::order] if s[1] - s[0] == wanted)

    def statement(self) -> list[Wording]:
        """Return the rule in words."""
        k, low, high, m = self.k, self.low, self.high, self.m
        before = {
            "short": f"First throw away every interval whose length (end minus start) is less than {k}.",
            "cut": f"First keep only the part of each interval that lies in [{low}, {high}], both ends included; an "
            "interval of which at least one number lies there stays, the others are thrown away.",
            "grow": f"First move the start of every interval {k} to the left and its end {2 * k} to the right.",
        }[self.before]
        after = {
            "": "",
            "long": f"Of the joined intervals keep only those of a length greater than {m}.",
            "multiple": f"Of the joined intervals, from left to right, keep only those with the index 0, {m}, {2 * m} "
            "and so on.",
        }[self.after]
        return [
            "It takes a list of closed intervals [start, end] of whole numbers with start <= end, in any order; the "
            "list may be empty.",
            before,
            tuple(
                "Then join two intervals into one (from the smaller start to the larger end) if they overlap, or touch "
                "in a point, or the gap between them (start of the right one minus end of the left one) is "
                f"{bound}; go on until no two can be joined."
                for bound in (f"at most {self.gap}", f"less than {self.gap + 1}")
            ),
            after,
            _ENDS[self.kind][0],
        ]

    def code(self, head: str) -> str:
        """Return the rule as a program."""
        k, low, high = self.k, self.low, self.high
        before = {
            "short": f"    spans = [span for span in spans if span[1] - span[0] >= {k}]\n",
            "cut": f"    spans = [[max(a, {low}), min(b, {high})] for a, b in spans if a <= {high} and b >= {low}]\n",
            "grow": f"    spans = [[start - {k}, end + {2 * k}] for start, end in spans]\n",
        }[self.before]
        after = {
            "": "",
            "long": f"    joined = [span for span in joined if span[1] - span[0] > {self.m}]\n",
            "multiple": f"    joined = joined[::{self.m}]\n",
        }[self.after]
        merge = _MERGE.format(gap=self.gap)
        return f"def {head}:\n{before}{merge}{after}    {_ENDS[self.kind][2]}"

    def mistakes(self) -> list[Rule]:
        """Return rules that differ in one number, or in the choice between equals."""
        names = ["gap", "low", "high"] if self.before == "cut" else ["gap", "k"]
        names += ["m"] if self.after else []
        found = [replace(self, **{name: getattr(self, name) + step}) for name in names for step in (1, -1)]
        return [*found, replace(self, tie=-1)] if self.kind in ("longest", "last") else found

    def edges(self) -> list[Any]:
        """Return lists of intervals at the bounds."""
        s, low, high = self.low + 1, self.low, self.high
        g = self.gap + (3 * self.k if self.before == "grow" else 0)
        near, far, n = s + 7 + g, s + 8 + g, self.m + 3
        apart = 14 + g
        return [
            [[]],
            [[[low + 3, low + 3]]],
            [[[s, s + 7], [near, near + 7]]],
            [[[far, far + 7], [s, s + 7]]],
            [[[s, s + 20], [s + 1, s + 5], [s + 4, s + 9]]],
            [[[0, 6], [low - 9, low], [high, high + 9]]],
            [[[high + 6, high + 9], [low + 2, low + 17]]],
            [[[low - 9, low - 6], [low + 2, low + 17]]],
            [[[high, high + 9], [high - 20 - g, high - g]]],
            [[[high + 1, high + 9], [high - 20 - g, high - g]]],
            [[[low - 8, low], [low + g, low + g + 15]]],
            [[[low - 8, low - 1], [low + g, low + g + 15]]],
            [[[s + 40 * i, s + 40 * i + n] for i, n in enumerate((15, 18, 14, 16))]],
            [[[s + 40 * i, s + 40 * i + n] for i, n in enumerate((14, 13, 12, 18, 13, 18))]],
            [[[s, s + n], [s + n + g + 1, s + 2 * n + g]]],
            [[[high, high + 3]]],
            [[[high + 1, high + 4]]],
            [[[low - 3, low]]],
            [[[low - 5, low - 1]]],
            [[[s, s + self.k], [s + 30, s + 29 + self.k]]],
            [[[s, s + self.m], [s + 30, s + 31 + self.m]]],
            [[[s, s + 9], [s + 28, s + 33], [s + 27, s + 34], [s + 28, s + 30]]],
            [[[s + apart * i, s + apart * i + 9 + i % 2] for i in range(4)]],
        ]


def _spans(rng: Rng) -> list[Any]:
    spans: Spans = []
    wide = rng.choice((25, 60, 90))
    for _ in range(rng.integer(2, 8)):
        start = rng.integer(-15, wide)
        spans.append([start, start + rng.integer(0, 11)])
    return [spans]


@coding("code.intervals", tiers=(2, 3))
def intervals(rng: Rng, tier: int) -> Draft:
    """Join intervals that were first filtered, cut or grown; at tier 3 what comes out is filtered, too."""
    low = rng.integer(-9, 9)
    after = rng.choice(("long", "multiple")) if tier == 3 else ""
    rule = Rule(
        before=rng.choice(("short", "cut", "grow")),
        after=after,
        kind=rng.choice(list(_ENDS)),
        gap=rng.integer(1, 12),
        k=rng.integer(1, 6),
        low=low,
        high=low + rng.integer(35, 55),
        m=rng.integer(3, 9) if after == "long" else rng.integer(2, 3),
    )
    head = f"solve(spans: list[list[int]]) -> {_ENDS[rule.kind][1]}"
    idle = [replace(rule, before=""), replace(rule, gap=-99)]
    return Draft(
        head=head,
        statement=rule.statement(),
        code=rule.code(head),
        expected=rule,
        inputs=_spans,
        edges=rule.edges(),
        mistakes=rule.mistakes(),
        needed=[*idle, replace(rule, after="")] if rule.after else idle,
        rules=tier,
    )
