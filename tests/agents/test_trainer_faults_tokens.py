"""What users of other trainers suffered from, once more against this one: tokens, tokenizers and templates.

Numbers are the rows of the list in the design notes.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch
from gymnasium.vector import AutoresetMode
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerBase

from grpo_agents.collect import Episode, collect
from grpo_agents.config import Objective, Sampling
from grpo_agents.lesson import Drawn
from grpo_agents.loading import end_ids
from grpo_agents.policy import Policy
from tests.agents.foreign_envs import Countdown, Word, vector
from tests.agents.lessons import close, gradients_of, trajectory_of
from tests.agents.runs import learn, short
from tests.agents.slow_update import SlowBatch
from tests.agents.tiny_models import CHATML, alone, byte_tokenizer, fresh_model, wrap

WORDS = ["<unk>", "<s>", "</s>", "start", "left", "word", "a", "b", "ab", "aba", "ba", " ", "0", "1", "2", "3", "4"]


def lowering() -> PreTrainedTokenizerBase:
    """Words are lowered and unknown ones lost: most texts do not come back."""
    backend = Tokenizer(models.WordLevel({word: place for place, word in enumerate([*WORDS, "A", "AB"])}, "<unk>"))
    backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return wrap(backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


def merging() -> PreTrainedTokenizerBase:
    """Subwords with merges: a + b drawn apart is one token when it is encoded again."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: place for place, token in enumerate(["<unk>", "<s>", "</s>", *letters, "ab", "aba"])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[("a", "b"), ("ab", "a")]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return wrap(backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


def prefixing() -> PreTrainedTokenizerBase:
    """A space is put before every text that is encoded, as SentencePiece does: a text grows each time."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={t: n for n, t in enumerate(["<unk>", "<s>", "</s>", *letters])}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return wrap(backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


@pytest.fixture(scope="module", params=[lowering, merging, prefixing], ids=lambda make: make.__name__)
def lossy(request) -> tuple[Policy, list[Episode]]:
    """A dialogue played with a tokenizer that does not give back what it decoded; double, for gradients."""
    tokenizer = request.param()
    model = fresh_model("llama", len(tokenizer), max_position_embeddings=512)
    policy = Policy(model.double(), tokenizer)
    env = vector(Countdown, 8, AutoresetMode.NEXT_STEP, enough=0.9)
    return policy, collect(policy, env, range(2), 4, Sampling(max_tokens=6), torch.Generator().manual_seed(2))


def test_row_12_these_tokenizers_do_lose_something(lossy):
    policy, episodes = lossy
    tails = [trajectory_of(e).tail for e in episodes]

    assert any(
        policy.tokenizer(policy.tokenizer.decode(tail), add_special_tokens=False)["input_ids"] != tail for tail in tails
    )


def test_row_12_what_was_drawn_is_what_is_trained_on_whatever_the_tokenizer_makes_of_its_text(lossy):
    policy, episodes = lossy

    assert max(len(e.turn_lengths) for e in episodes) > 1
    for episode in episodes:
        trajectory = trajectory_of(episode)
        own = torch.tensor(trajectory.own)
        plain = alone(policy.model, trajectory.prompt, trajectory.tail)[own].float()
        assert torch.allclose(torch.tensor(trajectory.logprobs)[own], plain, atol=1e-4)
        assert torch.allclose(policy.logprobs.frozen(Drawn.of([episode]).groups), plain, atol=1e-4)


def test_row_12_the_gradient_is_that_of_the_drawn_ids(lossy):
    policy, episodes = lossy
    objective = Objective(scale="none")
    (found,), _, _ = gradients_of(policy, episodes, objective, temperature=1.0)
    plain = SlowBatch(policy, episodes)
    plain.new = {row: alone_with_gradient(policy, episodes[row]) for row in plain.counted}
    expected, _ = plain.gradient(objective)

    assert close(found, expected, 1e-5)


def alone_with_gradient(policy: Policy, episode: Episode) -> torch.Tensor:
    trajectory = trajectory_of(episode)
    logits = policy.model(input_ids=torch.tensor([trajectory.context])).logits[0].double()
    before = logits.log_softmax(-1)[len(trajectory.prompt) - 1 : -1]
    every: torch.Tensor = before.gather(1, torch.tensor(trajectory.tail)[:, None])[:, 0]
    return every[torch.tensor(trajectory.own)]


def test_row_12_a_run_on_such_a_tokenizer_has_a_ratio_of_one(caplog):
    for make in (lowering, merging, prefixing):
        tokenizer = make()
        policy = Policy(fresh_model("llama", len(tokenizer), max_position_embeddings=512), tokenizer)
        with caplog.at_level(logging.WARNING):
            metrics = learn(policy, short(), vector(Countdown, 12, AutoresetMode.SAME_STEP))
        for figures in metrics:
            assert figures["ratio/min"] == pytest.approx(1.0, abs=1e-4)
            assert figures["ratio/max"] == pytest.approx(1.0, abs=1e-4)
        assert not caplog.messages


@pytest.mark.parametrize("template", [None, CHATML])
def test_row_12_later_turns_begin_with_the_very_tokens_of_the_earlier_ones(template):
    """A run that renders and encodes the conversation anew reads other tokens than it drew."""
    policy = Policy(fresh_model("llama", 262, max_position_embeddings=512), byte_tokenizer(template))
    read: list[list[list[int]]] = []
    sample = policy.sample

    def spy(prompts: Any, group_size: int = 1, **options: Any) -> Any:
        read.append([list(prompt) for prompt in prompts for _ in range(group_size)])
        return sample(prompts, group_size, **options)

    policy.sample = spy  # type: ignore[method-assign]  # a test's spy
    env = vector(Countdown, 4, AutoresetMode.DISABLED, enough=99)
    episodes = collect(policy, env, [1], 4, Sampling(max_tokens=5), torch.Generator().manual_seed(0))

    for row, episode in enumerate(episodes):
        whole = trajectory_of(episode).context
        for turn in read:
            assert whole[: len(turn[row])] == turn[row]


def test_row_13_an_end_token_of_any_source_ends_an_answer():
    """Config, generation config and tokenizer may each name others; instruct models stop at two or three."""
    tokenizer = byte_tokenizer()
    model = fresh_model("llama", 262)
    model.config.eos_token_id = [7, 8]
    model.generation_config.eos_token_id = 9
    assert end_ids(model, tokenizer) == {7, 8, 9, int(tokenizer.eos_token_id)}


def test_row_13_behind_the_first_of_several_end_tokens_there_is_nothing_and_the_row_counts_as_ended():
    policy = Policy(fresh_model("llama", 262, eos_token_id=list(range(2, 60))), byte_tokenizer())
    env = vector(Word, 16, AutoresetMode.NEXT_STEP)
    episodes = collect(policy, env, range(4), 4, Sampling(max_tokens=24), torch.Generator().manual_seed(1))

    ended = [e for e in episodes if e.ended]
    assert len({trajectory_of(e).tail[-1] for e in ended}) > 3
    for episode in episodes:
        tail = trajectory_of(episode).tail
        assert not set(tail[:-1]) & policy.eos_ids
        assert episode.ended == (tail[-1] in policy.eos_ids)
        assert episode.ended or len(tail) == 24
        assert all(trajectory_of(episode).own)
