"""Polynomial equations of degree three to five with rational roots, found by Horner's scheme.

Up to tier 3 each root is asked for once, as a list. From tier 4 on multiplicities count: the answer is a tuple in
increasing order that holds each root as often as its multiplicity, since a list may be read as a set.
"""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.math.answers import list_forms, tuple_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.polynomials import Polynomial, horner, nonzero, product
from grpo_envs.math.quadratic import solve
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import listed, ordered, polynomial
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

EACH = "Give all real solutions."
TUPLE = "Give all solutions in increasing order as a tuple, each as often as its multiplicity."


def other_forms(problem: Problem) -> list[str]:
    """Write the roots otherwise: an ordered tuple where multiplicities count, else an unordered list."""
    return tuple_forms(problem) if str(problem.reference).startswith("(") else list_forms(problem, "x")


@task("math.roots", equivalents=other_forms, effort=digit_operations, **MATHS)
def roots(rng: Rng, tier: int) -> Problem:
    """Find all roots: of a product, a cubic without constant term, cubics, and with multiplicities (4 and 5)."""
    if tier == 0:
        return _of_product(rng)
    work = Working()
    if tier == 1:
        others = rng.sample([n for n in range(-25, 26) if n], 2)
        a = rng.integer(1, 4)
        p = [a * c for c in product([[1, -others[0]], [1, -others[1]], [1, 0]])]
        found = [Fraction(0), *_last_two(work, p[:3])]
        return worked(f"Solve {polynomial(p)} = 0 for x. {EACH}", work.lines, listed(sorted(found)))
    whole = _whole_roots(rng, tier)
    rest = _rest(rng, tier)
    p = product([*([1, -r] for r in whole), rest])
    found = []
    quotient = p
    for r in whole:
        quotient, _ = horner(work, quotient, r)
        found.append(Fraction(r))
    found = sorted([*found, *_last_two(work, quotient)])
    if tier < 4:
        return worked(f"Solve {polynomial(p)} = 0 for x. {EACH}", work.lines, listed(dict.fromkeys(found)))
    return worked(f"Solve {polynomial(p)} = 0 for x. {TUPLE}", work.lines, ordered(found))


def _of_product(rng: Rng) -> Problem:
    """Pose an equation that is factored already: each factor gives one root."""
    work = Working()
    factors: list[Polynomial] = []
    found: list[Fraction] = []
    while len(factors) < 3:
        a, b = rng.integer(1, 5), nonzero(rng, 20)
        if Fraction(-b, a) not in found:
            factors.append([a, b])
            found.append(_last(work, [a, b]))
    text = "".join(f"({polynomial(factor)})" for factor in factors)
    return worked(f"Solve {text} = 0 for x. {EACH}", work.lines, listed(sorted(found)))


def _whole_roots(rng: Rng, tier: int) -> list[int]:
    """Return the whole roots that Horner's scheme is to find, in the order in which one tries: small ones first."""
    if tier == 2:
        found = [nonzero(rng, 9)]
    elif tier == 3:
        found = [nonzero(rng, 12)]
    elif tier == 4:
        found = [nonzero(rng, 6)] * 2
    else:
        found = [nonzero(rng, 4)] * 2 + [nonzero(rng, 6)]
    return sorted(found, key=lambda r: (abs(r), -r))


def _rest(rng: Rng, tier: int) -> Polynomial:
    """Return what is left when the whole roots are divided off: a quadratic factor with rational roots."""
    if tier == 2:
        return product([[1, nonzero(rng, 15)], [1, nonzero(rng, 15)]])
    if tier == 3:
        a = rng.integer(2, 6)
        return product([[1, nonzero(rng, 15)], [a, nonzero(rng, 15)]])
    a, b = rng.integer(1, 4), rng.integer(2, 5)
    return product([[a, nonzero(rng, 7)], [b, nonzero(rng, 7)]])


def _last_two(work: Working, p: Polynomial) -> list[Fraction]:
    """Return both roots of what is left, a double one twice."""
    a, b, c = p
    found = [Fraction(text) for text in solve(work, a, b, c)[0]]
    return found if len(found) == 2 else found * 2


def _last(work: Working, p: Polynomial) -> Fraction:
    a, b = p
    return work.quotient(-b, a) if a != 1 else Fraction(-b)
