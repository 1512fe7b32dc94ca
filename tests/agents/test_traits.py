"""What is found out about a model, and that log-probs are right whatever it is."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest
import torch

from grpo_agents.logprobs import LogProbs
from grpo_agents.traits import ModelTraits
from tests.agents.tiny_models import ARCHITECTURES, PACKABLE, fresh_model, ragged_groups, row_by_row, tiny_model

GROUPS = ragged_groups()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_form_chosen_for_each_architecture(architecture):
    logprobs = LogProbs(tiny_model(architecture), 0)

    assert logprobs.packed == (architecture in PACKABLE)
    assert logprobs.traits.head_apart == (architecture != "gemma2")  # Gemma 2 caps its logits


def test_a_soft_cap_is_seen_where_logits_are_too_small_to_show_it():
    assert not LogProbs(fresh_model("gemma2", initializer_range=0.001), 0).traits.head_apart


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
