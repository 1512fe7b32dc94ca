"""The KL estimators: values, slopes, masks, refusals, and the controller of the coefficient."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.kl import k1, k2, k3, kl_in_loss, next_kl_coef, with_ratio

LOGPROB = st.floats(-8.0, 0.0)


def float64(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def everything(logprobs: Tensor) -> Tensor:
    return torch.ones_like(logprobs, dtype=torch.bool)


def slope(value: Tensor, logprobs: Tensor) -> Tensor:
    return torch.autograd.grad(value, logprobs, retain_graph=True)[0]


def test_golden_values():
    new = float64([0.0, 0.0, -1.0])
    ref = float64([math.log(2), math.log(0.5), -1.0])
    log2 = math.log(2)

    assert k1(new, ref, everything(new)).tolist() == pytest.approx([-log2, log2, 0.0], abs=1e-15)
    assert k2(new, ref, everything(new)).tolist() == pytest.approx([log2**2 / 2, log2**2 / 2, 0.0], abs=1e-15)
    assert k3(new, ref, everything(new)).tolist() == pytest.approx([1 - log2, log2 - 0.5, 0.0], abs=1e-15)


def test_with_ratio_multiplies_value_and_slope():
    new, ref, old = float64([-1.0]).requires_grad_(), float64([-1.0 + math.log(2)]), float64([-1.0 - math.log(3)])

    got = with_ratio(k3(new, ref, everything(new)), (new - old).exp())

    assert got.tolist() == pytest.approx([3 * (1 - math.log(2))], abs=1e-15)
    assert slope(got, new).tolist() == pytest.approx([3 * (1 - math.log(2)) + 3 * (1 - 2)], abs=1e-15)


@given(new=LOGPROB, old=LOGPROB, ref=LOGPROB)
def test_values_and_slopes_equal_the_hand_derived_ones(new, old, ref):
    logprobs, x, r = float64([new]).requires_grad_(), ref - new, math.exp(new - old)
    ratio = (logprobs - old).exp()
    value3, slope3 = math.exp(x) - x - 1, 1 - math.exp(x)
    expected = {
        ("k2", False): (x * x / 2, -x),
        ("k2", True): (r * x * x / 2, -r * x),
        ("k3", False): (value3, slope3),
        ("k3", True): (r * value3, r * (value3 + slope3)),
    }

    for (name, corrected), (value, derivative) in expected.items():
        got = kl_in_loss(name, logprobs, float64([ref]), everything(logprobs), ratio if corrected else None)

        assert got.item() == pytest.approx(value, rel=1e-9, abs=1e-9)
        assert slope(got, logprobs).item() == pytest.approx(derivative, rel=1e-9, abs=1e-9)


@given(new=LOGPROB, ref=LOGPROB)
def test_k2_and_k3_are_never_negative_in_float32(new, ref):
    logprobs, reference = (torch.tensor([value], dtype=torch.float32) for value in (new, ref))

    assert k2(logprobs, reference, everything(logprobs)).item() >= 0
    assert k3(logprobs, reference, everything(logprobs)).item() >= -1e-12


def test_k3_of_a_small_difference_survives_float32():
    logprobs, ref = torch.zeros(1), torch.full((1,), 1e-4)

    assert k3(logprobs, ref, everything(logprobs)).item() == pytest.approx(5e-9, rel=1e-2)


# --- masks and errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["k2", "k3"])
def test_masked_positions_give_exactly_zero_whatever_they_hold(name, garbage):
    logprobs, ref = float64([-1.0, garbage, -2.0]).requires_grad_(), float64([-0.5, garbage, -1.0])
    mask = torch.tensor([True, False, True])

    for ratio in (None, float64([2.0, 1.0, 0.5])):
        estimate = kl_in_loss(name, logprobs, ref, mask, ratio)
        slopes = slope(estimate.sum(), logprobs)

        assert estimate[1].item() == slopes[1].item() == 0.0
        assert slopes.isfinite().all()
        assert estimate[[0, 2]].min() > 0
    assert k1(logprobs, ref, mask)[1].item() == 0.0


def test_no_gradient_flows_into_the_reference_nor_into_k1():
    logprobs, ref = (float64([-1.0, -2.0]).requires_grad_() for _ in range(2))

    torch.autograd.backward((k2(logprobs, ref, everything(ref)) + k3(logprobs, ref, everything(ref))).sum())

    assert logprobs.grad is not None
    assert ref.grad is None
    assert not k1(logprobs, ref, everything(ref)).requires_grad


@pytest.mark.parametrize(
    ("mask", "ref"),
    [(torch.ones(2), torch.zeros(2)), (torch.ones(2, dtype=torch.bool), torch.zeros(1))],
    ids=["float mask", "broadcast"],
)
@pytest.mark.parametrize("estimator", [k1, k2, k3])
def test_masks_and_shapes_that_do_not_fit_are_refused(estimator, mask, ref):
    with pytest.raises(ValueError, match="mask must be bool and all shapes equal; got"):
        estimator(torch.zeros(2), ref, mask)


def test_a_ratio_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"kl and ratio must have one shape; got \[2\] and \[1\]"):
        with_ratio(torch.zeros(2), torch.ones(1))


@pytest.mark.parametrize(
    ("name", "message"),
    [("k1", "take it off the reward, or use k2"), ("k4", "estimator must be k2 or k3; got 'k4'")],
)
def test_what_is_no_estimator_for_a_loss_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        kl_in_loss(name, torch.zeros(2), torch.zeros(2), torch.ones(2, dtype=torch.bool))


# --- the controller ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measured", "factor"),
    [(0.1, 1.0), (0.11, 1.01), (0.095, 0.995), (5.0, 1.02), (0.0, 0.98), (-1.0, 0.98)],
)
def test_the_coefficient_follows_the_relative_error_up_to_a_fifth_over_the_horizon(measured, factor):
    assert next_kl_coef(0.5, measured, 0.1, 10) == pytest.approx(0.5 * factor, rel=1e-12)


def test_a_longer_horizon_is_slower_and_doubling_takes_36_steps_at_10():
    def after(steps: int, horizon: int) -> float:
        coef = 1.0
        for _ in range(steps):
            coef = next_kl_coef(coef, 1.0, 0.1, horizon)
        return coef

    assert after(35, 10) < 2 <= after(36, 10)
    assert after(36, 20) < 1.5


def test_the_controller_brings_a_process_to_its_target():
    coef = 0.01
    for _ in range(600):
        coef = next_kl_coef(coef, 0.002 / coef, 0.05, 10)  # the KL of a process that falls as the coefficient rises

    assert 0.002 / coef == pytest.approx(0.05, rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 0.1, 0.1, 10), "coef and target must be above 0"),
        ((0.1, 0.1, 0.0, 10), "coef and target must be above 0"),
        ((0.1, 0.1, 0.1, 0), "horizon at least 1"),
        ((math.nan, 0.1, 0.1, 10), "coef and target must be above 0"),
        ((0.1, math.nan, 0.1, 10), "the measured KL is nan"),
        ((0.1, math.inf, 0.1, 10), "the measured KL is inf"),
    ],
)
def test_the_controller_refuses_what_it_cannot_steer_by(arguments, message):
    with pytest.raises(ValueError, match=message):
        next_kl_coef(*arguments)
