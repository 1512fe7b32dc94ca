"""Flat tokens: every own token of every row once, with its row, whatever order the rows stand in."""

from __future__ import annotations

import pytest
import torch

from grpo_agents.collect import Episode
from grpo_agents.lesson import Drawn, Lesson, Tokens, own_logprobs
from grpo_agents.rollout import Trajectory


def row(group: int, own: list[bool], first: int, valid: bool = True) -> Episode:
    """Return an episode whose tokens and log-probs are numbered from `first`, so that each tells where it is from."""
    ids = list(range(first, first + len(own)))
    logprobs = [-token / 64 if mine else 0.0 for token, mine in zip(ids, own, strict=True)]
    return Episode(group, "?", Trajectory([1, group], ids, own, logprobs), valid=valid)


T, F = True, False
EPISODES = [
    row(7, [T, T], 10),
    row(3, [T, F, T], 20),
    row(7, [T], 30, valid=False),
    row(3, [T], 40),
    row(7, [T, T, F, T], 50),
    Episode(3, "?", None, valid=False),
    row(9, [T], 60),
]
ORDER = (1, 3, 0, 4, 6)  # by group, in the order of the rows within one


def test_rows_come_group_by_group_and_each_own_token_once():
    drawn = Drawn.of(EPISODES)

    assert drawn.rows == ORDER
    assert [len(group.tails) for group in drawn.groups] == [2, 2, 1]
    assert drawn.lengths.tolist() == [2, 1, 2, 3, 1]
    assert drawn.place.tolist() == [0, 0, 1, 2, 2, 3, 3, 3, 4]
    assert (drawn.sampled * -64).tolist() == [20, 22, 40, 10, 11, 50, 51, 53, 60]
    assert [g.prompt for g in drawn.groups] == [[1, 3], [1, 7], [1, 9]]


def test_only_rows_that_are_named_when_some_are():
    drawn = Drawn.of(EPISODES, [4, 2, 1])  # row 2 although it is not valid

    assert drawn.rows == (1, 4, 2)
    assert own_logprobs(EPISODES[5]) == []


def test_nothing_drawn_is_no_fault():
    drawn = Drawn.of([EPISODES[2], EPISODES[5]])

    assert (drawn.rows, drawn.groups, len(drawn.place), len(drawn.sampled)) == ((), [], 0, 0)
    assert drawn.spread(torch.zeros(2)).shape == drawn.per_row(torch.zeros(0)).shape == (0,)


def test_values_of_episodes_and_sums_of_rows():
    drawn = Drawn.of(EPISODES)
    values = torch.arange(7) * 10.0

    assert drawn.spread(values).tolist() == [10, 10, 30, 0, 0, 40, 40, 40, 60]
    assert drawn.per_row(torch.ones(9)).tolist() == drawn.lengths.tolist()


@pytest.mark.parametrize("chosen", [[T, T, T, T, T], [F, T, T, F, F], [T, F, F, T, T], [F, F, F, F, F]])
def test_some_rows_are_what_only_these_rows_would_give(chosen):
    drawn = Drawn.of(EPISODES)
    some, tokens = drawn.of_rows(torch.tensor(chosen))
    alone = Drawn.of(EPISODES, [r for r, taken in zip(ORDER, chosen, strict=True) if taken])

    assert (some.rows, some.groups) == (alone.rows, alone.groups)
    for name in ("lengths", "place", "sampled"):
        assert torch.equal(getattr(some, name), getattr(alone, name))
    assert torch.equal(drawn.sampled[tokens], some.sampled)


def lesson() -> Lesson:
    drawn = Drawn.of(EPISODES)
    numbers = torch.arange(9.0)
    tokens = Tokens(
        drawn.place, drawn.sampled, drawn.sampled + 1, numbers, numbers / 2, numbers / 4, numbers * 2, numbers * 3
    )
    return Lesson(drawn, tokens)


def test_a_part_keeps_what_is_known_of_its_tokens_and_their_rows_numbers():
    part = lesson().with_(reference=torch.arange(9.0) - 5).part(torch.tensor([F, T, F, T, F]))

    assert part.drawn.rows == (3, 4)
    assert part.tokens.row.tolist() == [1, 3, 3, 3]  # numbers of the whole: a ratio per row needs no others
    assert part.tokens.advantages.tolist() == [2, 5, 6, 7]
    assert part.tokens.weights.tolist() == [1, 2.5, 3, 3.5]
    assert part.tokens.clip_high.tolist() == [6, 15, 18, 21]
    assert part.tokens.reference is not None
    assert part.tokens.reference.tolist() == [-3, 0, 1, 2]
    assert torch.equal(part.tokens.sampled, part.drawn.sampled)
    assert part.tokens.factor is part.tokens.keep is part.tokens.values is None


def test_parts_hold_every_token_once():
    whole = lesson()
    part = torch.tensor([0, 0, 1, 1, 2])
    parts = [whole.part(part == number) for number in range(3)]

    assert torch.equal(torch.cat([p.tokens.advantages for p in parts]), whole.tokens.advantages)
    assert [g for p in parts for g in p.drawn.groups] == whole.drawn.groups
