"""Polynomials with rational coefficients as exact data: what a tree of sums, products and powers multiplies out to.

A monomial is a sorted tuple of (variable, exponent); a polynomial maps monomials to coefficients that are not 0. Limits
on degree, terms and bits hold at every step, so that no answer can cost much.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from grpo_rewards.math import guard
from grpo_rewards.math.guard import UnreadableError
from grpo_rewards.math.tree import Add, Mul, Node, Num, Pow, Sym

Monomial = tuple[tuple[str, int], ...]
Polynomial = dict[Monomial, Fraction]

MAX_DEGREE = 40
MAX_TERMS = 400
MAX_BITS = 4_000


def polynomial(node: Node) -> Polynomial:
    """Multiply a tree out.

    Raises:
        UnreadableError: When the tree is no polynomial (a function, a division by a variable, a root).
        TooBigError: When a degree, a number of terms or a coefficient is beyond the limits here.
    """
    if isinstance(node, Num):
        return constant(node.value)
    if isinstance(node, Sym):
        return {((node.name, 1),): Fraction(1)}
    if isinstance(node, Add):
        total: Polynomial = {}
        for term in node.terms:
            total = add(total, polynomial(term))
        return total
    if isinstance(node, Mul):
        product = constant(Fraction(1))
        for factor in node.factors:
            product = multiply(product, polynomial(factor))
        return product
    if isinstance(node, Pow):
        return _power(polynomial(node.base), node.exponent)
    raise UnreadableError(f"{type(node).__name__} is no part of a polynomial")


def constant(value: Fraction) -> Polynomial:
    """Return a polynomial without variables."""
    return {(): value} if value else {}


def add(a: Polynomial, b: Polynomial, times: int = 1) -> Polynomial:
    """Return a + times * b."""
    total = dict(a)
    for monomial, c in b.items():
        value = total.get(monomial, Fraction(0)) + times * c
        if value:
            total[monomial] = value
        else:
            total.pop(monomial, None)
    return _checked(total)


def multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return a * b."""
    guard.check(len(a) * len(b), MAX_TERMS * 50, "terms in a product")
    product: Polynomial = {}
    for one, c in a.items():
        for other, d in b.items():
            exponents = dict(one)
            for name, n in other:
                exponents[name] = exponents.get(name, 0) + n
            monomial = tuple(sorted(exponents.items()))
            product[monomial] = product.get(monomial, Fraction(0)) + c * d
    return _checked({monomial: c for monomial, c in product.items() if c})


def substitute(p: Polynomial, values: Mapping[str, Polynomial]) -> Polynomial:
    """Put polynomials in the place of variables."""
    total: Polynomial = {}
    for monomial, c in p.items():
        term = constant(c)
        for name, n in monomial:
            base = values.get(name, {((name, 1),): Fraction(1)})
            for _ in range(n):
                term = multiply(term, base)
        total = add(total, term)
    return total


def _power(base: Polynomial, exponent: Node) -> Polynomial:
    if not isinstance(exponent, Num) or exponent.value.denominator != 1:
        raise UnreadableError("an exponent that is not a whole number")
    n = exponent.value.numerator
    if n < 0:
        if set(base) != {()}:
            raise UnreadableError("a division by a variable or by zero")
        base, n = constant(1 / base[()]), -n
    guard.check(n, MAX_DEGREE, "factors in a power")
    product = constant(Fraction(1))
    for _ in range(n):
        product = multiply(product, base)
    return product


def _checked(p: Polynomial) -> Polynomial:
    guard.check(len(p), MAX_TERMS, "terms")
    for monomial, c in p.items():
        guard.check(sum(n for _, n in monomial), MAX_DEGREE, "degrees")
        guard.check(max(c.numerator.bit_length(), c.denominator.bit_length()), MAX_BITS, "bits")
    return p
