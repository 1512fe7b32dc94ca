"""What is known of a prompt before anything is sampled: all that a stratum may depend on, beside the past.

The refusal is one of type, not of convention. A key that could be handed an episode would sooner or later look at the
length or the reward of its completion. The baseline then depends on the action and cancels what separates the strata:
where long answers are right more often, the policy never learns to give them (tests/agents/test_strata_toy.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from grpo_agents.config.consistency import WHY_NOT_THE_ANSWER


@dataclass(frozen=True)
class PromptFacts:
    """One prompt, as it stands before anything is sampled.

    Attributes:
        problem_id: Name of the problem, the same whenever it comes back; "" where the environment gives none, and then
            only the prompt's task and tier have a past.
        task: Name of its task.
        tier: Its level of difficulty; None where the environment has none.
        tokens: Tokens of the prompt.

    Raises:
        ValueError: Fewer than 0 tokens.
    """

    problem_id: str
    task: str
    tier: int | None
    tokens: int

    def __post_init__(self) -> None:
        if self.tokens < 0:
            raise ValueError(f"tokens is {self.tokens}, must be the prompt's number of tokens, at least 0")


def require_facts(value: object) -> PromptFacts:
    """Return the facts of a prompt, and refuse everything else.

    Raises:
        TypeError: Anything but a PromptFacts, subclasses too: they could bring the answer along.
    """
    if type(value) is not PromptFacts:
        raise TypeError(f"a stratum is a function of PromptFacts, not of {type(value).__name__}: {WHY_NOT_THE_ANSWER}")
    return value
