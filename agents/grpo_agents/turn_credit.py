"""Credit by turn: each turn is worth what was paid from it on, compared with the same turn of the group's other rows.

    row 0   turn 0: G = 0.9    turn 1: G = 1.0               compared column by column: two turns of one number share
    row 1   turn 0: G = 0.0    turn 1: G = 0.0  turn 2: 0.0  a prompt, but not what was said since

Against one advantage for the whole episode, a turn is neither praised nor blamed for what was paid before it. A turn
that one row alone has reached has nothing to compare with and teaches nothing, unless the baseline looks beyond the
group. With all rewards paid at the end, no discount and equally many turns it is the credit of the whole episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grpo_agents.advantages import compute_advantages
from grpo_agents.collect import Episode
from grpo_agents.config import Objective, Selection
from grpo_agents.config.objective import OF_STRATA
from grpo_agents.credit import Credit, Strata, turn_costs
from grpo_agents.lesson import Drawn
from grpo_agents.turns import turn_returns


@dataclass(frozen=True)
class TurnCredit:
    """Compares each turn with the same turn of others.

    Attributes:
        objective: Baseline, scale and discount.
        selection: The penalty for length, which each turn pays for itself.
        max_tokens: Most tokens of a turn.
    """

    objective: Objective
    selection: Selection
    max_tokens: int

    def __call__(
        self, episodes: Sequence[Episode], drawn: Drawn, rewards: Tensor, penalties: Tensor | None, strata: Strata
    ) -> Credit:
        """Return one advantage per turn, times its stratum's weight, on each of its tokens."""
        per_row = torch.zeros(len(episodes))
        if not drawn.rows:
            return Credit(torch.zeros(0), per_row)
        counts = torch.tensor([len(episodes[row].turn_lengths) for row in drawn.rows])
        firsts = counts.cumsum(0) - counts
        places = firsts[drawn.place] + drawn.turn  # of each token's turn among all turns of the batch
        costs = torch.zeros(int(counts.sum()), dtype=torch.float64)
        if penalties is not None:
            costs.index_add_(0, places, penalties.double())
        returns: list[float] = []
        groups: list[tuple[int, int]] = []
        names: list[tuple[str, int]] = []
        for row, own in zip(drawn.rows, costs.split(counts.tolist()), strict=True):
            episode = episodes[row]
            of_lengths = turn_costs(episode, self.selection, self.max_tokens)
            of_turns = [kl + length for kl, length in zip(own.tolist(), of_lengths, strict=True)]
            returns += turn_returns(episode, self.objective.turn_discount, of_turns)
            groups += [(episode.group, turn) for turn in range(len(of_turns))]
            names += [(strata.names[row], turn) for turn in range(len(of_turns))]
        advantages = compute_advantages(
            torch.tensor(returns, dtype=torch.float64),
            groups,
            scale=self.objective.scale,
            baseline=self.objective.baseline,
            strata=names if self.objective.baseline in OF_STRATA else None,
        )
        of_tokens = (advantages[places] * drawn.spread(strata.weights)).float()
        per_row[torch.tensor(drawn.rows)] = (drawn.per_row(of_tokens) / drawn.lengths).float()
        return Credit(of_tokens, per_row)
