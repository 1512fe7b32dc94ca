"""Compare an answer's tree with the reference's: the reference decides what kind of comparison it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from grpo_rewards.math import guard, regions
from grpo_rewards.math.canonical import key
from grpo_rewards.math.equality import equal, values
from grpo_rewards.math.equations import integration_constant, same_equation
from grpo_rewards.math.guard import UndecidedError
from grpo_rewards.math.numeric import DomainError
from grpo_rewards.math.policy import Policy
from grpo_rewards.math.shapes import (
    NO_SOLUTION,
    as_tuple,
    is_infinite,
    members,
    named,
    names_of,
    quantity,
    scaled_matrix,
    with_letters_as_unit,
)
from grpo_rewards.math.tree import (
    REALS,
    Based,
    Call,
    Items,
    Matrix,
    Mul,
    Node,
    Num,
    Pow,
    Ratio,
    Relation,
    Set,
    SetOp,
    Text,
    Tuple,
    multiply,
    symbols,
    walk,
)
from grpo_rewards.math.units import Unit

UNEVALUATED = frozenset(
    ["sum", "prod", "int", "lim", "diff", "gcd", "lcm", "det", "mod", "max", "min", "sum_", "prod_"]
)
"""Operators that ask for a value: an answer that still has one, where the reference has none, is the question again."""

_PERCENT = {"percent": 1}


@dataclass(frozen=True)
class Comparison:
    """Compares under one policy."""

    policy: Policy

    def right(self, answer: Node, reference: Node) -> bool:
        """Whether an answer is right.

        Raises:
            UndecidedError: When it cannot be decided in this process.
            TooBigError: When a limit is hit on the way.
        """
        if self.policy.plain_numbers and _is_worked_out(reference) and not _is_worked_out(answer):
            return False
        if key(answer) == key(reference):
            return True
        if not self.policy.unevaluated and _is_unevaluated(answer) and not _is_unevaluated(reference):
            return False
        return self.same(answer, reference)

    def same(self, answer: Node, reference: Node) -> bool:
        """Whether two trees say the same. Raises as `right`."""
        if key(answer) == key(reference):
            return True
        if isinstance(reference, Relation) or isinstance(answer, Relation):
            decided = self._relations(answer, reference)
            if decided is not None:
                return decided
        if _is_regional(reference) or _is_regional(answer):
            decided = self._regions(answer, reference)
            if decided is not None:
                return decided
        answer, reference = scaled_matrix(answer), scaled_matrix(reference)
        if isinstance(reference, Tuple) or isinstance(answer, Tuple):
            answer, reference = as_tuple(answer), as_tuple(reference)
        mine, theirs = members(answer), members(reference)
        if mine is not None or theirs is not None:
            return self._lists(answer, mine, reference, theirs)
        if type(answer) is type(reference) and isinstance(reference, (Tuple, Matrix, Ratio, Relation)):
            return self._in_order(answer, reference)
        if any(isinstance(node, _NO_VALUES) for node in (answer, reference)):
            return False
        return self._scalars(answer, reference)

    def _relations(self, answer: Node, reference: Node) -> bool | None:
        """Equations, and values with a name; None when neither side is one."""
        name, value = named(reference)
        their_name, their_value = named(answer)
        if NO_SOLUTION in (value, their_value):
            return False
        both = isinstance(answer, Relation) and isinstance(reference, Relation)
        if not both:
            if value is reference and their_value is answer:
                return None
            region_wanted = not isinstance(value, Relation) and not isinstance(their_value, Relation)
            return self.same(their_value, value) if self.policy.bare_values and region_wanted else None
        if name is not None and name == their_name:
            return self.same(their_value, value) or same_equation(answer, reference)
        if same_equation(answer, reference):
            return True
        if (
            name is not None
            and their_name is not None
            and self.policy.bare_values
            and _is_function_name(name, their_name)
        ):
            return self.same(their_value, value)
        return None if _is_regional(reference) and _is_regional(answer) else False

    def _regions(self, answer: Node, reference: Node) -> bool | None:
        """Intervals and inequalities; None when one of them is no set of numbers that we can find."""
        described = isinstance(answer, Relation) or isinstance(reference, Relation)
        if described and not self.policy.regions and type(answer) is not type(reference):
            return False
        mine, theirs = regions.region(answer), regions.region(reference)
        if mine is None or theirs is None:
            return None
        if mine[1] is not None and theirs[1] is not None and mine[1] != theirs[1]:
            return False
        return regions.same(mine[0], theirs[0])

    def _lists(self, answer: Node, mine: list[Node] | None, reference: Node, theirs: list[Node] | None) -> bool:
        """Lists and sets in any order, each member once."""
        if theirs is None and isinstance(answer, Items) and answer.word == "or":  # alternatives that say the same
            return all(self.same(other, reference) for other in mine or ())
        if mine is None and isinstance(reference, Items) and reference.word == "or":
            return all(self.same(answer, other) for other in theirs or ())
        alone = len(mine or theirs or ()) == 1 and self.policy.bare_values
        mine, theirs = (mine or [answer], theirs or [reference]) if alone else (mine, theirs)
        if mine is None or theirs is None or len(mine) != len(theirs):
            return False
        names = names_of(answer), names_of(reference)
        if None not in names and names[0] != names[1]:
            return False
        left = list(mine)
        for member in theirs:
            found = next((place for place, other in enumerate(left) if self.same(other, member)), None)
            if found is None:
                return False
            del left[found]
        return True

    def _in_order(self, answer: Node, reference: Node) -> bool:
        """Tuples, matrices and ratios, member by member."""
        for field in ("brackets", "columns", "signs"):
            if getattr(answer, field, None) != getattr(reference, field, None):
                return False
        pairs: Sequence[tuple[Node, Node]] = list(zip(answer.parts, reference.parts, strict=False))
        guard.check(len(pairs), guard.MAX_CELLS, "members")
        return len(answer.parts) == len(reference.parts) and all(self.same(a, b) for a, b in pairs)

    def _scalars(self, answer: Node, reference: Node) -> bool:
        """Numbers, expressions and quantities."""
        value, unit, right, wanted = _measured(answer, reference)
        for measured in (unit, wanted):
            if measured is not None and abs(measured.dimensions.get("percent", 1)) != 1:
                return self._values(answer, reference)  # a product of percentages is a number
        if unit is not None and wanted is not None:
            if not unit.fits(wanted):
                return self._percent(value, unit, right, wanted)
            if not unit.neutral and not wanted.neutral and unit.scale != wanted.scale:
                value, right = multiply(Num(unit.scale), value), multiply(Num(wanted.scale), right)
            return self._values(value, right)
        if _PERCENT in (getattr(unit, "dimensions", None), getattr(wanted, "dimensions", None)):
            return self._percent(value, unit, right, wanted)
        if unit is None and wanted is not None and not self.policy.missing_units:
            return False
        if unit is not None and wanted is None and not self.policy.extra_units:
            return False
        return self._values(value, right)

    def _percent(self, value: Node, unit: Unit | None, right: Node, wanted: Unit | None) -> bool:
        """A percentage against a bare number: as a value, or with the sign left out."""
        if unit is not None and wanted is not None:
            return False
        hundredth = Num(Fraction(1, 100))
        if self._values(
            value if unit is None else multiply(value, hundredth), right if unit else multiply(right, hundredth)
        ):
            return True
        return self.policy.bare_percent and self._values(value, right)

    def _values(self, value: Node, right: Node) -> bool:
        if is_infinite(value) or is_infinite(right):
            if needs_calculus(value) or needs_calculus(right):
                raise UndecidedError("a limit or an integral against infinity")
            return key(value) == key(right)
        if self.policy.integration_constants:
            same_but = integration_constant(value, right)
            if same_but is not None:
                return same_but
        if equal(value, right):
            return True
        rounded = isinstance(right, Num) and right.rounded
        return bool(self.policy.tolerance and rounded) and self._near(value, right)

    def _near(self, value: Node, right: Node) -> bool:
        try:
            (a, b), _ = values((value, right), {}, real=False)
        except (DomainError, UndecidedError):
            return False
        return bool(abs(a - b) <= abs(b) * self.policy.tolerance)


_NO_VALUES = (Based, Items, Matrix, Ratio, Relation, Set, SetOp, Text, Tuple)


def _is_unevaluated(node: Node) -> bool:
    return any(isinstance(part, Call) and part.name in UNEVALUATED for part in walk(node))


def needs_calculus(node: Node) -> bool:
    """Whether a tree holds an integral, a limit, a sum or the like."""
    return any(isinstance(part, Call) and part.name in ("int", "lim", "sum", "prod", "diff") for part in walk(node))


def _is_regional(node: Node) -> bool:
    """Whether a tree is a set of real numbers by its form: an interval, a union, an inequality."""
    if isinstance(node, Relation):
        return node.signs != ("=",) and set(node.signs) <= {"<", ">", "<=", ">=", "!=", "in", "="}
    if isinstance(node, Items):
        return bool(node.items) and all(isinstance(i, Relation) and _is_regional(i) for i in node.items)
    if isinstance(node, Tuple):
        return "[" in node.brackets or "]" in node.brackets or any(map(is_infinite, node.items))
    return isinstance(node, SetOp) or node == REALS


def _is_function_name(one: str, other: str) -> bool:
    """Whether two names of equations may both stand for the function: y and f(x)."""
    return ("S:y" in (one, other)) and any("()[" in name for name in (one, other))


def _measured(answer: Node, reference: Node) -> tuple[Node, Unit | None, Node, Unit | None]:
    """Return values and units of both; a letter behind one number is its unit where the other has a unit."""
    value, unit = quantity(answer)
    right, wanted = quantity(reference)
    if unit is None and wanted is not None and symbols(value) and not symbols(right):
        value, unit = quantity(with_letters_as_unit(answer))
    elif wanted is None and unit is not None and symbols(right) and not symbols(value):
        right, wanted = quantity(with_letters_as_unit(reference))
    return value, unit, right, wanted


def _is_worked_out(node: Node) -> bool:
    """Whether an answer's value is a plain number, apart from its name and unit."""
    return _is_plain(quantity(named(node)[1])[0])


def _is_plain(node: Node) -> bool:
    """Whether a value is written as a plain number: nothing is left to be worked out."""
    if isinstance(node, Num):
        return True
    if isinstance(node, Mul) and len(node.factors) == 2:
        first, second = node.factors
        power_of_ten = isinstance(second, Pow) and second.base == Num(Fraction(10)) and isinstance(second.exponent, Num)
        return isinstance(first, Num) and power_of_ten
    return False
