"""What sampling leaves behind: token ids and log-probs exactly as drawn, never text that must be tokenised again.

An episode of one turn or of many has one shape: the `prompt` (what the policy read first) and the `tail` behind it.
In the tail the policy's own tokens are marked; the others are the environment's later messages. Only own tokens carry
loss.

    prompt | own own own | env env env | own own
             mask 1 1 1      0   0   0     1   1
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby


@dataclass(frozen=True)
class Completion:
    """One sampled turn.

    Attributes:
        ids: The tokens drawn, the end token included when the policy ended by itself.
        logprobs: Natural-log probability of each token at the sampling temperature, same length as `ids`.
        ended: True when an end token was drawn, False when the turn was cut at its token limit.
    """

    ids: list[int]
    logprobs: list[float]
    ended: bool


@dataclass
class Trajectory:
    """One episode of one row, as tokens.

    Attributes:
        prompt: Token ids the policy read before its first token.
        tail: Everything behind the prompt: own tokens and the environment's later messages.
        own: For each tail token, whether the policy drew it.
        logprobs: For each tail token, its log-prob as sampled; 0.0 where the environment wrote it.
        ended: Whether the last turn ended with an end token (False: cut by a limit).
        turn_lengths: How many own tokens each turn has; counted from `own` when it is not given.
    """

    prompt: list[int]
    tail: list[int] = field(default_factory=list)
    own: list[bool] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: bool = True
    turn_lengths: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.turn_lengths:
            self.turn_lengths = [len(list(run)) for own, run in groupby(self.own) if own]

    @property
    def context(self) -> list[int]:
        """All tokens so far: what the policy reads before its next turn."""
        return self.prompt + self.tail

    @property
    def own_length(self) -> int:
        """Number of tokens the policy drew."""
        return sum(self.own)

    @property
    def longest_turn(self) -> int:
        """Number of tokens of the longest turn."""
        return max(self.turn_lengths, default=0)

    def add_turn(self, completion: Completion) -> None:
        """Append what the policy drew."""
        self.tail += completion.ids
        self.own += [True] * len(completion.ids)
        self.logprobs += completion.logprobs
        self.turn_lengths.append(len(completion.ids))
        self.ended = completion.ended

    def add_message(self, ids: list[int]) -> None:
        """Append what the environment wrote: read by the policy, never trained on."""
        self.tail += ids
        self.own += [False] * len(ids)
        self.logprobs += [0.0] * len(ids)

    def drop_unanswered(self) -> None:
        """Remove messages behind the policy's last token: nothing was said to them, so no token depends on them."""
        while self.own and not self.own[-1]:
            self.tail.pop()
            self.own.pop()
            self.logprobs.pop()
