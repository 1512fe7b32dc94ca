"""What users of other trainers suffered from, once more against this one: memory, positions, end tokens, templates.

Numbers are the rows of the list in the design notes. Row 10 and row 15 stand with the losses.
"""

from __future__ import annotations

import statistics
from typing import Any

import pytest
import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grpo_agents import head
from grpo_agents.collect import Episode, collect
from grpo_agents.config import Objective, Sampling, Selection
from grpo_agents.credit import no_strata
from grpo_agents.logprobs import LogProbs
from grpo_agents.metrics import step_metrics
from grpo_agents.packing import Group
from grpo_agents.policy import Policy
from grpo_agents.prepare import prepare
from grpo_agents.rollouts import Rollout
from grpo_agents.sampler import Sampler
from tests.agents.foreign_envs import Word, vector
from tests.agents.lessons import learner, step, trajectory_of
from tests.agents.memory_run import STATM, sizes_of_runs
from tests.agents.tiny_models import (
    BYTE_VOCAB,
    CHATML,
    alone,
    byte_tokenizer,
    fresh_model,
    random_prompts,
    row_by_row,
    tiny_model,
)

LARGE = 150_000
"""A vocabulary as real models have it."""


class Largest(TorchDispatchMode):
    """Records how many numbers the largest new tensor holds, in forward and backward passes; views make nothing new."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.numel = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {t.untyped_storage().data_ptr() for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)}
        out = func(*args, **(kwargs or {}))
        made = [t for t in tree_leaves(out) if isinstance(t, Tensor) and t.untyped_storage().data_ptr() not in given]
        self.numel = max(self.numel, *(t.numel() for t in made), 0)
        return out


@pytest.fixture(scope="module")
def worded() -> Any:
    """Return a model of two layers and LARGE words."""
    return fresh_model("llama", LARGE, hidden_size=16, head_dim=4, max_position_embeddings=2048)


@pytest.mark.parametrize(("dtype", "frozen"), [(torch.float32, False), (torch.bfloat16, False), (torch.float32, True)])
def test_row_01_the_memory_of_log_probs_does_not_grow_with_tokens_times_vocabulary(worded, dtype, frozen):
    """Elsewhere the logits of all tokens, several times over, are what a machine runs out of memory by."""
    logprobs = LogProbs(worded.to(dtype), 0)
    largest = {}
    for tokens in (64, 512):
        tails = random_prompts([tokens // 8] * 8, vocab=LARGE)
        groups = [Group([5, 6, 7], tails, [[True] * len(tail) for tail in tails])]
        with Largest() as seen, torch.set_grad_enabled(not frozen):
            reading = logprobs.read(groups, 0.8, entropies=True)
            assert reading.entropies is not None
            if not frozen:
                (reading.logprobs + reading.entropies).sum().backward()
        worded.zero_grad(set_to_none=True)
        largest[tokens] = seen.numel

    assert max(largest.values()) <= head.CHUNK
    assert max(largest.values()) < 512 * LARGE / 4
    assert min(largest.values()) >= 64 * LARGE  # what is measured is there: 64 tokens are one chunk


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_row_01_the_sampler_holds_the_logits_of_the_rows_last_tokens_only(worded, dtype):
    model = worded.to(dtype)
    sampler = Sampler(model, [2], 0)
    assert sampler.traits.block_masks
    assert sampler.traits.head_apart
    with Largest() as seen:
        sampler(random_prompts([40, 9], vocab=LARGE), 10, max_tokens=3, generator=torch.Generator().manual_seed(0))

    assert seen.numel == 20 * LARGE


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "phi"])
def test_row_11_left_padding_does_not_shift_positions(architecture):
    """Learned positions (GPT-2) were read at the padding's places; turned ones (RoPE) forgive that, others do not."""
    model = tiny_model(architecture)
    prompts = random_prompts([1, 14, 6])
    drawn = Sampler(model, [2], 0)(prompts, 2, max_tokens=8, generator=torch.Generator().manual_seed(0))
    groups = [
        Group(prompt, [c.ids for c in rows], [[True] * len(c.ids) for c in rows])
        for prompt, rows in zip(prompts, (drawn[0:2], drawn[2:4], drawn[4:6]), strict=True)
    ]
    sampled = torch.tensor([value for completion in drawn for value in completion.logprobs])

    torch.testing.assert_close(sampled, row_by_row(model, groups), atol=1e-4, rtol=0)
    torch.testing.assert_close(LogProbs(model, 0)(groups).detach(), sampled, atol=1e-4, rtol=0)
    if architecture == "gpt2":
        moved = alone(model, [0, 0, *prompts[0]], drawn[0].ids)  # as it was: places counted from the padding on
        assert float((moved - sampled[: len(moved)]).abs().max()) > 0.1


def several_ends() -> Policy:
    """Return a policy with a fifth of all bytes as end tokens, named in three places, as real models name theirs."""
    model = fresh_model("llama", BYTE_VOCAB, max_position_embeddings=256)
    model.config.eos_token_id = [2, *range(40, 70)]
    model.generation_config.eos_token_id = [2, *range(70, 90)]
    return Policy(model, byte_tokenizer(eos_token="<eos>", pad_token="<pad>"))


def played(policy: Policy, rows: int = 16, **changes: Any) -> list[Episode]:
    env = vector(Word, rows, AutoresetMode.NEXT_STEP)
    sampling = Sampling(max_tokens=6, temperature=0.8)
    return collect(policy, env, range(rows // 4), 4, sampling, torch.Generator().manual_seed(3), **changes)


def test_row_13_a_completion_ends_at_the_first_of_several_end_tokens():
    """Elsewhere only one id counted: completions were called truncated, and what followed the end was in the loss."""
    policy = several_ends()
    ends = set(policy.eos_ids)
    rows = played(policy)
    masked = prepare(learner(policy, selection=Selection(truncated="mask")), rows, 0.0)

    assert ends == {2, *range(40, 90)}
    assert len({trajectory_of(row).tail[-1] for row in rows if row.ended}) > 2
    assert {row.ended for row in rows} == {True, False}
    for row in rows:
        trajectory = trajectory_of(row)
        assert row.ended == (trajectory.tail[-1] in ends)
        assert row.ended or len(trajectory.tail) == 6
        assert not ends.intersection(trajectory.tail[:-1])
        assert all(trajectory.own)
        assert row.texts == [policy.decode(trajectory.tail)]
    (lesson,) = masked.lessons
    assert {rows[row].ended for row in lesson.drawn.rows} == {True}
    assert len(lesson.tokens.weights) == sum(len(trajectory_of(rows[row]).tail) for row in lesson.drawn.rows)
    result = step(policy, rows)
    found = step_metrics(1, Rollout(rows, [*range(16)]), no_strata(16, Objective()), result, 0.1)
    assert found["ended"] == sum(row.ended for row in rows) / 16


@pytest.mark.parametrize("architecture", ["llama", "gpt2", "gemma3"])
def test_row_40_greedy_answers_through_the_chat_template_are_those_of_generate(architecture):
    """One left-padded batch of theirs, with the template as transformers applies it, against episodes of ours."""
    key = "n_positions" if architecture == "gpt2" else "max_position_embeddings"
    tokenizer = byte_tokenizer(CHATML)
    policy = Policy(fresh_model(architecture, BYTE_VOCAB, **{key: 256}), tokenizer, system_prompt="Be brief.")
    rows = played(policy, 8, greedy=True)

    assert policy.prompting.style == "chat"
    talks = [
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": episode.prompt}] for episode in rows
    ]
    tokenizer.padding_side = "left"
    call: Any = tokenizer.apply_chat_template
    inputs = call(talks, add_generation_prompt=True, return_tensors="pt", return_dict=True, padding=True)
    out = policy.model.generate(  # type: ignore[operator]
        **inputs, do_sample=False, max_new_tokens=6, eos_token_id=sorted(policy.eos_ids), pad_token_id=0
    )
    for episode, prompt, mask, answer in zip(
        rows, inputs["input_ids"], inputs["attention_mask"], out[:, inputs["input_ids"].shape[1] :], strict=True
    ):
        assert trajectory_of(episode).prompt == prompt[mask.bool()].tolist()
        tail = trajectory_of(episode).tail
        assert tail == answer[: len(tail)].tolist()
        assert tail[-1] in policy.eos_ids or len(tail) == 6


def growth(sizes: list[int]) -> float:
    """Return the median slope over all pairs (Theil-Sen), bytes per step: a single jump of the allocator is no leak."""
    pairs = [(b - a) / (j - i) for i, a in enumerate(sizes) for j, b in enumerate(sizes) if j > i]
    return statistics.median(pairs)


@pytest.mark.skipif(not STATM.exists(), reason="resident memory is read from /proc, which is Linux's")
class TestMemoryOverSteps:
    """A run that grows dies at step 600. One step's activations here are about a megabyte."""

    @pytest.mark.slow
    def test_row_35_memory_is_flat_over_forty_steps_and_a_leak_would_show(self):
        flat, leaking = sizes_of_runs((40, 0), (15, 300_000))

        assert growth(flat[10:]) < 100_000
        assert growth(leaking[5:]) > 200_000

    @pytest.mark.long
    def test_row_35_memory_is_flat_over_hundreds_of_steps(self):
        (flat,) = sizes_of_runs((300, 0))

        assert growth(flat[50:]) < 20_000
