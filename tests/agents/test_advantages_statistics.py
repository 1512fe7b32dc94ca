"""What the logs say about groups: which kinds there are, how far rewards spread, and how many will be flat."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.advantages import flat_expected, group_statistics


def float64(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_statistics_tell_the_kinds_of_groups_apart():
    rewards = [1, 1, 0, 0, 0.5, 0.5, 2, 2, 0, 1, 1, 0, 0, 9]
    groups = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]  # right, wrong, wrong, right, signal, one valid, none valid
    valid = torch.tensor([True] * 11 + [False] * 3)

    got = group_statistics(float64(rewards), groups, valid)

    counted = rewards[:11]
    assert (got.groups, got.all_right, got.all_wrong, got.too_few_valid, got.zero_variance) == (7, 2, 2, 2, 4)
    assert got.mean == pytest.approx(statistics.fmean(counted), abs=1e-12)
    assert got.std == pytest.approx(statistics.stdev(counted), abs=1e-12)
    assert got.within_group_std == pytest.approx(math.sqrt(0.5) / 5, abs=1e-12)  # one of five comparable groups varies


def test_a_right_answer_summed_from_parts_still_counts_as_right():
    parts = 0.7 + 0.2 + 0.1
    assert parts < 1.0

    assert group_statistics(float64([parts, parts]), [0, 0]).all_right == 1


def test_statistics_without_enough_rows_are_nan_and_not_zero():
    one = group_statistics(float64([1.0]), [0])
    none = group_statistics(float64([1.0]), [0], torch.tensor([False]))

    assert (one.mean, one.too_few_valid) == (1.0, 1)
    assert all(map(math.isnan, (one.std, one.within_group_std, none.mean, none.std)))


def test_statistics_refuse_what_advantages_refuse():
    with pytest.raises(ValueError, match="not finite in 1 rows"):
        group_statistics(float64([math.nan, 0.0]), [0, 0])


def test_statistics_are_the_same_bits_in_any_order():
    rewards = [0.1, 0.7, 0.3, 1e6, 1 / 3, -0.9]
    groups = [0, 1, 0, 1, 2, 2]

    plain = group_statistics(float64(rewards), groups)

    for order in itertools.permutations(range(6)):
        assert group_statistics(float64([rewards[i] for i in order]), [groups[i] for i in order]) == plain


@pytest.mark.parametrize(
    ("rates", "size", "share"),
    [
        ([0.5], 2, 0.5),
        ([0.5], 8, 2 / 256),
        ([0.18], 2, 0.7048),  # 18 right in 100: seven groups in ten teach nothing
        ([0.0, 1.0], 8, 1.0),
        ([0.0, 0.5], 3, (1 + 0.25) / 2),
        ([0.3], 1, 1.0),
    ],
)
def test_the_expected_share_of_flat_groups(rates, size, share):
    assert flat_expected(rates, size) == pytest.approx(share, abs=1e-12)


@given(rate=st.floats(0, 1), size=st.integers(1, 6))
def test_the_expected_share_is_that_of_all_outcomes_weighed(rate, size):
    flat = sum(
        math.prod(rate if right else 1 - rate for right in outcome)
        for outcome in itertools.product([True, False], repeat=size)
        if len(set(outcome)) == 1
    )

    assert flat_expected([rate], size) == pytest.approx(flat, abs=1e-12)


def test_the_expected_share_without_prompts_is_nan_and_not_zero():
    assert math.isnan(flat_expected([], 8))


def test_the_expected_share_refuses_what_is_no_rate():
    with pytest.raises(ValueError, match=r"pass_rates must lie in \[0, 1\]; got 1.5"):
        flat_expected([0.5, 1.5], 8)
    with pytest.raises(ValueError, match=r"pass_rates must lie in \[0, 1\]; got nan"):
        flat_expected([math.nan], 8)
    with pytest.raises(ValueError, match="group_size must be at least 1; got 0"):
        flat_expected([0.5], 0)
