"""The sampler against the plainest forward, against `generate`, and against its own splits and dropped rows."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from grpo_agents.logprobs import LogProbs
from grpo_agents.packing import Group
from grpo_agents.rollout import Completion
from grpo_agents.sampler import Sampler, draw
from grpo_gym.errors import InvalidValueError, ModelError
from tests.agents.tiny_models import ARCHITECTURES, CONTEXT, PACKABLE, alone, fresh_model, random_prompts, tiny_model

EOS = frozenset({2, 5, 11, 17, 23})
PROMPTS = random_prompts([9, 1, 4, 12, 6])


def sampler_of(architecture: str, **settings: float) -> Sampler:
    return Sampler(tiny_model(architecture), EOS, 0, context=CONTEXT, **settings)  # type: ignore[arg-type]  # one type for all


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def ids_of(completions: list[Completion]) -> list[list[int]]:
    return [completion.ids for completion in completions]


def logprobs_of(completions: list[Completion]) -> torch.Tensor:
    return torch.tensor([value for completion in completions for value in completion.logprobs])


def own_group(prompt: list[int], tails: list[list[int]]) -> Group:
    return Group(prompt, tails, [[True] * len(tail) for tail in tails])


@pytest.mark.parametrize("temperature", [1.0, 0.7, 1.6])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_logprobs_are_those_of_each_row_alone(architecture, temperature):
    sampler = sampler_of(architecture)

    drawn = sampler(PROMPTS, 3, max_tokens=20, temperature=temperature, generator=seeded())

    rows = [(PROMPTS[row // 3], completion.ids) for row, completion in enumerate(drawn)]
    expected = torch.cat([alone(sampler.model, prompt, ids, temperature) for prompt, ids in rows])
    torch.testing.assert_close(logprobs_of(drawn), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_on_policy_the_training_ratio_is_one_in_both_layouts(architecture, temperature):
    sampler = sampler_of(architecture)
    drawn = sampler(PROMPTS, 3, max_tokens=20, temperature=temperature, generator=seeded(1))
    tails = ids_of(drawn)
    groups = [own_group(prompt, tails[3 * place : 3 * place + 3]) for place, prompt in enumerate(PROMPTS)]

    layouts = ["plain", "packed"] if architecture in PACKABLE else ["plain"]
    for layout in layouts:
        trained = LogProbs(sampler.model, 0, layout=layout)(groups, temperature)  # type: ignore[arg-type]  # a str
        torch.testing.assert_close((trained - logprobs_of(drawn)).exp(), torch.ones(len(trained)), atol=1e-4, rtol=0)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_greedy_equals_generate(architecture):
    model = tiny_model(architecture)

    drawn = sampler_of(architecture)(PROMPTS, max_tokens=16, greedy=True)

    for prompt, completion in zip(PROMPTS, drawn, strict=True):
        out = model.generate(
            input_ids=torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            do_sample=False,
            max_new_tokens=16,
            eos_token_id=sorted(EOS),
            pad_token_id=0,
        )
        assert completion.ids == out[0, len(prompt) :].tolist()
        expected = alone(model, prompt, completion.ids)
        torch.testing.assert_close(logprobs_of([completion]), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("share", [0.0, 0.5, 2.0])
def test_a_row_ends_at_the_first_of_several_end_tokens(share):
    drawn = sampler_of("llama", finished_share=share)(PROMPTS, 16, max_tokens=12, generator=seeded())

    assert {completion.ended for completion in drawn} == {True, False}
    assert len({completion.ids[-1] for completion in drawn if completion.ended}) > 1
    for completion in drawn:
        assert not EOS.intersection(completion.ids[:-1])
        assert completion.ended == (completion.ids[-1] in EOS)
        assert completion.ended or len(completion.ids) == 12
        assert len(completion.ids) == len(completion.logprobs)


@pytest.mark.parametrize("architecture", ["llama", "gpt2", "mistral"])
def test_dropping_finished_rows_changes_nothing(architecture):
    kept = sampler_of(architecture, finished_share=2.0)(PROMPTS, 6, max_tokens=20, generator=seeded())
    dropped = sampler_of(architecture, finished_share=0.0)(PROMPTS, 6, max_tokens=20, generator=seeded())

    assert ids_of(dropped) == ids_of(kept)
    torch.testing.assert_close(logprobs_of(dropped), logprobs_of(kept), atol=1e-5, rtol=0)


@pytest.mark.parametrize("rows_per_batch", [1, 3, 4, 13])
def test_splitting_into_batches_changes_nothing(rows_per_batch):
    whole = sampler_of("qwen3")(PROMPTS, 4, max_tokens=12, generator=seeded())
    split = sampler_of("qwen3")(PROMPTS, 4, max_tokens=12, generator=seeded(), rows_per_batch=rows_per_batch)

    assert ids_of(split) == ids_of(whole)
    torch.testing.assert_close(logprobs_of(split), logprobs_of(whole), atol=1e-5, rtol=0)


def test_the_same_seed_gives_the_same_bits():
    first = sampler_of("llama")(PROMPTS, 4, max_tokens=12, generator=seeded(3))

    assert first == sampler_of("llama")(PROMPTS, 4, max_tokens=12, generator=seeded(3))
    assert first != sampler_of("llama")(PROMPTS, 4, max_tokens=12, generator=seeded(4))


def test_rows_of_a_group_differ():
    drawn = sampler_of("llama")(PROMPTS[:1], 8, max_tokens=12, generator=seeded())

    assert len({tuple(ids) for ids in ids_of(drawn)}) > 4


def test_permuted_prompts_give_permuted_greedy_results():
    order = [3, 0, 4, 2, 1]
    plain = ids_of(sampler_of("gemma")(PROMPTS, 2, max_tokens=12, greedy=True))
    permuted = ids_of(sampler_of("gemma")([PROMPTS[place] for place in order], 2, max_tokens=12, greedy=True))

    assert permuted == [plain[2 * place + row] for place in order for row in range(2)]


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_answers_stop_where_the_context_ends(architecture):
    prompts = random_prompts([CONTEXT - 1, CONTEXT - 5, 3])

    drawn = Sampler(tiny_model(architecture), [96], 0, context=CONTEXT, finished_share=2.0)(
        prompts, 2, max_tokens=8, generator=seeded()
    )

    assert [len(completion.ids) for completion in drawn] == [1, 1, 5, 5, 8, 8]
    assert not any(completion.ended for completion in drawn)
    expected = torch.cat([alone(tiny_model(architecture), prompts[r // 2], c.ids) for r, c in enumerate(drawn)])
    torch.testing.assert_close(logprobs_of(drawn), expected, atol=1e-4, rtol=0)


def test_a_prompt_that_fills_the_context_is_refused():
    with pytest.raises(ModelError, match=r"a prompt of 64 tokens does not fit the model's context of 64 .*shorten"):
        sampler_of("llama")(random_prompts([3, CONTEXT]), max_tokens=8, greedy=True)


def test_an_empty_prompt_is_refused():
    with pytest.raises(ModelError, match="an empty prompt: the policy needs at least one token to continue"):
        sampler_of("llama")([[5], []], max_tokens=8, greedy=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group_size": 0}, "group_size must be at least 1, not 0"),
        ({"max_tokens": 0}, "max_tokens must be at least 1, not 0"),
        ({"temperature": 0.0}, r"temperature must be above 0, not 0.0; for the likeliest tokens set greedy"),
        ({"temperature": math.nan}, "temperature must be above 0, not nan"),
        ({"rows_per_batch": 0}, "rows_per_batch must be at least 1, not 0"),
    ],
)
def test_settings_out_of_bounds_are_refused(settings, message):
    with pytest.raises(InvalidValueError, match=message):
        sampler_of("llama")(PROMPTS, **{"max_tokens": 8, **settings})


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("mamba", {"hidden_size": 16, "state_size": 4}),
        ("openai-gpt", {"n_embd": 16, "n_head": 2, "n_positions": CONTEXT}),
    ],
)
def test_a_model_without_keys_and_values_says_so(kind, sizes):
    """One has a running state in the place of a cache, one is too old for either."""
    auto: Any = AutoModelForCausalLM
    config = AutoConfig.for_model(kind, vocab_size=20, num_hidden_layers=1, n_layer=1, **sizes)

    with pytest.raises(ModelError, match="keeps no keys and values of what it has read, or a running state"):
        Sampler(auto.from_config(config), [2], 0)([[3, 4]], max_tokens=3, greedy=True)


def test_no_prompts_give_no_completions():
    assert sampler_of("llama")([], 4, max_tokens=8) == []


def test_dropout_is_off_even_if_the_model_was_left_in_training_mode():
    model = fresh_model("gpt2", resid_pdrop=0.5, attn_pdrop=0.5)
    sampler, logprobs = Sampler(model, EOS, 0), LogProbs(model, 0)
    model.train()

    drawn = sampler(PROMPTS[:1], 2, max_tokens=8, generator=seeded())
    model.train()
    trained = logprobs([own_group(PROMPTS[0], ids_of(drawn))])

    torch.testing.assert_close(trained, logprobs_of(drawn), atol=1e-4, rtol=0)


def test_bfloat16_logprobs_are_near_and_finite():
    model = fresh_model("llama").to(torch.bfloat16)

    drawn = Sampler(model, EOS, 0)(PROMPTS, 2, max_tokens=8, generator=seeded())

    expected = torch.cat([alone(model, PROMPTS[row // 2], c.ids) for row, c in enumerate(drawn)])
    torch.testing.assert_close(logprobs_of(drawn), expected, atol=0.3, rtol=0)


def test_draw_follows_the_distribution():
    """An even grid of uniform numbers must hit each token in proportion to its probability."""
    count, temperature = 20_000, 0.7
    logits = torch.tensor([0.3, -1.2, 2.0, -math.inf, 0.9, -7.0])
    grid = (torch.arange(count, dtype=torch.float64) + 0.5) / count

    ids, logprobs = draw(logits.expand(count, -1), grid, temperature)

    expected = (logits / temperature).softmax(-1)
    torch.testing.assert_close(torch.bincount(ids, minlength=6) / count, expected, atol=1e-4, rtol=0)
    torch.testing.assert_close(logprobs, expected.log()[ids])


def test_draw_never_takes_an_impossible_token():
    logits = torch.tensor([[-math.inf, 0.0, -math.inf, 1.0, -math.inf]]).expand(2, -1)

    ids, _ = draw(logits, torch.tensor([0.0, 1 - 2**-53], dtype=torch.float64), 1.0)

    assert ids.tolist() == [1, 3]
