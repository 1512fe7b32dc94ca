"""A penalty for saying the same again: the share of n-grams that were there before.

After the repetition penalty of "Demystifying Long Chain-of-Thought Reasoning" (arXiv 2502.03373), which charges each
token of a repeated n-gram; this is one number for the response. It reads text, not tokens: a unit is a word, a symbol,
or one character where a script writes no blanks (Chinese, Japanese, Thai). A long word counts as pieces, else one
endless word would be free.
"""

from __future__ import annotations

import re

from grpo_gym.errors import InvalidValueError
from grpo_gym.problem import Problem
from grpo_gym.reward import Reward
from grpo_gym.verdict import Reason, Verdict

_NO_BLANKS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana, Han."""

_UNIT = re.compile(rf"[{_NO_BLANKS}]|[^\W{_NO_BLANKS}]{{1,16}}|[^\w\s]")


class Repetition(Reward):
    """Minus the share of repeated n-grams, from 0 (none) to almost -1 (nothing new).

    Args:
        n: Units in an n-gram. Small ones punish ordinary writing: worked solutions repeat short phrases.
    """

    range = (-1.0, 0.0)

    def __init__(self, n: int = 8) -> None:
        if n < 1:
            raise InvalidValueError(f"n is {n}, must be at least 1")
        self.n = n

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        share = repeated_share(response, self.n)
        if share == 0:
            return Verdict(0.0, Reason.CORRECT)
        return Verdict(-share, Reason.WRONG, feedback=f"{share:.0%} of its {self.n}-grams are repetitions")


def repeated_share(text: str, n: int) -> float:
    """Return the share of a text's n-grams that occurred before in it; 0 for a text of fewer than n units."""
    units = _UNIT.findall(text.casefold())
    total = len(units) - n + 1
    if total < 1:
        return 0.0
    different = len(set(zip(*(units[start : start + total] for start in range(n)), strict=True)))
    return 1 - different / total
