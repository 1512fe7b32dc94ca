"""What prompts are told apart by: categories give a name, numbers are cut into strata by boundaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from grpo_agents.strata.facts import PromptFacts, require_facts
from grpo_agents.strata.past import PassRates


def category(key: str, facts: PromptFacts) -> str:
    """Return a prompt's name under a key of CATEGORY_KEYS.

    Raises:
        TypeError: Anything but PromptFacts.
    """
    return CATEGORY_KEYS[key](require_facts(facts))


def number(key: str, facts: PromptFacts, past: PassRates) -> float:
    """Return a prompt's number under a key of NUMBER_KEYS.

    Raises:
        TypeError: Anything but PromptFacts.
    """
    return NUMBER_KEYS[key](require_facts(facts), past)


def _task(facts: PromptFacts) -> str:
    return facts.task


def _tier(facts: PromptFacts) -> str:
    return "no tier" if facts.tier is None else f"tier {facts.tier}"


def _prompt_tokens(facts: PromptFacts, past: PassRates) -> float:
    return float(facts.tokens)


def _pass_rate(facts: PromptFacts, past: PassRates) -> float:
    return past.estimate(facts)


CATEGORY_KEYS: Final[dict[str, Callable[[PromptFacts], str]]] = {"task": _task, "tier": _tier}
"""Keys that name a stratum by themselves."""

NUMBER_KEYS: Final[dict[str, Callable[[PromptFacts, PassRates], float]]] = {
    "prompt_tokens": _prompt_tokens,
    "pass_rate": _pass_rate,
}
"""Keys that give a number, to be cut by boundaries."""

HIGH_IS_EASY: Final = frozenset({"pass_rate"})
"""Numbers of which the high ones mean easy prompts."""
