"""Baselines that borrow from the other prompts of a stratum: hand-made numbers, fallbacks, refusals, a slow oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.advantages import OF_STRATA, compute_advantages, shrunk_baseline


def float64(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def advantages(rewards: Sequence[float], groups: Sequence[int], **options: Any) -> list[float]:
    """In float64, not scaled; all prompts lie in one stratum unless told otherwise."""
    options = {"strata": [0] * len(rewards), "scale": "none"} | options
    result: list[float] = compute_advantages(float64(rewards), groups, **options).tolist()
    return result


# --- numbers worked out by hand ------------------------------------------------------------------------------------

REWARDS = [8, 5, 3, 1, 3, 6]
PROMPTS = [0, 0, 0, 1, 1, 2]  # means 16/3, 2, 6; sample variances 19/3, 2, none


def test_the_stratum_is_the_mean_of_the_other_prompts_which_weigh_alike():
    got = advantages(REWARDS, PROMPTS, baseline="stratum")

    first, second, third = (2 + 6) / 2, (16 / 3 + 6) / 2, (16 / 3 + 2) / 2
    want = [8 - first, 5 - first, 3 - first, 1 - second, 3 - second, 6 - third]
    assert got == pytest.approx(want, abs=1e-12)


def test_shrinkage_weighs_mates_and_stratum_by_how_sure_they_are():
    got = advantages(REWARDS, PROMPTS, baseline="shrinkage")

    # Others of prompt 0: within 2 / 1 = 2; means 2 and 6 vary by 8, of which (2/2 + 2/1) / 2 = 1.5 is sampling.
    between, sampling, stratum = 6.5, 2 / 2, 4.0
    for row, mates in enumerate([(5 + 3) / 2, (8 + 3) / 2, (8 + 5) / 2]):
        baseline = (between * mates + sampling * stratum) / (between + sampling)
        assert got[row] == pytest.approx(REWARDS[row] - baseline, abs=1e-12)
    # Others of prompt 1: means 16/3 and 6 vary by less than sampling alone would make them: the stratum's mean.
    assert got[3:5] == pytest.approx([1 - 17 / 3, 3 - 17 / 3], abs=1e-12)
    # Prompt 2 has no mates: the stratum's mean.
    assert got[5] == pytest.approx(6 - 11 / 3, abs=1e-12)


def test_a_flat_group_learns_from_how_its_prompt_compares():
    got = advantages([1, 1, 0, 0], [0, 0, 1, 1], baseline="stratum")

    assert got == [1.0, 1.0, -1.0, -1.0]


def test_strata_do_not_look_at_each_other():
    got = advantages([1, 0, 5, 5, 9, 9], [0, 1, 2, 2, 3, 3], strata=[0, 0, 1, 1, 1, 1], baseline="stratum")

    assert got == [1.0, -1.0, -4.0, -4.0, 4.0, 4.0]


def test_the_formula_by_hand():
    assert shrunk_baseline(0.5, 0.25, between=0.02, within=0.21, others=3) == pytest.approx(
        (0.02 * 0.5 + 0.07 * 0.25) / 0.09, abs=1e-15
    )


def test_the_formula_at_its_ends():
    assert shrunk_baseline(0.1, 0.7, between=0.3, within=0.0, others=2) == 0.1
    assert shrunk_baseline(1e9, 0.7, between=0.0, within=0.3, others=2) == 0.7
    assert shrunk_baseline(0.1, 0.7, between=0.0, within=0.0, others=2) == 0.1
    assert shrunk_baseline(math.nan, 0.7, between=0.3, within=0.3, others=0) == 0.7


@pytest.mark.parametrize(
    "broken", [{"between": -0.1}, {"within": -0.1}, {"others": -1}, {"between": math.nan}, {"within": math.inf}]
)
def test_the_formula_refuses_what_is_no_variance(broken):
    with pytest.raises(ValueError, match=r"must be finite and not negative; got between .*, within .*, others"):
        shrunk_baseline(0.5, 0.5, **({"between": 0.1, "within": 0.1, "others": 2} | broken))


# --- fallbacks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("baseline", OF_STRATA)
@pytest.mark.parametrize("scale", ["none", "batch"])
def test_a_prompt_alone_in_its_stratum_is_compared_with_its_own_completions(baseline, scale):
    alone = advantages(REWARDS, PROMPTS, strata=PROMPTS, baseline=baseline, scale=scale)

    assert alone == pytest.approx(advantages(REWARDS, PROMPTS, baseline="leave_one_out", scale=scale), abs=1e-12)
    assert alone[5] == 0.0  # one completion of the only prompt: nothing to compare


@pytest.mark.parametrize("baseline", OF_STRATA)
def test_prompts_without_a_valid_row_are_no_company(baseline):
    valid = torch.tensor([True, True, False, False])

    got = advantages([1, 0, 5, 7], [0, 0, 1, 1], valid=valid, baseline=baseline)

    assert got == [1.0, -1.0, 0.0, 0.0]


def test_with_one_other_prompt_shrinkage_trusts_its_own_completions():
    got = advantages([1, 0, 5, 7, 4], [0, 0, 1, 1, 1], baseline="shrinkage")

    assert got == pytest.approx([1, -1, -0.5, 2.5, -2], abs=1e-12)  # leave one out


def test_with_one_other_prompt_a_row_without_mates_takes_that_prompt():
    assert advantages([1, 0, 5], [0, 0, 1], baseline="shrinkage") == [1.0, -1.0, 4.5]


def test_where_no_other_prompt_shows_its_spread_shrinkage_trusts_its_own_completions():
    got = advantages([1, 0, 5, 7, 9], [0, 0, 1, 2, 3], baseline="shrinkage")

    assert got[:2] == [1.0, -1.0]
    # The others see prompt 0, whose spread of 1/2 stands for all; they have no mates and take the stratum's mean.
    assert got[2:] == pytest.approx([5 - 16.5 / 3, 7 - 14.5 / 3, 9 - 12.5 / 3], abs=1e-12)


def test_without_any_spread_to_be_seen_shrinkage_trusts_its_own_completions():
    got = advantages([1, 0, 4, 4, 4, 4], [0, 0, 1, 1, 2, 2], baseline="shrinkage")

    assert got[:2] == [1.0, -1.0]


def test_one_completion_per_prompt_works():
    for baseline in OF_STRATA:
        assert advantages([0, 1, 5], [0, 1, 2], baseline=baseline) == [-3.0, -1.5, 4.5]


def test_a_row_without_baseline_counts_in_no_mean():
    # The last row is alone in its group and its stratum. Whitening leaves it out and keeps it at 0.
    options: dict[str, Any] = {"baseline": "stratum", "scale": "whiten"}
    with_it = advantages([3, 1, 0, 5], [0, 1, 2, 3], strata=[0, 0, 0, 1], **options)

    std = math.sqrt((2.5**2 + 0.5**2 + 2**2) / 2) + 1e-4
    assert with_it == pytest.approx([2.5 / std, -0.5 / std, -2 / std, 0.0], abs=1e-12)
    assert with_it[3] == 0.0


# --- numerical safety ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("baseline", OF_STRATA)
@pytest.mark.parametrize("scale", ["none", "batch", "whiten"])
def test_near_constant_rewards_in_float32_do_not_explode(baseline, scale):
    rewards = torch.tensor([0.0] + [0.95] * 7, dtype=torch.float32)

    got = compute_advantages(rewards, [0, 0, 1, 1, 2, 2, 3, 3], scale=scale, baseline=baseline, strata=[0] * 8)

    assert got.abs().max() < 4
    assert got[0] < 0


# --- what a stratum may depend on ----------------------------------------------------------------------------------


@pytest.mark.parametrize("baseline", [*OF_STRATA, "mean"])
def test_completions_of_one_prompt_may_not_lie_in_two_strata(baseline):
    with pytest.raises(ValueError, match=r"rows 0 and 2 are completions of one prompt .* past statistics only, never"):
        advantages([1, 0, 1], [4, 9, 4], strata=["short", "short", "long"], baseline=baseline)


def test_a_row_that_abstained_belongs_to_its_prompts_stratum_too():
    with pytest.raises(ValueError, match="rows 0 and 1 are completions of one prompt"):
        advantages([1, 0], [4, 4], strata=[0, 1], baseline="stratum", valid=torch.tensor([True, False]))


@pytest.mark.parametrize("baseline", OF_STRATA)
def test_without_strata_the_baseline_is_refused(baseline):
    with pytest.raises(ValueError, match=f"baseline {baseline} needs strata: one id per row"):
        advantages([1, 0], [0, 0], strata=None, baseline=baseline)


def test_strata_must_fit_the_rows():
    with pytest.raises(ValueError, match=r"strata must hold one id per reward: 2 rewards, strata of shape \[1\]"):
        advantages([1, 0], [0, 0], strata=[0], baseline="stratum")
    with pytest.raises(ValueError, match="strata holds tensors"):
        advantages([1, 0], [0, 0], strata=list(torch.zeros(2)), baseline="stratum")


# --- a slow oracle, in exact fractions -----------------------------------------------------------------------------


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def variance(values: Sequence[Fraction]) -> Fraction:
    return sum((v - mean(values)) ** 2 for v in values) / Fraction(len(values) - 1)


def slow(rows: list[tuple[Fraction, int, bool]], stratum_of: list[int], baseline: str) -> list[Fraction]:
    """The definitions read aloud, row by row, with nothing shared between rows."""
    result = []
    for i, (reward, prompt, valid) in enumerate(rows):
        mates = [r for j, (r, p, ok) in enumerate(rows) if p == prompt and ok and j != i]
        prompts = {p for _, p, ok in rows if ok and p != prompt and stratum_of[p] == stratum_of[prompt]}
        samples = [[r for r, p, ok in rows if p == other and ok] for other in prompts]
        if not valid or not (mates or samples):
            result.append(Fraction(0))
        elif not samples:
            result.append(reward - mean(mates))
        else:
            stratum = mean([mean(sample) for sample in samples])
            result.append(reward - (stratum if baseline == "stratum" else shrunk(mates, samples, stratum)))
    return result


def shrunk(mates: list[Fraction], samples: list[list[Fraction]], stratum: Fraction) -> Fraction:
    if not mates:
        return stratum
    seen = [sample for sample in samples if len(sample) > 1]
    if len(samples) < 2 or not seen:
        return mean(mates)
    within = sum(variance(s) * (len(s) - 1) for s in seen) / Fraction(sum(len(s) - 1 for s in seen))
    noise = mean([(variance(s) if len(s) > 1 else within) / len(s) for s in samples])
    between = max(Fraction(0), variance([mean(s) for s in samples]) - noise)
    sampling = within / len(mates)
    if between + sampling == 0:
        return mean(mates)
    return (between * mean(mates) + sampling * stratum) / (between + sampling)


rows_of_eighths = st.lists(
    st.tuples(st.integers(-40, 40).map(lambda k: Fraction(k, 8)), st.integers(0, 6), st.integers(0, 4).map(bool)),
    max_size=24,
)
answers_right_or_wrong = st.lists(
    st.tuples(st.booleans().map(Fraction), st.integers(0, 6), st.integers(0, 9).map(bool)), max_size=24
)


@settings(max_examples=300)
@given(
    rows=st.one_of(rows_of_eighths, answers_right_or_wrong),
    stratum_of=st.lists(st.integers(0, 1), min_size=7, max_size=7),
    baseline=st.sampled_from(OF_STRATA),
)
def test_advantages_equal_the_definitions_read_aloud(rows, stratum_of, baseline):
    got = advantages(
        [float(reward) for reward, _, _ in rows],
        [prompt for _, prompt, _ in rows],
        strata=[stratum_of[prompt] for _, prompt, _ in rows],
        valid=torch.tensor([valid for _, _, valid in rows], dtype=torch.bool),
        baseline=baseline,
    )

    assert got == pytest.approx([float(want) for want in slow(rows, stratum_of, baseline)], abs=1e-9)


def test_an_outlier_prompt_leaves_no_rounding_behind_in_the_others():
    # Were the outlier taken from a total instead of left out, nothing would be left of the others' variances.
    rewards, groups = [1e13, 1e13, 0.5, 0.25, 0.125, 0.5, 1.25, 0.5], [0, 0, 1, 1, 2, 2, 3, 3]

    got = advantages(rewards, groups, baseline="shrinkage")

    want = slow([(Fraction(r), g, True) for r, g in zip(rewards, groups, strict=True)], [0] * 4, "shrinkage")
    assert 0.2e13 < want[0] < 0.9e13
    assert got == pytest.approx([float(w) for w in want], rel=1e-9)


@given(
    rows=rows_of_eighths.filter(bool),
    changed=st.integers(-400, 400).map(lambda k: Fraction(k, 8)),
    baseline=st.sampled_from(OF_STRATA),
    data=st.data(),
)
def test_the_baseline_does_not_depend_on_the_rows_own_reward(rows, changed, baseline, data):
    row = data.draw(st.integers(0, len(rows) - 1))
    others = [(float(reward), prompt) for reward, prompt, _ in rows]
    moved = [*others[:row], (float(changed), others[row][1]), *others[row + 1 :]]

    def baseline_of(pairs: list[tuple[float, int]]) -> float:
        got = advantages([reward for reward, _ in pairs], [prompt for _, prompt in pairs], baseline=baseline)
        return float(pairs[row][0] - got[row])

    if len(rows) > 1:
        assert baseline_of(moved) == pytest.approx(baseline_of(others), abs=1e-9)


@given(
    rows=rows_of_eighths,
    factor=st.sampled_from([0.5, 4.0, -2.0]),
    shift=st.sampled_from([0.0, 3.0, -64.0]),
    baseline=st.sampled_from(OF_STRATA),
)
def test_another_unit_or_origin_of_the_reward_changes_only_the_unit(rows, factor, shift, baseline):
    rewards, groups = [float(reward) for reward, _, _ in rows], [prompt for _, prompt, _ in rows]

    got = advantages([factor * r + shift for r in rewards], groups, baseline=baseline)

    want = [factor * a for a in advantages(rewards, groups, baseline=baseline)]
    assert got == pytest.approx(want, abs=1e-9)
