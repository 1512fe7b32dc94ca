"""Log-probs of what was sampled, with gradient: the forward pass that training differentiates.

Where asked, the same pass also gives the entropy of the distribution that each token was drawn from, and the hidden
state that it was drawn from, which a value function reads (`critic`).

Only own tokens are projected by the output head, and a group's prompt is read once (`packing`). Both are used only
where `traits` found them exact for the model at hand; what comes out is the same either way. Dropout stays off
(gradients flow all the same), so that on-policy the ratio to the sampler's log-probs is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from grpo_agents.head import read_head, read_logits
from grpo_agents.packing import Batch, Group, Microbatch, block_mask, microbatches, pack, single_rows
from grpo_agents.recompute import recomputing, repeated_layers
from grpo_agents.traits import ModelTraits
from grpo_gym.errors import ModelError

Layout = Literal["auto", "packed", "plain"]
TOKEN_BUDGET = 1024  # padded tokens per microbatch: on a CPU larger tensors leave the cache; a GPU wants 8k and more


@dataclass(frozen=True)
class Reading:
    """What one forward pass found at the N own tokens: group by group, row by row, token by token.

    Attributes:
        logprobs: [N] float32, natural-log probability of each token.
        entropies: [N] float32, entropy of the whole distribution each token was drawn from, nats. None: not asked for.
        hidden: [N, H] in the model's dtype, last hidden state at the token BEFORE each own token: what the model knew
            when it drew it. None: not asked for.
    """

    logprobs: Tensor
    entropies: Tensor | None = None
    hidden: Tensor | None = None


class LogProbs:
    """Log-probs of groups of trajectories under a model.

    Args:
        model: A causal language model; it is put into evaluation mode.
        pad_id: Any token id the model can read; padding is masked out.
        layout: "auto" packs where the model allows it; "packed" and "plain" force one form.
        traits: What is known of the model, when the caller has it already.

    Attributes:
        recomputed: The layers that are computed again in the backward pass; none unless asked for.
    """

    def __init__(
        self, model: PreTrainedModel, pad_id: int, *, layout: Layout = "auto", traits: ModelTraits | None = None
    ) -> None:
        model.train(False)
        self.model = model
        self.pad_id = pad_id
        self.layout = layout
        self.traits = traits or ModelTraits(model)
        self.recomputed: tuple[nn.Module, ...] = ()

    def recompute_layers(self) -> None:
        """From now on keep of each layer only its input for the backward pass (see `recompute`).

        Raises:
            ModelError: The model marks no layers for that.
        """
        self.recomputed = repeated_layers(self.model)

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
        return self.read(groups, temperature).logprobs

    def read(
        self, groups: Sequence[Group], temperature: float = 1.0, *, entropies: bool = False, hidden: bool = False
    ) -> Reading:
        """Return the log-probs of all own tokens and what else is asked for, in one forward pass.

        What is asked for beside them does not change the log-probs.

        Args:
            groups: What was sampled.
            temperature: Logits are divided by it, as the sampler did; log-probs and entropies are of that distribution.
            entropies: Whether to return entropies. They cost two more passes over the logits.
            hidden: Whether to return hidden states. Temperature has no part in them.

        Returns:
            All in one order. Each carries gradient unless gradients are off.

        Raises:
            ModelError: `hidden` of a model that shows no hidden states.
        """
        batch = self._batch(groups)
        if self.traits.head_apart:
            states = self._backbone_states(batch)
            found = read_head(self.traits.head, states, batch.targets, temperature, entropies=entropies)
            return Reading(*found, states if hidden else None)
        logits, shown = self._forward(batch, hidden=hidden)
        return Reading(*read_logits(logits, batch.targets, temperature, entropies=entropies), shown)

    def hidden_states(self, groups: Sequence[Group]) -> Tensor:
        """Return [N, H], what `read` gives as `hidden`, without the work of the output head where that stands apart.

        Raises:
            ModelError: A model that shows no hidden states.
        """
        batch = self._batch(groups)
        if self.traits.head_apart:
            return self._backbone_states(batch)
        states = self._forward(batch, hidden=True)[1]
        assert states is not None
        return states

    def microbatches(self, groups: Sequence[Group], token_budget: int = TOKEN_BUDGET) -> list[Microbatch]:
        """Cut groups for this layout (see `packing.microbatches`)."""
        return microbatches(groups, token_budget, packed=self.packed)

    def frozen(self, groups: Sequence[Group], temperature: float = 1.0, token_budget: int = TOKEN_BUDGET) -> Tensor:
        """Return the same as a call, without gradient and in bounded memory: for old and reference log-probs."""
        return self.in_parts(groups, token_budget, lambda part: self(part, temperature))

    def frozen_entropies(
        self, groups: Sequence[Group], temperature: float = 1.0, token_budget: int = TOKEN_BUDGET
    ) -> Tensor:
        """Return the entropies of `read`, without gradient and in bounded memory: for logs and for choosing tokens."""

        def entropies(part: Sequence[Group]) -> Tensor:
            found = self.read(part, temperature, entropies=True).entropies
            assert found is not None
            return found

        return self.in_parts(groups, token_budget, entropies)

    @torch.no_grad()
    def in_parts(
        self, groups: Sequence[Group], token_budget: int, compute: Callable[[Sequence[Group]], Tensor]
    ) -> Tensor:
        """Return what `compute` gives for the own tokens of each microbatch, put back into the order of the whole.

        Args:
            groups: The whole batch of N own tokens.
            token_budget: Padded tokens forwarded at once.
            compute: Groups with n own tokens to n numbers, in their flat order.

        Returns:
            [N] float32 on the model's device, without gradient.
        """
        parts = self.microbatches(groups, token_budget)
        values = torch.empty(sum(len(part.tokens) for part in parts), device=self.model.device)
        for part in parts:
            values[part.tokens.to(values.device)] = compute(part.groups)
        return values

    def _batch(self, groups: Sequence[Group]) -> Batch:
        """Lay groups out for the model and put it into evaluation mode."""
        self.model.train(False)
        return pack(groups if self.packed else single_rows(groups), self.pad_id).to(self.model.device)

    def _forward(self, batch: Batch, *, hidden: bool) -> tuple[Tensor, Tensor | None]:
        """Return the model's own logits [N, V] before the own tokens, and the hidden states [N, H] if asked."""
        with recomputing(self.recomputed):
            out = self.model(**self._inputs(batch), **({"output_hidden_states": True} if hidden else {}))
        logits = _picked(out.logits, batch)
        if not hidden:
            return logits, None
        layers = getattr(out, "hidden_states", None)
        if not layers:
            raise ModelError(
                f"{type(self.model).__name__} shows no hidden states, which a value function reads: "
                "take algo grpo, which needs none"
            )
        return logits, _picked(layers[-1], batch)

    def _backbone_states(self, batch: Batch) -> Tensor:
        with recomputing(self.recomputed):
            return _picked(self.traits.backbone(**self._inputs(batch)).last_hidden_state, batch)

    def _inputs(self, batch: Batch) -> dict[str, Any]:
        inputs = {"input_ids": batch.ids, "attention_mask": self._mask(batch), "use_cache": False}
        if "position_ids" in self.traits.arguments:
            inputs["position_ids"] = batch.positions
        return inputs

    def _mask(self, batch: Batch) -> Tensor:
        """Return the block mask [n, 1, T, T] of packed rows, or the padding mask [n, T] of plain ones."""
        if self.packed:
            return block_mask(batch.segments, self.model.dtype)
        return (batch.segments >= 0).long()


def _picked(states: Tensor, batch: Batch) -> Tensor:
    """Return, of [n, T, D], the rows [N, D] that predict the own tokens."""
    return states.flatten(0, 1).index_select(0, batch.sources)
