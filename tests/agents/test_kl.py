"""The KL estimators: their values, and above all which divergence each one's gradient belongs to."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.kl import k3, k3_corrected

LOGPROB = st.floats(-8.0, 0.0)


def float64(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def everything(logprobs: Tensor) -> Tensor:
    return torch.ones_like(logprobs, dtype=torch.bool)


def test_k3_golden_values():
    new = float64([0.0, 0.0, -1.0])
    ref = float64([math.log(2), math.log(0.5), -1.0])

    got = k3(new, ref, everything(new))

    assert got.tolist() == pytest.approx([2 - math.log(2) - 1, 0.5 + math.log(2) - 1, 0.0], abs=1e-15)


def test_corrected_k3_is_k3_times_the_ratio():
    new, old, ref = float64([-1.0]), float64([-1.0 - math.log(3)]), float64([-1.0 + math.log(2)])

    assert k3_corrected(new, old, ref, everything(new)).tolist() == pytest.approx([3 * (1 - math.log(2))], abs=1e-15)


@given(new=LOGPROB, old=LOGPROB, ref=LOGPROB)
def test_values_and_gradients_equal_the_hand_derived_ones(new, old, ref):
    logprobs = float64([new]).requires_grad_()
    mask = everything(logprobs)
    difference, ratio = ref - new, math.exp(new - old)
    value, slope = math.exp(difference) - difference - 1, 1 - math.exp(difference)

    plain = k3(logprobs, float64([ref]), mask)
    corrected = k3_corrected(logprobs, float64([old]), float64([ref]), mask)
    (plain_gradient,) = torch.autograd.grad(plain.sum(), logprobs)
    (corrected_gradient,) = torch.autograd.grad(corrected.sum(), logprobs)

    assert plain.item() == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert plain_gradient.item() == pytest.approx(slope, rel=1e-9, abs=1e-12)
    assert corrected.item() == pytest.approx(ratio * value, rel=1e-9, abs=1e-9)
    assert corrected_gradient.item() == pytest.approx(ratio * (value + slope), rel=1e-9, abs=1e-9)


@given(new=LOGPROB, ref=LOGPROB)
def test_k3_is_never_negative_in_float32(new, ref):
    logprobs = torch.tensor([new], dtype=torch.float32)

    assert k3(logprobs, torch.tensor([ref], dtype=torch.float32), everything(logprobs)).item() >= -1e-12


def test_k3_of_a_small_difference_survives_float32():
    logprobs, ref = torch.zeros(1), torch.full((1,), 1e-4)

    assert k3(logprobs, ref, everything(logprobs)).item() == pytest.approx(5e-9, rel=1e-2)


# --- whose gradient is it? Sums over the whole vocabulary are exact expectations. -----------------------------------

LOGITS = float64([0.3, -1.2, 0.8, 2.0, -0.5])
REFERENCE = float64([1.0, 0.1, -0.7, 0.6, 0.2]).log_softmax(0)
OLD = float64([-0.4, 0.9, 0.5, 1.1, 0.0]).log_softmax(0)


def gradient(value: Tensor, logits: Tensor) -> Tensor:
    return torch.autograd.grad(value, logits, retain_graph=True)[0]


def test_k3_has_the_value_of_the_wanted_kl_but_the_gradient_of_the_reversed_one():
    logits = LOGITS.clone().requires_grad_()
    policy = logits.log_softmax(0)
    drawn_from = policy.detach().exp()

    expected = (drawn_from * k3(policy, REFERENCE, everything(policy))).sum()
    wanted = (policy.exp() * (policy - REFERENCE)).sum()
    reversed_kl = (REFERENCE.exp() * (REFERENCE - policy)).sum()

    torch.testing.assert_close(expected, wanted, rtol=0, atol=1e-12)
    torch.testing.assert_close(gradient(expected, logits), gradient(reversed_kl, logits), rtol=0, atol=1e-12)
    assert (gradient(expected, logits) - gradient(wanted, logits)).norm() > 0.1 * gradient(wanted, logits).norm()


@pytest.mark.parametrize("on_policy", [True, False], ids=["on-policy", "off-policy"])
def test_corrected_k3_has_value_and_gradient_of_the_wanted_kl(on_policy):
    logits = LOGITS.clone().requires_grad_()
    policy = logits.log_softmax(0)
    old = policy.detach() if on_policy else OLD

    expected = (old.exp() * k3_corrected(policy, old, REFERENCE, everything(policy))).sum()
    wanted = (policy.exp() * (policy - REFERENCE)).sum()

    torch.testing.assert_close(expected, wanted, rtol=0, atol=1e-12)
    torch.testing.assert_close(gradient(expected, logits), gradient(wanted, logits), rtol=0, atol=1e-12)


# --- masks and errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf])
def test_masked_positions_give_exactly_zero_whatever_they_hold(garbage):
    logprobs = float64([-1.0, garbage, -2.0]).requires_grad_()
    old, ref = float64([-1.5, garbage, -2.0]), float64([-0.5, garbage, -1.0])
    mask = torch.tensor([True, False, True])

    for estimate in (k3(logprobs, ref, mask), k3_corrected(logprobs, old, ref, mask)):
        slope = gradient(estimate.sum(), logprobs)

        assert estimate[1].item() == 0.0
        assert slope[1].item() == 0.0
        assert slope.isfinite().all()
        assert estimate[[0, 2]].min() > 0


def test_no_gradient_flows_into_reference_or_old_policy():
    logprobs, old, ref = (float64([-1.0, -2.0]).requires_grad_() for _ in range(3))

    torch.autograd.backward(k3_corrected(logprobs, old, ref, everything(logprobs)).sum())

    assert logprobs.grad is not None
    assert old.grad is None
    assert ref.grad is None


@pytest.mark.parametrize(
    ("mask", "ref"),
    [(torch.ones(2), torch.zeros(2)), (torch.ones(2, dtype=torch.bool), torch.zeros(1))],
    ids=["float mask", "broadcast"],
)
def test_masks_and_shapes_that_do_not_fit_are_refused(mask, ref):
    with pytest.raises(ValueError, match="mask must be bool and all shapes equal; got"):
        k3(torch.zeros(2), ref, mask)
    with pytest.raises(ValueError, match="mask must be bool and all shapes equal; got"):
        k3_corrected(torch.zeros(2), torch.zeros(2), ref, mask)
