"""Advantages against the numbers of TRL 1.16's own code, for GRPO, RLOO and GDPO."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from grpo_agents.advantages import Scale, compute_advantages, group_statistics, normalise_then_sum

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


TRL_ADVANTAGES = 19
TRL_LEAVE_ONE_OUT = 13
TRL_STANDARDISED = 7
TRL_NORMALISED_FIRST = 7
# TRL rounds the group mean to float32: for 1.0 and 1.0001 it is off by 7e-8, which is then divided by 1.7e-4.
TRL_ROUNDING = {("tiny_spread", "group"): 2e-3}


def summed_rewards(case: dict[str, Any]) -> tuple[Tensor, list[int], Tensor]:
    """Weighted sum over the reward functions that did not abstain; a row where all abstained is not valid."""
    weights = case.get("weights", [1.0])
    rows = [[w * r for w, r in zip(weights, row, strict=True) if r is not None] for row in case["rewards"]]
    groups = [i // case["G"] for i in range(len(rows))]
    return float64([sum(row) for row in rows]), groups, torch.tensor([bool(row) for row in rows])


def entries(golden: dict[str, Any], aggregation: str) -> list[dict[str, Any]]:
    return [e for e in golden["advantages"] if e["multi_objective_aggregation"] == aggregation]


def test_trl_cases_are_all_selected(golden):
    assert len(entries(golden, "sum_then_normalize")) == TRL_ADVANTAGES
    assert len(entries(golden, "normalize_then_sum")) == TRL_NORMALISED_FIRST
    assert len(golden["advantages"]) == TRL_ADVANTAGES + TRL_NORMALISED_FIRST
    assert len(golden["rloo_advantages"]) == TRL_LEAVE_ONE_OUT
    assert sum(entry["normalize_advantages"] for entry in golden["rloo_advantages"]) == TRL_STANDARDISED


@pytest.mark.parametrize("number", range(TRL_ADVANTAGES))
def test_advantages_equal_trl(golden, number):
    entry = entries(golden, "sum_then_normalize")[number]
    rewards, groups, valid = summed_rewards(golden["advantage_cases"][entry["case"]])

    got = compute_advantages(rewards, groups, scale=entry["scale_rewards"], valid=valid)

    tolerance = TRL_ROUNDING.get((entry["case"], entry["scale_rewards"]), 1e-5)
    assert got.tolist() == pytest.approx(entry["advantages"], rel=tolerance, abs=1e-6), entry


@pytest.mark.parametrize("number", range(TRL_ADVANTAGES))
def test_statistics_equal_what_trl_logs(golden, number):
    entry = entries(golden, "sum_then_normalize")[number]
    case = golden["advantage_cases"][entry["case"]]
    rewards, groups, valid = summed_rewards(case)

    got = group_statistics(rewards, groups, valid)

    assert got.mean == pytest.approx(entry["logged"]["reward"], abs=1e-5), entry
    assert got.std == pytest.approx(entry["logged"]["reward_std"], abs=1e-5), entry
    if entry["scale_rewards"] != "batch":  # with batch scale TRL asks whether the whole batch is constant
        assert got.zero_variance / got.groups == entry["logged"]["frac_reward_zero_std"], entry


@pytest.mark.parametrize("number", range(TRL_LEAVE_ONE_OUT))
def test_leave_one_out_equals_trl_with_and_without_whitening(golden, number):
    entry = golden["rloo_advantages"][number]
    rewards, groups, valid = summed_rewards(golden["advantage_cases"][entry["case"]])
    scale: Scale = "whiten" if entry["normalize_advantages"] else "none"

    got = compute_advantages(rewards, groups, scale=scale, baseline="leave_one_out", valid=valid)

    assert got.tolist() == pytest.approx(entry["advantages"], rel=1e-5, abs=1e-6), entry


@pytest.mark.parametrize("number", range(TRL_NORMALISED_FIRST))
def test_normalising_first_equals_trl(golden, number):
    entry = entries(golden, "normalize_then_sum")[number]
    case = golden["advantage_cases"][entry["case"]]
    table = [[torch.nan if reward is None else reward for reward in row] for row in case["rewards"]]
    rewards = torch.tensor(table, dtype=torch.float64)
    groups = [row // case["G"] for row in range(len(rewards))]
    weights = case.get("weights", [1.0] * rewards.shape[1])

    got = normalise_then_sum(rewards, groups, weights, valid=~rewards.isnan())

    assert got.tolist() == pytest.approx(entry["advantages"], rel=1e-5, abs=1e-6), entry
