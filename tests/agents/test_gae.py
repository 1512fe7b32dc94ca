"""Advantages by GAE against a slow double loop, their limits at lambda 0 and 1, and that rows never mix."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.gae import explained_variance, gae, length_adaptive_lambda, returns

Row = list[tuple[float, float]]  # reward and value of each token
NUMBER = st.floats(-5, 5, width=32)
ROWS = st.lists(st.lists(st.tuples(NUMBER, NUMBER), max_size=7), max_size=6)
SHARE = st.one_of(st.just(0.0), st.just(1.0), st.floats(0, 1))
GAMMA_LAMBDA = {"discount": 0.9, "lam": 0.8}


def flat(rows: list[Row]) -> tuple[Tensor, Tensor, list[int]]:
    """Return rewards [N], values [N] and lengths as the functions take them."""
    pairs = torch.tensor([pair for row in rows for pair in row], dtype=torch.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1], [len(row) for row in rows]


def brute_force(rows: list[Row], discount: float, lams: list[float]) -> list[float]:
    """Equation 16 of arXiv 1506.02438 as it is written: for each token the sum of all later one-step errors."""
    advantages = []
    for row, lam in zip(rows, lams, strict=True):
        for start in range(len(row)):
            total = 0.0
            for step in range(start, len(row)):
                reward, value = row[step]
                after = row[step + 1][1] if step + 1 < len(row) else 0.0
                total += (discount * lam) ** (step - start) * (reward + discount * after - value)
            advantages.append(total)
    return advantages


def test_golden_values():
    """By hand: errors -0.05, 0.4 and 1.0 - 0.75 = 0.25, each worth 0.72 of the next one's weight."""
    got = gae(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0.5, 0.5, 0.75]), [3], discount=0.9, lam=0.8)

    errors = [0.9 * 0.5 - 0.5, 0.9 * 0.75 - 0.5, 0.25]
    last, middle = errors[2], errors[1] + 0.72 * errors[2]
    assert got.tolist() == pytest.approx([errors[0] + 0.72 * middle, middle, last], abs=1e-15)
    assert got.tolist() == pytest.approx([0.2056, 0.355, 0.25], abs=1e-12)
    assert got.dtype == torch.float64


@given(rows=ROWS, discount=SHARE, data=st.data())
def test_equals_the_double_loop_for_ragged_rows_each_with_its_lambda(rows, discount, data):
    lams = data.draw(st.lists(SHARE, min_size=len(rows), max_size=len(rows)))
    rewards, values, lengths = flat(rows)
    lam = torch.tensor(lams, dtype=torch.float64)

    got = gae(rewards, values, lengths, discount=discount, lam=lam)
    targets = returns(rewards, values, lengths, discount=discount, lam=lam)

    expected = brute_force(rows, discount, lams)
    assert got.tolist() == pytest.approx(expected, abs=1e-11)
    assert targets.tolist() == pytest.approx([a + v for a, v in zip(expected, values.tolist(), strict=True)], abs=1e-11)


@given(rows=ROWS, discount=SHARE)
def test_lambda_1_is_the_discounted_return_minus_the_value(rows, discount):
    rewards, values, lengths = flat(rows)
    expected = []
    for row in rows:
        backwards = accumulate((reward for reward, _ in reversed(row)), lambda later, reward: reward + discount * later)
        expected += reversed(list(backwards))

    got = returns(rewards, values, lengths, discount=discount, lam=1.0)

    assert got.tolist() == expected  # to the bit: no value enters
    assert torch.equal(gae(rewards, values, lengths, discount=discount, lam=1.0), got - values)


@given(rows=ROWS, discount=SHARE)
def test_lambda_0_is_the_error_of_one_step(rows, discount):
    rewards, values, lengths = flat(rows)
    after = [row[place + 1][1] if place + 1 < len(row) else 0.0 for row in rows for place in range(len(row))]

    got = gae(rewards, values, lengths, discount=discount, lam=0.0)

    expected = rewards + discount * torch.tensor(after, dtype=torch.float64) - values
    torch.testing.assert_close(got, expected, atol=1e-15, rtol=0)


def test_without_discount_every_token_of_a_row_gets_the_row_s_reward_exactly():
    lengths = [1, 4000, 0, 37]
    rewards = torch.zeros(sum(lengths))
    rewards[[0, 4000, 4037]] = torch.tensor([0.1, 0.1, 0.7])
    values = torch.randn(sum(lengths), generator=torch.Generator().manual_seed(0))

    got = returns(rewards, values, lengths, discount=1.0, lam=1.0)

    expected = torch.tensor([0.1] * 4001 + [0.7] * 37).double()
    assert torch.equal(got, expected)
    assert torch.equal(gae(rewards, torch.zeros_like(values), lengths, discount=1.0, lam=1.0), expected)


@given(rows=ROWS, data=st.data())
def test_rows_neither_mix_nor_depend_on_their_place(rows, data):
    order = data.draw(st.permutations(range(len(rows))))
    rewards, values, lengths = flat(rows)
    moved_rewards, moved_values, moved_lengths = flat([rows[row] for row in order])

    parts = gae(rewards, values, lengths, **GAMMA_LAMBDA).split(lengths) if rows else ()
    moved = gae(moved_rewards, moved_values, moved_lengths, **GAMMA_LAMBDA)

    expected = [number for row in order for number in parts[row].tolist()]
    assert moved.tolist() == expected  # the same bits


def test_lengths_may_be_a_tensor_and_no_gradient_comes_back():
    values = torch.ones(3, requires_grad=True)

    got = gae(torch.ones(3), values, torch.tensor([2, 1]), **GAMMA_LAMBDA)

    assert torch.equal(got, gae(torch.ones(3), values, [2, 1], **GAMMA_LAMBDA))
    assert not got.requires_grad


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengths": [2, 2]}, "got 3 rewards, 3 values and lengths that add up to 4"),
        ({"values": torch.zeros(2)}, "got 3 rewards, 2 values"),
        ({"rewards": torch.zeros(3, 1)}, r"shape \[N\]; got shape \[3, 1\]"),
        ({"lengths": [4, -1]}, "lengths must not be negative; got -1"),
        ({"lengths": [1.5, 1.5]}, "lengths must be whole numbers, one per row"),
        ({"lengths": torch.tensor([[3]])}, "lengths must be whole numbers, one per row"),
        ({"discount": 1.01}, "discount is 1.01, must be from 0 to 1"),
        ({"discount": math.nan}, "discount is nan"),
        ({"lam": -0.1}, "lam must be from 0 to 1; got -0.1"),
        ({"lam": torch.tensor([0.5, math.nan])}, "lam must be from 0 to 1"),
        ({"lam": torch.tensor([0.5])}, r"one per row, \[2\]; got shape \[1\]"),
        ({"rewards": torch.tensor([0.0, 0.0, math.nan])}, "a reward or value of row 1 is not finite"),
        ({"values": torch.tensor([math.inf, 0.0, math.nan])}, "a reward or value of row 0, 1 is not finite"),
    ],
)
def test_refuses_what_does_not_fit(change, message):
    given: dict[str, Any] = {"rewards": torch.zeros(3), "values": torch.zeros(3), "lengths": [2, 1], **GAMMA_LAMBDA}

    with pytest.raises(ValueError, match=message):
        gae(**{**given, **change})


def test_length_adaptive_lambda_golden_values():
    """With VAPO's alpha 0.05: nothing up to 20 tokens, 0.8 at 100, 0.98 at 1000; the weights add up to alpha * l."""
    got = length_adaptive_lambda([0, 1, 20, 25, 100, 1000], 0.05)

    assert got.tolist() == pytest.approx([0.0, 0.0, 0.0, 0.2, 0.8, 0.98], abs=1e-12)
    assert 1 / (1 - float(got[4])) == pytest.approx(0.05 * 100)


@given(lengths=st.lists(st.integers(0, 10_000)), alpha=st.floats(1e-6, 1e6))
def test_length_adaptive_lambda_is_a_lambda_and_rises_with_the_length(lengths, alpha):
    got = length_adaptive_lambda(sorted(lengths), alpha)

    assert bool(((got >= 0) & (got <= 1)).all())
    assert got.tolist() == sorted(got.tolist())


def test_length_adaptive_lambda_serves_each_row_its_own():
    rewards, values, lengths = torch.ones(50), torch.linspace(0, 1, 50), [10, 40]
    lam = length_adaptive_lambda(lengths, 0.05)

    got = gae(rewards, values, lengths, discount=1.0, lam=lam)

    assert torch.equal(got[:10], gae(rewards[:10], values[:10], [10], discount=1.0, lam=0.0))
    assert torch.equal(got[10:], gae(rewards[10:], values[10:], [40], discount=1.0, lam=float(lam[1])))


@pytest.mark.parametrize("alpha", [0.0, -0.05, math.inf, math.nan])
def test_length_adaptive_lambda_refuses_a_useless_alpha(alpha):
    with pytest.raises(ValueError, match="must be above 0 and finite"):
        length_adaptive_lambda([3], alpha)


def test_explained_variance_golden_values():
    targets = torch.tensor([0.0, 1.0, 2.0, 3.0])

    assert explained_variance(targets, targets) == 1.0
    assert explained_variance(targets + 7, targets) == 1.0
    assert explained_variance(torch.full((4,), 0.3), targets) == pytest.approx(0.0, abs=1e-7)
    assert explained_variance(-targets, targets) == pytest.approx(-3.0)
    assert explained_variance(targets / 2, targets) == pytest.approx(0.75)


def test_explained_variance_of_equal_targets_is_undefined():
    assert math.isnan(explained_variance(torch.randn(3), torch.full((3,), 0.1)))
    assert math.isnan(explained_variance(torch.zeros(0), torch.zeros(0)))
    assert math.isnan(explained_variance(torch.zeros(2), torch.tensor([0.0, 1e-200], dtype=torch.float64)))


@given(pairs=st.lists(st.tuples(NUMBER, NUMBER), min_size=2), data=st.data())
def test_explained_variance_does_not_depend_on_the_order(pairs, data):
    moved = data.draw(st.permutations(pairs))

    def of(given: list[tuple[float, float]]) -> str:
        numbers = torch.tensor(given, dtype=torch.float64)
        return repr(explained_variance(numbers[:, 0], numbers[:, 1]))

    assert of(moved) == of(pairs)  # the same bits; NaN too


def test_explained_variance_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="got 2 values and 3 targets"):
        explained_variance(torch.zeros(2), torch.zeros(3))
    with pytest.raises(ValueError, match="must be finite"):
        explained_variance(torch.tensor([0.0, math.nan]), torch.zeros(2))
