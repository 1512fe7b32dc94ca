"""Packed rows by hand, and microbatches by property."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grpo_agents.packing import Group, block_mask, microbatches, pack, single_rows
from grpo_agents.rollout import Trajectory
from grpo_gym.errors import InvalidValueError


def test_block_mask_by_hand():
    batch = pack([Group([5, 6], [[7], [8, 9]], [[True], [True, True]])], 0)

    seen = block_mask(torch.nn.functional.pad(batch.segments, (0, 1), value=-1), torch.float32) == 0

    assert batch.positions.tolist() == [[0, 1, 2, 2, 3]]
    assert batch.sources.tolist() == [1, 1, 3]
    assert batch.targets.tolist() == [7, 8, 9]
    assert seen[0, 0].int().tolist() == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 0, 1, 0, 0],
        [1, 1, 0, 1, 1, 0],
        [1, 1, 0, 0, 0, 1],
    ]


def as_group(parts: tuple[int, list[list[bool]]]) -> Group:
    length, own = parts
    return Group(list(range(length)), [[1] * len(mask) for mask in own], own)


RAGGED = st.lists(
    st.tuples(st.integers(1, 30), st.lists(st.lists(st.booleans(), max_size=25), max_size=6)).map(as_group), max_size=8
)


@given(groups=RAGGED, budget=st.integers(1, 200), packed=st.booleans())
def test_microbatches_hold_every_token_once_within_the_budget(groups, budget, packed):
    parts = microbatches(groups, budget, packed=packed)

    own = sum(group.own_length for group in groups)
    assert sorted(torch.cat([torch.empty(0), *(part.tokens for part in parts)]).tolist()) == list(range(own))
    assert sum(len(part.groups[row].tails) for part in parts for row in range(len(part.groups))) == sum(
        len(group.tails) for group in groups
    )
    for part in parts:
        rows = part.groups if packed else single_rows(part.groups)
        assert len(part.tokens) == sum(row.own_length for row in rows)
        padded = len(rows) * max(row.packed_length for row in rows)
        assert padded <= budget or (len(rows) == 1 and len(rows[0].tails) == 1)


def test_a_group_that_fits_stays_whole():
    groups = [Group([1] * 10, [[2] * 5] * 4, [[True] * 5] * 4)]

    assert [len(part.groups[0].tails) for part in microbatches(groups, 30)] == [4]
    assert [len(part.groups[0].tails) for part in microbatches(groups, 29)] == [3, 1]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Group([], [[1]], [[True]]), "a group's prompt is empty"),
        (lambda: Group([1], [[1, 2]], [[True]]), "one `own` mark per token"),
        (lambda: Group.of([Trajectory([1]), Trajectory([2])]), "must share one prompt"),
        (lambda: microbatches([], 0), "token_budget must be at least 1, not 0"),
    ],
)
def test_impossible_input_is_refused(build, message):
    with pytest.raises(InvalidValueError, match=message):
        build()
