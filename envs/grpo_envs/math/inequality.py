r"""Inequalities in one unknown. The solution set is asked for in interval notation, unions from left to right.

A set is kept as its pieces (low, closed, high, closed); None stands for no bound. The reference and its equal forms are
written from the same pieces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from grpo_envs.math.answers import boxes
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.polynomials import nonzero
from grpo_envs.math.quadratic import solve
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import polynomial, tex
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.math import MathReward
from grpo_rewards.math.extract import final_answer

Bound = Fraction | None
Piece = tuple[Bound, bool, Bound, bool]

RELATIONS = ("<", "<=", ">", ">=")
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def other_forms(problem: Problem) -> list[str]:
    r"""Write a solution set otherwise: with `\left(`, with fractions as `\frac`, as inequalities."""
    pieces = [_read(piece) for piece in problem.meta["pieces"]]
    sets = [interval(piece, latex=True) for piece in pieces]
    texts = [r" \cup ".join(sets), r" \cup ".join(sets[::-1]), r"x \in " + r" \cup ".join(sets)]
    texts.append(r" \text{ or } ".join(_as_inequality(piece) for piece in pieces))
    return boxes(dict.fromkeys(texts))


_SPACING = re.compile(r"\\[,;:!() ]|\\left|\\right|\\displaystyle|[\s${}]")
_RELATION = re.compile(r"\\(?:le|ge|leq|geq|leqslant|geqslant|lt|gt|in|lor|land|wedge|vee|text|or|and)(?![a-z])"
                       r"|or|and|[<>=,\u2264\u2265\u2208]")  # fmt: skip


class Solved(MathReward):
    """`MathReward` for solution sets: a relation counts when it is solved, since the question is an equal relation."""

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response; an equal relation in which x does not stand alone is wrong."""
        verdict = super().score(response, problem)
        if verdict and not is_solved(final_answer(response).text or ""):
            return Verdict(0.0, Reason.WRONG, feedback="equal, but not solved for x")
        return verdict

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being right, the question among them."""
        return (*super().probes(), Probe("the inequality that was given", lambda p: f"\\boxed{{{p.meta['question']}}}"))


def is_solved(text: str) -> bool:
    r"""Whether x stands alone wherever it stands: `x < 3`, `1 < x \le 2`, `x \in (1, 2)`, and any interval."""
    pieces = _RELATION.split(text.strip().removeprefix(r"\{x \mid").removeprefix(r"\{x:"))
    return all(piece in ("", "x") or "x" not in piece for piece in (_SPACING.sub("", p) for p in pieces))


@task("math.inequality", equivalents=other_forms, effort=digit_operations, **{**MATHS, "reward": Solved()})
def inequality(rng: Rng, tier: int) -> Problem:
    """Solve an inequality: linear, with x on both sides, compound, absolute value, quadratic, rational."""
    return (_linear, _two_sided, _compound, _absolute, _quadratic, _rational)[tier](rng)


def _posed(question: str, work: Working, pieces: Sequence[Piece]) -> Problem:
    prompt = f"Solve {question} for x. Give the solution set in interval notation."
    reference = r" \cup ".join(interval(piece) for piece in pieces)
    return worked(prompt, work.lines, reference, pieces=[_written(piece) for piece in pieces], question=question)


def _half_line(bound: Fraction, relation: str) -> Piece:
    closed = relation.endswith("=")
    return (None, False, bound, closed) if relation.startswith("<") else (bound, closed, None, False)


def _outside(low: Fraction, high: Fraction, closed: bool) -> list[Piece]:
    return [(None, False, low, closed), (high, closed, None, False)]


def _linear(rng: Rng) -> Problem:
    a, x, b = rng.integer(2, 12), rng.integer(-20, 20), nonzero(rng, 40)
    relation = rng.choice(RELATIONS)
    work = Working()
    bound = work.quotient(work.subtract(a * x + b, b), a)
    return _posed(f"{polynomial([a, b])} {relation} {a * x + b}", work, [_half_line(bound, relation)])


def _two_sided(rng: Rng) -> Problem:
    a, c = rng.sample([n for n in range(-12, 13) if n], 2)
    b, d = nonzero(rng, 40), nonzero(rng, 40)
    relation = rng.choice(RELATIONS)
    work = Working()
    factor = work.subtract(a, c)
    bound = work.quotient(work.subtract(d, b), factor)
    solved = FLIPPED[relation] if factor < 0 else relation
    return _posed(f"{polynomial([a, b])} {relation} {polynomial([c, d])}", work, [_half_line(bound, solved)])


def _compound(rng: Rng) -> Problem:
    a, b = rng.integer(2, 12) * rng.choice((1, -1)), nonzero(rng, 40)
    low = rng.integer(-60, 40)
    high = low + rng.integer(5, 60)
    first, second = rng.choice(RELATIONS[:2]), rng.choice(RELATIONS[:2])
    work = Working()
    ends = [(work.quotient(work.subtract(end, b), a), sign == "<=") for end, sign in ((low, first), (high, second))]
    (left, left_closed), (right, right_closed) = ends if a > 0 else ends[::-1]
    return _posed(f"{low} {first} {polynomial([a, b])} {second} {high}", work,
                  [(left, left_closed, right, right_closed)])  # fmt: skip


def _absolute(rng: Rng) -> Problem:
    """p|ax + b| + q against c: inside two bounds or outside them."""
    p, c = rng.integer(2, 6), rng.integer(2, 30)
    a, b, q = rng.integer(2, 9) * rng.choice((1, -1)), nonzero(rng, 30), nonzero(rng, 20)
    relation = rng.choice(RELATIONS)
    work = Working()
    width = work.divide(work.subtract(p * c + q, q), p)
    low, high = sorted(work.quotient(work.subtract(end, b), a) for end in (-width, width))
    closed = relation.endswith("=")
    pieces = [(low, closed, high, closed)] if relation.startswith("<") else _outside(low, high, closed)
    constant = f"+ {q}" if q > 0 else f"- {-q}"
    return _posed(f"{p}|{polynomial([a, b])}| {constant} {relation} {p * c + q}", work, pieces)


def _quadratic(rng: Rng) -> Problem:
    """A quadratic with rational zeros, some of its terms on the right side."""
    p, r = rng.integer(1, 5), rng.integer(1, 4)
    q, s = nonzero(rng, 12), nonzero(rng, 12)
    if q * r == s * p:
        q = -q
    a, b, c = p * r, p * s + q * r, q * s
    right = [rng.integer(0, 3), nonzero(rng, 9), nonzero(rng, 9)]
    left = [a + right[0], b + right[1], c + right[2]]
    relation = rng.choice(RELATIONS)
    work = Working()
    for above, below in zip(left, right, strict=True):
        if below:
            work.subtract(above, below)
    low, high = (Fraction(text) for text in solve(work, a, b, c)[0])
    closed = relation.endswith("=")
    pieces = [(low, closed, high, closed)] if relation.startswith("<") else _outside(low, high, closed)
    return _posed(f"{polynomial(left)} {relation} {polynomial(right)}", work, pieces)


def _rational(rng: Rng) -> Problem:
    """(x^2 + bx + c) / (x + d) against m: the zeros of the numerator may belong to the solution, that of d never."""
    zeros = rng.sample(range(-12, 13), 3)
    pole, zero, other = zeros
    m = nonzero(rng, 6)
    # (x - zero)(x - other) + m(x - pole) over x - pole, so that subtracting m leaves the two zeros
    b, c = m - zero - other, zero * other - m * pole
    relation = rng.choice(RELATIONS)
    work = Working()
    middle = work.subtract(b, m)
    constant = work.subtract(c, work.multiply(m, -pole))
    low, high = (Fraction(text) for text in solve(work, 1, middle, constant)[0])
    cuts = sorted([(low, relation.endswith("=")), (high, relation.endswith("=")), (Fraction(pole), False)])
    for k, test in enumerate((cuts[0][0] - 1, *((cuts[n][0] + cuts[n + 1][0]) / 2 for n in (0, 1)), cuts[2][0] + 1)):
        value = (test - low) * (test - high) / (test - pole)
        work.line(f"({_minus(test, low)}) * ({_minus(test, high)}) / ({_minus(test, Fraction(pole))})", value)
        assert (value > 0) == (k % 2 == 1)
    (one, with_one), (two, with_two), (three, with_three) = cuts
    if relation.startswith(">"):  # the sign changes at each cut and is + at the far right
        pieces: list[Piece] = [(one, with_one, two, with_two), (three, with_three, None, False)]
    else:
        pieces = [(None, False, one, with_one), (two, with_two, three, with_three)]
    return _posed(f"({polynomial([1, b, c])})/({polynomial([1, -pole])}) {relation} {m}", work, pieces)


def _minus(a: Fraction, b: Fraction) -> str:
    return f"{a} - {b}" if b >= 0 else f"{a} + {-b}"


def interval(piece: Piece, latex: bool = False) -> str:
    r"""Write a piece as an interval, `(-\infty, 3/4]` or `\left(-\infty, \frac{3}{4}\right]`."""
    low, with_low, high, with_high = piece
    number = tex if latex else str
    start, end = r"-\infty" if low is None else number(low), r"\infty" if high is None else number(high)
    opening, closing = "[" if with_low else "(", "]" if with_high else ")"
    if latex:
        opening, closing = rf"\left{opening}", rf"\right{closing}"
    return f"{opening}{start}, {end}{closing}"


def _as_inequality(piece: Piece) -> str:
    low, with_low, high, with_high = piece
    if low is None:
        return f"x {_at_most(with_high)} {high}"
    if high is None:
        return f"x {_at_most(with_low).replace('<', '>').replace('le', 'ge')} {low}"
    return f"{low} {_at_most(with_low)} x {_at_most(with_high)} {high}"


def _at_most(closed: bool) -> str:
    return r"\le" if closed else "<"


def _written(piece: Piece) -> list[str | bool | None]:
    low, with_low, high, with_high = piece
    return [None if low is None else str(low), with_low, None if high is None else str(high), with_high]


def _read(written: Sequence[str | bool | None]) -> Piece:
    low, with_low, high, with_high = written
    return (None if low is None else Fraction(str(low)), bool(with_low),
            None if high is None else Fraction(str(high)), bool(with_high))  # fmt: skip
