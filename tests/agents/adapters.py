"""What the tests of adapters share: an adapted policy over bytes, an adapter that says something, and log-probs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, PhiConfig

from grpo_agents.config import Lora
from grpo_agents.lora import has_adapter
from grpo_agents.policy import Policy
from tests.agents.runs import babbler
from tests.agents.tiny_models import BYTE_VOCAB, byte_tokenizer, fresh_model, ragged_groups

GROUPS = ragged_groups()
MODELS = ("qwen2", "llama", "llama tied", "gpt2", "gemma", "gemma2", "phi")
"""GPT-2 has transposed weights; GPT-2, both Gemmas and one of the Llamas have a head that is the embedding."""


def plain_policy(name: str = "llama", dtype: torch.dtype = torch.float32) -> Policy:
    """Return a fresh random policy over bytes without an adapter, the same each time."""
    if name == "phi":
        model = _phi()
    else:
        architecture, _, tied = name.partition(" ")
        model = fresh_model(architecture, BYTE_VOCAB, **({"tie_word_embeddings": True} if tied else {}))
    return Policy(model.to(dtype), byte_tokenizer())


def _phi() -> Any:
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    config = PhiConfig(vocab_size=BYTE_VOCAB, initializer_range=0.3, bos_token_id=1, eos_token_id=2, **sizes)
    auto: Any = AutoModelForCausalLM
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return auto.from_config(config)


def adapted(name: str = "llama", rank: int = 4, size: float = 0.0, dtype: torch.dtype = torch.float32) -> Policy:
    """Return a policy with an adapter, stirred by `size`."""
    policy = plain_policy(name, dtype).adapted(Lora(rank=rank))
    return stirred(policy, size) if size else policy


def stirred(policy: Policy, size: float = 0.1, seed: int = 2) -> Policy:
    """Give the adapter weights that matter."""
    assert has_adapter(policy.model)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in policy.model.parameters():
            if parameter.requires_grad:
                parameter.copy_(size * torch.randn(parameter.shape, generator=generator))
    return policy


def said(policy: Policy) -> Tensor:
    """Return the log-probs [N] of fixed answers."""
    return policy.logprobs.frozen(GROUPS)


def learned(policy: Policy) -> dict[str, Tensor]:
    """Return a copy of the weights that learn."""
    return {name: p.detach().clone() for name, p in policy.model.named_parameters() if p.requires_grad}


def saved_babbler(folder: Path, context: int = 256, architecture: str = "llama") -> Path:
    """Save the runs' babbler, so that adapters on it can be found again by its folder."""
    babbler(context, architecture).save(folder)
    return folder
