"""Training log-probs: both layouts against a row alone, their gradients, and any cut into microbatches."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.logprobs import LogProbs
from grpo_agents.packing import Group, block_mask, microbatches, pack, single_rows
from grpo_agents.rollout import Completion, Trajectory
from grpo_agents.traits import ModelTraits
from grpo_gym.errors import InvalidValueError
from tests.agents.tiny_models import (
    ARCHITECTURES,
    PACKABLE,
    VOCAB,
    alone,
    fresh_model,
    random_prompts,
    tiny_model,
)


def ragged_groups(seed: int = 0) -> list[Group]:
    """Return groups of unlike size; the second is multi-turn, with the environment's words in the middle."""
    prompts = random_prompts([5, 3, 8], seed)
    lengths = [[4, 1, 12], [9, 10], [2, 6, 3, 7]]
    tails = [random_prompts(row, seed + 10 + place) for place, row in enumerate(lengths)]
    own = [[[True] * length for length in row] for row in lengths]
    own[1] = [[True] * 3 + [False] * 4 + [True] * 2, [False, False] + [True] * 7 + [False]]
    return [Group(prompt, tail, mask) for prompt, tail, mask in zip(prompts, tails, own, strict=True)]


GROUPS = ragged_groups()
OWN = sum(group.own_length for group in GROUPS)


def row_by_row(model: Any, groups: list[Group], temperature: float = 1.0) -> Tensor:
    parts = []
    for group in groups:
        for tail, own in zip(group.tails, group.own, strict=True):
            parts.append(alone(model, group.prompt, tail, temperature)[torch.tensor(own)])
    return torch.cat(parts)


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


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_form_chosen_for_each_architecture(architecture):
    logprobs = LogProbs(tiny_model(architecture), 0)

    assert logprobs.packed == (architecture in PACKABLE)
    assert logprobs.traits.head_apart == (architecture != "gemma2")  # Gemma 2 caps its logits


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


def deaf(model: Any) -> None:
    """Have the model take a block mask without an error and ignore it."""
    forward = model.forward

    def changed(input_ids: Any, attention_mask: Any = None, position_ids: Any = None, **kwargs: Any) -> Any:
        mask = None if attention_mask is not None and attention_mask.ndim == 4 else attention_mask
        return forward(input_ids, attention_mask=mask, position_ids=position_ids, **kwargs)

    model.forward = changed


def strict(model: Any) -> None:
    """Have the model refuse a block mask."""
    forward = model.forward

    def changed(input_ids: Any, attention_mask: Any = None, position_ids: Any = None, **kwargs: Any) -> Any:
        if attention_mask is not None and attention_mask.ndim != 2:
            raise ValueError("attention_mask must have two dimensions")
        return forward(input_ids, attention_mask=attention_mask, position_ids=position_ids, **kwargs)

    model.forward = changed


def scaled(model: Any) -> None:
    """Have the model halve its logits behind the head, as Cohere and Granite scale theirs."""
    forward = model.forward

    def changed(input_ids: Any, attention_mask: Any = None, position_ids: Any = None, **kwargs: Any) -> Any:
        out = forward(input_ids, attention_mask=attention_mask, position_ids=position_ids, **kwargs)
        out.logits = out.logits * 0.5
        return out

    model.forward = changed


@pytest.mark.parametrize(
    ("change", "packed", "apart", "reason"),
    [
        (lambda model: None, True, True, "log-probs by one row per group"),
        (deaf, False, True, r"log-probs by one row per trajectory \(a trial differed by"),
        (strict, False, True, r"log-probs by one row per trajectory \(a block mask raised ValueError\)"),
        (scaled, True, False, r"logits of all positions \(a trial differed by"),
    ],
)
def test_a_trial_finds_models_that_do_otherwise(change, packed, apart, reason, caplog):
    """Whatever the model does with masks and logits, the log-probs are right; the choice is logged once."""
    model = fresh_model("llama")
    change(model)
    logprobs = LogProbs(model, 0)

    with caplog.at_level(logging.INFO):
        for _ in range(2):
            got = logprobs(GROUPS).detach()

    assert (logprobs.packed, logprobs.traits.head_apart) == (packed, apart)
    torch.testing.assert_close(got, row_by_row(model, GROUPS), atol=1e-4, rtol=0)
    assert len(caplog.messages) == 2
    assert any(re.search(reason, message) for message in caplog.messages)


@pytest.mark.parametrize(
    ("architecture", "change", "reason"),
    [
        ("mistral", {}, "has a sliding window"),
        ("gemma3", {}, "has sliding_attention"),
        ("llama", {"attn_implementation": "flex_attention"}, "flex_attention attention takes no block mask"),
    ],
)
def test_what_a_trial_cannot_see_is_read_from_the_config(architecture, change, reason):
    assert ModelTraits(fresh_model(architecture, **change))._odd_attention() == reason


def test_block_mask_by_hand():
    batch = pack([Group([5, 6], [[7], [8, 9]], [[True], [True, True]])], 0)

    seen = block_mask(torch.nn.functional.pad(batch.segments, (0, 1), value=-1), torch.float32) == 0

    assert batch.positions.tolist() == [[0, 1, 2, 2, 3]]
    assert batch.sources.tolist() == [1, 1, 3]
    assert batch.targets.tolist() == [7, 8, 9]
    assert seen[0, 0].int().tolist() == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 0, 1, 0, 0],
        [1, 1, 0, 1, 1, 0],
        [1, 1, 0, 0, 0, 1],
    ]


def as_group(parts: tuple[int, list[list[bool]]]) -> Group:
    length, own = parts
    return Group(list(range(length)), [[1] * len(mask) for mask in own], own)


RAGGED = st.lists(
    st.tuples(st.integers(1, 30), st.lists(st.lists(st.booleans(), max_size=25), max_size=6)).map(as_group), max_size=8
)


@given(groups=RAGGED, budget=st.integers(1, 200), packed=st.booleans())
def test_microbatches_hold_every_token_once_within_the_budget(groups, budget, packed):
    parts = microbatches(groups, budget, packed=packed)

    own = sum(group.own_length for group in groups)
    assert sorted(torch.cat([torch.empty(0), *(part.tokens for part in parts)]).tolist()) == list(range(own))
    assert sum(len(part.groups[row].tails) for part in parts for row in range(len(part.groups))) == sum(
        len(group.tails) for group in groups
    )
    for part in parts:
        rows = part.groups if packed else single_rows(part.groups)
        assert len(part.tokens) == sum(row.own_length for row in rows)
        padded = len(rows) * max(row.packed_length for row in rows)
        assert padded <= budget or (len(rows) == 1 and len(rows[0].tails) == 1)


def test_a_group_that_fits_stays_whole():
    groups = [Group([1] * 10, [[2] * 5] * 4, [[True] * 5] * 4)]

    assert [len(part.groups[0].tails) for part in microbatches(groups, 30)] == [4]
    assert [len(part.groups[0].tails) for part in microbatches(groups, 29)] == [3, 1]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Group([], [[1]], [[True]]), "a group's prompt is empty"),
        (lambda: Group([1], [[1, 2]], [[True]]), "one `own` mark per token"),
        (lambda: Group.of([Trajectory([1]), Trajectory([2])]), "must share one prompt"),
        (lambda: microbatches(GROUPS, 0), "token_budget must be at least 1, not 0"),
    ],
)
def test_impossible_input_is_refused(build, message):
    with pytest.raises(InvalidValueError, match=message):
        build()
