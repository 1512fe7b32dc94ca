"""Equations and inequalities between expressions: the same when they differ by a constant factor.

Also what belongs to differential equations and integrals: the constant of integration.
"""

from __future__ import annotations

from grpo_rewards.math.equality import equal, sample, values
from grpo_rewards.math.guard import UndecidedError
from grpo_rewards.math.numeric import DomainError
from grpo_rewards.math.tree import Add, Mul, Node, Num, Pow, Relation, Sym, add, multiply, negate, symbols, walk

_ORDER = {"<": "<", ">": "<", "<=": "<=", ">=": "<=", "=": "=", "!=": "!="}
_CONSTANTS = frozenset({"C", "C_1"})
_OTHER_CONSTANTS = _CONSTANTS | {"c", "K", "k", "c_1", "C_0", "D"}
"""What answers call it; in a reference, these may be ordinary variables."""

_POINTS = 4


def same_equation(left: Node, right: Node) -> bool:
    """Whether two relations with one sign each say the same: y = 2x + 3 and 2x - y + 3 = 0; x + y < 2 and -x - y > -2.

    Raises:
        TooBigError: When a limit is hit on the way.
    """
    if not isinstance(left, Relation) or not isinstance(right, Relation):
        return False
    if len(left.signs) != 1 or len(right.signs) != 1 or not {left.signs[0], right.signs[0]} <= _ORDER.keys():
        return False
    sign, other = left.signs[0], right.signs[0]
    if _ORDER[sign] != _ORDER[other] or symbols(left) != symbols(right):
        return False
    ordered = sign not in ("=", "!=")
    mine, theirs = _zero_form(left, ordered), _zero_form(right, ordered)
    try:
        return _proportional(mine, theirs, positive=ordered)
    except UndecidedError:
        return False


def _zero_form(relation: Relation, ordered: bool) -> Node:
    """Return left - right, swapped for > and >=; of an equation without its denominators."""
    low, high = relation.items if relation.signs[0] not in (">", ">=") else relation.items[::-1]
    difference = add(low, negate(high))
    if ordered or not isinstance(difference, Add):
        return difference
    bottoms: dict[Node, None] = {}
    for term in difference.terms:
        for factor in term.factors if isinstance(term, Mul) else (term,):
            if (
                isinstance(factor, Pow)
                and isinstance(factor.exponent, Num)
                and factor.exponent.value < 0
                and symbols(factor)
            ):
                bottoms[Pow(factor.base, Num(-factor.exponent.value))] = None
    return multiply(difference, *bottoms) if bottoms else difference


def _proportional(left: Node, right: Node, positive: bool) -> bool:
    names = sorted(symbols(left) | symbols(right))
    ratio, used = None, 0
    for point, real in sample(names):
        try:
            (a, b), noise = values((left, right), point, real)
        except DomainError:
            continue
        if abs(a) <= noise or abs(b) <= noise:
            if abs(a) <= noise and abs(b) <= noise:
                continue
            return False
        if ratio is None:
            ratio = (a, b)
        elif abs(a * ratio[1] - b * ratio[0]) > noise * (abs(a) + abs(b) + abs(ratio[0]) + abs(ratio[1])):
            return False
        used += 1
        if used >= _POINTS:
            break
    if used < _POINTS or ratio is None:
        raise UndecidedError("no sample point is in the domain of both equations")
    return not positive or bool((ratio[0] / ratio[1]).real > 0)


def integration_constant(value: Node, right: Node) -> bool | None:
    """Compare `F(x) + C` with `G(x) + K`: right when F and G differ by a constant. None when that is not the form."""
    mine, theirs = _constant_term(value, _OTHER_CONSTANTS), _constant_term(right, _CONSTANTS)
    if theirs is None or mine is None:
        return None
    difference = add(mine, negate(theirs))
    names = sorted(symbols(difference))
    if not names:
        return True
    found = []
    for point, real in sample(names):
        try:
            found.append(values((difference,), point, real))
        except DomainError:
            continue
        if len(found) > _POINTS:
            break
    if len(found) <= _POINTS:
        return equal(mine, theirs)
    (first,), noise = found[0]
    return all(abs(other[0] - first) <= noise + other_noise for other, other_noise in found)


def _constant_term(node: Node, known: frozenset[str]) -> Node | None:
    """Return a sum without its constant of integration, None when it has none."""
    if not isinstance(node, Add):
        return None
    constants = [term for term in node.terms if isinstance(term, Sym) and term.name in known]
    if len(constants) != 1:
        return None
    rest = [term for term in node.terms if term is not constants[0]]
    if any(isinstance(part, Sym) and part.name == constants[0].name for term in rest for part in walk(term)):
        return None
    return add(*rest) if any(name[:1].islower() for term in rest for name in symbols(term)) else None
