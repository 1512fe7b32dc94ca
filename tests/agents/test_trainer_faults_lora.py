"""What users of other trainers suffered from, once more against this one: adapters that do not learn, lossy merges.

Numbers are the rows of the list in the design notes; every test has the number of its row.
"""

from __future__ import annotations

import pytest
import torch
from gymnasium.vector import AutoresetMode

from grpo_agents.config import Lora, Objective
from grpo_agents.config import Reference as Options
from grpo_agents.lora import without_adapter
from grpo_agents.policy import Policy
from grpo_agents.reference import AdapterOff, make_reference
from grpo_agents.rollout import Completion
from tests.agents.adapters import GROUPS, MODELS, adapted, learned, plain_policy, said, stirred
from tests.agents.foreign_envs import Word, vector
from tests.agents.lessons import batch, step
from tests.agents.runs import babbler, learn, short, weights


@pytest.mark.parametrize("name", MODELS)
def test_row_34_with_the_adapter_off_the_policy_is_its_reference_bit_for_bit(name):
    """However far the adapter is: not close to where the run began, but there."""
    policy = stirred(adapted(name), size=3.0)
    plain = plain_policy(name)
    start, on = said(plain), said(policy)
    reference = make_reference(policy, Options())
    with without_adapter(policy.model):
        off = said(policy)

    assert isinstance(reference, AdapterOff)
    assert torch.equal(off, start)
    assert torch.equal(reference.frozen(GROUPS, 1.0, 64), plain.logprobs.frozen(GROUPS, 1.0, 64))
    assert torch.equal(said(policy), on)
    assert not torch.allclose(on, start, atol=1.0)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_row_34_with_the_adapter_off_it_draws_what_the_start_draws(name):
    policy, start = stirred(adapted(name)), plain_policy(name)

    def drawn(of: Policy) -> list[Completion]:
        return of.sample([[5, 6, 7]], 3, max_tokens=8, generator=torch.Generator().manual_seed(0))

    with without_adapter(policy.model):
        assert drawn(policy) == drawn(start)
    assert drawn(policy) != drawn(start)


@pytest.mark.parametrize("algo", ["grpo", "ppo, shared", "ppo, separate"])
def test_row_34_the_reward_rises_with_an_adapter(algo):
    """From answers of which a quarter is letters to nearly all, by a rank of 2; the base rests."""
    policy = babbler().adapted(Lora(rank=2))
    before, start = weights(policy), learned(policy)
    name, _, kind = algo.partition(", ")
    critic = {"critic": {"kind": kind, "learning_rate": 3e-3}} if kind else {}
    sizes = {"steps": 15, "prompts": 4, "group_size": 16, "optimisation": {"learning_rate": 3e-2}}
    config = short(algo=name, lora=Lora(rank=2), **sizes, **critic)
    metrics = learn(policy, config, vector(Word, 64, AutoresetMode.NEXT_STEP))
    rewards = [m["reward"] for m in metrics]
    after = weights(policy)

    assert sum(rewards[-3:]) > sum(rewards[:3]) + 1.2
    assert not any(torch.equal(after[name], start[name]) for name in start)
    assert all(torch.equal(after[name], before[name]) for name in before if name not in start)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_row_34_sampler_and_trainer_agree_with_the_adapter_on(name):
    """The ratio is 1 at the first update, so the adapter learns from what it said itself."""
    policy = stirred(adapted(name))
    result = step(policy, batch(policy), objective=Objective(kl_coef=0.1), reference=make_reference(policy, Options()))

    assert result.terms is not None
    assert float(result.terms.policy.ratio_max) == pytest.approx(1.0, abs=1e-5)
    assert float(result.terms.policy.kl) > 0.01
    assert result.grad_norm > 0


@pytest.mark.parametrize("name", MODELS)
def test_row_34_folded_in_nothing_is_lost(name):
    """A row elsewhere: merged for the sampler, and what was learned had been rounded away."""
    policy = stirred(adapted(name), size=0.1)

    assert torch.allclose(said(policy.merged()), said(policy), atol=1e-4)


def test_row_34_a_bfloat16_policy_keeps_what_its_adapter_learned_below_its_rounding():
    """Steps of 1e-4 beside weights of 1: added into bfloat16 weights they would all be lost."""
    policy = stirred(adapted(dtype=torch.bfloat16), size=0.01)
    found = learned(policy)
    optimizer = torch.optim.SGD([p for p in policy.model.parameters() if p.requires_grad], lr=1e-4)
    for _ in range(3):
        for parameter in optimizer.param_groups[0]["params"]:
            parameter.grad = torch.full_like(parameter, 0.01)
        optimizer.step()

    for name, value in learned(policy).items():
        assert torch.allclose(value, found[name] - 3e-6, atol=1e-8), name
