"""Training log-probs: both layouts against a row alone, their gradients, and any cut into microbatches."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from grpo_agents.logprobs import LogProbs
from grpo_agents.packing import Group
from grpo_agents.rollout import Completion, Trajectory
from tests.agents.tiny_models import (
    ARCHITECTURES,
    PACKABLE,
    VOCAB,
    alone,
    fresh_model,
    ragged_groups,
    row_by_row,
    tiny_model,
)

GROUPS = ragged_groups()
OWN = sum(group.own_length for group in GROUPS)


def gradient(model: Any, loss: Tensor) -> Tensor:
    """Return the whole gradient as one vector."""
    return torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(model.parameters()))])


def relative(ours: Tensor, theirs: Tensor) -> float:
    return float((ours - theirs).norm() / theirs.norm())


WEIGHTS = torch.linspace(-1, 1.5, OWN)  # unlike per-token factors, as advantages are


@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_both_layouts_equal_each_row_alone(architecture, temperature):
    model = tiny_model(architecture)
    expected = row_by_row(model, GROUPS, temperature)

    for layout in ["auto", "plain", *(["packed"] if architecture in PACKABLE else [])]:
        got = LogProbs(model, 0, layout=layout)(GROUPS, temperature)  # type: ignore[arg-type]  # a str
        assert got.dtype == torch.float32
        torch.testing.assert_close(got.detach(), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("architecture", PACKABLE)
def test_packed_and_plain_have_one_gradient(architecture):
    model = tiny_model(architecture)

    packed = gradient(model, (LogProbs(model, 0, layout="packed")(GROUPS) * WEIGHTS).sum())
    plain = gradient(model, (LogProbs(model, 0, layout="plain")(GROUPS) * WEIGHTS).sum())

    assert relative(packed, plain) < 1e-5


@pytest.mark.parametrize("budget", [1, 25, 40, 60, 10_000])
@pytest.mark.parametrize("architecture", ["llama", "mistral"])
def test_the_cut_into_microbatches_does_not_change_the_gradient(architecture, budget):
    model = tiny_model(architecture)
    logprobs = LogProbs(model, 0)
    whole = gradient(model, (logprobs(GROUPS, 0.8) * WEIGHTS).sum())

    parts = logprobs.microbatches(GROUPS, budget)
    pieces = [gradient(model, (logprobs(part.groups, 0.8) * WEIGHTS[part.tokens]).sum()) for part in parts]

    assert len(parts) == 1 if budget == 10_000 else len(parts) > 1
    assert relative(torch.stack(pieces).sum(0), whole) < 1e-5


def test_frozen_logprobs_come_in_the_order_of_a_call_and_without_gradient():
    logprobs = LogProbs(tiny_model("llama"), 0)

    frozen = logprobs.frozen(GROUPS, 0.8, token_budget=30)

    assert not frozen.requires_grad
    torch.testing.assert_close(frozen, logprobs(GROUPS, 0.8).detach(), atol=1e-5, rtol=0)
    assert logprobs.frozen([]).shape == (0,)


def test_the_environments_tokens_carry_no_loss_but_are_read():
    """Own tokens behind a message keep the log-prob they have in the full row, and the message has none."""
    model = tiny_model("llama")
    trajectory = Trajectory(prompt=[7, 8, 9])
    trajectory.add_turn(Completion([20, 21], [0.0, 0.0], True))
    trajectory.add_message([30, 31, 32])
    trajectory.add_turn(Completion([40], [0.0], True))

    got = LogProbs(model, 0)([Group.of([trajectory])]).detach()

    everything = alone(model, trajectory.prompt, trajectory.tail)
    assert got.shape == (3,)
    torch.testing.assert_close(got, everything[[0, 1, 5]], atol=1e-5, rtol=0)


def test_only_own_tokens_are_projected():
    model = fresh_model("llama")
    rows = []
    logprobs = LogProbs(model, 0)
    assert logprobs.packed
    assert logprobs.traits.head_apart
    logprobs.traits.head.register_forward_hook(lambda module, args, out: rows.append(tuple(out.shape)))

    logprobs(GROUPS)

    assert rows == [(OWN, VOCAB)]


def test_eager_attention_takes_the_block_mask_too():
    model = fresh_model("llama", attn_implementation="eager")

    logprobs = LogProbs(model, 0)

    assert logprobs.packed
    torch.testing.assert_close(logprobs(GROUPS).detach(), row_by_row(model, GROUPS), atol=1e-4, rtol=0)


def test_bfloat16_models_give_float32_logprobs_and_gradients():
    model = fresh_model("llama").to(torch.bfloat16)
    logprobs = LogProbs(model, 0, layout="packed")

    got = logprobs(GROUPS)

    assert got.dtype == torch.float32
    torch.testing.assert_close(got.detach(), row_by_row(model, GROUPS), atol=0.3, rtol=0)
    assert bool(gradient(model, got.sum()).isfinite().all())
