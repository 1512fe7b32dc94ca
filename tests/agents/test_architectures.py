"""Each model family users bring, start to end: sampled, read, trained, saved, and read again without us."""

from __future__ import annotations

import functools
import zlib
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from grpo_agents.logprobs import LogProbs
from grpo_agents.packing import Group
from grpo_agents.policy import Policy
from grpo_agents.rollout import Completion
from grpo_agents.sampler import Sampler
from tests.agents.runs import babbler, identical, learn, short, weights
from tests.agents.tiny_models import (
    ARCHITECTURES,
    BYTE_VOCAB,
    CONTEXT,
    FURTHER,
    WINDOWED,
    alone,
    ragged_groups,
    random_prompts,
    row_by_row,
    tiny_model,
)

FAMILIES = ARCHITECTURES + FURTHER
EOS = [2, 5, 11]
PROMPTS = random_prompts([9, 1, 4, 13, 6])


@functools.cache
def drawn_of(architecture: str) -> list[Completion]:
    sampler = Sampler(tiny_model(architecture), EOS, 0, context=CONTEXT)
    return sampler(PROMPTS, 3, max_tokens=18, temperature=0.8, generator=torch.Generator().manual_seed(0))


def flat(completions: list[Completion]) -> torch.Tensor:
    return torch.tensor([value for completion in completions for value in completion.logprobs])


def is_tied(model: Any) -> bool:
    return model.get_input_embeddings().weight is model.get_output_embeddings().weight


@pytest.mark.parametrize("architecture", FURTHER)
def test_sampled_and_trained_log_probs_are_those_of_each_row_alone(architecture):
    """The other families' stand in test_sampler and test_logprobs."""
    model, drawn = tiny_model(architecture), drawn_of(architecture)
    rows = [(PROMPTS[row // 3], completion.ids) for row, completion in enumerate(drawn)]
    groups = [
        Group(prompt, [c.ids for c in rows], [[True] * len(c.ids) for c in rows])
        for prompt, rows in zip(PROMPTS, (drawn[3 * p : 3 * p + 3] for p in range(len(PROMPTS))), strict=True)
    ]
    expected = torch.cat([alone(model, prompt, ids, 0.8) for prompt, ids in rows])

    torch.testing.assert_close(flat(drawn), expected, atol=1e-4, rtol=0)
    layouts: list[Any] = ["plain", "packed"]
    for layout in layouts:
        logprobs = LogProbs(model, 0, layout=layout)
        torch.testing.assert_close(logprobs(groups, 0.8).detach(), expected, atol=1e-4, rtol=0)
        found = logprobs(ragged_groups()).detach()
        torch.testing.assert_close(found, row_by_row(model, ragged_groups()), atol=1e-4, rtol=0)
    assert LogProbs(model, 0).packed
    assert logprobs.traits.head_apart


@pytest.mark.parametrize("architecture", FAMILIES)
def test_greedy_equals_generate_on_a_left_padded_ragged_batch(architecture):
    model = tiny_model(architecture)
    width = max(map(len, PROMPTS))
    ids = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in PROMPTS])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in PROMPTS])

    theirs = model.generate(
        input_ids=ids, attention_mask=mask, do_sample=False, max_new_tokens=16, eos_token_id=EOS, pad_token_id=0
    )[:, width:].tolist()
    ours = Sampler(model, EOS, 0, context=CONTEXT)(PROMPTS, max_tokens=16, greedy=True)

    assert max(len(completion.ids) for completion in ours) == 16
    for row, completion in zip(theirs, ours, strict=True):
        assert completion.ids == row[: len(completion.ids)]
        assert completion.ended or len(completion.ids) == 16
        assert not any(row[len(completion.ids) :])


@pytest.fixture(scope="module", params=FAMILIES)
def trained(request, tmp_path_factory) -> tuple[str, Policy, Policy, list[dict[str, Any]]]:
    """Three steps of GRPO; return the family, the policy before and after, and what each step logged."""
    architecture = request.param
    policy = babbler(architecture=architecture)
    config = short(env="grpo/Math.Linear-v0", steps=3, env_args={"reward": _junk}, sampling={"max_tokens": 8})
    return architecture, babbler(architecture=architecture), policy, learn(policy, config)


def _junk(response: str, problem: Any) -> float:
    """Reward noise: whatever a random model writes, its groups have a spread."""
    return zlib.crc32(response.encode()) % 100 / 100


def test_three_steps_of_training_move_the_weights_and_begin_at_ratio_1(trained):
    architecture, before, after, metrics = trained

    assert len(metrics) == 3
    for step in metrics:
        assert torch.isfinite(torch.tensor([step["loss"], step["grad_norm"]])).all()
        assert step["grad_norm"] > 0
        assert step["ratio/max"] == pytest.approx(1, abs=1e-5)
        assert step["ratio/min"] == pytest.approx(1, abs=1e-5)
    moved = {name for name, value in weights(after).items() if not torch.equal(value, weights(before)[name])}
    assert len(moved) > 0.9 * len(weights(before))
    assert after.logprobs.packed == (architecture not in WINDOWED)


def test_what_was_trained_loads_in_plain_transformers_with_the_same_logits(trained, tmp_path):
    _, _, policy, _ = trained
    policy.save(tmp_path / "model")
    auto: Any = AutoModelForCausalLM
    theirs = auto.from_pretrained(tmp_path / "model", local_files_only=True)
    ids = torch.tensor(random_prompts([20], vocab=BYTE_VOCAB))

    with torch.no_grad():
        assert torch.equal(theirs(input_ids=ids).logits, policy.model(input_ids=ids).logits)
    assert identical(weights(policy), dict(theirs.state_dict()))
    assert is_tied(theirs) == is_tied(policy.model)
