"""Weights in half precision: moved as float32 copies, resumed bit for bit; float32 weights as PyTorch moves them."""

from __future__ import annotations

import copy
import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from grpo_agents.config import Optimisation, TrainConfig
from grpo_agents.grpo import GRPO
from grpo_agents.logprobs import LogProbs, Reading
from grpo_agents.optimizers import MASTERS, AdamW, make_optimizer, set_learning_rate
from grpo_agents.policy import Policy
from grpo_agents.run_folder import RunFolder
from grpo_agents.train import agent_class, load_policy
from grpo_gym.errors import CheckpointError
from tests.agents.lessons import batch, step
from tests.agents.runs import babbler, identical, learn, new_run, short, weights
from tests.agents.tiny_models import BYTE_VOCAB, byte_tokenizer, fresh_model

HALF = [torch.bfloat16, torch.float16]
BETAS = (0.9, 0.95)


def half(device: torch.device | None = None) -> Policy:
    """Return the babbler in half precision; as when it is loaded so, its table of angles stays float32."""
    model = fresh_model("llama", BYTE_VOCAB, max_position_embeddings=256)
    for parameter in model.parameters():
        parameter.data = parameter.to(torch.bfloat16)
    return Policy(model.to(device), byte_tokenizer())


def rewarded(**changes: Any) -> TrainConfig:
    """Return a short run whose groups have a spread of rewards."""
    reward = {"reward": lambda response, problem: len(response) % 3 / 2}
    return short(env="grpo/Math.Linear-v0", env_args=reward, **changes)


def slopes(step: int, shape: torch.Size) -> Tensor:
    generator = torch.Generator().manual_seed(step)
    return torch.randn(shape, generator=generator) + 0.5


@pytest.mark.parametrize("dtype", HALF)
def test_small_steps_are_not_rounded_away(dtype, device):
    """A rate of 1e-6 on weights near 0.5: a hundred steps of PyTorch's AdamW move none."""
    start = torch.linspace(0.4, 0.9, 200).to(device, dtype)
    lost, kept = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    exact = torch.nn.Parameter(start.float())
    sides = [
        (lost, torch.optim.AdamW([lost], lr=1e-6, betas=BETAS)),
        (kept, AdamW([kept], lr=1e-6, betas=BETAS)),
        (exact, torch.optim.AdamW([exact], lr=1e-6, betas=BETAS)),
    ]
    for number in range(100):
        for weight, optimizer in sides:
            weight.grad = slopes(number, weight.shape).to(device, weight.grad_dtype)
            optimizer.step()

    assert torch.equal(lost, start) or dtype == torch.float16  # whose moments underflow, and send some anywhere
    assert torch.equal(kept, exact.to(dtype))
    for number in range(4000):
        for weight, optimizer in sides[1:]:
            weight.grad = slopes(number, weight.shape).to(device)
            optimizer.step()
    assert not torch.equal(kept, start)
    assert torch.equal(kept, exact.to(dtype))


def test_float32_weights_move_as_by_pytorch_bit_for_bit():
    policies = [Policy(fresh_model("llama", BYTE_VOCAB), byte_tokenizer()) for _ in range(2)]
    config = short(optimisation={"weight_decay": 0.1})
    ours = make_optimizer(policies[0], config)
    options = {"lr": config.optimisation.learning_rate, "betas": BETAS, "weight_decay": 0.1}
    theirs = torch.optim.AdamW(policies[1].model.parameters(), **options)  # type: ignore[arg-type]
    for number in range(3):
        set_learning_rate(ours, number + 1, config)
        for policy, optimizer in zip(policies, (ours, theirs), strict=True):
            for parameter in policy.model.parameters():
                parameter.grad = slopes(number, parameter.shape)
            optimizer.step()
            optimizer.zero_grad()

    assert identical(weights(policies[0]), weights(policies[1]))
    assert ours.state_dict()[MASTERS] == []


def test_gradients_of_microbatches_add_up_in_float32():
    """A thousand times 1 and once 1000: in bfloat16 the sum stands still at 256."""
    weight = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    AdamW([weight], lr=1e-3)
    for _ in range(1000):
        weight.sum().backward()

    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32
    assert weight.grad.tolist() == [1000.0] * 3


def test_groups_that_are_added_later_have_copies_too_and_keep_their_rates():
    first, later, wide = (torch.nn.Parameter(torch.ones(4).to(t)) for t in (*HALF, torch.float32))
    optimizer = AdamW([first], lr=1e-3, betas=BETAS)
    optimizer.add_param_group({"params": [later, wide], "lr": 1e-2})
    for parameter in (first, later, wide):
        parameter.grad = torch.ones(4)
    torch.nn.utils.clip_grad_norm_([first, later, wide], 1e9)
    optimizer.step()

    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 2]
    assert optimizer.param_groups[1]["params"][0] is later
    assert float(1 - wide[0].detach()) == pytest.approx(0.01, rel=0.1)
    assert [value.dtype for value in optimizer.state_dict()[MASTERS]] == [torch.float32] * 2
    optimizer.zero_grad()
    assert first.grad is later.grad is wide.grad is None


def test_weights_without_a_gradient_rest():
    moved, resting = (torch.nn.Parameter(torch.ones(4, dtype=torch.bfloat16)) for _ in range(2))
    optimizer = AdamW([moved, resting], lr=0.1, weight_decay=0.5)
    moved.grad = torch.ones(4)
    optimizer.step()

    assert float(moved[0].detach()) < 1
    assert resting.tolist() == [1.0] * 4


def test_a_run_follows_its_float32_twin_to_rounding(device):
    """One update on the same batch, at a rate that bfloat16 would lose: each weight is its twin's, rounded."""
    policy, twin = half(device), half(device)
    twin.model.float()
    optimisation = {"learning_rate": 1e-5, "warmup_steps": 0}
    optimizers = [make_optimizer(side, short(optimisation=optimisation)) for side in (policy, twin)]
    before = weights(policy)
    rows = batch(policy)
    for side, optimizer in zip((policy, twin), optimizers, strict=True):
        assert step(side, copy.deepcopy(rows), optimizer=optimizer).skipped == ""

    masters = torch.cat([value.flatten() for value in optimizers[0].state_dict()[MASTERS]])
    exact = torch.cat([value.detach().flatten() for value in twin.model.parameters()])
    start = torch.cat([before[name].float().flatten() for name, _ in policy.model.named_parameters()])
    assert float((masters - start).abs().max()) == pytest.approx(1e-5, rel=1e-2)
    agreeing = torch.sign(masters - start) == torch.sign(exact - start)
    assert float(agreeing.float().mean()) > 0.9  # the first step is a sign, which rounding turns near 0
    rounded = torch.cat([value.detach().flatten() for value in policy.model.parameters()])
    assert torch.equal(rounded, masters.to(torch.bfloat16))


@pytest.mark.parametrize(("algo", "critic"), [("grpo", "shared"), ("ppo", "shared"), ("ppo", "separate")])
def test_a_bfloat16_run_resumes_bit_for_bit(algo, critic, tmp_path):
    whole = half()
    config = rewarded(algo=algo, steps=4, critic={"kind": critic}, optimisation={"learning_rate": 1e-5})
    learn(whole, config)
    first = half()
    folder = _folder(tmp_path / "run")
    agent_class(config)(first, config=dataclasses.replace(config, steps=2), folder=folder).learn()

    policy = Policy.load(folder.checkpoint(), dtype=torch.bfloat16)
    agent = agent_class(config)(policy, config=config, folder=folder)
    agent.resume()
    assert agent.step == 2
    agent.learn()

    assert not identical(weights(first), weights(whole))
    assert identical(weights(policy), weights(whole))


def _folder(path: Path) -> RunFolder:
    """Return a run folder; the reward is a function, which no YAML holds."""
    folder = new_run(path, short())
    assert folder is not None
    return folder


def test_a_checkpoint_holds_rounded_weights_and_float32_copies(tmp_path):
    config = rewarded(optimisation={"learning_rate": 1e-5})
    folder = _folder(tmp_path / "run")
    policy = half()
    GRPO(policy, config=config, folder=folder).learn()
    state = torch.load(folder.checkpoint() / "optimizer.pt", weights_only=True)

    assert Policy.load(folder.checkpoint(), dtype=torch.bfloat16).model.dtype == torch.bfloat16
    names = [name for name, _ in policy.model.named_parameters()]
    assert len(state[MASTERS]) == len(names)
    assert {value.dtype for value in state[MASTERS]} == {torch.float32}
    for name, master in zip(names, state[MASTERS], strict=True):
        assert torch.equal(master.to(torch.bfloat16), weights(policy)[name])
    assert {value.dtype for entry in state["state"].values() for value in entry.values()} == {torch.float32}
    assert any(not torch.equal(value.to(torch.bfloat16).float(), value) for value in state[MASTERS])


def test_a_state_of_other_weights_is_refused(tmp_path):
    config = rewarded()
    folder = _folder(tmp_path / "run")
    GRPO(half(), config=config, folder=folder).learn()
    wide = make_optimizer(babbler(), config)

    with pytest.raises(CheckpointError, match="float32 copies are not of the half-precision weights that are here"):
        folder.load_state(folder.checkpoint(), wide)


def test_a_refused_step_leaves_weights_and_copies_as_they_are():
    policy = half()
    optimizer = make_optimizer(policy, short())
    assert step(policy, batch(policy), optimizer=optimizer).skipped == ""
    before, state = weights(policy), copy.deepcopy(optimizer.state_dict())

    class Steep(LogProbs):
        def read(self, *args: Any, **kwargs: Any) -> Reading:
            reading = super().read(*args, **kwargs)
            if reading.logprobs.requires_grad:
                reading.logprobs.register_hook(lambda grad: grad * math.inf)
            return reading

    result = step(policy, batch(policy), optimizer=optimizer, logprobs=Steep(policy.model, policy.pad_id))

    assert result.refused
    assert "gradient norm nan is not finite" in result.skipped
    assert identical(weights(policy), before)
    after = optimizer.state_dict()
    assert all(torch.equal(mine, old) for mine, old in zip(after[MASTERS], state[MASTERS], strict=True))
    assert all(torch.equal(after["state"][k][n], v) for k, entry in state["state"].items() for n, v in entry.items())
    assert all(parameter.grad is None for parameter in policy.model.parameters())


def test_gradients_are_clipped_as_in_float32():
    policy = half()
    optimizer = make_optimizer(policy, short())
    result = step(policy, batch(policy), optimizer=optimizer, optimisation=Optimisation(max_grad_norm=1e-3))

    assert result.grad_norm > 1e-3
    assert result.skipped == ""


@pytest.mark.parametrize(("asked", "dtype"), [("auto", None), ("float32", torch.float32), ("bfloat16", torch.bfloat16)])
def test_the_config_names_the_type_of_the_weights(saved, asked, dtype):
    policy = load_policy(short(model=str(saved), dtype=asked, device="cpu"))

    assert policy.model.dtype == (dtype or torch.float32)
