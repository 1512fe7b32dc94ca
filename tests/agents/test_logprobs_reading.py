"""What one pass reads beside log-probs: entropies and hidden states, against each row alone and in any cut."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.head import ENTROPY_ROWS, entropies_of
from grpo_agents.logprobs import LogProbs
from grpo_agents.packing import Group
from grpo_gym.errors import ModelError
from tests.agents.tiny_models import ARCHITECTURES, PACKABLE, fresh_model, ragged_groups, tiny_model

GROUPS = ragged_groups()
OWN = sum(group.own_length for group in GROUPS)
WEIGHTS = torch.linspace(-1, 1.5, OWN)


def layouts(architecture: str) -> list[Any]:
    return ["plain", *(["packed"] if architecture in PACKABLE else [])]


def rows_alone(model: Any, temperature: float) -> tuple[Tensor, Tensor]:
    """Return entropies [N] and hidden states [N, H] the plainest way: one row, no padding, all layers, all logits."""
    entropies, states = [], []
    for group in GROUPS:
        for tail, own in zip(group.tails, group.own, strict=True):
            with torch.no_grad():
                out = model(input_ids=torch.tensor([[*group.prompt, *tail]]), output_hidden_states=True)
            before = slice(len(group.prompt) - 1, -1)
            probabilities = (out.logits[0, before].double() / temperature).softmax(-1)
            entropies.append(torch.special.entr(probabilities).sum(-1)[torch.tensor(own)])
            states.append(out.hidden_states[-1][0, before][torch.tensor(own)])
    return torch.cat(entropies).float(), torch.cat(states)


@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_entropies_and_hidden_states_equal_each_row_alone(architecture, temperature):
    """Gemma 2 has its head not apart, so its hidden states come by another way."""
    model = tiny_model(architecture)
    entropies, states = rows_alone(model, temperature)

    for layout in layouts(architecture):
        got = LogProbs(model, 0, layout=layout).read(GROUPS, temperature, entropies=True, hidden=True)

        assert got.entropies is not None
        assert got.hidden is not None
        assert got.entropies.dtype == torch.float32
        torch.testing.assert_close(got.entropies.detach(), entropies, atol=1e-4, rtol=0)
        torch.testing.assert_close(got.hidden.detach(), states, atol=1e-4, rtol=0)


@pytest.mark.parametrize("architecture", ["llama", "gemma2"])
def test_what_else_is_read_does_not_change_a_bit_of_the_log_probs(architecture):
    logprobs = LogProbs(tiny_model(architecture), 0)
    alone = logprobs(GROUPS, 0.8)

    plain = logprobs.read(GROUPS, 0.8)
    full = logprobs.read(GROUPS, 0.8, entropies=True, hidden=True)

    assert torch.equal(plain.logprobs, alone)
    assert torch.equal(full.logprobs, alone)
    assert plain.entropies is None
    assert plain.hidden is None
    assert torch.equal(full.hidden, logprobs.hidden_states(GROUPS))  # type: ignore[arg-type]  # was asked for


def test_frozen_entropies_come_in_the_order_of_a_reading_and_without_gradient():
    logprobs = LogProbs(tiny_model("llama"), 0)
    whole = logprobs.read(GROUPS, 0.8, entropies=True).entropies

    frozen = logprobs.frozen_entropies(GROUPS, 0.8, token_budget=30)

    assert not frozen.requires_grad
    assert whole is not None
    torch.testing.assert_close(frozen, whole.detach(), atol=1e-5, rtol=0)
    assert logprobs.frozen_entropies([]).shape == (0,)


def test_hidden_states_need_no_output_head():
    model = fresh_model("llama")
    calls = []
    logprobs = LogProbs(model, 0)
    assert logprobs.packed
    assert logprobs.traits.head_apart
    logprobs.traits.head.register_forward_hook(lambda module, args, out: calls.append(out))

    logprobs.hidden_states(GROUPS)

    assert not calls


def gradient(model: Any, loss: Tensor) -> Tensor:
    parts = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return torch.cat([part.flatten() for part in parts if part is not None])


@pytest.mark.parametrize("architecture", PACKABLE)
def test_packed_and_plain_have_one_gradient_through_entropies_and_hidden_states(architecture):
    model = tiny_model(architecture)
    gradients = []
    for layout in layouts(architecture):
        reading = LogProbs(model, 0, layout=layout).read(GROUPS, 0.8, entropies=True, hidden=True)
        assert reading.entropies is not None
        assert reading.hidden is not None
        loss = (reading.entropies * WEIGHTS).sum() + (reading.hidden.square().sum(-1) * WEIGHTS).sum()
        gradients.append(gradient(model, loss))

    plain, packed = gradients
    assert float((packed - plain).norm() / plain.norm()) < 1e-5


def test_the_cut_into_microbatches_does_not_change_the_entropies_gradient():
    model = tiny_model("llama")
    logprobs = LogProbs(model, 0)

    def graded(groups: Any, weights: Tensor) -> Tensor:
        entropies = logprobs.read(groups, 0.8, entropies=True).entropies
        assert entropies is not None
        return gradient(model, (entropies * weights).sum())

    whole = graded(GROUPS, WEIGHTS)
    parts = logprobs.microbatches(GROUPS, 30)

    assert len(parts) > 1
    pieces = torch.stack([graded(part.groups, WEIGHTS[part.tokens]) for part in parts]).sum(0)
    assert float((pieces - whole).norm() / whole.norm()) < 1e-5


@given(logits=st.lists(st.floats(-30, 30), min_size=2, max_size=9))
def test_an_entropy_and_its_gradient_equal_the_hand_derived_ones(logits):
    """The derivative by logit j is -p_j (log p_j + H)."""
    row = torch.tensor([logits], dtype=torch.float64, requires_grad=True)
    largest = max(logits)
    total = math.fsum(math.exp(x - largest) for x in logits)
    logp = [x - largest - math.log(total) for x in logits]
    entropy = -math.fsum(math.exp(x) * x for x in logp)

    got = entropies_of(row)
    (slope,) = torch.autograd.grad(got.sum(), row)

    assert got.item() == pytest.approx(entropy, abs=1e-12)
    assert slope[0].tolist() == pytest.approx([-math.exp(x) * (x + entropy) for x in logp], abs=1e-12)
    assert -1e-12 <= got.item() <= math.log(len(logits)) + 1e-12


def test_entropies_of_known_distributions():
    """Even ones have log V, certain ones 0; a token that cannot be drawn counts nothing and harms no gradient."""
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [0.0, -torch.inf, 0.0, -torch.inf], [0.0, *[-torch.inf] * 3]])
    logits.requires_grad_()

    got = entropies_of(logits)
    (slope,) = torch.autograd.grad(got.sum(), logits)

    assert got.tolist() == pytest.approx([math.log(4), math.log(2), 0.0], abs=1e-6)
    assert bool(slope.isfinite().all())


def test_entropies_do_not_depend_on_how_many_rows_are_computed_at_once():
    logits = torch.randn(2 * ENTROPY_ROWS + 3, 11, generator=torch.Generator().manual_seed(0))

    got = entropies_of(logits)

    assert torch.equal(got, torch.cat([entropies_of(row[None]) for row in logits]))


def test_bfloat16_models_give_float32_entropies_and_their_own_hidden_states():
    logprobs = LogProbs(fresh_model("llama").to(torch.bfloat16), 0)

    got = logprobs.read(GROUPS, entropies=True, hidden=True)

    assert got.entropies is not None
    assert got.hidden is not None
    assert got.entropies.dtype == torch.float32
    assert got.hidden.dtype == torch.bfloat16
    torch.testing.assert_close(got.entropies.detach(), rows_alone(tiny_model("llama"), 1.0)[0], atol=0.2, rtol=0)


def test_a_model_without_hidden_states_says_what_to_do():
    model = fresh_model("gemma2")
    forward = model.forward

    def hiding(*args: Any, **kwargs: Any) -> Any:
        return SimpleNamespace(logits=forward(*args, **kwargs).logits)

    logprobs = LogProbs(model, 0, layout="plain")
    assert not logprobs.traits.head_apart
    model.forward = hiding

    with pytest.raises(ModelError, match=r"Gemma2ForCausalLM shows no hidden states.*take algo grpo"):
        logprobs.hidden_states([Group([3], [[4]], [[True]])])
    assert logprobs([Group([3], [[4]], [[True]])]).shape == (1,)  # nothing else needs them
