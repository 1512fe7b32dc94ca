"""Both critics: where values are read, that they begin at 0, whom they move, and what a checkpoint brings back."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from grpo_agents.critic import Critic, SeparateCritic, SharedCritic, make_critic
from grpo_agents.gae import gae, returns
from grpo_agents.logprobs import LogProbs, Reading
from grpo_agents.policy import Policy
from grpo_agents.value_loss import value_loss
from tests.agents.tiny_models import ARCHITECTURES, BYTE_VOCAB, PACKABLE, byte_tokenizer, fresh_model, ragged_groups

GROUPS = ragged_groups()
LENGTHS = [sum(own) for group in GROUPS for own in group.own]
OWN = sum(LENGTHS)
KINDS: list[Any] = ["shared", "separate"]
WIDTH = 32


def make_policy(architecture: str = "llama", dtype: torch.dtype = torch.float32, **changes: Any) -> Policy:
    return Policy(fresh_model(architecture, BYTE_VOCAB, **changes).to(dtype), byte_tokenizer())


def read(critic: Critic, policy: Policy, groups: Any = GROUPS) -> Tensor:
    """Return the values as a trainer gets them."""
    reading = policy.logprobs.read(groups, 0.8, hidden=critic.needs_hidden)
    return critic.values(groups, reading, 0.8)


def randomise(critic: Any) -> tuple[Tensor, float]:
    """Give the head weights that show where it reads, and return them."""
    weight = torch.randn(WIDTH, generator=torch.Generator().manual_seed(4)) / WIDTH
    with torch.no_grad():
        critic.head.weight[0] = weight
        critic.head.bias.fill_(0.25)
    return weight, 0.25


def row_by_row(model: Any, weight: Tensor, bias: float) -> Tensor:
    """Return the values [N] the plainest way: one row, no padding, the state before each own token."""
    values = []
    for group in GROUPS:
        for tail, own in zip(group.tails, group.own, strict=True):
            states = model(input_ids=torch.tensor([[*group.prompt, *tail]]), output_hidden_states=True).hidden_states
            before = states[-1][0, len(group.prompt) - 1 : -1].float()
            values.append((before @ weight + bias)[torch.tensor(own)])
    return torch.cat(values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_values_equal_a_plain_forward_in_every_layout(architecture, kind):
    policy = make_policy(architecture)
    layouts: list[Any] = ["plain", *(["packed"] if architecture in PACKABLE else [])]
    for layout in layouts:
        policy.logprobs = LogProbs(policy.model, policy.pad_id, layout=layout)
        critic = make_critic(kind, policy)
        expected = row_by_row(policy.model, *randomise(critic)).detach()

        torch.testing.assert_close(read(critic, policy).detach(), expected, atol=1e-5, rtol=0)
        torch.testing.assert_close(critic.frozen(GROUPS, 0.8, token_budget=30), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_values_begin_at_exactly_0_so_that_the_first_advantages_are_the_returns(kind, dtype):
    policy = make_policy(dtype=dtype)
    critic = make_critic(kind, policy)
    rewards = torch.zeros(OWN)
    rewards[torch.tensor(LENGTHS).cumsum(0) - 1] = torch.linspace(0, 1, len(LENGTHS))

    values = critic.frozen(GROUPS, 0.8)
    advantages = gae(rewards, values, LENGTHS, discount=1.0, lam=1.0)

    assert values.dtype == torch.float32
    assert torch.equal(values, torch.zeros(OWN))
    assert torch.equal(read(critic, policy).detach(), torch.zeros(OWN))
    row_rewards = [torch.full((n,), float(r)) for n, r in zip(LENGTHS, torch.linspace(0, 1, len(LENGTHS)), strict=True)]
    assert torch.equal(advantages, torch.cat(row_rewards).double())
    assert torch.equal(advantages, returns(rewards, values, LENGTHS, discount=1.0, lam=1.0))


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_values_carry_no_gradient_and_take_no_groups_at_all(kind):
    critic = make_critic(kind, make_policy())
    randomise(critic)

    assert not critic.frozen(GROUPS).requires_grad
    assert critic.frozen([]).shape == (0,)


def graded(critic: Critic, policy: Policy) -> set[str]:
    """Return whose gradient is not 0 after a value loss: policy, head, trunk."""
    value_loss(read(critic, policy), torch.zeros(OWN), torch.ones(OWN), torch.ones(OWN), clip=0.0).loss.backward()
    named: Any = critic  # both are modules
    moved = {"head" if name.startswith("head") else "trunk" for name, p in named.named_parameters() if _moves(p)}
    return moved | ({"policy"} if any(map(_moves, policy.model.parameters())) else set())


def _moves(parameter: Tensor) -> bool:
    return parameter.grad is not None and bool((parameter.grad != 0).any())


@pytest.mark.parametrize(("kind", "whom"), [("shared", {"head", "policy"}), ("separate", {"head", "trunk"})])
def test_the_value_loss_moves_the_head_at_first_and_then_the_trunk_it_reads(kind, whom):
    policy = make_policy()
    critic = make_critic(kind, policy)

    assert graded(critic, policy) == {"head"}  # no gradient passes a head of zeros
    randomise(critic)
    assert graded(critic, policy) == whom


@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
def test_gradients_of_values_are_those_of_a_plain_forward(architecture):
    policy = make_policy(architecture)
    shared, separate = SharedCritic(policy), SeparateCritic(policy)
    weight, bias = randomise(shared)
    randomise(separate)
    factors = torch.linspace(-1, 1, OWN)
    name = "model.layers.0.mlp.up_proj.weight" if architecture == "llama" else "transformer.h.0.mlp.c_fc.weight"
    model: Any = policy.model
    (ours,) = torch.autograd.grad((read(shared, policy) * factors).sum(), model.get_parameter(name))
    (own,) = torch.autograd.grad((read(separate, policy) * factors).sum(), separate.model.get_parameter(name))

    (expected,) = torch.autograd.grad((row_by_row(model, weight, bias) * factors).sum(), model.get_parameter(name))

    for got in (ours, own):
        assert float((got - expected).norm() / expected.norm()) < 1e-5


@pytest.mark.parametrize("architecture", ["llama", "gpt2", "gemma", "gemma2"])
def test_what_belongs_to_the_critic_is_counted_once_and_without_an_unused_output_head(architecture):
    """Llama's output head is its own and falls away; the others' is their embedding, which the trunk reads."""
    policy = make_policy(architecture)
    model: Any = policy.model
    tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
    trunk = sum(p.numel() for p in model.parameters()) - (0 if tied else model.get_output_embeddings().weight.numel())

    assert tied == (architecture != "llama")
    assert make_critic("shared", policy).parameter_count == WIDTH + 1
    assert make_critic("separate", policy).parameter_count == trunk + WIDTH + 1


def test_an_output_head_that_has_to_stay_takes_no_gradient():
    policy = make_policy("gemma2", tie_word_embeddings=False)
    critic = SeparateCritic(policy)
    model: Any = critic.model
    randomise(critic)

    assert graded(critic, policy) == {"head", "trunk"}
    assert not model.get_output_embeddings().weight.requires_grad
    assert model.get_input_embeddings().weight.requires_grad
    expected = sum(p.numel() for p in critic.parameters()) - model.get_output_embeddings().weight.numel()
    assert critic.parameter_count == expected


def test_a_separate_critic_keeps_what_the_policy_was_and_leaves_it_as_it_is():
    policy = make_policy()
    critic = make_critic("separate", policy)
    randomise(critic)
    logprobs, values = policy.logprobs(GROUPS).detach(), critic.frozen(GROUPS)

    train(critic, policy, 2)
    assert torch.equal(policy.logprobs(GROUPS).detach(), logprobs)
    assert not torch.equal(critic.frozen(GROUPS), values)

    trained = critic.frozen(GROUPS)
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.mul_(1.1)
    assert torch.equal(critic.frozen(GROUPS), trained)
    assert not torch.equal(policy.logprobs(GROUPS).detach(), logprobs)


def train(critic: Critic, policy: Policy, steps: int) -> list[float]:
    """Fit the critic alone to alternating targets; return the losses."""
    optimizer = torch.optim.AdamW([p for p in critic.parameters() if p.requires_grad], lr=1e-2)
    targets = torch.arange(OWN) % 2.0
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        terms = value_loss(read(critic, policy), targets, targets, torch.full((OWN,), 1 / OWN), clip=0.0)
        terms.loss.backward()
        optimizer.step()
        losses.append(terms.loss.item())
    return losses


@pytest.mark.parametrize(("kind", "dtype"), [(k, d) for k in KINDS for d in (torch.float32, torch.bfloat16)])
def test_a_critic_learns_and_its_head_is_float32_whatever_the_policy_is(kind, dtype):
    policy = make_policy(dtype=dtype)
    critic = make_critic(kind, policy)
    head: Any = critic

    losses = train(critic, policy, 30)

    assert losses[0] == pytest.approx(0.25, abs=0.01)
    assert losses[-1] < 0.8 * losses[0]
    assert {p.dtype for p in head.head.parameters()} == {torch.float32}
    assert read(critic, policy).dtype == torch.float32


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("architecture", ["llama", "gemma2"])
def test_a_checkpoint_brings_the_values_back_to_the_bit(architecture, kind, tmp_path):
    """Also into a critic that was made of another policy, as on resuming."""
    policy = make_policy(architecture)
    critic = make_critic(kind, policy)
    train(critic, policy, 3)
    torch.save(critic.state_dict(), tmp_path / "critic.pt")
    other = make_policy(architecture)
    with torch.no_grad():
        for parameter in other.model.parameters():
            parameter.add_(0.1)

    fresh = make_critic(kind, other)
    fresh.load_state_dict(torch.load(tmp_path / "critic.pt", weights_only=True))
    other.model.load_state_dict(policy.model.state_dict())

    assert bool((critic.frozen(GROUPS) != 0).all())
    assert torch.equal(fresh.frozen(GROUPS), critic.frozen(GROUPS))


def test_a_state_of_another_kind_is_refused():
    policy = make_policy()
    shared, separate = make_critic("shared", policy), make_critic("separate", policy)

    with pytest.raises(RuntimeError, match="Unexpected key"):
        shared.load_state_dict(separate.state_dict())
    with pytest.raises(RuntimeError, match="Missing key"):
        separate.load_state_dict(shared.state_dict())


@pytest.mark.parametrize("kind", KINDS)
def test_the_cut_into_microbatches_does_not_change_the_head_s_gradient(kind):
    policy = make_policy()
    critic: Any = make_critic(kind, policy)
    targets, weights = torch.linspace(0, 1, OWN), torch.full((OWN,), 1 / OWN, dtype=torch.float64)
    old = torch.zeros(OWN)

    def gradient(groups: Any, places: Tensor) -> Tensor:
        terms = value_loss(read(critic, policy, groups), old[places], targets[places], weights[places], clip=0.2)
        found: Tensor = torch.autograd.grad(terms.loss, critic.head.weight)[0]
        return found

    parts = policy.logprobs.microbatches(GROUPS, 30)
    pieces = torch.stack([gradient(part.groups, part.tokens) for part in parts]).sum(0)

    assert len(parts) > 1
    torch.testing.assert_close(pieces, gradient(GROUPS, torch.arange(OWN)), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_making_a_critic_draws_no_random_number(kind):
    policy = make_policy()
    before = torch.random.get_rng_state()

    make_critic(kind, policy)

    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_shared_critic_says_how_its_reading_has_to_be_made():
    policy = make_policy()

    with pytest.raises(ValueError, match=r"call logprobs.read\(..., hidden=critic.needs_hidden\)"):
        make_critic("shared", policy).values(GROUPS, Reading(torch.zeros(OWN)))


def test_an_unknown_kind_is_refused():
    wrong: Any = "both"

    with pytest.raises(ValueError, match="critic kind must be one of shared, separate; got 'both'"):
        make_critic(wrong, make_policy())


def test_a_broken_state_shows_in_the_value_and_is_not_hidden_by_the_zero_head():
    policy = make_policy()
    critic = make_critic("shared", policy)
    hidden = torch.full((1, WIDTH), math.inf)

    assert math.isnan(critic.values(GROUPS, Reading(torch.zeros(1), hidden=hidden)).item())
