"""Log-probs of what was sampled, with gradient: the forward pass that training differentiates.

Only own tokens are projected by the output head, and a group's prompt is read once (`packing`). Both are used only
where `traits` found them exact for the model at hand; what comes out is the same either way. Dropout stays off
(gradients flow all the same), so that on-policy the ratio to the sampler's log-probs is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedModel

from grpo_agents.packing import Batch, Group, Microbatch, block_mask, microbatches, pack, single_rows
from grpo_agents.traits import ModelTraits

Layout = Literal["auto", "packed", "plain"]
TOKEN_BUDGET = 1024  # padded tokens per microbatch: on a CPU larger tensors leave the cache; a GPU wants 8k and more


class LogProbs:
    """Log-probs of groups of trajectories under a model.

    Args:
        model: A causal language model; it is put into evaluation mode.
        pad_id: Any token id the model can read; padding is masked out.
        layout: "auto" packs where the model allows it; "packed" and "plain" force one form.
        traits: What is known of the model, when the caller has it already.
    """

    def __init__(
        self, model: PreTrainedModel, pad_id: int, *, layout: Layout = "auto", traits: ModelTraits | None = None
    ) -> None:
        model.train(False)
        self.model = model
        self.pad_id = pad_id
        self.layout = layout
        self.traits = traits or ModelTraits(model)

    @property
    def packed(self) -> bool:
        """Whether a row holds a group (True) or a single trajectory."""
        return self.layout == "packed" or (self.layout == "auto" and self.traits.block_masks)

    def __call__(self, groups: Sequence[Group], temperature: float = 1.0) -> Tensor:
        """Return the log-probs of all own tokens, in one forward pass.

        Args:
            groups: What was sampled.
            temperature: Logits are divided by it, as the sampler did.

        Returns:
            [N] float32, group by group, row by row, token by token. Carries gradient unless gradients are off.
        """
        self.model.train(False)
        batch = pack(groups if self.packed else single_rows(groups), self.pad_id).to(self.model.device)
        logits = self._logits(batch).float()
        if temperature != 1.0:
            logits = logits / temperature
        return -functional.cross_entropy(logits, batch.targets, reduction="none")

    def microbatches(self, groups: Sequence[Group], token_budget: int = TOKEN_BUDGET) -> list[Microbatch]:
        """Cut groups for this layout (see `packing.microbatches`)."""
        return microbatches(groups, token_budget, packed=self.packed)

    @torch.no_grad()
    def frozen(self, groups: Sequence[Group], temperature: float = 1.0, token_budget: int = TOKEN_BUDGET) -> Tensor:
        """Return the same as a call, without gradient and in bounded memory: for old and reference log-probs."""
        parts = self.microbatches(groups, token_budget)
        values = torch.empty(sum(len(part.tokens) for part in parts), device=self.model.device)
        for part in parts:
            values[part.tokens.to(values.device)] = self(part.groups, temperature)
        return values

    def _logits(self, batch: Batch) -> Tensor:
        """Return the logits [N, V] that predict the own tokens."""
        inputs = {"input_ids": batch.ids, "attention_mask": self._mask(batch), "use_cache": False}
        if "position_ids" in self.traits.arguments:
            inputs["position_ids"] = batch.positions
        if not self.traits.head_apart:
            logits: Tensor = self.model(**inputs).logits
            return logits.flatten(0, 1).index_select(0, batch.sources)
        hidden = self.traits.backbone(**inputs).last_hidden_state
        picked: Tensor = self.traits.head(hidden.flatten(0, 1).index_select(0, batch.sources))
        return picked

    def _mask(self, batch: Batch) -> Tensor:
        """Return the block mask [n, 1, T, T] of packed rows, or the padding mask [n, T] of plain ones."""
        if self.packed:
            return block_mask(batch.segments, self.model.dtype)
        return (batch.segments >= 0).long()
