"""Groups of trajectories as tensors: the prompt once, the group's tails behind it, and microbatches by token budget.

    packed     one row per group          P P P | a a a a | b b | c c c
               positions                  0 1 2 | 3 4 5 6 | 3 4 | 3 4 5
               a tail sees the prompt and itself; no tail sees another

    plain      one row per trajectory     P P P | a a a a        = the same with one tail per group

A prompt that G completions share is read once instead of G times: G (P + C) tokens become P + G C. Against varlen
attention kernels this needs nothing but a mask and position ids, so it runs on any CPU or GPU with stock models.
Both layouts give the same log-probs in the same order: group by group, row by row, token by token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

import torch
from torch import Tensor

from grpo_agents.rollout import Trajectory
from grpo_gym.errors import InvalidValueError


@dataclass(frozen=True)
class Group:
    """Continuations of one prompt.

    Attributes:
        prompt: P token ids, P >= 1.
        tails: The token ids behind the prompt, one sequence per row.
        own: For each tail token, whether the policy drew it. Only own tokens have a log-prob.
    """

    prompt: Sequence[int]
    tails: Sequence[Sequence[int]]
    own: Sequence[Sequence[bool]]

    def __post_init__(self) -> None:
        if not self.prompt:
            raise InvalidValueError("a group's prompt is empty: the first token needs at least one token before it")
        if [len(tail) for tail in self.tails] != [len(mask) for mask in self.own]:
            raise InvalidValueError("each tail of a group needs one `own` mark per token")

    @classmethod
    def of(cls, trajectories: Sequence[Trajectory]) -> Group:
        """Return the group of trajectories that share one prompt."""
        prompt = trajectories[0].prompt
        if any(trajectory.prompt != prompt for trajectory in trajectories):
            raise InvalidValueError("the trajectories of a group must share one prompt")
        return cls(prompt, [t.tail for t in trajectories], [t.own for t in trajectories])

    @property
    def packed_length(self) -> int:
        """Tokens of the packed row: prompt and all tails."""
        return len(self.prompt) + sum(map(len, self.tails))

    @property
    def own_length(self) -> int:
        """Tokens that the policy drew, over all rows."""
        return sum(map(sum, self.own))

    def rows(self, start: int, stop: int) -> Group:
        """Return the same prompt with the tails `start` to `stop` only."""
        return Group(self.prompt, self.tails[start:stop], self.own[start:stop])


def single_rows(groups: Sequence[Group]) -> list[Group]:
    """Return one group per trajectory, in order: the plain layout."""
    return [group.rows(row, row + 1) for group in groups for row in range(len(group.tails))]


@dataclass(frozen=True)
class Batch:
    """Padded rows of groups, and where the own tokens are.

    Attributes:
        ids: [n, T] int64, right-padded.
        positions: [n, T] int64, place in the trajectory; each tail starts again at its prompt's length.
        segments: [n, T] int64: 0 prompt, 1 ... G the tails, -1 padding.
        sources: [N] int64, index into the flattened [n * T] of the token whose output predicts the own token.
        targets: [N] int64, ids of the own tokens, group by group, row by row, token by token.
    """

    ids: Tensor
    positions: Tensor
    segments: Tensor
    sources: Tensor
    targets: Tensor

    def to(self, device: torch.device) -> Batch:
        """Return the batch with all its tensors on `device`."""
        parts = (self.ids, self.positions, self.segments, self.sources, self.targets)
        return Batch(*(part.to(device) for part in parts))


def pack(groups: Sequence[Group], pad_id: int) -> Batch:
    """Lay each group out as one row: prompt, then its tails."""
    width = max(group.packed_length for group in groups)
    ids: list[list[int]] = []
    positions: list[list[int]] = []
    segments: list[list[int]] = []
    sources: list[int] = []
    targets: list[int] = []
    for group in groups:
        base = len(ids) * width
        start = len(group.prompt)
        row, place, segment = list(group.prompt), list(range(start)), [0] * start
        for number, (tail, own) in enumerate(zip(group.tails, group.own, strict=True), 1):
            first = base + len(row)
            sources += compress([base + start - 1, *range(first, first + len(tail) - 1)], own)
            targets += compress(tail, own)
            row += tail
            place += range(start, start + len(tail))
            segment += [number] * len(tail)
        padding = width - len(row)
        ids.append(row + [pad_id] * padding)
        positions.append(place + [0] * padding)
        segments.append(segment + [-1] * padding)
    return Batch(*map(torch.tensor, (ids, positions, segments)), *map(_indices, (sources, targets)))


def _indices(values: list[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.int64)


def block_mask(segments: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the additive mask [n, 1, T, T]: 0 where a token (dim 2) may see another (dim 3), the lowest number else.

    A token sees what stands before it in its row and belongs to the prompt or to its own tail. Additive, not boolean:
    eager attention adds it, and SDPA would turn a boolean one into this form again in every layer.
    """
    queries, keys = segments[:, :, None], segments[:, None, :]
    length = segments.shape[1]
    causal = torch.ones(length, length, dtype=torch.bool, device=segments.device).tril()
    seen = ((keys == 0) | (keys == queries)) & causal
    zero = torch.zeros((), dtype=dtype, device=segments.device)
    return torch.where(seen, zero, torch.finfo(dtype).min)[:, None]


@dataclass(frozen=True)
class Microbatch:
    """Part of a batch that is forwarded at once.

    Attributes:
        groups: Whole groups, or pieces of large ones.
        tokens: [N] int64, the places of its own tokens in the flat order of the whole batch, so that
            `values[tokens]` are its advantages or old log-probs.
    """

    groups: tuple[Group, ...]
    tokens: Tensor


def microbatches(groups: Sequence[Group], token_budget: int, *, packed: bool = True) -> list[Microbatch]:
    """Cut groups into microbatches of at most `token_budget` padded tokens each.

    Rows of like length come together, so little is padded. A group stays whole where it fits the budget; else it goes
    as pieces, each the prompt with some of the tails. A single trajectory longer than the budget goes alone.

    Args:
        groups: The whole batch.
        token_budget: Rows times longest row, at most.
        packed: Whether a row holds a group (True) or a single trajectory.

    Returns:
        The microbatches, longest rows first. Each own token of `groups` is in exactly one.
    """
    if token_budget < 1:
        raise InvalidValueError(f"token_budget must be at least 1, not {token_budget}")
    pieces: list[tuple[Group, int]] = []
    offset = 0
    for group in groups:
        for piece in _pieces(group, token_budget) if packed else single_rows([group]):
            pieces.append((piece, offset))
            offset += piece.own_length
    pieces.sort(key=lambda pair: -pair[0].packed_length)
    bins: list[list[tuple[Group, int]]] = []
    for pair in pieces:
        if not bins or (len(bins[-1]) + 1) * bins[-1][0][0].packed_length > token_budget:
            bins.append([])
        bins[-1].append(pair)
    return [_microbatch(pairs) for pairs in bins]


def _pieces(group: Group, budget: int) -> Iterator[Group]:
    """Cut one group into packed rows of at most `budget` tokens, at least one tail each."""
    start, length = 0, len(group.prompt)
    for row, tail in enumerate(group.tails):
        if row > start and length + len(tail) > budget:
            yield group.rows(start, row)
            start, length = row, len(group.prompt)
        length += len(tail)
    if group.tails:
        yield group.rows(start, len(group.tails))


def _microbatch(pairs: Sequence[tuple[Group, int]]) -> Microbatch:
    spans = [torch.arange(offset, offset + piece.own_length) for piece, offset in pairs]
    return Microbatch(tuple(piece for piece, _ in pairs), torch.cat(spans))
