"""Tiny random models of the architectures users bring, and a byte-level tokenizer: what the agent's tests run on.

Weights are wide enough that no distribution is flat, so a wrong mask or position shows. Windows are 8 tokens, shorter
than the tests' rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    Phi3Config,
    PhiConfig,
    PretrainedConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
    SmolLM3Config,
)

from grpo_agents.packing import Group
from grpo_gym.errors import ModelError

VOCAB = 97
CONTEXT = 64
WINDOWED = ("gemma2", "gemma3", "mistral")
PACKABLE = ("qwen2", "qwen3", "llama", "gpt2", "gemma")
ARCHITECTURES = PACKABLE + WINDOWED
FURTHER = ("qwen2.5", "llama3", "phi", "phi3", "smollm", "smollm3")
"""Families that differ from those in what config.json says, rather than in what they let a caller do."""
CHATML = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<eos>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def tiny_config(architecture: str, vocab: int = VOCAB, **changes: Any) -> PretrainedConfig:
    """Return a two-layer config of 32 hidden units."""
    common: dict[str, Any] = {
        "vocab_size": vocab,
        "initializer_range": 0.3,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }
    if architecture == "gpt2":
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT}
        dropouts = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
        return GPT2Config(**{**common, **sizes, **dropouts, **changes})
    common |= {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": CONTEXT,
    }
    if architecture in WINDOWED:
        common["sliding_window"] = 8
    if architecture == "gemma3":
        common["layer_types"] = ["sliding_attention", "full_attention"]
    if architecture in ("qwen2.5", "smollm", "smollm3"):
        common["tie_word_embeddings"] = True
    if architecture == "llama3":
        common["rope_parameters"] = {
            "rope_type": "llama3",
            "rope_theta": 10_000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": CONTEXT // 8,
        }
    if architecture == "smollm3":
        common["no_rope_layers"] = [1, 0]
    if architecture == "phi":  # its half of a head that turns must be even
        common |= {"num_attention_heads": 2, "num_key_value_heads": 2}
    kinds: dict[str, type[PretrainedConfig]] = {
        "qwen2": Qwen2Config,
        "qwen3": Qwen3Config,
        "llama": LlamaConfig,
        "gemma": GemmaConfig,
        "gemma2": Gemma2Config,
        "gemma3": Gemma3TextConfig,
        "mistral": MistralConfig,
        "qwen2.5": Qwen2Config,
        "llama3": LlamaConfig,
        "phi": PhiConfig,
        "phi3": Phi3Config,
        "smollm": LlamaConfig,
        "smollm3": SmolLM3Config,
    }
    return kinds[architecture](**{**common, **changes})


def fresh_model(architecture: str, vocab: int = VOCAB, **changes: Any) -> Any:
    """Return a new random model, the same for the same arguments; Any, for transformers annotates half of it."""
    auto: Any = AutoModelForCausalLM
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = auto.from_config(tiny_config(architecture, vocab, **changes))
    model.train(False)
    return model


@cache
def tiny_model(architecture: str) -> Any:
    """Return a shared model; tests that change it take a fresh one."""
    return fresh_model(architecture)


def wrap(backend: Tokenizer, **names: Any) -> PreTrainedTokenizerFast:
    """Return a transformers tokenizer around one of the tokenizers library."""
    kind: Any = PreTrainedTokenizerFast
    fast: PreTrainedTokenizerFast = kind(tokenizer_object=backend, **names)
    return fast


def byte_tokenizer(chat_template: str | None = None, **special: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer of 4 special tokens, 2 role tokens and the 256 bytes: lossless on any text."""
    words = ["<pad>", "<bos>", "<eos>", "<|user|>", "<|assistant|>", "<|system|>"]
    vocabulary = {token: place for place, token in enumerate(words + sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = special or {"pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "<eos>"}
    fast = wrap(tokenizer, **names, additional_special_tokens=words[3:])
    fast.chat_template = chat_template
    return fast


BYTE_VOCAB = 262  # ids of byte_tokenizer


def random_prompts(lengths: Sequence[int], seed: int = 0, vocab: int = VOCAB) -> list[list[int]]:
    """Return prompts of the given lengths, without special ids."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(3, vocab, (length,), generator=generator).tolist() for length in lengths]


@torch.no_grad()
def alone(model: Any, prompt: Sequence[int], tail: Sequence[int], temperature: float = 1.0) -> Tensor:
    """Return the log-prob of each tail token [C] by the plainest way: one row, no cache, no padding, all logits."""
    logits: Tensor = model(input_ids=torch.tensor([[*prompt, *tail]])).logits[0].float()
    before = (logits / temperature).log_softmax(-1)[len(prompt) - 1 : -1]
    return before.gather(1, torch.tensor(tail)[:, None])[:, 0]


def message_of(call: Any, *args: Any, **kwargs: Any) -> str:
    """Return the text of the ModelError that the call raises; it must be one line."""
    with pytest.raises(ModelError) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert "\n" not in text
    return text


def ragged_groups(seed: int = 0) -> list[Group]:
    """Return groups of unlike size; the second is multi-turn, with the environment's words in the middle."""
    prompts = random_prompts([5, 3, 8], seed)
    lengths = [[4, 1, 12], [9, 10], [2, 6, 3, 7]]
    tails = [random_prompts(row, seed + 10 + place) for place, row in enumerate(lengths)]
    own = [[[True] * length for length in row] for row in lengths]
    own[1] = [[True] * 3 + [False] * 4 + [True] * 2, [False, False] + [True] * 7 + [False]]
    return [Group(prompt, tail, mask) for prompt, tail, mask in zip(prompts, tails, own, strict=True)]


def row_by_row(model: Any, groups: list[Group], temperature: float = 1.0) -> Tensor:
    parts = []
    for group in groups:
        for tail, own in zip(group.tails, group.own, strict=True):
            parts.append(alone(model, group.prompt, tail, temperature)[torch.tensor(own)])
    return torch.cat(parts)
