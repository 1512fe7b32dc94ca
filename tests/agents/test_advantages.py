"""Advantages against numbers worked out by hand, against TRL's own, and against a slow oracle in plain Python."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.advantages import (
    BASELINES,
    SCALES,
    Baseline,
    Scale,
    compute_advantages,
    group_statistics,
)

SHARED = Path(os.environ.get("GRPO_GYM_SHARED", Path(__file__).parents[3] / "shared"))


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    path = SHARED / "cases" / "losses.json"
    if not path.is_file():
        pytest.skip(f"the shared golden cases are not here: {path} (set GRPO_GYM_SHARED)")
    cases: dict[str, Any] = json.loads(path.read_text())
    return cases


def float64(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def advantages(rewards: Sequence[float], groups: Sequence[int], **options: Any) -> list[float]:
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


def test_rewards_8_5_3_leave_one_out():
    got = advantages([8, 5, 3], [0, 0, 0], scale="none", baseline="leave_one_out")

    assert got == pytest.approx([4.0, -0.5, -3.5], abs=1e-12)


def test_batch_scale_takes_the_group_mean_but_the_std_of_the_whole_batch():
    got = advantages([0, 1, 10, 14], [0, 0, 1, 1], scale="batch")

    scale = statistics.stdev([0, 1, 10, 14]) + 1e-4
    assert got == pytest.approx([-0.5 / scale, 0.5 / scale, -2 / scale, 2 / scale], abs=1e-12)


def test_epsilon_keeps_a_tiny_spread_tiny():
    got = advantages([1.0, 1.0001], [0, 0], scale="group")

    assert got == pytest.approx([-0.292893, 0.292893], abs=1e-5)


# --- what the numbers must never do --------------------------------------------------------------------------------


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1e6 + 0.1, 0.0])
@pytest.mark.parametrize("size", [2, 7, 8, 1000])
def test_constant_rewards_in_float32_give_exactly_zero(baseline, scale, constant, size):
    rewards = torch.full((size,), constant, dtype=torch.float32)

    got = compute_advantages(rewards, [0] * size, scale=scale, baseline=baseline)

    assert got.tolist() == [0.0] * size


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_difference_of_one_float_step_is_no_difference(scale, dtype):
    big = torch.tensor(1e6, dtype=dtype)
    rewards = torch.stack([big, big.nextafter(torch.tensor(torch.inf, dtype=dtype)), big])

    assert compute_advantages(rewards, [0, 0, 0], scale=scale).tolist() == [0.0] * 3


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


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("scale", SCALES)
def test_an_abstaining_row_gets_zero_and_leaves_the_others_as_if_it_were_not_there(baseline, scale):
    valid = torch.tensor([True, False, True, True, True])

    got = advantages([1, math.nan, 0, 3, 5], [0, 0, 0, 1, 1], scale=scale, baseline=baseline, valid=valid)
    without = advantages([1, 0, 3, 5], [0, 0, 1, 1], scale=scale, baseline=baseline)

    assert got == [without[0], 0.0, *without[1:]]


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("scale", SCALES)
def test_a_group_with_one_valid_row_or_none_gets_zero(baseline, scale):
    valid = torch.tensor([True, False, False, False])

    got = advantages([7, 1, 2, 3], [0, 0, 1, 1], scale=scale, baseline=baseline, valid=valid)

    assert got == [0.0] * 4


def test_an_empty_batch_gives_an_empty_answer():
    assert compute_advantages(torch.zeros(0), [], scale="batch").tolist() == []


# --- ids, not positions --------------------------------------------------------------------------------------------

REWARDS = [0.0, 1.0, 1.0, 0.25, 4.0, 0.5, 1.0, 2.0]
GROUPS = [7, 7, 7, 2, 2, 5, 5, 5]


@given(order=st.permutations(range(len(REWARDS))), baseline=st.sampled_from(sorted(BASELINES)))
@pytest.mark.parametrize("scale", SCALES)
def test_in_a_permuted_batch_the_advantage_follows_the_id(scale, order, baseline):
    plain = advantages(REWARDS, GROUPS, scale=scale, baseline=baseline)

    permuted = advantages([REWARDS[i] for i in order], [GROUPS[i] for i in order], scale=scale, baseline=baseline)

    assert permuted == pytest.approx([plain[i] for i in order], abs=1e-12)


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
    with pytest.raises(ValueError, match=r"scale must be one of group, batch, none; got 'std'"):
        advantages([0, 1], [0, 0], scale="std")
    with pytest.raises(ValueError, match=r"baseline must be one of mean, leave_one_out; got 'rloo'"):
        advantages([0, 1], [0, 0], scale="none", baseline="rloo")


def test_the_types_name_exactly_what_the_tables_hold():
    assert get_args(Scale) == tuple(SCALES)
    assert get_args(Baseline) == tuple(BASELINES)


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


# --- statistics ----------------------------------------------------------------------------------------------------


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


# --- a slow oracle -------------------------------------------------------------------------------------------------


def slow(rewards: list[float], groups: list[int], valid: list[bool], scale: str, baseline: str) -> list[float]:
    """The definitions read aloud, row by row."""
    everyone = [r for r, ok in zip(rewards, valid, strict=True) if ok]
    result = []
    for i, (reward, group) in enumerate(zip(rewards, groups, strict=True)):
        mates = [j for j in range(len(rewards)) if groups[j] == group and valid[j]]
        if not valid[i] or len(mates) < 2:
            result.append(0.0)
            continue
        pool = [rewards[j] for j in mates if baseline == "mean" or j != i]
        divisor = {
            "none": 1.0,
            "group": statistics.stdev(rewards[j] for j in mates) + 1e-4,
            "batch": statistics.stdev(everyone) + 1e-4,
        }[scale]
        result.append((reward - sum(pool) / len(pool)) / divisor)
    return result


@settings(max_examples=150)
@given(
    rows=st.lists(
        # Rewards on a grid of eighths: their sums are exact, so no spread is at rounding level.
        st.tuples(st.integers(-40, 40).map(lambda k: k / 8), st.integers(0, 4), st.booleans()),
        max_size=24,
    ),
    scale=st.sampled_from(sorted(SCALES)),
    baseline=st.sampled_from(sorted(BASELINES)),
)
def test_advantages_equal_the_definitions_read_aloud(rows, scale, baseline):
    rewards, groups, valid = ([row[k] for row in rows] for k in range(3))

    got = compute_advantages(
        float64(rewards), groups, scale=scale, baseline=baseline, valid=torch.tensor(valid, dtype=torch.bool)
    )

    assert got.tolist() == pytest.approx(slow(rewards, groups, valid, scale, baseline), abs=1e-9)


# --- TRL's own numbers ---------------------------------------------------------------------------------------------

TRL_ADVANTAGES = 19
TRL_LEAVE_ONE_OUT = 13
# TRL rounds the group mean to float32: for 1.0 and 1.0001 it is off by 7e-8, which is then divided by 1.7e-4.
TRL_ROUNDING = {("tiny_spread", "group"): 5e-4}


def summed_rewards(case: dict[str, Any]) -> tuple[Tensor, list[int], Tensor]:
    """Weighted sum over the reward functions that did not abstain; a row where all abstained is not valid."""
    weights = case.get("weights", [1.0])
    rows = [[w * r for w, r in zip(weights, row, strict=True) if r is not None] for row in case["rewards"]]
    groups = [i // case["G"] for i in range(len(rows))]
    return float64([sum(row) for row in rows]), groups, torch.tensor([bool(row) for row in rows])


def summed_entries(golden: dict[str, Any]) -> list[dict[str, Any]]:
    return [e for e in golden["advantages"] if e["multi_objective_aggregation"] == "sum_then_normalize"]


def test_trl_cases_are_all_selected(golden):
    assert len(summed_entries(golden)) == TRL_ADVANTAGES
    assert len(golden["rloo_advantages"]) == TRL_LEAVE_ONE_OUT


@pytest.mark.parametrize("number", range(TRL_ADVANTAGES))
def test_advantages_equal_trl(golden, number):
    entry = summed_entries(golden)[number]
    rewards, groups, valid = summed_rewards(golden["advantage_cases"][entry["case"]])

    got = compute_advantages(rewards, groups, scale=entry["scale_rewards"], valid=valid)

    tolerance = TRL_ROUNDING.get((entry["case"], entry["scale_rewards"]), 1e-5)
    assert got.tolist() == pytest.approx(entry["advantages"], abs=tolerance, rel=0), entry


@pytest.mark.parametrize("number", range(TRL_ADVANTAGES))
def test_statistics_equal_what_trl_logs(golden, number):
    entry = summed_entries(golden)[number]
    case = golden["advantage_cases"][entry["case"]]
    rewards, groups, valid = summed_rewards(case)

    got = group_statistics(rewards, groups, valid)

    assert got.mean == pytest.approx(entry["logged"]["reward"], abs=1e-5), entry
    assert got.std == pytest.approx(entry["logged"]["reward_std"], abs=1e-5), entry
    if entry["scale_rewards"] != "batch":  # with batch scale TRL asks whether the whole batch is constant
        assert got.zero_variance / got.groups == entry["logged"]["frac_reward_zero_std"], entry


@pytest.mark.parametrize("number", range(TRL_LEAVE_ONE_OUT))
def test_leave_one_out_equals_trl(golden, number):
    entry = golden["rloo_advantages"][number]
    rewards, groups, valid = summed_rewards(golden["advantage_cases"][entry["case"]])

    got = compute_advantages(rewards, groups, scale="none", baseline="leave_one_out", valid=valid)

    # TRL's optional standardisation takes the std of the advantages that are defined, which our scales do not offer.
    blocks = valid.view(-1, golden["advantage_cases"][entry["case"]]["G"])
    compared = (blocks & (blocks.sum(1, keepdim=True) > 1)).flatten()
    divisor = got[compared].std() + 1e-4 if entry["normalize_advantages"] else 1.0
    assert (got / divisor).tolist() == pytest.approx(entry["advantages"], abs=1e-5), entry
