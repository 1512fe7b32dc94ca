r"""Sets of real numbers: intervals, unions, differences and inequalities in one variable, brought to one form.

`x<3`, `(-\infty,3)` and `\mathbb{R}\setminus[3,\infty)` become the same sorted list of spans, so that `[0,1]\cup[1,2]`
is `[0,2]`. Ends are exact where they are rational, else 50 digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from grpo_rewards.math.equality import values
from grpo_rewards.math.guard import UndecidedError
from grpo_rewards.math.numeric import BITS, SLACK, DomainError, context
from grpo_rewards.math.rational import rational
from grpo_rewards.math.tree import REALS, Add, Const, Items, Mul, Node, Num, Relation, Set, SetOp, Sym, Tuple, symbols

_BELOW, _ABOVE = -1, 1
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}


@dataclass(frozen=True)
class End:
    """An end of a span: a number, or infinity to one side."""

    side: int = 0
    value: Any = Fraction(0)

    def compare(self, other: End) -> int:
        """Return -1, 0 or 1."""
        if self.side or other.side:
            return (self.side > other.side) - (self.side < other.side)
        if isinstance(self.value, Fraction) and isinstance(other.value, Fraction):
            return (self.value > other.value) - (self.value < other.value)
        mine, theirs = _number(self.value), _number(other.value)
        gap = mine - theirs
        if abs(gap) <= abs(mine) * context().ldexp(1, SLACK - BITS):
            return 0
        return 1 if gap > 0 else -1


@dataclass(frozen=True)
class Span:
    """The numbers from one end to another, with or without the ends."""

    low: End
    closed_low: bool
    high: End
    closed_high: bool

    @property
    def is_empty(self) -> bool:
        """Whether no number lies in it."""
        order = self.low.compare(self.high)
        return order > 0 or (order == 0 and not (self.closed_low and self.closed_high))


Region = tuple[Span, ...]
LINE: Region = (Span(End(_BELOW), False, End(_ABOVE), False),)


def same(left: Region, right: Region) -> bool:
    """Whether two regions hold the same numbers."""
    a, b = union(left), union(right)
    return len(a) == len(b) and all(
        x.low.compare(y.low) == 0
        and x.high.compare(y.high) == 0
        and (x.closed_low, x.closed_high) == (y.closed_low, y.closed_high)
        for x, y in zip(a, b, strict=True)
    )


def union(*regions: Region) -> Region:
    """Return the union as disjoint spans in order."""
    spans = [span for region in regions for span in region if not span.is_empty]

    def order(a: Span, b: Span) -> int:
        return a.low.compare(b.low) or (b.closed_low - a.closed_low)

    merged: list[Span] = []
    for span in sorted(spans, key=cmp_to_key(order)):
        last = merged[-1] if merged else None
        touch = last.high.compare(span.low) if last is not None else -1
        if last is None or touch < 0 or (touch == 0 and not (last.closed_high or span.closed_low)):
            merged.append(span)
            continue
        longer = span.high.compare(last.high)
        high = span.high if longer > 0 else last.high
        closed = (last.closed_high or span.closed_high) if longer == 0 else (span if longer > 0 else last).closed_high
        merged[-1] = Span(last.low, last.closed_low, high, closed)
    return tuple(merged)


def complement(region: Region) -> Region:
    """Return all other real numbers."""
    low, closed = End(_BELOW), False
    found: list[Span] = []
    for span in union(region):
        found.append(Span(low, closed, span.low, not span.closed_low))
        low, closed = span.high, not span.closed_high
    found.append(Span(low, closed, End(_ABOVE), False))
    return union(tuple(s for s in found if not (s.low.side and s.low.compare(s.high) == 0)))


def intersection(left: Region, right: Region) -> Region:
    """Return the numbers in both."""
    return complement(union(complement(left), complement(right)))


def region(node: Node) -> tuple[Region, str | None] | None:
    """Return the set of numbers that a tree describes, and its variable's name if it names one.

    None when it is no set of real numbers that can be found here. Raises TooBigError.
    """
    if node == REALS:
        return LINE, None
    if isinstance(node, Tuple) and len(node.items) == 2:
        low, high = _end(node.items[0]), _end(node.items[1])
        if low is None or high is None or low.compare(high) > 0:
            return None
        return (Span(low, node.brackets[0] == "[", high, node.brackets[1] == "]"),), None
    if isinstance(node, Set):
        ends = [_end(item) for item in node.items]
        points = [end for end in ends if end is not None and not end.side]
        return (union(tuple(Span(e, True, e, True) for e in points)), None) if len(points) == len(ends) else None
    if isinstance(node, SetOp):
        return _operation(node)
    if isinstance(node, Relation):
        return _relation(node)
    if isinstance(node, Items) and all(isinstance(item, Relation) for item in node.items):
        return _several(node)
    return None


def _operation(node: SetOp) -> tuple[Region, str | None] | None:
    found = [region(item) for item in node.items]
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        return None
    name = next((name for _, name in parts if name), None)
    total = parts[0][0]
    for part, _ in parts[1:]:
        if node.operator == "cup":
            total = union(total, part)
        else:
            total = intersection(total, part if node.operator == "cap" else complement(part))
    return total, name


def _several(node: Items) -> tuple[Region, str | None] | None:
    """Inequalities joined by "and" hold together, by "or" either; a comma means what leaves something."""
    found = [region(item) for item in node.items]
    parts = [part for part in found if part is not None]
    if len(parts) < len(found) or len({name for _, name in parts}) != 1:
        return None
    either = union(*(part for part, _ in parts))
    both = parts[0][0]
    for part, _ in parts[1:]:
        both = intersection(both, part)
    joint = both if node.word == "and" or (node.word == "," and both) else either
    return joint, parts[0][1]


def _relation(node: Relation) -> tuple[Region, str | None] | None:
    if node.signs == ("in",) and isinstance(node.items[0], Sym):
        inner = region(node.items[1])
        return None if inner is None else (inner[0], node.items[0].name)
    if any(sign not in _FLIPPED for sign in node.signs):
        return None
    names = symbols(node)
    if len(names) != 1 or node.signs == ("=",):
        return None
    name = names.pop()
    total = LINE
    for left, sign, right in zip(node.items, node.signs, node.items[1:], strict=False):
        part = _half_line(left, sign, right, name)
        if part is None:
            return None
        total = intersection(total, part)
    return total, name


def _half_line(left: Node, sign: str, right: Node, name: str) -> Region | None:
    """Solve an inequality whose sides are linear in the variable."""
    if left == Sym(name) and name not in symbols(right):
        end, slope = _end(right), 1
    elif right == Sym(name) and name not in symbols(left):
        end, slope = _end(left), -1
    else:
        found = _linear(Add((left, Mul((Num(Fraction(-1)), right)))), name)
        if found is None:
            return None
        end, slope = found
    if end is None:
        return None
    sign = sign if slope > 0 else _FLIPPED[sign]
    if sign in ("=", "!="):
        point: Region = (Span(end, True, end, True),)
        return None if end.side else point if sign == "=" else complement(point)
    if sign in ("<", "<="):
        return (Span(End(_BELOW), False, end, sign == "<=" and not end.side),)
    return (Span(end, sign == ">=" and not end.side, End(_ABOVE), False),)


def _linear(node: Node, name: str) -> tuple[End, int] | None:
    """Return the root and the sign of the slope of an expression that is linear in the variable, else None."""
    at = [rational(node, {name: Fraction(x)}) for x in (0, 1, 2, 5)]
    known = [value for value in at if value is not None]
    if len(known) < len(at):
        return None
    zero, slope = known[0], known[1] - known[0]
    if not slope or known[2] - zero != 2 * slope or known[3] - zero != 5 * slope:
        return None
    return End(0, -zero / slope), 1 if slope > 0 else -1


def _end(node: Node) -> End | None:
    negative = isinstance(node, Mul) and len(node.factors) == 2 and node.factors[0] == Num(Fraction(-1))
    inner = node.factors[1] if negative and isinstance(node, Mul) else node
    if inner == Const("inf"):
        return End(_BELOW if negative else _ABOVE)
    if symbols(node):
        return None
    exact = rational(node)
    if exact is not None:
        return End(0, exact)
    try:
        found = values((node,), {}, real=True)[0][0]
    except (DomainError, UndecidedError):
        return None
    return None if found.imag else End(0, found.real)  # 0i has no order, 0 has


def _number(value: Any) -> Any:
    return context().mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value
