r"""Exact values that must be worked out: the question "Compute (2 + i)(3 - i)" is equal to its answer, but is none.

A worked-out value is a sum of different terms, each one a rational number times at most one root, power of e or
logarithm, times i and a power of pi. The sum may stand over a common denominator. So \frac{3 + \sqrt{5}}{2},
-\frac{11}{5} - \frac{3i}{5} and \frac{4}{\sqrt{3}} are worked out; \sin(\frac{\pi}{6}), (2 + i)^2, 3 * 4 are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from grpo_gym.problem import Problem
from grpo_gym.reward import Probe
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.math.canonical import key
from grpo_rewards.math.extract import final_answer
from grpo_rewards.math.guard import TooBigError, UnreadableError
from grpo_rewards.math.parser import parse
from grpo_rewards.math.policy import WORKED, Policy
from grpo_rewards.math.reward import MathReward
from grpo_rewards.math.tree import Add, Call, Const, Group, Mul, Node, Num, PlusMinus, Pow, Relation, Text, symbols

_WHOLE_FACTORS = 2
"""A numerator and a denominator: more numbers side by side are a product left standing."""

_FREE = ("", "i", "pi", "pi^2", "pi^-2")
"""What may stand beside a root, a power of e or a logarithm."""


class WorkedOutReward(MathReward):
    """`MathReward` that pays exact values only when they are worked out; formulas with variables are left alone."""

    def __init__(self, policy: Policy = WORKED) -> None:
        super().__init__(policy)

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        verdict = super().score(response, problem)
        if not verdict:
            return verdict
        text = final_answer(response).text or ""
        try:
            if text.strip() == str(problem.reference) or is_worked_out(parse(text)):
                return verdict
        except (UnreadableError, TooBigError, RecursionError):
            return verdict  # read otherwise than as one formula: a word, a choice, several boxes
        return Verdict(0.0, Reason.WRONG, feedback=f"equal, but not worked out: {text[:80]}")

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without the working."""
        more = (
            Probe("a sum left standing", lambda p: _standing(p, "{} + 1 - 1")),
            Probe("a product left standing", lambda p: _standing(p, "({})(2 + 1)/3")),
        )
        return (*super().probes(), *more)


def _standing(problem: Problem, form: str) -> str:
    """Write the answer with work left to do; where that is allowed, as in formulas with variables, no answer."""
    text = form.format(problem.reference)
    try:
        allowed = is_worked_out(parse(text))
    except (UnreadableError, TooBigError):
        allowed = True
    return "I do not know." if allowed else f"\\boxed{{{text}}}"


def is_worked_out(node: Node) -> bool:
    """Whether every value in an answer is worked out. Expressions with variables count as worked out."""
    if isinstance(node, Relation):
        return is_worked_out(node.items[-1])
    if isinstance(node, PlusMinus):
        return is_worked_out(node.left) and is_worked_out(node.right)
    if isinstance(node, Group):
        return all(is_worked_out(item) for item in node.items)
    if symbols(node):
        return True
    try:
        kinds = [_kind(factors) for factors in _terms(node)]
    except UnreadableError:
        return False
    return len(kinds) == len(set(kinds))


def _terms(node: Node) -> Iterator[list[Node]]:
    """Yield the factors of each term; a sum over a common denominator is as good as its terms."""
    if isinstance(node, Add):
        for term in node.terms:
            yield from _terms(term)
        return
    factors = list(node.factors) if isinstance(node, Mul) else [node]
    sums = [factor for factor in factors if isinstance(factor, Add)]
    if not sums:
        yield factors
        return
    others = [factor for factor in factors if not isinstance(factor, Add | Text)]
    if len(sums) > 1 or not all(isinstance(factor, Num) or _is_denominator(factor) for factor in others):
        raise UnreadableError("a product of sums")
    for term in sums[0].terms:
        yield from _terms(term)


def _is_denominator(node: Node) -> bool:
    return isinstance(node, Pow) and isinstance(node.base, Num) and node.exponent == Num(Fraction(-1))


def _kind(factors: list[Node]) -> str:
    """Return what a term is a rational multiple of; two terms of one kind have not been added up."""
    numbers, parts = 0, []
    for factor in factors:
        if isinstance(factor, Num):
            numbers += abs(factor.value) != 1
        elif _is_denominator(factor):
            numbers += 1
        elif isinstance(factor, Const):
            parts.append(factor.name)
        elif isinstance(factor, Pow):
            parts.append(_power(factor))
        elif isinstance(factor, Call) and factor.name in ("ln", "log", "root") and _plain(factor.args):
            parts.append(key(factor))
        elif not isinstance(factor, Text):
            raise UnreadableError("something to be worked out")
    if numbers > _WHOLE_FACTORS or len([part for part in parts if part.removeprefix("1/") not in _FREE]) > 1:
        raise UnreadableError("a product")
    return " ".join(sorted(parts))


def _plain(nodes: Sequence[Node]) -> bool:
    return all(isinstance(node, Num) for node in nodes)


def _power(node: Pow) -> str:
    """Return the kind of a power: a root of a number, a power of e or pi."""
    base, exponent = node.base, node.exponent
    if not isinstance(exponent, Num):
        raise UnreadableError("a power")
    if isinstance(base, Const) and base.name in ("e", "pi"):
        return f"{base.name}^{exponent.value}"
    if isinstance(base, Num) and exponent.value.denominator == 2 and abs(exponent.value.numerator) == 1:
        return f"root {base.value}"
    if exponent.value == -1 and isinstance(base, Mul | Pow | Const):  # \frac{1}{2\sqrt{3}}, \frac{3}{4\pi}
        return "1/" + _kind(list(base.factors) if isinstance(base, Mul) else [base])
    raise UnreadableError("a power")
