"""Advantages of one reward against numbers worked out by hand and against a slow oracle in plain Python."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.advantages import BASELINES, OF_STRATA, SCALES, SPREADLESS, Baseline, Scale, compute_advantages

PAIRS = [(b, s) for b in BASELINES for s in SCALES if not (s == "group" and b in SPREADLESS)]
"""Every baseline with every scale that goes with it."""

OF_THE_GROUP = [(b, s) for b, s in PAIRS if b not in SPREADLESS]
"""Those that look at the row's own group only, where a group without spread teaches nothing."""


def float64(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def advantages(rewards: Sequence[float], groups: Sequence[int], **options: Any) -> list[float]:
    """In float64; all prompts lie in one stratum unless told otherwise."""
    options = {"strata": [0] * len(rewards)} | options
    result: list[float] = compute_advantages(float64(rewards), groups, **options).tolist()
    return result


# --- numbers worked out by hand ------------------------------------------------------------------------------------


def test_rewards_8_5_3_centred():
    assert advantages([8, 5, 3], [0, 0, 0], scale="none") == pytest.approx([8 / 3, -1 / 3, -7 / 3], abs=1e-12)


def test_rewards_8_5_3_by_sample_std_plus_epsilon():
    got = advantages([8, 5, 3], [0, 0, 0], scale="group")

    std = math.sqrt(((8 / 3) ** 2 + (1 / 3) ** 2 + (7 / 3) ** 2) / 2)
    assert got == pytest.approx([8 / 3 / (std + 1e-4), -1 / 3 / (std + 1e-4), -7 / 3 / (std + 1e-4)], abs=1e-12)
    assert got == pytest.approx([1.0596, -0.1325, -0.9272], abs=1e-4)  # the textbook adds no epsilon


def test_rewards_8_5_3_by_population_std():
    got = advantages([8, 5, 3], [0, 0, 0], scale="group", ddof=0)

    assert got == pytest.approx([1.2978, -0.1622, -1.1355], abs=1e-4)  # the textbook adds no epsilon


def test_rewards_8_5_3_leave_one_out():
    got = advantages([8, 5, 3], [0, 0, 0], scale="none", baseline="leave_one_out")

    assert got == pytest.approx([4.0, -0.5, -3.5], abs=1e-12)


def test_batch_scale_takes_the_group_mean_but_the_std_of_the_whole_batch():
    got = advantages([0, 1, 10, 14], [0, 0, 1, 1], scale="batch")

    scale = statistics.stdev([0, 1, 10, 14]) + 1e-4
    assert got == pytest.approx([-0.5 / scale, 0.5 / scale, -2 / scale, 2 / scale], abs=1e-12)


def test_population_std_of_the_batch():
    got = advantages([0, 1, 10, 14], [0, 0, 1, 1], scale="batch", ddof=0)

    scale = statistics.pstdev([0, 1, 10, 14]) + 1e-4
    assert got == pytest.approx([-0.5 / scale, 0.5 / scale, -2 / scale, 2 / scale], abs=1e-12)


def test_batch_baseline_is_the_mean_of_all_rows():
    assert advantages([0, 1, 10, 14, 0], [0, 0, 1, 1, 1], scale="none", baseline="batch") == [-5, -4, 5, 9, -5]


def test_no_baseline_leaves_the_reward():
    scale = statistics.stdev([0, 1, 10, 14]) + 1e-4

    assert advantages([0, 1, 10, 14], [0, 0, 1, 1], scale="none", baseline="none") == [0, 1, 10, 14]
    got = advantages([0, 1, 10, 14], [0, 0, 1, 1], scale="batch", baseline="none")
    assert got == pytest.approx([0, 1 / scale, 10 / scale, 14 / scale], abs=1e-12)


def test_no_baseline_in_a_batch_without_spread_has_no_unit_to_blow_up_in():
    assert advantages([0.5] * 4, [0, 0, 1, 1], scale="batch", baseline="none") == [0.5] * 4
    assert advantages([0.5], [0], scale="batch", baseline="none") == [0.5]


def test_epsilon_keeps_a_tiny_spread_tiny():
    got = advantages([1.0, 1.0001], [0, 0], scale="group")

    assert got == pytest.approx([-0.292893, 0.292893], abs=1e-5)


# --- what the numbers must never do --------------------------------------------------------------------------------


@pytest.mark.parametrize(("baseline", "scale"), [pair for pair in PAIRS if pair[0] != "none"])
@pytest.mark.parametrize("constant", [0.1, 0.95, 1 / 3, 1e6 + 0.1, 0.0])
@pytest.mark.parametrize("size", [2, 7, 8, 1000])
def test_constant_rewards_in_float32_give_exactly_zero(baseline, scale, constant, size):
    rewards = torch.full((size,), constant, dtype=torch.float32)
    groups = [row % 3 for row in range(size)]

    together = compute_advantages(rewards, [0] * size, scale=scale, baseline=baseline, strata=[0] * size)
    apart = compute_advantages(rewards, groups, scale=scale, baseline=baseline, strata=[0] * size)

    assert together.tolist() == [0.0] * size
    assert apart.tolist() == [0.0] * size


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_whitening_takes_the_constant_away_even_without_a_baseline(dtype):
    rewards = torch.full((7,), 1e6 + 0.1, dtype=dtype)
    rewards[3] = rewards[3].nextafter(torch.tensor(torch.inf, dtype=dtype))

    assert compute_advantages(rewards, [0] * 7, scale="whiten", baseline="none").tolist() == [0.0] * 7


@pytest.mark.parametrize(("baseline", "scale"), OF_THE_GROUP)
def test_a_flat_group_beside_others_gets_exactly_zero(baseline, scale):
    rewards = torch.tensor([0.1, 0.7, 1 / 3, 0.3, 0.3, 0.3, 0.9, 0.9, 0.2], dtype=torch.float32)

    got = compute_advantages(rewards, [0, 0, 0, 1, 1, 1, 2, 2, 2], scale=scale, baseline=baseline)

    assert got[3:6].tolist() == [0.0] * 3
    assert all(got[:3] != 0)


@pytest.mark.parametrize(("baseline", "scale"), [pair for pair in PAIRS if pair[0] != "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("groups", [[0, 0, 0], [0, 1, 2]], ids=["one prompt", "three prompts"])
def test_a_difference_of_one_float_step_is_no_difference(baseline, scale, dtype, groups):
    big = torch.tensor(1e6, dtype=dtype)
    rewards = torch.stack([big, big.nextafter(torch.tensor(torch.inf, dtype=dtype)), big])

    got = compute_advantages(rewards, groups, scale=scale, baseline=baseline, strata=[0] * 3)

    assert got.tolist() == [0.0] * 3


def test_near_constant_rewards_in_float32_do_not_explode():
    rewards = torch.tensor([0.0] + [0.95] * 7, dtype=torch.float32)

    by_std = compute_advantages(rewards, [0] * 8, scale="group")
    left_out = compute_advantages(rewards, [0] * 8, scale="group", baseline="leave_one_out")

    std = 0.95 / math.sqrt(8) + 1e-4  # one of n at -d: d / sqrt(n)
    assert by_std.tolist() == pytest.approx([-0.95 * 7 / 8 / std] + [0.95 / 8 / std] * 7, abs=1e-5)
    assert left_out.tolist() == pytest.approx([-0.95 / std] + [0.95 / 7 / std] * 7, abs=1e-5)


def test_large_offset_in_float32_keeps_the_spread():
    rewards = torch.tensor([65536.0, 65537.0, 65538.0], dtype=torch.float32)

    assert compute_advantages(rewards, [0] * 3, scale="none").tolist() == [-1.0, 0.0, 1.0]


def test_dtype_of_the_rewards_is_kept_and_no_gradient_flows():
    rewards = torch.tensor([0.0, 1.0], dtype=torch.float32, requires_grad=True)

    got = compute_advantages(rewards, [0, 0], scale="group")

    assert got.dtype == torch.float32
    assert not got.requires_grad


# --- abstentions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("baseline", "scale"), PAIRS)
def test_an_abstaining_row_gets_zero_and_leaves_the_others_as_if_it_were_not_there(baseline, scale):
    valid = torch.tensor([True, False, True, True, True])

    got = advantages([1, math.nan, 0.5, 3, 5], [0, 0, 0, 1, 1], scale=scale, baseline=baseline, valid=valid)
    without = advantages([1, 0.5, 3, 5], [0, 0, 1, 1], scale=scale, baseline=baseline)

    assert got == [without[0], 0.0, *without[1:]]
    assert all(without)


@pytest.mark.parametrize(("baseline", "scale"), OF_THE_GROUP)
def test_a_group_with_one_valid_row_or_none_gets_zero(baseline, scale):
    valid = torch.tensor([True, False, False, False])

    got = advantages([7, 1, 2, 3], [0, 0, 1, 1], scale=scale, baseline=baseline, valid=valid)

    assert got == [0.0] * 4


@pytest.mark.parametrize(("baseline", "scale"), PAIRS)
def test_an_empty_batch_gives_an_empty_answer(baseline, scale):
    assert compute_advantages(torch.zeros(0), [], scale=scale, baseline=baseline, strata=[]).tolist() == []


@pytest.mark.parametrize(("baseline", "scale"), PAIRS)
def test_a_batch_without_a_valid_row_gives_zeros(baseline, scale):
    valid = torch.tensor([False, False])

    assert advantages([math.nan, math.inf], [0, 1], scale=scale, baseline=baseline, valid=valid) == [0.0, 0.0]


def test_without_other_rows_the_batch_baseline_has_nothing_to_compare():
    assert advantages([5.0], [0], scale="whiten", baseline="batch") == [0.0]


# --- ids, not positions --------------------------------------------------------------------------------------------

REWARDS = [0.1, 1.0, 1.0, 0.3, 4.0, 1 / 3, 1.0, 2.0, 0.7]
GROUPS = [7, 7, 7, 2, 2, 5, 5, 5, 9]
STRATA = [0, 0, 0, 4, 4, 0, 0, 0, 0]
SPLIT = [[0, 1, 2, 5, 6, 7, 8], [3, 4]]


@given(order=st.permutations(range(len(REWARDS))), new_ids=st.permutations([2, 5, 7, 9]))
@pytest.mark.parametrize(("baseline", "scale"), PAIRS)
def test_the_bits_follow_the_ids_whatever_the_order_and_the_names(baseline, scale, order, new_ids):
    renamed = dict(zip([2, 5, 7, 9], new_ids, strict=True))
    plain = advantages(REWARDS, GROUPS, strata=STRATA, scale=scale, baseline=baseline)

    got = advantages(
        [REWARDS[i] for i in order],
        [renamed[GROUPS[i]] for i in order],
        strata=["even" if STRATA[i] else "odd" for i in order],
        scale=scale,
        baseline=baseline,
    )

    assert got == [plain[i] for i in order]


@pytest.mark.parametrize(
    ("baseline", "scale"), [(b, s) for b, s in PAIRS if b != "batch" and s not in ("batch", "whiten")]
)
def test_strata_that_are_computed_apart_give_the_same_bits(baseline, scale):
    whole = advantages(REWARDS, GROUPS, strata=STRATA, scale=scale, baseline=baseline)

    for part in SPLIT:
        options: dict[str, Any] = {"strata": [STRATA[i] for i in part], "scale": scale, "baseline": baseline}
        got = advantages([REWARDS[i] for i in part], [GROUPS[i] for i in part], **options)
        assert got == [whole[i] for i in part]


def test_ids_may_be_strings_tuples_or_a_tensor():
    plain = advantages(REWARDS, GROUPS, scale="group")

    for ids in ([f"problem {g}" for g in GROUPS], [("task", g) for g in GROUPS], torch.tensor(GROUPS)):
        assert compute_advantages(float64(REWARDS), ids, scale="group").tolist() == plain


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_a_reward_that_is_not_finite_is_refused_with_its_row(broken):
    with pytest.raises(ValueError, match=r"not finite in 2 rows \(1, 3\); mark them as not valid"):
        advantages([0, broken, 1, broken], [0, 0, 1, 1], scale="group")


def test_the_list_of_broken_rows_is_cut():
    with pytest.raises(ValueError, match=r"in 12 rows \(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, \.\.\.\)"):
        advantages([math.nan] * 12, [0] * 12, scale="group")


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"scale must be one of group, batch, none, whiten; got 'std'"):
        advantages([0, 1], [0, 0], scale="std")
    with pytest.raises(
        ValueError, match=r"baseline must be one of mean, leave_one_out, stratum, shrinkage, batch, none; got 'rloo'"
    ):
        advantages([0, 1], [0, 0], scale="none", baseline="rloo")


@pytest.mark.parametrize("baseline", SPREADLESS)
def test_the_groups_own_std_is_no_unit_where_a_flat_group_has_an_advantage(baseline):
    with pytest.raises(ValueError, match=rf"{baseline} does not go with scale group: .* take scale batch, none or wh"):
        advantages([0, 1], [0, 0], scale="group", baseline=baseline)


@pytest.mark.parametrize("ddof", [-1, 2, 0.5])
def test_a_std_is_over_n_or_n_minus_1(ddof):
    with pytest.raises(ValueError, match=r"ddof must be 1 .* or 0"):
        advantages([0, 1], [0, 0], scale="group", ddof=ddof)


def test_rewards_too_large_to_be_squared_are_refused():
    with pytest.raises(ValueError, match=r"rewards are above 1e\+150 in size in 1 rows \(1\)"):
        advantages([0, -1e200], [0, 0], scale="none")


def test_the_types_name_exactly_what_the_tables_hold():
    assert get_args(Scale) == tuple(SCALES)
    assert get_args(Baseline) == tuple(BASELINES)
    assert set(OF_STRATA) < set(SPREADLESS) < set(BASELINES)


@pytest.mark.parametrize(
    ("rewards", "groups", "valid", "message"),
    [
        (torch.zeros(2, 1), [0, 0], None, r"rewards must be float32 or float64 of shape \[N\]; .* \[2, 1\]"),
        (torch.zeros(2, dtype=torch.bfloat16), [0, 0], None, r"rewards must be .*; got torch.bfloat16"),
        (torch.zeros(2), [0], None, r"groups must hold one id per reward: 2 rewards, groups of shape \[1\]"),
        (torch.zeros(2), list(torch.zeros(2)), None, r"groups holds tensors"),
        (torch.zeros(2), [0, 0], torch.ones(3, dtype=torch.bool), r"valid must be bool of shape \[2\]; .* \[3\]"),
        (torch.zeros(2), [0, 0], torch.ones(2), r"valid must be bool of shape \[2\]; got torch.float32"),
    ],
    ids=["2-d", "bfloat16", "few ids", "tensor ids", "long valid", "float valid"],
)
def test_arguments_that_do_not_fit_are_refused(rewards, groups, valid, message):
    with pytest.raises(ValueError, match=message):
        compute_advantages(rewards, groups, scale="none", valid=valid)


# --- a slow oracle (the baselines of strata have their own, in test_advantages_strata.py) ---------------------------


def differences(rewards: list[float], groups: list[int], valid: list[bool], baseline: str) -> list[float | None]:
    """Reward minus baseline, read aloud row by row; None where there is nothing to compare with."""
    everyone = [r for r, ok in zip(rewards, valid, strict=True) if ok]
    result: list[float | None] = []
    for i, (reward, group) in enumerate(zip(rewards, groups, strict=True)):
        mates = [j for j in range(len(rewards)) if groups[j] == group and valid[j]]
        pools = {
            "mean": [rewards[j] for j in mates],
            "leave_one_out": [rewards[j] for j in mates if j != i],
            "batch": everyone,
            "none": [0.0],
        }
        alone = len(everyone) < 2 if baseline == "batch" else len(mates) < 2 and baseline != "none"
        result.append(None if not valid[i] or alone else reward - statistics.fmean(pools[baseline]))
    return result


def slow(rewards: list[float], groups: list[int], valid: list[bool], scale: str, baseline: str) -> list[float]:
    """The scales read aloud."""
    everyone = [r for r, ok in zip(rewards, valid, strict=True) if ok]
    plain = differences(rewards, groups, valid, baseline)
    defined = [d for d in plain if d is not None]
    result = []
    for difference, group in zip(plain, groups, strict=True):
        if difference is None:
            result.append(0.0)
        elif scale == "none":
            result.append(difference)
        elif scale == "batch":
            spread = statistics.stdev(everyone) if len(everyone) > 1 else 0.0
            result.append(difference / (spread + 1e-4) if spread else difference)
        elif scale == "group":
            mates = [r for r, g, ok in zip(rewards, groups, valid, strict=True) if g == group and ok]
            result.append(difference / (statistics.stdev(mates) + 1e-4))
        else:
            spread = statistics.stdev(defined) if len(defined) > 1 else 0.0
            result.append((difference - statistics.fmean(defined)) / (spread + 1e-4))
    return result


@settings(max_examples=200)
@given(
    rows=st.lists(
        # Rewards on a grid of eighths: their sums are exact, so no spread is at rounding level.
        st.tuples(st.integers(-40, 40).map(lambda k: k / 8), st.integers(0, 4), st.booleans()),
        max_size=24,
    ),
    pair=st.sampled_from([pair for pair in PAIRS if pair[0] not in OF_STRATA]),
)
def test_advantages_equal_the_definitions_read_aloud(rows, pair):
    rewards, groups, valid = ([row[k] for row in rows] for k in range(3))
    baseline, scale = pair

    got = advantages(rewards, groups, scale=scale, baseline=baseline, valid=torch.tensor(valid, dtype=torch.bool))

    assert got == pytest.approx(slow(rewards, groups, valid, scale, baseline), abs=1e-9)
