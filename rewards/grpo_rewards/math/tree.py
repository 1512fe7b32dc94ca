r"""The small typed tree that answers are parsed into.

Expressions: Num, Sym, Const, Add, Mul, Pow, Call, PlusMinus. Everything else stands around expressions: Tuple (with
its brackets, so intervals too), Set, Items (a comma list), Matrix, Relation, SetOp, Ratio, Based, Text. A difference is
a sum with a factor -1, a quotient a product with a power -1, a quantity a product with a Text (`5\text{ cm}`, `5\%`,
`45^\circ`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an answer."""

    @property
    def parts(self) -> tuple[Node, ...]:
        """The nodes directly below."""
        return ()


@dataclass(frozen=True, slots=True)
class Num(Node):
    """A rational number; `rounded` tells that it was written with a decimal point or exponent."""

    value: Fraction
    rounded: bool = False


@dataclass(frozen=True, slots=True)
class Sym(Node):
    """A variable, with its index and accents in its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Const(Node):
    """pi, e, i or infinity."""

    name: str


@dataclass(frozen=True, slots=True)
class Text(Node):
    """Words: a unit, a name."""

    words: str


@dataclass(frozen=True, slots=True)
class Add(Node):
    """A sum."""

    terms: tuple[Node, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        """The terms."""
        return self.terms


@dataclass(frozen=True, slots=True)
class Mul(Node):
    """A product."""

    factors: tuple[Node, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        """The factors."""
        return self.factors


@dataclass(frozen=True, slots=True)
class Pow(Node):
    """A power; a square root is the power 1/2."""

    base: Node
    exponent: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        """Base and exponent."""
        return (self.base, self.exponent)


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function of arguments, known (sin, gcd, sum) or not (f)."""

    name: str
    args: tuple[Node, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        """The arguments."""
        return self.args


@dataclass(frozen=True, slots=True)
class PlusMinus(Node):
    """left + right and left - right; sign -1 swaps the two."""

    left: Node
    right: Node
    sign: int = 1

    @property
    def parts(self) -> tuple[Node, ...]:
        """Both sides."""
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Group(Node):
    """Things in a row. Subclasses say of which kind."""

    items: tuple[Node, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        """The items."""
        return self.items


@dataclass(frozen=True, slots=True)
class Tuple(Group):
    """Ordered things in brackets; two of them may also be an interval."""

    brackets: str = "()"


@dataclass(frozen=True, slots=True)
class Set(Group):
    """Unordered things in braces."""


@dataclass(frozen=True, slots=True)
class Items(Group):
    """Things separated by commas or words, without brackets; `word` is "or", "and" or ","."""

    word: str = ","


@dataclass(frozen=True, slots=True)
class Ratio(Group):
    """a : b, also a time of day."""


@dataclass(frozen=True, slots=True)
class SetOp(Group):
    """A union, intersection or difference of sets; the operator is "cup", "cap" or "minus"."""

    operator: str = "cup"


@dataclass(frozen=True, slots=True)
class Matrix(Group):
    """Cells row by row."""

    columns: int = 1


@dataclass(frozen=True, slots=True)
class Relation(Group):
    """A chain of sides with a relation sign between each two."""

    signs: tuple[str, ...] = ("=",)


@dataclass(frozen=True, slots=True)
class Based(Node):
    """Digits in a named base; the same digits in another base are another answer."""

    digits: str
    base: int


ONE = Num(Fraction(1))
MINUS_ONE = Num(Fraction(-1))
_BINDING = frozenset({"sum", "prod", "int", "lim"})

HALF = Num(Fraction(1, 2))
INFINITY = Const("inf")
REALS = Sym("\u211d")
EMPTY = Set(())


def integer(value: int) -> Num:
    """Return a whole number as a node."""
    return Num(Fraction(value))


def add(*terms: Node) -> Node:
    """Return a flat sum."""
    flat: list[Node] = []
    for term in terms:
        flat.extend(term.terms if isinstance(term, Add) else (term,))
    return flat[0] if len(flat) == 1 else Add(tuple(flat))


def multiply(*factors: Node) -> Node:
    """Return a flat product."""
    flat: list[Node] = []
    for factor in factors:
        flat.extend(factor.factors if isinstance(factor, Mul) else (factor,))
    return flat[0] if len(flat) == 1 else Mul(tuple(flat))


def negate(node: Node) -> Node:
    """Return minus the node."""
    return Num(-node.value, node.rounded) if isinstance(node, Num) else multiply(MINUS_ONE, node)


def divide(top: Node, bottom: Node) -> Node:
    """Return a quotient; of two plain whole numbers the rational number."""
    if isinstance(top, Num) and isinstance(bottom, Num) and bottom.value:
        return Num(top.value / bottom.value, top.rounded or bottom.rounded)
    return multiply(top, Pow(bottom, MINUS_ONE))


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all below it, without recursion."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(current.parts)


def symbols(node: Node) -> set[str]:
    """Return the names of the free variables in a tree: not the index of a sum, nor the variable of an integral."""
    if isinstance(node, Sym):
        return {node.name}
    found: set[str] = set().union(*map(symbols, node.parts))
    if isinstance(node, Call) and node.name in _BINDING and isinstance(node.args[1], Sym):
        bounded = len(node.args) > 2 or node.name != "int"
        return found - {node.args[1].name} if bounded else found
    return found


def contains(node: Node, kinds: type | tuple[type, ...]) -> bool:
    """Whether a node of these kinds occurs in the tree."""
    return any(isinstance(part, kinds) for part in walk(node))
