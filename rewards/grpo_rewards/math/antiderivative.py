r"""Any antiderivative is right: the answer is differentiated and compared with the integrand.

`x^2`, `x^2 + C`, `x^2 + 7` and `F(x) = x^2 + C` all answer "Find an antiderivative of 2x". An answer that leaves the
integral standing is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from grpo_gym.problem import Problem
from grpo_gym.reward import Probe, Reward
from grpo_gym.verdict import Verdict
from grpo_rewards.math.constructed import judge_constructed
from grpo_rewards.math.derive import derive
from grpo_rewards.math.equality import equal
from grpo_rewards.math.guard import TooBigError, UnreadableError
from grpo_rewards.math.parser import parse
from grpo_rewards.math.tree import Call, Node, Relation, Sym


class AntiderivativeReward(Reward):
    """Judges an antiderivative of `meta["integrand"]` with respect to `meta["variable"]`."""

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        variable = str(problem.meta.get("variable", "x"))
        try:
            integrand = parse(str(problem.meta["integrand"]))
        except (UnreadableError, TooBigError) as error:
            return Verdict.abstain(f"the integrand cannot be read: {error}")

        def fault(text: str) -> str:
            right = equal(derive(_right_side(parse(text)), variable), integrand)
            return "" if right else f"the derivative of {text[:80]} is not the integrand"

        return judge_constructed(response, fault)

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being right."""

        def box(text: object) -> str:
            return f"\\boxed{{{text}}}"

        return (
            Probe("the integrand", lambda p: box(p.meta["integrand"])),
            Probe("the integral left standing", lambda p: box(f"\\int {p.meta['integrand']} \\, dx")),
            Probe("a term too many", lambda p: box(f"{p.reference} + x")),
            Probe("a constant times x", lambda p: box(f"{p.reference} + Cx")),
            Probe("two answers", lambda p: f"{box(p.reference)} or {box('x')}"),
        )


def _right_side(node: Node) -> Node:
    """Return what "F(x) = ..." says; any other relation is no antiderivative."""
    if not isinstance(node, Relation):
        return node
    left = node.items[0]
    named = isinstance(left, Sym) or (isinstance(left, Call) and left.name.rstrip("'").endswith("()"))
    if node.signs != ("=",) or not named:
        raise UnreadableError("not one expression")
    return node.items[1]
