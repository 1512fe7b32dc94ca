"""Episodes as flat tokens: what of a batch the loss reads, in one order, each token with its row.

The order is group by group, row by row, token by token, own tokens only. `Drawn` holds what was sampled, `Tokens` what
an update knows of each token, and a `Lesson` is both; it can be cut into minibatches of whole groups.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from grpo_agents.collect import Episode
from grpo_agents.packing import Group
from grpo_agents.rollout import Trajectory


@dataclass(frozen=True)
class Drawn:
    """The tokens that the policy drew, N of R rows.

    Attributes:
        rows: Which episodes these are, R numbers.
        groups: Rows of one prompt together, in the order of `rows`.
        lengths: Own tokens of each row, int64 [R].
        place: Place in `rows` of each token's row, int64 [N].
        turn: Number of each token's turn in its row, from 0, int64 [N].
        sampled: Log-prob of each token as it was drawn, float32 [N].
    """

    rows: tuple[int, ...]
    groups: list[Group]
    lengths: Tensor
    place: Tensor
    turn: Tensor
    sampled: Tensor

    @classmethod
    def of(cls, episodes: Sequence[Episode], rows: Sequence[int] | None = None) -> Drawn:
        """Return the tokens of the named rows; of all that are valid and drew any when none are named."""
        kept = [r for r, e in enumerate(episodes) if e.valid and e.length] if rows is None else list(rows)
        kept.sort(key=lambda row: episodes[row].group)  # stable: a group's rows stand together, in their order
        groups = [
            Group.of([_trajectory(episodes[row]) for row in of_group])
            for _, of_group in groupby(kept, key=lambda row: episodes[row].group)
        ]
        lengths = torch.tensor([episodes[row].length for row in kept], dtype=torch.int64)
        sampled = [p for row in kept for p in own_logprobs(episodes[row])]
        place = torch.repeat_interleave(torch.arange(len(kept)), lengths)
        turns = [number for row in kept for number, n in enumerate(episodes[row].turn_lengths) for _ in range(n)]
        return cls(tuple(kept), groups, lengths, place, torch.tensor(turns), torch.tensor(sampled))

    def spread(self, values: Tensor) -> Tensor:
        """Return one value per episode of the whole batch as one per token [N]."""
        return values[torch.tensor(self.rows, dtype=torch.int64)][self.place]

    def per_row(self, values: Tensor) -> Tensor:
        """Return the sum of one value per token [N] over each row, [R] float64."""
        return torch.zeros(len(self.rows), dtype=torch.float64).index_add(0, self.place, values.double())

    def of_rows(self, chosen: Tensor) -> tuple[Drawn, Tensor]:
        """Return the rows where bool [R] is True, and which tokens are theirs, bool [N]; both in their old order."""
        tokens = chosen[self.place]
        taken = chosen.tolist()
        groups, first = [], 0
        for group in self.groups:
            tails = [k for k in range(len(group.tails)) if taken[first + k]]
            if tails:
                groups.append(Group(group.prompt, [group.tails[k] for k in tails], [group.own[k] for k in tails]))
            first += len(group.tails)
        rows = tuple(row for row, is_taken in zip(self.rows, taken, strict=True) if is_taken)
        place = (chosen.cumsum(0) - 1)[self.place[tokens]]
        lengths, turn = self.lengths[chosen], self.turn[tokens]
        return Drawn(rows, groups, lengths, place, turn, self.sampled[tokens]), tokens


@dataclass(frozen=True)
class Tokens:
    """What an update knows of each token [N].

    Attributes:
        row: Number of the row it belongs to, int64; rows differ, whatever the numbers.
        sampled: Its log-prob as it was drawn.
        old: Its log-prob under the policy before the update; the same where sampler and trainer agree.
        advantages: Its advantage, float32.
        weights: Its weight in the loss's own mean, float64; 0 where it does not count.
        plain_weights: Its weight in the mean over tokens: of the entropy, and of a critic's error.
        clip_low: How far its ratio may fall below 1.
        clip_high: How far it may rise.
        reference: Its log-prob under the reference, None without a KL term in the loss.
        factor: Correction of the gap between sampler and trainer, None without.
        keep: Whether the policy term counts it, bool, None for all.
        values: The critic's value before the update, None without a critic.
        targets: What the critic is to learn, None without.
    """

    row: Tensor
    sampled: Tensor
    old: Tensor
    advantages: Tensor
    weights: Tensor
    plain_weights: Tensor
    clip_low: Tensor
    clip_high: Tensor
    reference: Tensor | None = None
    factor: Tensor | None = None
    keep: Tensor | None = None
    values: Tensor | None = None
    targets: Tensor | None = None

    def pick(self, index: Tensor, device: torch.device | None = None) -> Tokens:
        """Return some of the tokens, by numbers or by a mask, on a device."""
        parts: dict[str, Any] = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        picked: dict[str, Any] = {n: part if part is None else part[index].to(device) for n, part in parts.items()}
        return Tokens(**picked)


@dataclass(frozen=True)
class Lesson:
    """The rows that teach, and what is known of their tokens."""

    drawn: Drawn
    tokens: Tokens

    def part(self, rows: Tensor) -> Lesson:
        """Return the lesson of the rows where bool [R] is True; weights stay as they are."""
        drawn, tokens = self.drawn.of_rows(rows)
        return Lesson(drawn, self.tokens.pick(tokens))

    def with_(self, **tokens: Tensor) -> Lesson:
        """Return the lesson with more known of its tokens."""
        return Lesson(self.drawn, dataclasses.replace(self.tokens, **tokens))


def own_logprobs(episode: Episode) -> list[float]:
    """Return the log-prob of each token that the policy drew, as it was drawn."""
    trajectory = episode.trajectory
    if trajectory is None:
        return []
    return [p for p, own in zip(trajectory.logprobs, trajectory.own, strict=True) if own]


def _trajectory(episode: Episode) -> Trajectory:
    assert episode.trajectory is not None  # valid rows with a length have one
    return episode.trajectory
