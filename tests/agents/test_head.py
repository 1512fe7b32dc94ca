"""The head in chunks against the head whole, by autograd and by finite differences, in every type, frozen or not."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from grpo_agents import head as heads
from grpo_agents.head import Projection, chunks, is_plain, read_head, read_logits, wide_head
from grpo_agents.logprobs import LogProbs
from grpo_agents.packing import Group
from grpo_agents.sampler import Sampler
from tests.agents.tiny_models import FURTHER, PACKABLE, fresh_model, ragged_groups, random_prompts

ROWS, WIDTH, VOCAB = 11, 6, 17


@pytest.fixture
def chunked(monkeypatch):
    """Nothing is small, and a chunk holds three rows of VOCAB."""
    monkeypatch.setattr(heads, "SMALL", 0)
    monkeypatch.setattr(heads, "CHUNK", 3 * VOCAB + 5)


def problem(dtype: torch.dtype = torch.float32, bias: bool = False) -> tuple[nn.Linear, Tensor, Tensor]:
    """Return a head, hidden states and targets."""
    generator = torch.Generator().manual_seed(0)
    head = nn.Linear(WIDTH, VOCAB, bias=bias)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    states = torch.randn(ROWS, WIDTH, generator=generator).to(dtype).requires_grad_()
    return head.to(dtype), states, torch.randint(VOCAB, (ROWS,), generator=generator)


def objective(logprobs: Tensor, entropies: Tensor | None) -> Tensor:
    """Return a loss in which every row and every entropy counts differently."""
    weights = torch.linspace(-1, 1.5, len(logprobs), dtype=logprobs.dtype)
    loss = (logprobs * weights).sum() + (logprobs.exp() * weights.flip(0)).sum()
    return loss if entropies is None else loss + (entropies * weights.square()).sum()


def slowly(head: Any, states: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Return log-probs and entropies the plainest way, in float64."""
    logits = states.double() @ head.weight.double().T + (0 if head.bias is None else head.bias.double())
    logp = (logits / temperature).log_softmax(-1)
    return logp.gather(1, targets[:, None])[:, 0], -(logp.exp() * logp).sum(-1)


@pytest.mark.parametrize("entropies", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_the_derivatives_are_those_of_finite_differences(chunked, bias, entropies):
    head, states, targets = problem(torch.float64, bias)

    def values(*inputs: Tensor) -> Any:
        project: Any = Projection.apply
        found = project(*inputs, *(() if bias else (None,)), targets, 0.7, entropies)
        return found if entropies else found[0]

    assert torch.autograd.gradcheck(values, (states, *head.parameters()))


@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("entropies", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_chunks_equal_the_whole_in_values_and_gradients(monkeypatch, bias, entropies, temperature):
    head, states, targets = problem(bias=bias)
    results = []
    for small in (10**9, 0):
        monkeypatch.setattr(heads, "SMALL", small)
        monkeypatch.setattr(heads, "CHUNK", 3 * VOCAB)
        found = read_head(head, states, targets, temperature, entropies=entropies)
        slopes = torch.autograd.grad(objective(*found), [states, *head.parameters()])
        results.append([*(value for value in found if value is not None), *slopes])

    assert len(results[0]) == 2 + entropies + 1 + bias
    for whole, cut in zip(*results, strict=True):
        assert cut.dtype == torch.float32
        assert float((cut - whole).norm().detach() / whole.norm().detach()) < 1e-6
    exact = slowly(head, states, targets, temperature)
    torch.testing.assert_close(results[1][0].double(), exact[0], atol=2e-6, rtol=0)


@pytest.mark.parametrize("architecture", ["llama", "qwen2.5", "phi", "gpt2", "mistral", "gemma3"])
def test_sampler_and_training_say_what_float32_makes_of_the_hidden_states(architecture, device):
    """Of a bfloat16 model, to 1e-5, at every token: its own bfloat16 product is what drove other trainers apart."""
    model = fresh_model(architecture).to(device, torch.bfloat16)
    sampler = Sampler(model, [2], 0)
    logprobs = LogProbs(model, 0, traits=sampler.traits)
    weight, bias = (getattr(model.get_output_embeddings(), name) for name in ("weight", "bias"))
    assert logprobs.packed == (architecture in PACKABLE + FURTHER)
    assert logprobs.traits.head_apart
    states: list[Tensor] = []
    hook = sampler.traits.backbone.register_forward_hook(lambda module, args, out: states.append(out[0].detach()))

    def exact(hidden: Tensor, ids: Tensor) -> Tensor:
        logits = hidden.double() @ weight.double().T + (0 if bias is None else bias.double())
        picked: Tensor = (logits / 0.7).log_softmax(-1).gather(-1, ids[:, None])[:, 0]
        return picked

    prompt = random_prompts([6])[0]
    (drawn,) = sampler([prompt], max_tokens=12, temperature=0.7, generator=torch.Generator().manual_seed(1))
    count, ids = len(drawn.ids), torch.tensor(drawn.ids, device=device)
    sampled = exact(torch.stack([step[0, -1] for step in states[-count:]]), ids)
    torch.testing.assert_close(torch.tensor(drawn.logprobs).double(), sampled.cpu(), atol=1e-5, rtol=0)
    hook.remove()

    reading = logprobs.read([Group(prompt, [drawn.ids], [[True] * count])], 0.7, hidden=True)
    assert reading.hidden is not None
    torch.testing.assert_close(reading.logprobs.double(), exact(reading.hidden, ids), atol=1e-5, rtol=0)
    own = model.get_output_embeddings()(reading.hidden).double() / 0.7
    rounded = own.log_softmax(-1).gather(-1, ids[:, None])[:, 0] - exact(reading.hidden, ids)
    assert float(rounded.detach().abs().max()) > 1e-3


@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("small", [10**9, 0])
def test_half_precision_heads_are_multiplied_in_float32(monkeypatch, small, dtype, temperature, device):
    """Against float64 on the same rounded numbers; the model's own product would be off by a hundred times more."""
    monkeypatch.setattr(heads, "SMALL", small)
    head, states, targets = problem(dtype, bias=True)
    head, targets, states = head.to(device), targets.to(device), states.detach().to(device).requires_grad_()
    exact, spread = slowly(head, states, targets, temperature)
    expected = torch.autograd.grad(objective(exact, spread), [states, *head.parameters()])

    logprobs, entropies = read_head(head, states, targets, temperature, entropies=True)
    slopes = torch.autograd.grad(objective(logprobs, entropies), [states, *head.parameters()])

    assert logprobs.dtype == torch.float32
    torch.testing.assert_close(logprobs.double(), exact, atol=1e-5, rtol=0)
    torch.testing.assert_close(wide_head(head)(states).double(), states.double() @ head.weight.double().T + head.bias)
    own = read_logits(head(states), targets, temperature)[0].detach()
    assert float((own.double() - exact.detach()).abs().max()) > 1e-3
    for slope, right in zip(slopes, expected, strict=True):
        assert slope.dtype == dtype
        torch.testing.assert_close(slope, right.to(dtype), atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("frozen", ["weight", "bias", "states"])
def test_what_is_frozen_gets_no_gradient_and_costs_none(chunked, frozen, monkeypatch):
    head, states, targets = problem(bias=True)
    parts = {"weight": head.weight, "bias": head.bias, "states": states}
    whole = dict(
        zip(parts, torch.autograd.grad(objective(*read_head(head, states, targets)), [*parts.values()]), strict=True)
    )
    parts[frozen].requires_grad_(False)

    objective(*read_head(head, states, targets)).backward()

    assert parts[frozen].grad is None
    for name in parts.keys() - {frozen}:
        assert torch.equal(whole[name], parts[name].grad)  # type: ignore[arg-type]  # was asked for
    made: list[tuple[int, ...]] = []
    monkeypatch.setattr(torch, "zeros_like", lambda like: made.append(tuple(like.shape)) or torch.zeros(like.shape))  # type: ignore[func-returns-value]
    objective(*read_head(head, states, targets)).backward()
    assert made == ([] if frozen == "weight" else [(VOCAB, WIDTH)])


class Wrapped(nn.Module):
    """A head with an adapter, as peft puts one on."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down, self.up = nn.Linear(WIDTH, 2, bias=False), nn.Linear(2, VOCAB, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        found: Tensor = self.base(states) + self.up(self.down(states))
        return found


def test_a_head_that_is_more_than_a_linear_map_is_called_chunk_by_chunk(monkeypatch):
    head = Wrapped(problem()[0])
    _, states, targets = problem()
    learns = [states, head.down.weight, head.up.weight]
    assert not is_plain(head)
    results, sizes = [], []
    head.register_forward_hook(lambda module, args, out: sizes.append(len(out)))
    for small in (10**9, 0):
        monkeypatch.setattr(heads, "SMALL", small)
        monkeypatch.setattr(heads, "CHUNK", 3 * VOCAB)
        sizes.clear()
        logprobs, entropies = read_head(head, states, targets, 0.7, entropies=True)
        results.append([logprobs, entropies, *torch.autograd.grad(objective(logprobs, entropies), learns)])

    assert max(sizes) == 3
    for whole, cut in zip(*results, strict=True):
        torch.testing.assert_close(cut, whole, atol=1e-5, rtol=1e-5)


def test_a_hooked_head_is_no_plain_one():
    plain, hooked, replaced = (nn.Linear(2, 3) for _ in range(3))
    hooked.register_forward_hook(lambda module, args, out: out)
    replaced.forward = plain.forward  # type: ignore[method-assign]

    assert is_plain(plain)
    assert not is_plain(hooked)
    assert not is_plain(replaced)


@pytest.mark.parametrize("small", [10**9, 0])
def test_a_token_that_cannot_be_drawn_spoils_neither_entropies_nor_gradients(monkeypatch, small):
    monkeypatch.setattr(heads, "SMALL", small)
    head, states, _ = problem(bias=True)
    with torch.no_grad():
        head.bias[[2, 5]] = -torch.inf
    targets = torch.zeros(ROWS, dtype=torch.int64)

    logprobs, entropies = read_head(head, states, targets, 0.7, entropies=True)
    assert entropies is not None
    slopes = torch.autograd.grad((1e6 * entropies + logprobs).sum(), [states, head.weight])

    assert bool(entropies.isfinite().all())
    assert all(bool(slope.isfinite().all()) for slope in slopes)


@given(rows=st.integers(0, 50), width=st.integers(1, 90), most=st.integers(1, 300))
def test_chunks_cover_each_row_once_and_hold_no_more_than_they_may(rows, width, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "CHUNK", most)
        spans = [*chunks(rows, width)]

    assert [row for span in spans for row in range(span.start, span.stop)] == [*range(rows)]
    assert all((span.stop - span.start) * width <= max(most, width) for span in spans)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("architecture", ["llama", "gpt2", "gemma"])
def test_a_models_gradient_is_the_same_through_chunks_also_with_tied_embeddings(monkeypatch, architecture, tied):
    model = fresh_model(architecture, tie_word_embeddings=tied)
    groups = ragged_groups()
    logprobs = LogProbs(model, 0)
    assert logprobs.traits.head_apart
    assert (model.get_input_embeddings().weight is model.get_output_embeddings().weight) == tied
    results = []
    for small in (10**9, 0):
        monkeypatch.setattr(heads, "SMALL", small)
        monkeypatch.setattr(heads, "CHUNK", 1000)
        reading = logprobs.read(groups, 0.8, entropies=True, hidden=True)
        assert reading.hidden is not None
        loss = objective(reading.logprobs, reading.entropies) + reading.hidden.square().mean()
        slopes = torch.autograd.grad(loss, list(model.parameters()))
        results.append(torch.cat([reading.logprobs.detach(), *(s.flatten() for s in slopes)]))

    whole, cut = results
    assert float((cut - whole).norm() / whole.norm()) < 1e-6
    assert math.isfinite(float(cut.norm()))
