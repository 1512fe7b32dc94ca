"""Credit: a batch's rewards, shaped and then compared, as one advantage per token.

* Shaped rewards: what the environment paid, discounted by turns, less a penalty for length, less k1 (the KL term in
  the reward).
* `GroupCredit` compares within the group, the stratum or the batch (advantages/).
* `TurnCredit` does so turn by turn (turn_credit.py).
* `CriticCredit` compares with a value function (ppo.py).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import torch
from torch import Tensor

from grpo_agents.advantages import compute_advantages, normalise_then_sum
from grpo_agents.advantages.measuring import LARGEST, rounding
from grpo_agents.collect import Episode
from grpo_agents.config import Objective, Selection
from grpo_agents.config.objective import OF_STRATA
from grpo_agents.lesson import Drawn
from grpo_agents.overlong import overlong_penalty
from grpo_agents.row_guard import number
from grpo_agents.turns import episode_return, turn_returns
from grpo_gym.errors import GrpoGymError
from grpo_gym.verdict import SOLVED

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Strata:
    """What the strata of a batch's rows ask for.

    Attributes:
        names: Stratum of each row.
        weights: Factor on its advantages, float64 [rows].
        clip_low: How far its ratios may fall below 1, [rows].
        clip_high: How far they may rise above it, [rows].
    """

    names: Sequence[str]
    weights: Tensor
    clip_low: Tensor
    clip_high: Tensor

    def rows(self, rows: Sequence[int]) -> Strata:
        """Return the same of some rows."""
        index = torch.tensor(rows, dtype=torch.int64)
        names = [self.names[row] for row in rows]
        return Strata(names, self.weights[index], self.clip_low[index], self.clip_high[index])


@dataclass(frozen=True)
class Credit:
    """What each token is worth.

    Attributes:
        advantages: Per token, float32 [N].
        per_row: Per episode, float32 [rows], for logs; 0.0 in rows that drew nothing or are not valid.
        values: What a critic expected before the update, [N]; None without one.
        targets: What it is to learn, [N]; None without one.
        figures: For the log.
    """

    advantages: Tensor
    per_row: Tensor
    values: Tensor | None = None
    targets: Tensor | None = None
    figures: dict[str, float] = field(default_factory=dict)


def no_strata(rows: int, objective: Objective) -> Strata:
    """Return what a batch asks for that is one stratum."""
    ones = torch.ones(rows, dtype=torch.float64)
    return Strata(["all"] * rows, ones, ones * objective.clip_low, ones * objective.clip_high)


class UnusableBatchError(GrpoGymError):
    """Nothing can be learned from a batch: what it is compared with is not finite, or it has no component to compare.

    It costs the step; several in a row end the run with the cause.
    """


class Estimator(Protocol):
    """Turns rewards into advantages."""

    def __call__(
        self, episodes: Sequence[Episode], drawn: Drawn, rewards: Tensor, penalties: Tensor | None, strata: Strata
    ) -> Credit:
        """Return the credit of the drawn tokens.

        Args:
            episodes: The whole batch.
            drawn: Its own tokens.
            rewards: Shaped reward of each episode, float64 [rows]; 0 in rows that are not valid.
            penalties: What each token costs, [N], to be taken off its reward; None for nothing.
            strata: Of each row.

        Raises:
            UnusableBatchError: What it compares with is not finite.
        """


def shaped_rewards(episodes: Sequence[Episode], selection: Selection, max_tokens: int, discount: float = 1.0) -> Tensor:
    """Return each episode's return less its penalty for length, float64 [rows]; 0 in rows that are not valid."""
    shaped = [_shaped(e, selection, max_tokens, discount) if e.valid else 0.0 for e in episodes]
    return torch.tensor(shaped, dtype=torch.float64)


def lively_groups(
    episodes: Sequence[Episode], objective: Objective, selection: Selection, max_tokens: int
) -> list[int]:
    """Return the groups with a spread of rewards among their valid rows, in the order they came.

    A reward counts as it is compared: shaped by its length, and where components or turns are compared one by one, a
    spread in any of them is one. A KL term in the reward does not count: it differs everywhere, whatever the answers.
    """
    found: dict[int, dict[str, list[float]]] = {}
    for episode in episodes:
        if episode.valid and episode.length:
            compared = _compared(episode, objective, selection, max_tokens)
            if objective.rewards == "normalise_then_sum":
                parts = components(episode)
                compared |= {name: parts[name] for name in objective.reward_weights or parts if name in parts}
            of_group = found.setdefault(episode.group, {})
            for name, value in compared.items():
                of_group.setdefault(name, []).append(value)
    return [group for group, of in found.items() if any(map(_spreads, of.values()))]


def components(episode: Episode) -> dict[str, float]:
    """Return the parts of an episode's reward that are numbers to reckon with: of others, the scorer has abstained.

    `solved` is no part of it: it says what the reward means.
    """
    parts = episode.info.get("rewards")
    values = {str(name): number(value) for name, value in parts.items()} if isinstance(parts, dict) else {}
    return {name: value for name, value in values.items() if abs(value) <= LARGEST and name != SOLVED}


def _spreads(values: Sequence[float]) -> bool:
    """Whether values differ by more than rounding."""
    return max(values) - min(values) > rounding(torch.float64) * max(map(abs, values))


def turn_costs(episode: Episode, selection: Selection, max_tokens: int) -> list[float]:
    """Return what each turn of an episode loses for its length, at least 0: the limit is on a turn, so is the cost."""
    buffer, penalty = selection.overlong_buffer, selection.overlong_penalty
    return [-overlong_penalty(length, max_tokens, buffer, penalty) for length in episode.turn_lengths]


def _compared(episode: Episode, objective: Objective, selection: Selection, max_tokens: int) -> dict[str, float]:
    """Return what of an episode is compared with its group, by name: one return, or that of each turn."""
    if objective.credit == "episode":
        return {"": _shaped(episode, selection, max_tokens, objective.turn_discount)}
    costs = turn_costs(episode, selection, max_tokens)
    returns = turn_returns(episode, objective.turn_discount, costs)
    return {f"turn {turn}": value for turn, value in enumerate(returns)}


def _shaped(episode: Episode, selection: Selection, max_tokens: int, discount: float) -> float:
    return episode_return(episode, discount) - max(turn_costs(episode, selection, max_tokens), default=0.0)


@lru_cache(maxsize=256)
def _say_missing(name: str, found: str) -> None:
    """Warn, once, of a weighted component that a batch lacks: a slip, or a task of a mixture that has others."""
    logger.warning("no episode of a batch has the reward component %r of reward_weights; there are %s", name, found)


@dataclass(frozen=True)
class GroupCredit:
    """Compares each completion with others: of its prompt, its stratum, or the batch. Every token gets the same."""

    objective: Objective

    def __call__(
        self, episodes: Sequence[Episode], drawn: Drawn, rewards: Tensor, penalties: Tensor | None, strata: Strata
    ) -> Credit:
        """Return one advantage per completion, times its stratum's weight, on each of its tokens."""
        valid = torch.tensor([episode.valid for episode in episodes])
        groups = torch.tensor([episode.group for episode in episodes])
        if penalties is not None:
            rows = torch.tensor(drawn.rows, dtype=torch.int64)
            rewards = rewards.index_add(0, rows, -drawn.per_row(penalties))
        if self.objective.rewards == "normalise_then_sum":
            advantages = self._over_components(episodes, groups, rewards, valid)
        else:
            of_strata = strata.names if self.objective.baseline in OF_STRATA else None
            advantages = compute_advantages(
                rewards,
                groups,
                scale=self.objective.scale,
                baseline=self.objective.baseline,
                valid=valid,
                strata=of_strata,
            )
        advantages = (advantages * strata.weights).float()
        return Credit(drawn.spread(advantages), advantages)

    def _over_components(self, episodes: Sequence[Episode], groups: Tensor, rewards: Tensor, valid: Tensor) -> Tensor:
        """Normalise each component of info["rewards"] in its group, and what was taken off the sum as one more."""
        if not valid.any():
            return torch.zeros(len(episodes))
        tables = [components(e) if e.valid else {} for e in episodes]
        found = sorted({name for of in tables for name in of})
        if not found:
            raise UnusableBatchError(
                "objective.rewards normalise_then_sum compares the components of info['rewards'], and no episode has "
                "any: take sum_then_normalise"
            )
        asked = self.objective.reward_weights or dict.fromkeys(found, 1.0)
        if not set(asked) & set(found):
            raise UnusableBatchError(
                f"objective.reward_weights names {', '.join(asked) or 'nothing'}, which no episode has; "
                f"this environment's info['rewards'] has {', '.join(found)}"
            )
        for name in sorted(set(asked) - set(found)):
            _say_missing(name, ", ".join(found))
        paid = torch.tensor([e.reward if e.valid else 0.0 for e in episodes], dtype=torch.float64)
        columns = [[of.get(name, torch.nan) for of in tables] for name in asked]
        values = torch.tensor(columns, dtype=torch.float64).T
        weights = list(asked.values())
        shaping = rewards - paid
        if shaping.abs().max() > 0:
            values, weights = torch.cat([values, shaping[:, None]], dim=1), [*weights, 1.0]
        known = values.isfinite() & valid[:, None]
        return normalise_then_sum(values.nan_to_num(), groups, torch.tensor(weights, dtype=torch.float64), valid=known)
