"""The value loss: numbers worked out by hand, gradients by finite differences, and sums that no cut changes."""

from __future__ import annotations

import math
from functools import reduce
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.losses import token_weights
from grpo_agents.value_loss import ValueTerms, value_loss

NUMBER = st.floats(-4, 4)
TOKENS = st.lists(st.tuples(NUMBER, NUMBER, NUMBER, st.sampled_from([0.0, 0.25, 2.0])), min_size=1, max_size=8)
BROKEN = [math.nan, math.inf, -math.inf]


def float64(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def slowly(tokens: list[tuple[float, float, float, float]], clip: float) -> float:
    """The formula in plain numbers."""
    total = 0.0
    for new, old, target, weight in tokens:
        limited = min(max(new, old - clip), old + clip) if clip else new
        total += weight * 0.5 * max((new - target) ** 2, (limited - target) ** 2)
    return total


def smooth(new: float, old: float, target: float, clip: float) -> bool:
    """Whether no kink is near: neither the limit itself nor the value on the target's other side that errs alike."""
    limited = min(max(new, old - clip), old + clip)
    alike = abs(abs(new - target) - abs(limited - target)) < 1e-4
    return abs(abs(new - old) - clip) > 1e-4 and (limited == new or not alike)


@pytest.mark.parametrize(
    ("new", "target", "loss", "gradient", "clipped"),
    [
        (0.1, 1.0, 0.5 * 0.9**2, -0.9, 0),  # within the limit
        (0.5, 1.0, 0.5 * 0.8**2, 0.0, 1),  # moved to its target by more than 0.2: counted as if at 0.2
        (-0.5, 1.0, 0.5 * 1.5**2, -1.5, 0),  # moved away by more: its own error, its own gradient
        (0.5, 0.25, 0.5 * 0.25**2, 0.25, 0),  # past the target by more than the limit is off: comes back
        (0.27, 0.25, 0.5 * 0.05**2, 0.0, 1),  # past it by less
        (1.0, 1.0, 0.5 * 0.8**2, 0.0, 1),  # right, but too fast
    ],
)
def test_golden_values_from_an_old_value_of_0_and_a_limit_of_0_2(new, target, loss, gradient, clipped):
    value = float64([new]).requires_grad_()

    terms = value_loss(value, float64([0.0]), float64([target]), float64([1.0]), clip=0.2)
    terms.loss.backward()

    assert terms.loss.item() == pytest.approx(loss, abs=1e-15)
    assert value.grad is not None
    assert value.grad.item() == pytest.approx(gradient, abs=1e-15)
    assert int(terms.clipped) == clipped
    assert terms.squared_error.item() == pytest.approx((new - target) ** 2, abs=1e-15)


@given(tokens=TOKENS, clip=st.sampled_from([0.0, 0.2, 1.0]))
def test_values_equal_the_slow_form_and_gradients_finite_differences(tokens, clip):
    for new, old, target, _ in tokens:
        assume(not clip or smooth(new, old, target, clip))
    new, old, target, weight = float64(tokens).unbind(1)
    new = new.clone().requires_grad_()

    terms = value_loss(new, old, target, weight, clip=clip)
    (gradient,) = torch.autograd.grad(terms.loss, new)

    assert terms.loss.item() == pytest.approx(slowly(tokens, clip), rel=1e-12, abs=1e-12)
    step = 1e-5
    for place, token in enumerate(tokens):
        up, down = list(tokens), list(tokens)
        up[place], down[place] = (token[0] + step, *token[1:]), (token[0] - step, *token[1:])
        slope = (slowly(up, clip) - slowly(down, clip)) / (2 * step)
        assert float(gradient[place]) == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("clip", [0.0, 0.2])
@pytest.mark.parametrize("broken", BROKEN)
def test_tokens_that_do_not_count_may_hold_anything_and_get_a_gradient_of_exactly_0(clip, broken):
    good = float64([0.5, -1.0])
    clean = value_loss(good, good - 0.1, good + 1, float64([0.5, 0.5]), clip=clip)
    holed = [torch.cat([part, float64([broken])]) for part in (good, good - 0.1, good + 1)]
    new = holed[0].requires_grad_()

    terms = value_loss(new, holed[1], holed[2], float64([0.5, 0.5, 0.0]), clip=clip)
    (gradient,) = torch.autograd.grad(terms.loss, new)

    assert torch.equal(terms.loss, clean.loss)
    assert torch.equal(terms.squared_error, clean.squared_error)
    assert gradient[2].item() == 0.0
    assert bool(gradient[:2].isfinite().all())
    assert bool((gradient[:2] != 0).all())
    assert int(terms.tokens) == 2
    assert int(terms.clipped) == 0


@given(cuts=st.lists(st.integers(0, 12), max_size=4), order=st.permutations(range(12)))
def test_any_cut_in_any_order_adds_up_to_the_whole(cuts, order):
    generator = torch.Generator().manual_seed(5)
    new, old, targets = torch.randn(3, 12, generator=generator, dtype=torch.float64)
    mask = torch.arange(6)[None] < torch.tensor([5, 1, 6])[:, None]
    weights = token_weights(mask, "dapo", 6)[mask]
    whole, whole_gradient = graded(new, old, targets, weights)
    edges = [0, *sorted(cuts), 12]
    pieces = [torch.tensor(order[a:b], dtype=torch.int64) for a, b in pairwise(edges)]

    parts = [graded(new[piece], old[piece], targets[piece], weights[piece]) for piece in pieces]
    total = reduce(lambda a, b: a + b, (terms for terms, _ in parts))

    assert total.loss.item() == pytest.approx(whole.loss.item(), rel=1e-12)
    assert total.squared_error.item() == pytest.approx(whole.squared_error.item(), rel=1e-12)
    assert (int(total.clipped), int(total.tokens)) == (int(whole.clipped), 12)
    for piece, (_, gradient) in zip(pieces, parts, strict=True):
        assert torch.equal(gradient, whole_gradient[piece])


def graded(new: Tensor, old: Tensor, targets: Tensor, weights: Tensor) -> tuple[ValueTerms, Tensor]:
    value = new.clone().requires_grad_()
    terms = value_loss(value, old, targets, weights, clip=0.5)
    (gradient,) = torch.autograd.grad(terms.loss, value)
    return terms, gradient


def test_the_token_mean_of_a_whole_batch_is_half_its_mean_squared_error():
    new, targets = torch.randn(2, 8, generator=torch.Generator().manual_seed(1))
    weights = torch.full((8,), 1 / 8, dtype=torch.float64)

    terms = value_loss(new, new, targets, weights, clip=0.0)

    assert terms.loss.item() == pytest.approx(0.5 * float(torch.nn.functional.mse_loss(new, targets)), rel=1e-6)
    assert terms.metrics() == pytest.approx(
        {"value_loss": terms.loss.item(), "value_error": 2 * terms.loss.item(), "value_clip": 0.0}, rel=1e-12
    )


def test_metrics_are_means_over_counted_tokens_and_0_where_none_counts():
    old, targets = torch.zeros(4), torch.ones(4)
    new = torch.tensor([0.5, 0.0, 0.1, 9.0])

    some = value_loss(new, old, targets, float64([1, 1, 1, 0]), clip=0.2).metrics()
    none = value_loss(new, old, targets, torch.zeros(4), clip=0.2).metrics()

    assert some["value_error"] == pytest.approx((0.25 + 1 + 0.81) / 3, rel=1e-6)
    assert some["value_clip"] == pytest.approx(1 / 3)
    assert none == {"value_loss": 0.0, "value_error": 0.0, "value_clip": 0.0}


def test_no_gradient_flows_into_old_values_and_targets():
    new, old, targets = (torch.randn(3, requires_grad=True) for _ in range(3))

    value_loss(new, old, targets, torch.ones(3), clip=0.2).loss.backward()

    assert new.grad is not None
    assert old.grad is None
    assert targets.grad is None


@pytest.mark.parametrize("clip", [-0.1, math.nan])
def test_refuses_a_limit_that_is_none(clip):
    with pytest.raises(ValueError, match=r"clip is .*, must be at least 0; 0 switches clipping off"):
        value_loss(*torch.zeros(4, 3), clip=clip)


def test_refuses_shapes_that_differ():
    with pytest.raises(ValueError, match=r"must have one shape; got \[\[3\], \[3\], \[2\], \[3\]\]"):
        value_loss(torch.zeros(3), torch.zeros(3), torch.zeros(2), torch.zeros(3), clip=0.2)
