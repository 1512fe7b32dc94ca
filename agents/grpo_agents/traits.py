"""What a causal language model can take, looked at once: argument names, mask forms, whether its head stands apart.

Models differ in what they let a caller do. Instead of a table of architectures, this reads the config and the forward
signature, and then tries the real thing on a dozen random tokens. Neither alone would do: a short trial cannot see
a sliding window or a soft cap, and a config does not say whether a mask is honoured. What fails falls back to the slow
form that every model has, and says so once in the log.
"""

from __future__ import annotations

import inspect
import logging
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel

from grpo_agents.head import is_half
from grpo_agents.packing import Batch, Group, block_mask, pack, single_rows

_log = logging.getLogger(__name__)
_FAILURES = (RuntimeError, ValueError, TypeError, IndexError, AttributeError)  # what a model raises on unknown input


def text_config(model: PreTrainedModel) -> PretrainedConfig:
    """Return the config of the text decoder (the config itself unless the model has several parts)."""
    config: PretrainedConfig = model.config.get_text_config(decoder=True)
    return config


def embedding_rows(model: PreTrainedModel) -> int:
    """Return how many token ids the model can read."""
    weight: Any = model.get_input_embeddings().weight
    return int(weight.shape[0])


class ModelTraits:
    """The facts about one model that sampler and log-probs share; each is found on first use and kept.

    Attributes:
        model: The causal language model.
        arguments: Names that its forward takes.
        cache_argument: How it calls its key-value cache ("past_key_values" became "cache" in transformers 5).
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self._untyped: Any = model  # some of its methods carry no annotations
        base: Any = getattr(model, "get_base_model", lambda: model)  # peft hides the signature of what it wraps
        self.arguments = frozenset(inspect.signature(base().forward).parameters)
        self.cache_argument = "cache" if "cache" in self.arguments else "past_key_values"

    @cached_property
    def block_masks(self) -> bool:
        """Whether the model honours a mask [n, 1, T, T] with position ids, so that tails can share one prompt."""
        reason = self._odd_attention() or self._block_mask_trial()
        form = f"one row per trajectory ({reason})" if reason else "one row per group"
        _log.info("%s: log-probs by %s", type(self.model).__name__, form)
        return not reason

    @cached_property
    def head_apart(self) -> bool:
        """Whether the head on the backbone's output gives the model's logits, so that it can be put on some only."""
        reason = self._scaled_logits() or self._head_trial()
        form = f"of all positions ({reason})" if reason else "of own tokens only"
        _log.info("%s: logits %s", type(self.model).__name__, form)
        return not reason

    @cached_property
    def backbone(self) -> nn.Module:
        """The model without its output head."""
        module: nn.Module = self._untyped.get_decoder()
        return module

    @cached_property
    def head(self) -> nn.Module:
        """The output head, where there is one (see `head_apart`)."""
        module: nn.Module = self._untyped.get_output_embeddings()
        return module

    def _odd_attention(self) -> str:
        """Return why a block mask cannot be right, or nothing."""
        config = text_config(self.model)
        kinds = set(getattr(config, "layer_types", None) or ())
        implementation = self.model.config._attn_implementation
        if "position_ids" not in self.arguments:
            return "takes no position ids"
        if implementation not in ("sdpa", "eager"):
            return f"{implementation} attention takes no block mask"
        if kinds - {"full_attention"}:
            return "has " + ", ".join(sorted(kinds - {"full_attention"}))
        if not kinds and getattr(config, "sliding_window", None):
            return "has a sliding window"
        return ""

    def _block_mask_trial(self) -> str:
        """Return how packed and plain rows differ on random tokens, or nothing."""
        groups = self._random_groups()
        try:
            packed = self._whole_logits(pack(groups, 0), packed=True)
        except _FAILURES as error:
            return f"a block mask raised {type(error).__name__}"
        return self._difference(packed, self._whole_logits(pack(single_rows(groups), 0), packed=False))

    def _scaled_logits(self) -> str:
        """Return why the head's output is not the model's logits, or nothing (a soft cap hides at small logits)."""
        if getattr(text_config(self.model), "final_logit_softcapping", None):
            return "soft cap on the logits"
        if self._untyped.get_output_embeddings() is None:
            return "no output head found"
        return ""

    @torch.no_grad()
    def _head_trial(self) -> str:
        """Return how head and model differ on random tokens, or nothing."""
        batch = pack(single_rows(self._random_groups()), 0).to(self.model.device)
        try:
            hidden = self.backbone(input_ids=batch.ids, use_cache=False).last_hidden_state
            whole = self.model(input_ids=batch.ids, use_cache=False).logits
            return self._difference(self.head(hidden), whole)
        except _FAILURES as error:
            return f"the backbone alone raised {type(error).__name__}"

    @torch.no_grad()
    def _whole_logits(self, batch: Batch, *, packed: bool) -> Tensor:
        """Return the logits [N, V] before each own token by the model's own forward."""
        batch = batch.to(self.model.device)
        mask = block_mask(batch.segments, self.model.dtype) if packed else (batch.segments >= 0).long()
        out = self.model(input_ids=batch.ids, attention_mask=mask, position_ids=batch.positions, use_cache=False)
        logits: Tensor = out.logits
        return logits.flatten(0, 1).index_select(0, batch.sources)

    def _random_groups(self) -> list[Group]:
        """Return two small ragged groups of random token ids."""
        generator = torch.Generator().manual_seed(0)
        ids = torch.randint(embedding_rows(self.model), (21,), generator=generator).tolist()
        spans = [(ids[:4], [ids[4:7], ids[7:9], ids[9:12]]), (ids[12:15], [ids[15:17], ids[17:21]])]
        return [Group(prompt, tails, [[True] * len(tail) for tail in tails]) for prompt, tails in spans]

    def _difference(self, ours: Tensor, theirs: Tensor) -> str:
        """Return a sentence when two tensors of logits differ by more than their type's rounding.

        In half precision single logits of a real model are off by tenths, from one kernel to another; so all of them
        are compared together, by their share of the spread. Rounding gives 0.02, another mask 0.2 and more.
        """
        gaps = ours.float().log_softmax(-1) - theirs.float().log_softmax(-1)
        if is_half(theirs):
            logits = theirs.float()
            gap, most = float(gaps.norm() / (logits - logits.mean(-1, keepdim=True)).norm()), 0.1
        else:
            gap, most = float(gaps.abs().max()), 1e-4
        return "" if gap <= most else f"a trial differed by {gap:.1g}"
