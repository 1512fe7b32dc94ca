"""Whitening, and several rewards that are each normalised before they are summed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.advantages import compute_advantages, normalise_then_sum, whitened


def float64(values: Sequence[Any]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


# --- whitened ------------------------------------------------------------------------------------------------------


def test_whitened_by_hand():
    std = statistics.stdev([1, 2, 6]) + 1e-4

    assert whitened(float64([1, 2, 6])).tolist() == pytest.approx([-2 / std, -1 / std, 3 / std], abs=1e-12)


def test_whitened_without_centring_divides_only():
    std = statistics.stdev([1, 2, 6]) + 1e-4

    got = whitened(float64([1, 2, 6]), centre=False)

    assert got.tolist() == pytest.approx([1 / std, 2 / std, 6 / std], abs=1e-12)


def test_whitened_by_population_std():
    std = statistics.pstdev([1, 2, 6]) + 1e-4

    got = whitened(float64([1, 2, 6]), ddof=0)

    assert got.tolist() == pytest.approx([-2 / std, -1 / std, 3 / std], abs=1e-12)


def test_whitened_keeps_the_shape_and_takes_what_counts_only():
    values = float64([[1, math.nan, 2], [math.inf, 6, -math.inf]])
    valid = torch.tensor([[True, False, True], [False, True, False]])

    got = whitened(values, valid)

    flat = whitened(float64([1, 2, 6])).tolist()
    assert got.tolist() == [[flat[0], 0.0, flat[1]], [0.0, flat[2], 0.0]]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, 1e6 + 0.1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_whitened_constants_are_exactly_zero(size, constant, dtype):
    assert whitened(torch.full((size,), constant, dtype=dtype)).tolist() == [0.0] * size


def test_whitened_nothing_is_nothing():
    assert whitened(torch.zeros(0)).tolist() == []
    assert whitened(float64([math.nan]), torch.tensor([False])).tolist() == [0.0]


def test_whitened_takes_no_gradient_and_keeps_the_dtype():
    values = torch.tensor([0.0, 1.0], dtype=torch.float32, requires_grad=True)

    got = whitened(values)

    assert (got.dtype, got.requires_grad) == (torch.float32, False)


@given(values=st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=12), data=st.data())
def test_whitened_values_are_the_same_bits_in_any_order(values, data):
    order = data.draw(st.permutations(range(len(values))))
    plain = whitened(torch.tensor(values)).tolist()

    assert whitened(torch.tensor([values[i] for i in order])).tolist() == [plain[i] for i in order]


@given(values=st.lists(st.integers(-100, 100).map(float), min_size=2, max_size=12).filter(lambda v: len(set(v)) > 1))
def test_whitened_values_have_mean_0_and_std_1(values):
    got = whitened(float64(values)).tolist()

    assert statistics.fmean(got) == pytest.approx(0, abs=1e-12)
    assert statistics.stdev(got) == pytest.approx(1, abs=1e-3)  # the epsilon takes 1e-4 / std off


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (float64([0, math.nan, 1]), {}, r"values are not finite in 1 rows \(1\); mark them as not valid"),
        (torch.tensor([[0.0, 1.0], [math.inf, 1.0]]), {}, r"values are not finite in 1 rows \(1\)"),
        (torch.zeros(2, dtype=torch.bfloat16), {}, r"values must be float32 or float64; got torch.bfloat16"),
        (torch.zeros(2), {"valid": torch.ones(3, dtype=torch.bool)}, r"valid must be bool of shape \[2\]; .* \[3\]"),
        (torch.zeros(2), {"valid": torch.ones(2)}, r"valid must be bool .* got torch.float32"),
        (torch.zeros(2), {"ddof": 2}, r"ddof must be 1 .* or 0"),
    ],
)
def test_whitened_refuses_what_does_not_fit(values, options, message):
    with pytest.raises(ValueError, match=message):
        whitened(values, **options)


# --- the scale `whiten` --------------------------------------------------------------------------------------------

REWARDS = [0.1, 0.7, 1 / 3, 0.3, 0.3, 0.3, 0.9, 0.9, 0.2]
GROUPS = [0, 0, 0, 1, 1, 1, 2, 2, 2]


def advantages(baseline: Any, scale: Any = "whiten") -> list[float]:
    options: dict[str, Any] = {"scale": scale, "baseline": baseline, "strata": [0] * len(REWARDS)}
    result: list[float] = compute_advantages(float64(REWARDS), GROUPS, **options).tolist()
    return result


@pytest.mark.parametrize("baseline", ["mean", "leave_one_out", "stratum", "shrinkage", "batch", "none"])
def test_the_scale_whitens_the_differences_to_the_baseline(baseline):
    plain = advantages(baseline, "none")

    assert advantages(baseline) == pytest.approx(whitened(float64(plain)).tolist(), abs=1e-12)


def test_group_baselines_have_mean_0_already_so_flat_groups_stay_at_exactly_0():
    for baseline in ("mean", "leave_one_out"):
        got = advantages(baseline)
        assert got[3:6] == [0.0] * 3
        assert sum(got) == pytest.approx(0, abs=1e-12)


def test_whitening_makes_mean_and_leave_one_out_alike_in_groups_of_one_size():
    # They differ by the factor n / (n - 1), which the std takes out again; up to the 1e-4 that is added to it.
    assert advantages("mean") == pytest.approx(advantages("leave_one_out"), rel=1e-3)


def test_whitening_without_baseline_equals_batch_mean_and_batch_std():
    assert advantages("none") == pytest.approx(advantages("batch", "batch"), abs=1e-12)
    assert advantages("batch") == pytest.approx(advantages("batch", "batch"), abs=1e-12)


# --- several rewards -----------------------------------------------------------------------------------------------


def test_each_reward_is_measured_in_its_own_unit():
    # The second function pays a hundred times as much for the same thing; its weight says how much it is to count.
    rewards = float64([[1, 0], [0, 100], [0, 0]])

    got = normalise_then_sum(rewards, [0, 0, 0], [1.0, 1.0], standardise=False).tolist()

    small, large = math.sqrt(1 / 3) + 1e-4, 100 * math.sqrt(1 / 3) + 1e-4
    a, b = [2 / 3 / small, -1 / 3 / small], [200 / 3 / large, -100 / 3 / large]
    assert got == pytest.approx([a[0] + b[1], a[1] + b[0], a[1] + b[1]], abs=1e-12)


def test_the_sums_are_divided_by_their_own_std():
    rewards = float64([[1, 0], [0, 1], [0, 0], [3, 4], [5, 4.5], [4, 9]])
    groups = [0, 0, 0, 1, 1, 1]

    sums = normalise_then_sum(rewards, groups, [1.0, 0.5], standardise=False).tolist()
    got = normalise_then_sum(rewards, groups, [1.0, 0.5]).tolist()

    assert got == pytest.approx([value / (statistics.stdev(sums) + 1e-4) for value in sums], abs=1e-12)


def test_weights_may_be_a_tensor_and_negative_ones_turn_a_reward_into_a_cost():
    rewards = float64([[1, 0], [0, 1], [0, 0]])

    got = normalise_then_sum(rewards, [0, 0, 0], torch.tensor([1.0, -1.0]), standardise=False).tolist()

    std = math.sqrt(1 / 3) + 1e-4
    assert got == pytest.approx([1 / std, -1 / std, 0], abs=1e-12)


def test_an_abstention_leaves_out_that_function_only():
    rewards = float64([[1, math.nan], [0, 5], [0, 7], [math.nan, 9]])
    valid = ~rewards.isnan()

    got = normalise_then_sum(rewards, [0] * 4, [1.0, 1.0], valid=valid, standardise=False).tolist()

    first, second = math.sqrt(1 / 3) + 1e-4, 2 + 1e-4
    want = [2 / 3 / first, -1 / 3 / first - 2 / second, -1 / 3 / first, 2 / second]
    assert got == pytest.approx(want, abs=1e-12)


def test_a_row_where_all_abstain_gets_zero_and_counts_nowhere():
    rewards = float64([[1, 2], [0, 5], [math.nan, math.inf], [0.5, 7]])
    valid = rewards.isfinite()

    got = normalise_then_sum(rewards, [0] * 4, [1.0, 1.0], valid=valid).tolist()
    without = normalise_then_sum(rewards[[0, 1, 3]], [0] * 3, [1.0, 1.0]).tolist()

    assert got == [without[0], without[1], 0.0, without[2]]


@pytest.mark.parametrize("constant", [0.95, 1 / 3, 1e6 + 0.1])
def test_a_function_that_is_constant_in_its_group_adds_exactly_zero(constant):
    rewards = torch.tensor([[0.0, constant], [1.0, constant], [0.25, constant]] * 2, dtype=torch.float32)
    groups = [0, 0, 0, 1, 1, 1]

    for standardise in (True, False):
        both = normalise_then_sum(rewards, groups, [1.0, 3.0], standardise=standardise)
        alone = normalise_then_sum(rewards[:, :1], groups, [1.0], standardise=standardise)
        assert both.tolist() == alone.tolist()
    flat = torch.full((6, 2), constant, dtype=torch.float32)
    assert normalise_then_sum(flat, groups, [1.0, 1.0]).tolist() == [0.0] * 6


def test_one_function_not_standardised_is_the_group_scale():
    got = normalise_then_sum(float64(REWARDS)[:, None], GROUPS, [1.0], standardise=False)

    assert got.tolist() == advantages("mean", "group")


def test_an_empty_batch_gives_an_empty_answer():
    assert normalise_then_sum(torch.zeros(0, 2), [], [1.0, 1.0]).tolist() == []


@pytest.mark.parametrize(
    ("rewards", "weights", "valid", "message"),
    [
        (torch.zeros(2), [1.0], None, r"rewards must be .* shape \[N, R\] .*; got torch.float32 of shape \[2\]"),
        (torch.zeros(2, 0), [], None, r"with at least one column; got .* \[2, 0\]"),
        (torch.zeros(2, 1, dtype=torch.float16), [1.0], None, r"rewards must be float32 or float64 .*float16"),
        (torch.zeros(2, 2), [1.0], None, r"weights must be 2 finite numbers, one per column of rewards; got \[1.0\]"),
        (torch.zeros(2, 1), [math.nan], None, r"weights must be 1 finite numbers"),
        (torch.zeros(2, 2), [1.0, 1.0], torch.ones(2, dtype=torch.bool), r"valid must be bool of shape \[2, 2\]"),
        (torch.zeros(2, 1), [1.0], torch.ones(2, 1), r"valid must be bool .* got torch.float32"),
        (torch.tensor([[0.0, 1.0], [math.nan, 1.0]]), [1.0, 1.0], None, r"rewards are not finite in 1 rows \(1\)"),
        (torch.zeros(3, 1), [1.0], None, r"groups must hold one id per reward: 3 rewards, groups of shape \[2\]"),
    ],
)
def test_rewards_that_do_not_fit_are_refused(rewards, weights, valid, message):
    with pytest.raises(ValueError, match=message):
        normalise_then_sum(rewards, [0, 0], weights, valid=valid)


def slow(rows: list[tuple[int, list[float | None]]], weights: list[float], standardise: bool) -> list[float]:
    """The definition read aloud; None where a function abstained."""
    sums = []
    for group, rewards in rows:
        total = 0.0
        for column, (reward, weight) in enumerate(zip(rewards, weights, strict=True)):
            mates = [r[column] for g, r in rows if g == group]
            known = [r for r in mates if r is not None]
            if reward is not None and len(known) > 1:
                total += weight * (reward - statistics.fmean(known)) / (statistics.stdev(known) + 1e-4)
        sums.append(total)
    counted = [total for total, (_, rewards) in zip(sums, rows, strict=True) if any(r is not None for r in rewards)]
    if not standardise:
        return sums
    spread = statistics.stdev(counted) if len(counted) > 1 else 0.0
    return [
        0.0 if all(r is None for r in rewards) else (total - statistics.fmean(counted)) / (spread + 1e-4)
        for total, (_, rewards) in zip(sums, rows, strict=True)
    ]


@settings(max_examples=150)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 3),
            st.lists(st.none() | st.integers(-16, 16).map(lambda k: k / 8), min_size=3, max_size=3),
        ),
        max_size=14,
    ),
    weights=st.lists(st.sampled_from([1.0, 0.5, -2.0, 0.0]), min_size=3, max_size=3),
    standardise=st.booleans(),
    data=st.data(),
)
def test_several_rewards_equal_the_definition_read_aloud_in_any_order(rows, weights, standardise, data):
    order = data.draw(st.permutations(range(len(rows))))

    def fast(rows: list[tuple[int, list[float | None]]]) -> list[float]:
        table = [[math.nan if r is None else r for r in rewards] for _, rewards in rows]
        rewards = float64(table).reshape(len(rows), 3)
        groups = [group for group, _ in rows]
        valid = ~rewards.isnan()
        result: list[float] = normalise_then_sum(
            rewards, groups, weights, valid=valid, standardise=standardise
        ).tolist()
        return result

    plain = fast(rows)
    assert plain == pytest.approx(slow(rows, weights, standardise), abs=1e-8)
    assert fast([rows[i] for i in order]) == [plain[i] for i in order]
