"""Expressions with made-up operators: their meaning, their precedence, and from which side they group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

_MEANINGS: dict[str, tuple[str, Callable[[int, int, int], int]]] = {
    "a + b": ("a + b", lambda a, b, k: a + b),
    "a - b": ("a - b", lambda a, b, k: a - b),
    "{k} * a + b": ("{k} * a + b", lambda a, b, k: k * a + b),
    "a - {k} * b": ("a - {k} * b", lambda a, b, k: a - k * b),
    "the larger of a and b": ("max(a, b)", lambda a, b, k: a if a > b else b),
    "a + b - {k}": ("a + b - {k}", lambda a, b, k: a + b - k),
    "the absolute value of a - b": ("abs(a - b)", lambda a, b, k: abs(a - b)),
    "a * b, modulo {k}0": ("a * b % {k}0", lambda a, b, k: a * b % (10 * k)),
    "2 * a - b": ("2 * a - b", lambda a, b, k: 2 * a - b),
}

_CODE = """OPERATORS = {operators}


def solve(text: str) -> int:
    tokens = []
    number = ''
    for c in text + ' ':
        if c.isdigit():
            number += c
            continue
        if number:
            tokens.append(number)
            number = ''
        if c != ' ':
            tokens.append(c)
    place = 0

    def operand() -> int:
        nonlocal place
        token = tokens[place]
        place += 1
        if token == '(':
            value = expression(0)
            place += 1
            return value
{prefix}        return int(token)

    def expression(least: int) -> int:
        nonlocal place
        a = operand()
        while place < len(tokens) and tokens[place] in OPERATORS and OPERATORS[tokens[place]][0] >= least:
            sign = tokens[place]
            level, from_left = OPERATORS[sign]
            place += 1
            b = expression(level + 1 if from_left else level)
{apply}
        return a

    return expression(0)
"""

Table = dict[str, tuple[int, bool, str, int]]
"""Operator -> level, whether it groups from the left, meaning, number."""


def _value(text: str, table: Table, prefix: str, k: int) -> int:
    """Evaluate by splitting at the operator that is carried out last."""
    text = text.strip()
    depths, depth = [], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        depths.append(depth)
    outer = [i for i, c in enumerate(text) if c in table and depths[i] == 0]
    if not outer:
        if text[0] == "(":
            return _value(text[1:-1], table, prefix, k)
        if prefix and text[0] == prefix:
            return k - _value(text[1:], table, prefix, k)
        return int(text)
    lowest = min(table[text[i]][0] for i in outer)
    places = [i for i in outer if table[text[i]][0] == lowest]
    at = places[-1] if table[text[places[0]]][1] else places[0]
    _, _, meaning, number = table[text[at]]
    left, right = _value(text[:at], table, prefix, k), _value(text[at + 1 :], table, prefix, k)
    return _MEANINGS[meaning][1](left, right, number)


def _expression(rng: Rng, signs: list[str], prefix: str, depth: int = 0) -> str:
    parts: list[str] = []
    for place in range(rng.integer(2, 4) if depth == 0 else rng.integer(2, 3)):
        parts += [rng.choice(signs)] if place else []
        before = prefix if prefix and rng.chance(1, 4) else ""
        inner = (
            f"({_expression(rng, signs, prefix, depth + 1)})" if depth < 2 and rng.chance(1, 4) else str(rng.below(20))
        )
        parts.append(before + inner)
    return (" " if rng.chance(1, 2) else "").join(parts)


def _shifted(table: Table) -> list[Table]:
    """Return tables with one operator a level higher or lower, where that changes an order."""
    found, orders = [], [_order(table)]
    for sign, (level, *rest) in table.items():
        for step in (1, -1):
            other: Table = {**table, sign: (level + step, *rest)}  # type: ignore[dict-item]
            if _order(other) not in orders:
                orders.append(_order(other))
                found.append(other)
    return found


def _order(table: Table) -> list[int]:
    levels = [level for level, *_ in table.values()]
    return [(a > b) - (a < b) for a in levels for b in levels]


def _statement(prefix: str, listed: str, signs: list[str], order: list[str], k: int) -> list[Any]:
    return [
        "It evaluates an expression that is given as a text: whole numbers of one or more digits, brackets ( "
        "and ), "
        f"spaces without meaning, and the operators {', '.join(signs)}, each between two operands.",
        f"Their meaning: {listed}.",
        "What stands in brackets is computed first. Then, "
        f"{'from the highest precedence to the lowest' if len(order) > 1 else 'all of one precedence'}: "
        f"{'; then '.join(order)}. "
        "Operators that are named together have the same precedence and are grouped with one another in that "
        "direction.",
        f"In front of a number, a bracket, or another {prefix}, the sign {prefix} makes x into {k} - x, before "
        "any of "
        "the operators above is applied."
        if prefix
        else "",
        "Return the value. The text is always a correct expression.",
    ]


def _edges(s: str, t: Any) -> list[Any]:
    return [
        ["7"],
        ["((12))"],
        [f"3{s}4{s}5"],
        [f"3{t}4{t}5"],
        [f"9{s}2{t}8"],
        [f"9 {t} 2 {s} 8"],
        [f"1{s}(6{t}2){s}4"],
        [f"(13{t}5){s}(2{s}11)"],
    ]


@coding("code.expressions", tiers=(3, 4, 5))
def expressions(rng: Rng, tier: int) -> Draft:
    """Evaluate texts with tier - 1 operators on levels of precedence; from tier 4 on with a prefix operator."""
    signs = rng.sample("#@&$!~^%", tier)
    prefix, k = (signs.pop(), rng.integer(2, 9)) if tier > 3 else ("", 0)
    signs = signs[: tier - 1]
    meanings = rng.sample(list(_MEANINGS), len(signs))
    levels = [rng.integer(1, 2 + (tier > 4)) for _ in signs]
    sides = {level: rng.chance(1, 2) for level in (1, 2, 3)}
    table: Table = {s: (v, sides[v], m, rng.integer(2, 5)) for s, v, m in zip(signs, levels, meanings, strict=True)}

    def rule(table: Table = table, k: int = k) -> Any:
        return lambda text: _value(text, table, prefix, k)

    def without(sign: str) -> Table:
        other = next(m for m in _MEANINGS if m not in meanings)
        return {s: (v, side, other if s == sign else m, n) for s, (v, side, m, n) in table.items()}

    flipped: Table = {s: (v, not side, m, n) for s, (v, side, m, n) in table.items()}
    turned: Table = {s: (4 - v, side, m, n) for s, (v, side, m, n) in table.items()}
    flat: Table = {s: (1, True, m, n) for s, (_, _, m, n) in table.items()}
    listed = "; ".join(f"a {s} b is {m.format(k=n)}" for s, (_, _, m, n) in table.items())
    order = []
    for level in sorted(set(levels), reverse=True):
        same = [s for s in signs if table[s][0] == level]
        side = "left" if sides[level] else "right"
        first, second = ("(1 {0} 2) {0} 3", "1 {0} (2 {0} 3)")[:: 1 if sides[level] else -1]
        del second
        order.append(f"{' and '.join(same)} from the {side} (1 {same[0]} 2 {same[0]} 3 is {first.format(same[0])})")
    applies = []
    for place, (s, (_, _, m, n)) in enumerate(table.items()):
        applies.append(f"            {'if' if place == 0 else 'elif'} sign == '{s}':")
        applies.append(f"                a = {_MEANINGS[m][0].format(k=n)}")
    operators = "{" + ", ".join(f"'{s}': ({v}, {side})" for s, (v, side, _, _) in table.items()) + "}"
    lead = f"        if token == '{prefix}':\n            return {k} - operand()\n" if prefix else ""
    s, t = signs[0], signs[-1]
    edges = _edges(s, t)
    edges += [[f"{prefix}3{s}{prefix}{prefix}4"], [f"{prefix}(5{t}1)"]] if prefix else []
    return Draft(
        head="solve(text: str) -> int",
        statement=_statement(prefix, listed, signs, order, k),
        code=_CODE.format(operators=operators, prefix=lead, apply="\n".join(applies)),
        expected=rule(),
        inputs=lambda rng: [_expression(rng, signs, prefix)],
        edges=edges,
        mistakes=[
            rule(flipped),
            rule(turned),
            rule(flat),
            *([rule(k=k + 1)] if prefix else []),
            *(rule(without(sign)) for sign in signs),
            *map(rule, _shifted(table)),
        ],
        needed=[rule(flipped)],
        rules=tier + 1,
    )
