"""A policy that says what it is told to, token by token as if it had drawn it: for episodes whose course matters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from grpo_agents.policy import Policy
from grpo_agents.rollout import Completion
from tests.agents.runs import babbler
from tests.agents.tiny_models import alone

Speaker = Callable[[str, int], str]
"""What is said behind a context, given as text, by a row at some place of the call."""


def scripted(speak: Speaker, policy: Policy | None = None, **kind: Any) -> Policy:
    """Return a policy whose completions are scripted, with the end token; log-probs are those of its model.

    Args:
        speak: The script.
        policy: Whose model; None for a babbler of some kind.
        kind: Arguments of `babbler`.
    """
    policy = policy or babbler(**{"context": 2048, **kind})

    def sample(prompts: Sequence[Sequence[int]], group_size: int = 1, **options: Any) -> list[Completion]:
        said = []
        for place, prompt in enumerate(row for shared in prompts for row in [shared] * group_size):
            text = speak(str(policy.tokenizer.decode(list(prompt))), place)
            ids = [*policy.tokenizer(text, add_special_tokens=False)["input_ids"], min(policy.eos_ids)]
            logprobs = alone(policy.model, prompt, ids, options.get("temperature", 1.0))
            said.append(Completion(ids, logprobs.tolist(), True))
        return said

    policy.sample = sample  # type: ignore[method-assign]  # the script in the place of the sampler
    return policy
