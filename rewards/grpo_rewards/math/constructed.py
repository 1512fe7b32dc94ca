"""How an answer is judged that has many right forms: found, read, and put to a test, with no reference to compare."""

from __future__ import annotations

from collections.abc import Callable

from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.math import guard
from grpo_rewards.math.extract import final_answer
from grpo_rewards.math.guard import TooBigError, UndecidedError, UnreadableError


def judge_constructed(response: str, fault: Callable[[str], str]) -> Verdict:
    """Judge the final answer of a response by a test of its own.

    Args:
        response: What the policy wrote.
        fault: Returns what is wrong with an answer's text, "" when nothing is. May raise the errors of `guard`.
    """
    if len(response) > guard.MAX_RESPONSE:
        return Verdict(0.0, Reason.TOO_BIG, feedback=f"the response has more than {guard.MAX_RESPONSE} characters")
    try:
        found = final_answer(response)
        if found.hedged:
            return Verdict(0.0, Reason.HEDGED, feedback="several different answers were offered")
        if found.text is None:
            return Verdict(0.0, Reason.NO_ANSWER, feedback=r"no \boxed{...} and no final-answer line")
        wrong = fault(found.text)
    except TooBigError as error:
        return Verdict(0.0, Reason.TOO_BIG, feedback=f"the answer has {error}")
    except (UnreadableError, UndecidedError) as error:
        return Verdict(0.0, Reason.UNPARSEABLE, feedback=str(error))
    return Verdict(0.0, Reason.WRONG, feedback=wrong) if wrong else Verdict(1.0, Reason.CORRECT)
