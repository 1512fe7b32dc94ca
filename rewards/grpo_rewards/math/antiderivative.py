r"""Any antiderivative is right: the answer is differentiated and compared with the integrand.

`x^2`, `x^2 + C`, `x^2 + 7` and `F(x) = x^2 + C` all answer "Find an antiderivative of 2x". An answer that leaves the
integral standing is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from grpo_gym.problem import Problem
from grpo_gym.reward import Probe, Reward
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.math import guard
from grpo_rewards.math.derive import derive
from grpo_rewards.math.equality import equal
from grpo_rewards.math.extract import final_answer
from grpo_rewards.math.guard import TooBigError, UndecidedError, UnreadableError
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
        if len(response) > guard.MAX_RESPONSE:
            return Verdict(0.0, Reason.TOO_BIG, feedback=f"the response has more than {guard.MAX_RESPONSE} characters")
        try:
            found = final_answer(response)
            if found.hedged:
                return Verdict(0.0, Reason.HEDGED, feedback="several different answers were offered")
            if found.text is None:
                return Verdict(0.0, Reason.NO_ANSWER, feedback=r"no \boxed{...} and no final-answer line")
            slope = derive(_right_side(parse(found.text)), variable)
            right = equal(slope, integrand)
        except TooBigError as error:
            return Verdict(0.0, Reason.TOO_BIG, feedback=f"the answer has {error}")
        except (UnreadableError, UndecidedError) as error:
            return Verdict(0.0, Reason.UNPARSEABLE, feedback=str(error))
        if not right:
            return Verdict(0.0, Reason.WRONG, feedback=f"the derivative of {found.text[:80]} is not the integrand")
        return Verdict(1.0, Reason.CORRECT)

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
