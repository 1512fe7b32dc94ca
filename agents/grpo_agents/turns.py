"""What the turns of an episode are worth: rewards that were paid turn by turn, discounted, from any turn on.

    paid       0.2        0         1          what the environment paid for each turn
    return     0.2 + y^2 * 1        y * 1     1        G_t = paid_t + y G_(t+1), with the discount y

An episode's return is that of its first turn. A turn in which nothing could be said any more (the context was full) has
no tokens; what was paid then counts for the last turn that has some.
"""

from __future__ import annotations

from collections.abc import Sequence

from grpo_agents.collect import Episode


def returns_from(paid: Sequence[float], discount: float) -> list[float]:
    """Return G_t = sum over k >= t of discount^(k - t) * paid_k, for every turn t.

    Args:
        paid: Reward of each turn.
        discount: Factor per turn, 0 to 1.
    """
    found: list[float] = []
    following = 0.0
    for reward in reversed(paid):
        following = reward + discount * following
        found.append(following)
    return found[::-1]


def paid_by_turn(episode: Episode) -> list[float]:
    """Return what each turn was paid; the whole reward with the last one where no single payments are known."""
    return list(episode.paid) or [0.0] * (len(episode.turn_lengths) - 1) + [episode.reward]


def episode_return(episode: Episode, discount: float) -> float:
    """Return the discounted sum of an episode's rewards; with a discount of 1 its reward."""
    return episode.reward if discount == 1 else returns_from(paid_by_turn(episode), discount)[0]


def turn_returns(episode: Episode, discount: float, costs: Sequence[float] = ()) -> list[float]:
    """Return G_t of each turn that has tokens.

    Args:
        episode: A row that drew something.
        discount: Factor per turn.
        costs: To be taken off what each of these turns was paid; empty for nothing.
    """
    paid = paid_by_turn(episode)
    for turn, cost in enumerate(costs):
        paid[turn] -= cost
    return returns_from(paid, discount)[: len(episode.turn_lengths)]
