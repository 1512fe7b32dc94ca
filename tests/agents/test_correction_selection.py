"""Which tokens the policy term counts: the threshold of entropies, and completions that were left."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grpo_agents.losses import high_entropy, on_policy_enough
from tests.agents.loss_oracle import float64

# --- high entropy ---------------------------------------------------------------------------------------------------


@given(
    values=st.lists(st.floats(0, 5, width=32), min_size=1, max_size=30),
    share=st.floats(0.01, 1.0),
    data=st.data(),
)
def test_the_threshold_is_torchs_quantile(values, share, data):
    entropies = float64(values)
    mask = torch.tensor(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    got = high_entropy(entropies, mask, share)
    if not mask.any():
        assert not got.any()
        return

    threshold = torch.quantile(entropies[mask], 1 - share)

    clear = (entropies - threshold).abs() > 1e-9  # at the threshold, floats decide
    assert torch.equal(got[clear], ((entropies >= threshold) & mask)[clear])
    assert not got[~mask].any()
    assert got.any()


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
def test_a_share_that_falls_on_a_token_keeps_this_token(share):
    entropies = torch.arange(11).double()  # places 0, 1, ..., 10 are the quantiles 0, 0.1, ..., 1

    assert high_entropy(entropies, entropies >= 0, share).sum() == round(share * 10) + 1


def test_ties_at_the_threshold_stay_together():
    assert high_entropy(torch.ones(2, 5), torch.ones(2, 5, dtype=torch.bool), 0.2).all()


def test_masked_entropies_may_hold_anything_and_move_no_threshold():
    entropies = float64([1.0, math.nan, 2.0, math.inf, 3.0, -math.inf, 4.0])
    mask = torch.tensor([True, False, True, False, True, False, True])

    assert high_entropy(entropies, mask, 0.5).nonzero().flatten().tolist() == [4, 6]


@pytest.mark.parametrize(
    ("entropies", "mask", "share", "message"),
    [
        (torch.ones(2), torch.ones(2) > 0, 0.0, "share must be above 0 and at most 1; got 0.0"),
        (torch.ones(2), torch.ones(2) > 0, 1.1, "share must be above 0 and at most 1; got 1.1"),
        (torch.ones(2), torch.ones(2), 0.5, "mask must be bool and of the shape of entropies; got torch.float32"),
        (torch.ones(2), torch.ones(1) > 0, 0.5, r"of shape \[1\] against \[2\]"),
        (torch.tensor([1.0, math.nan]), torch.ones(2) > 0, 0.5, "the entropy of a counted token is not finite"),
    ],
)
def test_entropies_that_do_not_fit_are_refused(entropies, mask, share, message):
    with pytest.raises(ValueError, match=message):
        high_entropy(entropies, mask, share)


# --- on-policy enough -----------------------------------------------------------------------------------------------

NEW = float64([[-1.0, -2.0, -9.0], [-1.0, -2.0, -3.0], [-1.0, -1.0, -1.0]])
SAMPLED = float64([[-0.5, -1.3, 0.0], [-0.5, -1.3, -2.4], [-1.0, -1.0, -1.0]])  # fallen by 0.6, 0.6 and 0 on average
MASK = torch.tensor([[True, True, False], [True, True, True], [True, True, True]])
BAD = float64([[-1.0], [-1.0], [-1.0]]).expand(3, 3)


@pytest.mark.parametrize(("threshold", "dropped"), [(0.59, [True, True, False]), (0.61, [False, False, False])])
def test_bad_completions_that_fell_too_far_are_left(threshold, dropped):
    stays = on_policy_enough(NEW, SAMPLED, BAD, threshold, mask=MASK)

    assert (~stays).any(dim=1).tolist() == dropped
    assert stays[0].tolist() == [not dropped[0], not dropped[0], True]  # what does not count has nothing to drop


@pytest.mark.parametrize("advantage", [0.0, 2.0])
def test_completions_that_are_not_bad_always_stay(advantage):
    assert on_policy_enough(NEW, SAMPLED, BAD * 0 + advantage, 0.01, mask=MASK).all()


def test_a_completion_that_became_likelier_stays():
    assert on_policy_enough(SAMPLED, NEW, BAD, 0.01, mask=MASK).all()


def test_packed_tokens_in_any_order_say_the_same():
    order = torch.randperm(8, generator=torch.Generator().manual_seed(0))
    rows = torch.tensor([[4], [4_000_000_000], [-1]]).expand(3, 3)[MASK][order]
    padded = on_policy_enough(NEW, SAMPLED, BAD, 0.5, mask=MASK)

    new, sampled, advantages = (x[MASK][order] for x in (NEW, SAMPLED, BAD))
    packed = on_policy_enough(new, sampled, advantages, 0.5, rows=rows)

    assert torch.equal(packed, padded[MASK][order])
    assert not packed.all()


def test_advantages_of_tokens_are_looked_at_one_by_one():
    advantages = BAD.clone()
    advantages[1, 1] = 1.0

    assert on_policy_enough(NEW, SAMPLED, advantages, 0.5, mask=MASK)[1].tolist() == [False, True, False]


def test_unknown_log_probs_count_as_left_and_masked_ones_not_at_all():
    sampled = SAMPLED.clone()
    sampled[2, 1] = math.nan

    assert not on_policy_enough(NEW, sampled, BAD, 9.0, mask=MASK)[2].any()
    assert on_policy_enough(NEW, sampled, BAD, 9.0, mask=MASK & sampled.isfinite()).all()


@pytest.mark.parametrize(
    ("threshold", "mask", "message"),
    [
        (0.0, MASK, "threshold must be above 0 nats; got 0.0"),
        (0.1, MASK.double(), "a bool mask must have one shape; got torch.float64"),
        (0.1, MASK[:2], r"must have one shape; got torch.bool, .*\[2, 3\]\]"),
    ],
)
def test_what_does_not_fit_is_refused(threshold, mask, message):
    with pytest.raises(ValueError, match=message):
        on_policy_enough(NEW, SAMPLED, BAD, threshold, mask=mask)


def test_packed_tokens_need_their_completions():
    flat = NEW.flatten()

    with pytest.raises(ValueError, match="off_policy_threshold is of whole completions"):
        on_policy_enough(flat, flat, flat, 0.1)
