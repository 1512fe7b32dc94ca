"""One text per tree, the same for trees that differ only in the order of terms, factors and set members.

Two trees of the same text are equal without any evaluation, however big the numbers they speak of: this is what answers
`10^{10^{10}}` against itself.
"""

from __future__ import annotations

from fractions import Fraction

from grpo_rewards.math.tree import (
    Add,
    Based,
    Call,
    Const,
    Group,
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
)

_SYMMETRIC = frozenset({"gcd", "lcm", "max", "min"})
_MIRRORED = {"<": ">", "<=": ">="}


def key(node: Node) -> str:
    """Return the canonical text of a tree."""
    if isinstance(node, Num):
        return _number(node.value)
    if isinstance(node, (Sym, Const)):
        return f"{type(node).__name__[0]}:{node.name}"
    if isinstance(node, Text):
        return f"T:{node.words.lower()}"
    if isinstance(node, Based):
        return f"B:{node.digits}_{node.base}"
    if isinstance(node, Add):
        return f"({'+'.join(sorted(map(key, node.terms)))})"
    if isinstance(node, Mul):
        return _product(node)
    if isinstance(node, Pow):
        return f"({key(node.base)}^{key(node.exponent)})"
    if isinstance(node, Call):
        arguments = map(key, node.args)
        return f"{node.name}[{';'.join(sorted(arguments) if node.name in _SYMMETRIC else arguments)}]"
    if isinstance(node, PlusMinus):
        return f"({key(node.left)}{'~+' if node.sign > 0 else '~-'}{key(node.right)})"
    return _group(node)


def _number(value: Fraction) -> str:
    return f"{value.numerator:x}/{value.denominator:x}"  # hexadecimal: Python writes no long decimals


def _product(node: Mul) -> str:
    """Numbers are multiplied as long as they are small: 2*3*x is 6*x, and -1 goes into the number."""
    number, others = Fraction(1), []
    for factor in node.factors:
        if isinstance(factor, Num) and factor.value.numerator.bit_length() + number.numerator.bit_length() < 4000:
            number *= factor.value
        else:
            others.append(key(factor))
    if not others:
        return _number(number)
    parts = sorted(others) if number == 1 else [_number(number), *sorted(others)]
    return parts[0] if len(parts) == 1 else f"({'*'.join(parts)})"


def _group(node: Node) -> str:
    if not isinstance(node, Group):
        return repr(node)
    keys = [key(item) for item in node.items]
    name = type(node).__name__
    if isinstance(node, Relation):
        if all(sign in ("<", "<=") for sign in node.signs):
            keys, signs = keys[::-1], [_MIRRORED[sign] for sign in node.signs[::-1]]
            return f"{name}{signs}{keys}"
        if set(node.signs) == {"="} and len(keys) == 2:
            keys = sorted(keys)
        return f"{name}{list(node.signs)}{keys}"
    if isinstance(node, Set):
        return f"{name}{sorted(set(keys))}"
    if isinstance(node, Tuple):
        return f"{name}{node.brackets}{keys}"
    extra = [getattr(node, field) for field in ("operator", "columns") if hasattr(node, field)]
    if name == "Items" or extra in (["cup"], ["cap"]):
        keys = sorted(keys)
    return f"{name}{extra}{keys}"
