r"""Other views of a tree: its name and value (`x = 5`), its number and unit (`5\text{ cm}`), the members of a list."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from grpo_rewards.math import guard
from grpo_rewards.math.canonical import key
from grpo_rewards.math.equality import equal
from grpo_rewards.math.guard import UndecidedError
from grpo_rewards.math.tree import (
    INFINITY,
    ONE,
    Add,
    Call,
    Group,
    Items,
    Matrix,
    Mul,
    Node,
    Num,
    PlusMinus,
    Pow,
    Relation,
    Set,
    Sym,
    Text,
    Tuple,
    add,
    contains,
    multiply,
    negate,
    symbols,
)
from grpo_rewards.math.units import Unit, is_unit, read_unit

NO_SOLUTION = Text("contradiction")
"""The value of `x = 4 = 5`: equal to nothing."""


def is_name(node: Node) -> bool:
    """Whether a side of an equation only names a quantity: x, f(x), AB, (x, y), x + y."""
    if isinstance(node, Sym):
        return True
    if isinstance(node, Text):
        return not is_unit(node.words)
    if isinstance(node, Call):
        return node.name.rstrip("'").endswith("()") or (node.name == "abs" and is_name(node.args[0]))
    if isinstance(node, (Tuple, Mul, Add)):
        return all(isinstance(part, (Sym, Text)) for part in node.parts)
    return False


def named(node: Node) -> tuple[str | None, Node]:
    """Split `x = 5` into its name and its value; what has no name is a value.

    In a chain of equations the members behind the name must agree, else the value is NO_SOLUTION. What follows an
    approximation sign is a remark.
    """
    if not isinstance(node, Relation):
        return None, node
    sides, signs = list(node.items), list(node.signs)
    if signs == ["in"] and is_name(sides[0]):
        return key(sides[0]), sides[1]
    sides, signs = _without_approximation(sides, signs)
    if set(signs) - {"="}:
        return None, node
    return _named_chain(node, sides)


def _without_approximation(sides: list[Node], signs: list[str]) -> tuple[list[Node], list[str]]:
    if "approx" not in signs:
        return sides, signs
    first = signs.index("approx") + 1
    keep = first if first > 1 or not is_name(sides[0]) else first + 1
    return sides[:keep], ["="] * (keep - 1)


def _named_chain(node: Relation, sides: list[Node]) -> tuple[str | None, Node]:
    name = None
    if is_name(sides[0]):
        name, sides = key(sides[0]), sides[1:]
    elif len(sides) == 2 and is_name(sides[1]):
        name, sides = key(sides[1]), sides[:1]
    elif any(symbols(side) for side in sides):
        return None, node
    if not sides:
        return None, node
    for side in sides[:-1]:
        if not is_name(side) and not _agree(side, sides[-1]):
            return name, NO_SOLUTION
    return name, sides[-1]


def _agree(left: Node, right: Node) -> bool:
    a, b = (quantity(side)[0] for side in (left, right))
    try:
        return key(left) == key(right) or equal(a, b)
    except UndecidedError:
        return False


def quantity(node: Node) -> tuple[Node, Unit | None]:
    """Split a quantity into its value and its unit, None when it has none."""
    if not isinstance(node, Mul):
        return node, None
    values: list[Node] = []
    unit: Unit | None = None
    words: list[str] = []
    for factor in node.factors:
        if isinstance(factor, Text):
            words.append(factor.words)
            continue
        power = _unit_power(factor)
        if power is None:
            values.append(factor)
            continue
        name, exponent = power
        if words and exponent > 0 and not is_unit(words[-1]):  # "square" or a prefix before the word with the power
            name, words = " ".join([*words, name]), []
        measured = read_unit(name) ** exponent
        unit = measured if unit is None else unit * measured
    if words:
        measured = read_unit(" ".join(words))  # "light years" is one unit, "kg m" are two
        unit = measured if unit is None else unit * measured
    return (multiply(*values) if values else ONE), unit


def _unit_power(node: Node) -> tuple[str, int] | None:
    """Return the words and the exponent of a unit's power, also of 1/s^2."""
    if not isinstance(node, Pow) or not isinstance(node.exponent, Num):
        return None
    exponent = node.exponent.value
    if exponent.denominator != 1 or abs(exponent) >= 10:
        return None
    if isinstance(node.base, Text):
        words = node.base.words.strip()
        if re.search(r"[ /*]", words):  # the exponent behind m/s belongs to the s
            return f"{words}^{exponent.numerator}", 1
        return words, exponent.numerator
    inner = _unit_power(node.base)
    return None if inner is None else (inner[0], inner[1] * exponent.numerator)


def with_letters_as_unit(node: Node) -> Node:
    r"""Read variables behind a number as a unit: in `10 m` against `10\text{ m}`, `9.8 m s^{-2}`."""
    if not isinstance(node, Mul):
        return node
    factors = [_lettered(factor) for factor in node.factors]
    return node if any(symbols(factor) for factor in factors) else multiply(*factors)


def _lettered(node: Node) -> Node:
    if isinstance(node, Sym):
        return Text(node.name)
    return Pow(_lettered(node.base), node.exponent) if isinstance(node, Pow) else node


def signed(node: Node, sign: int) -> Node:
    """Return the tree with every plus-minus taken as plus (1) or minus (-1)."""
    if isinstance(node, PlusMinus):
        right = signed(node.right, sign)
        return add(signed(node.left, sign), right if node.sign * sign > 0 else negate(right))
    if isinstance(node, Add):
        return add(*(signed(part, sign) for part in node.terms))
    if isinstance(node, Mul):
        return multiply(*(signed(part, sign) for part in node.factors))
    if isinstance(node, Pow):
        return Pow(signed(node.base, sign), signed(node.exponent, sign))
    if isinstance(node, Call):
        return Call(node.name, tuple(signed(part, sign) for part in node.args))
    if isinstance(node, Group):
        return replace(node, items=tuple(signed(part, sign) for part in node.items))
    return node


def members(node: Node) -> list[Node] | None:
    """Return what a list, a set or a plus-minus holds, names taken off where they are all the same; else None."""
    if isinstance(node, (Items, Set)):
        raw = list(node.items)
    elif contains(node, PlusMinus):
        raw = [node]
    else:
        return None
    spread: list[Node] = []
    for item in raw:
        spread.extend((signed(item, 1), signed(item, -1)) if contains(item, PlusMinus) else (item,))
    guard.check(len(spread), guard.MAX_ITEMS, "members")
    split = [named(item) for item in spread]
    names = [name for name, _ in split]
    first = names[0] if names else None
    if first is not None and all(name in (first, None) for name in names):
        return [value for _, value in split]
    return spread


def names_of(node: Node) -> str | None:
    """Return the one name that a list's members share, e.g. of `x=1, x=4`; None when there is none."""
    if not isinstance(node, (Items, Set)):
        return None
    names = {name for name, _ in map(named, node.items)} - {None}
    return names.pop() if len(names) == 1 else None


def as_tuple(node: Node) -> Node:
    """Read a column of numbers, or `x=1, y=2`, as a tuple."""
    if isinstance(node, Matrix) and node.columns == 1:
        return Tuple(node.items)
    if isinstance(node, Items):
        split = [named(item) for item in node.items]
        names = [name for name, _ in split if name is not None]
        if len(names) == len(set(names)) == len(split) > 1 and names == sorted(names):
            return Tuple(tuple(value for _, value in split))
    return node


def scaled_matrix(node: Node) -> Node:
    """Multiply a matrix by the numbers before it."""
    if isinstance(node, Mul):
        matrices = [f for f in node.factors if isinstance(f, Matrix)]
        if len(matrices) == 1:
            scale = multiply(*(f for f in node.factors if not isinstance(f, Matrix)))
            return replace(matrices[0], items=tuple(multiply(scale, cell) for cell in matrices[0].items))
    return node


def is_infinite(node: Node) -> bool:
    """Whether this is plus or minus infinity."""
    return node == INFINITY or node == multiply(Num(Fraction(-1)), INFINITY)
