"""A penalty for long responses that sets in softly."""

from __future__ import annotations

from collections.abc import Callable

from grpo_gym.errors import InvalidValueError
from grpo_gym.problem import Problem
from grpo_gym.reward import Reward
from grpo_gym.verdict import Reason, Verdict


class SoftOverlong(Reward):
    """The overlong punishment of DAPO (arXiv 2503.14476, equation 13), from 0 down to -1.

    0 up to `limit - buffer`, then a straight line down to -1 at `limit`, and -1 beyond. Add it to a verifier's reward.

    Args:
        limit: The length that costs 1 in full.
        buffer: The stretch before it over which the penalty grows; 0 for a step.
        measure: The length of a response. Default: characters. Words would let a policy write without blanks for
            free, and tokens need the policy's tokenizer, which a reward does not know: pass
            `lambda text: len(tokenizer.encode(text))` where you have one.
    """

    range = (-1.0, 0.0)

    def __init__(self, limit: int, buffer: int, measure: Callable[[str], int] = len) -> None:
        if not 0 <= buffer <= limit or limit < 1:
            raise InvalidValueError(f"limit={limit} must be at least 1, and buffer={buffer} between 0 and limit")
        self.limit = limit
        self.buffer = buffer
        self.measure = measure

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        length = self.measure(response)
        free = self.limit - self.buffer
        if length <= free:
            return Verdict(0.0, Reason.CORRECT)
        value = -1.0 if length >= self.limit else (free - length) / self.buffer
        return Verdict(value, Reason.TOO_BIG, feedback=f"length {length}; free up to {free}, limit {self.limit}")
