"""Judge a maths answer: extract it, read it as a rational number, compare exactly."""

from __future__ import annotations

from collections.abc import Sequence

from grpo_gym.problem import Problem
from grpo_gym.reward import Probe, Reward
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.math.extract import final_answer
from grpo_rewards.math.rational import TooBigError, read_rational

MAX_RESPONSE = 200_000
"""Characters of a response that are read; a longer one is refused as too big."""


def verify(response: str, reference: str) -> Verdict:
    r"""Judge whether the response's final answer has exactly the reference's value.

    Args:
        response: What the policy wrote; its last `\boxed{}` or final-answer line counts.
        reference: The right value as text, e.g. "12" or "-3/4".

    Returns:
        A verdict with value 1.0 or 0.0. It abstains only when the reference itself cannot be read.
    """
    try:
        right = read_rational(str(reference))
    except TooBigError:
        right = None
    if right is None:
        return Verdict.abstain(f"the reference {str(reference)[:80]!r} is not a rational number")
    if len(response) > MAX_RESPONSE:
        return Verdict(0.0, Reason.TOO_BIG, feedback=f"the response has more than {MAX_RESPONSE} characters")
    try:
        found = final_answer(response)
        if found.hedged:
            return Verdict(0.0, Reason.HEDGED, feedback="several different answers were offered")
        if found.text is None:
            return Verdict(0.0, Reason.NO_ANSWER, feedback=r"no \boxed{...} and no final-answer line")
        value = read_rational(found.text)
    except TooBigError as error:
        return Verdict(0.0, Reason.TOO_BIG, feedback=f"the answer has {error}")
    if value is None:
        return Verdict(0.0, Reason.UNPARSEABLE, feedback=f"not a number: {found.text[:80]!r}")
    if value != right:
        return Verdict(0.0, Reason.WRONG, feedback=f"{found.text[:80]} is not the right value")
    return Verdict(1.0, Reason.CORRECT)


class MathReward(Reward):
    """`verify` as a Reward: the problem's reference is the right value as text."""

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        return verify(response, str(problem.reference))

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being right."""

        def box(text: str) -> str:
            return f"\\boxed{{{text}}}"

        return (
            Probe("two answers side by side", lambda p: f"{box(str(p.reference))} or {box('123456789')}"),
            Probe("the right number mentioned only", lambda p: f"it may be {p.reference}"),
            Probe("an expression to evaluate", lambda p: box(f"{p.reference}+0*__import__('os').getpid()")),
            Probe("a digit added", lambda p: box(f"{p.reference}1")),
            Probe("the answer inside think only", lambda p: f"<think>{box(str(p.reference))}</think>"),
            Probe("an empty box at the end", lambda p: f"{box(str(p.reference))} so {box('')}"),
        )
