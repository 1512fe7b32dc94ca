"""Whose gradient is it? Sums over everything that could be drawn are exact expectations.

Every line of the table in `grpo_agents.kl` is one claim here: eight tokens for the estimators by token, three tokens
over two positions for whole completions, whose second token depends on the first.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from grpo_agents.config import Objective
from grpo_agents.kl import k1, k2, k3, kl_in_loss, with_ratio
from grpo_agents.losses import importance_ratio, policy_loss
from tests.agents.loss_oracle import float64

LOGITS = float64([0.3, -1.2, 0.8, 2.0, -0.5, 0.1, 0.9, -2.0])
REFERENCE = float64([1.0, 0.1, -0.7, 0.6, 0.2, -0.3, 0.4, 1.2]).log_softmax(0)
OLD = float64([-0.4, 0.9, 0.5, 1.1, 0.0, 0.7, -1.0, 0.3]).log_softmax(0)
ALL = torch.ones(8, dtype=torch.bool)
ON_OFF = pytest.mark.parametrize("on_policy", [True, False], ids=["on-policy", "off-policy"])


def gradient(value: Tensor, logits: Tensor) -> Tensor:
    return torch.autograd.grad(value, logits, retain_graph=True)[0]


def divergence(p: Tensor, q: Tensor) -> Tensor:
    return (p.exp() * (p - q)).sum()


@pytest.fixture
def logits() -> Tensor:
    return LOGITS.clone().requires_grad_()


def expected(estimate: Tensor, drawn_from: Tensor) -> Tensor:
    return (drawn_from.detach().exp() * estimate).sum()


def assert_gradient(value: Tensor, of: Tensor, logits: Tensor) -> None:
    torch.testing.assert_close(gradient(value, logits), gradient(of, logits), rtol=0, atol=1e-12)


def assert_other_gradient(value: Tensor, of: Tensor, logits: Tensor) -> None:
    wanted = gradient(of, logits)
    assert (gradient(value, logits) - wanted).norm() > 0.1 * wanted.norm()


@ON_OFF
def test_k1_off_the_reward_has_the_gradient_of_the_kl(logits, on_policy):
    policy = logits.log_softmax(0)
    old = policy.detach() if on_policy else OLD
    penalty = -k1(policy, REFERENCE, ALL)

    # The policy term of an unclipped ratio, weighted by how often the old policy draws each token.
    terms = policy_loss(policy, old, penalty, old.exp(), objective=Objective(clip_low=1.0, clip_high=1e9), keep=ALL)

    assert_gradient(terms.loss, divergence(policy, REFERENCE), logits)


def test_k1_in_a_loss_would_pull_nowhere(logits):
    policy = logits.log_softmax(0)

    assert gradient(expected(policy - REFERENCE, policy), logits).abs().max() < 1e-15


def test_k2_has_the_gradient_of_the_kl_on_policy_only(logits):
    policy = logits.log_softmax(0)
    estimate = k2(policy, REFERENCE, ALL)

    assert_gradient(expected(estimate, policy), divergence(policy, REFERENCE), logits)
    assert_other_gradient(expected(estimate, OLD), divergence(policy, REFERENCE), logits)
    assert_other_gradient(expected(estimate, OLD), divergence(REFERENCE, policy), logits)


def test_k3_has_the_value_of_the_kl_but_the_gradient_of_the_reversed_one_on_policy_only(logits):
    policy = logits.log_softmax(0)
    estimate = k3(policy, REFERENCE, ALL)
    value = expected(estimate, policy)

    torch.testing.assert_close(value, divergence(policy, REFERENCE), rtol=0, atol=1e-12)
    assert_gradient(value, divergence(REFERENCE, policy), logits)
    assert_other_gradient(value, divergence(policy, REFERENCE), logits)
    assert_other_gradient(expected(estimate, OLD), divergence(policy, REFERENCE), logits)
    assert_other_gradient(expected(estimate, OLD), divergence(REFERENCE, policy), logits)


@ON_OFF
@pytest.mark.parametrize("name", ["k2", "k3"])
def test_with_a_ratio_both_have_the_gradient_of_the_kl_on_and_off_policy(logits, name, on_policy):
    policy = logits.log_softmax(0)
    old = policy.detach() if on_policy else OLD
    ratio = importance_ratio(policy, old, old.exp(), Objective())
    value = expected(kl_in_loss(name, policy, REFERENCE, ALL, ratio), old)

    assert_gradient(value, divergence(policy, REFERENCE), logits)
    if name == "k3":
        torch.testing.assert_close(value, divergence(policy, REFERENCE), rtol=0, atol=1e-12)


@ON_OFF
def test_k2_with_a_ratio_that_takes_gradient_belongs_to_no_kl(logits, on_policy):
    policy = logits.log_softmax(0)
    old = policy.detach() if on_policy else OLD
    value = expected(with_ratio(k2(policy, REFERENCE, ALL), (policy - old).exp()), old)

    assert_gradient(value, (policy.exp() * (policy - REFERENCE).square()).sum() / 2, logits)
    assert_other_gradient(value, divergence(policy, REFERENCE), logits)
    assert_other_gradient(value, divergence(REFERENCE, policy), logits)


# --- whole completions -----------------------------------------------------------------------------------------------

PATHS = list(itertools.product(range(3), range(3)))


def tables(seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(3, generator=generator).double(), torch.randn(3, 3, generator=generator).double()


def paths(first: Tensor, second: Tensor) -> Tensor:
    """Log-probs [9, 2] of both tokens of every completion."""
    one, two = first.log_softmax(0), second.log_softmax(1)
    return torch.stack([torch.stack([one[a], two[a, b]]) for a, b in PATHS])


@ON_OFF
@pytest.mark.parametrize(("ratio", "exact"), [("product", True), ("sequence", False), ("token", False)])
@pytest.mark.parametrize("name", ["k2", "k3"])
def test_only_the_product_follows_the_kl_of_whole_completions(name, ratio, exact, on_policy):
    first, second = (table.requires_grad_() for table in tables(0))
    new, ref = paths(first, second), paths(*tables(1))
    old = new.detach() if on_policy else paths(*tables(2))
    likely = old.sum(dim=1, keepdim=True).exp()
    kl = divergence(new.sum(dim=1), ref.sum(dim=1))

    level = importance_ratio(new, old, likely.expand_as(new), Objective(ratio=ratio))
    value = (likely * kl_in_loss(name, new, ref, torch.ones_like(new, dtype=torch.bool), level)).sum()
    got, wanted = (
        torch.cat([g.flatten() for g in torch.autograd.grad(v, (first, second), retain_graph=True)])
        for v in (value, kl)
    )

    if exact and name == "k3":
        torch.testing.assert_close(value, kl, rtol=0, atol=1e-12)
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)
    else:
        assert (got - wanted).norm() > 0.01 * wanted.norm()


@ON_OFF
def test_k1_off_the_reward_of_whole_completions_has_the_gradient_of_their_kl(on_policy):
    first, second = (table.requires_grad_() for table in tables(0))
    new, ref = paths(first, second), paths(*tables(1))
    old = new.detach() if on_policy else paths(*tables(2))
    everywhere = torch.ones_like(new, dtype=torch.bool)
    penalty = -k1(new, ref, everywhere).sum(dim=1, keepdim=True)
    weights = old.sum(dim=1, keepdim=True).exp().expand_as(new) / 2  # the completion's weight, over its two tokens

    objective = Objective(loss="grpo", ratio="product", clip_low=1.0, clip_high=1e9)
    terms = policy_loss(new, old, penalty.expand_as(new), weights, objective=objective)
    got, wanted = (
        torch.cat([g.flatten() for g in torch.autograd.grad(v, (first, second), retain_graph=True)])
        for v in (terms.loss, divergence(new.sum(dim=1), ref.sum(dim=1)))
    )

    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)


# --- what it does to a policy ----------------------------------------------------------------------------------------


def kl_after(estimator: str, kl_coef: float, corrected: bool = False, steps: int = 60) -> float:
    """KL to the reference after steps of plain gradient descent, all eight tokens drawn as often as is likely."""
    logits = REFERENCE.clone()
    rewards = float64([1.0, -0.5, 0.3, 0.0, -1.0, 0.2, 0.8, -0.4])
    for _ in range(steps):
        logits.requires_grad_()
        policy = logits.log_softmax(0)
        old = policy.detach()
        kl: Any = None
        reward = rewards
        if estimator == "k1":
            reward = rewards - kl_coef * k1(policy, REFERENCE, ALL)
        else:
            ratio = importance_ratio(policy, old, old.exp(), Objective()) if corrected else None
            kl = kl_in_loss(estimator, policy, REFERENCE, ALL, ratio)
        advantages = reward - (old.exp() * reward).sum()
        terms = policy_loss(
            policy,
            old,
            advantages,
            old.exp(),
            objective=Objective(),
            kl=kl,
            kl_coef=0.0 if kl is None else kl_coef,
        )
        logits = (logits - gradient(terms.loss, logits)).detach()
    return float(divergence(logits.log_softmax(0), REFERENCE))


@pytest.mark.parametrize(
    ("estimator", "corrected"), [("k1", False), ("k2", False), ("k2", True), ("k3", False), ("k3", True)]
)
def test_a_higher_coefficient_keeps_the_policy_closer_to_the_reference(estimator, corrected):
    distances = [kl_after(estimator, coef, corrected) for coef in (0.0, 0.1, 0.5, 1.0)]

    assert distances == sorted(distances, reverse=True)
    assert len(set(distances)) == 4
    assert distances[-1] < 0.3 * distances[0]
