"""Sampling from a causal language model: own loop over the plain forward, ids and log-probs kept exactly as drawn.

Against `model.generate`: a group's prompt is read once and its cache copied to the group's rows; finished rows leave
the batch; one uniform number per row and step decides the token by inverse CDF, so a row's luck does not depend on who
else is in the batch; and the log-prob is that of the distribution really drawn from. It runs on any Hugging Face causal
model with a key-value cache.

Order of random numbers: u[row, step] in [0, 1) is one float64 table [rows, max_tokens], drawn at once on the CPU for
all rows before the first token. Splitting into batches, dropping rows and the device change nothing in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from grpo_agents.head import is_half, is_plain, wide_head
from grpo_agents.rollout import Completion
from grpo_agents.traits import ModelTraits
from grpo_gym.errors import InvalidValueError, ModelError

ROWS_PER_BATCH = 256  # rows decoded together: more is no faster on a CPU, and their caches are what fills memory
FINISHED_SHARE = 0.125  # finished rows are dropped when they are at least this part of the batch

Head = Callable[[Tensor], Tensor]
"""Hidden states [B, H] to logits [B, V]."""


@dataclass
class _Drawn:
    """What was drawn so far for the R rows of one batch; rows keep their place when others leave.

    Attributes:
        ids: [R, M] int64; behind a row's length it holds junk.
        logprobs: [R, M] float32.
        lengths: [R] int64, tokens drawn by finished rows.
        ended: [R] bool, whether the last token was an end token.
    """

    ids: Tensor
    logprobs: Tensor
    lengths: Tensor
    ended: Tensor

    @classmethod
    def empty(cls, rows: int, steps: int, device: torch.device) -> _Drawn:
        return cls(
            ids=torch.zeros(rows, steps, dtype=torch.int64, device=device),
            logprobs=torch.zeros(rows, steps, device=device),
            lengths=torch.zeros(rows, dtype=torch.int64, device=device),
            ended=torch.zeros(rows, dtype=torch.bool, device=device),
        )

    def completions(self) -> list[Completion]:
        rows = zip(self.ids.tolist(), self.logprobs.tolist(), self.lengths.tolist(), self.ended.tolist(), strict=True)
        return [Completion(ids[:length], logprobs[:length], ended) for ids, logprobs, length, ended in rows]


@dataclass
class _Batch:
    """The rows still in the batch: their caches and where they stand.

    Attributes:
        cache: Keys and values of the B rows.
        rows: [B] int64, their places in `_Drawn`.
        live: [B] bool, False for rows that have finished and wait to be dropped.
        mask: [B, W] padding mask (1 is a token), or [B, 1, 1, W] additive, W the width at the last step.
        positions: [B, 1] int64, position of the token that is read next.
    """

    cache: DynamicCache
    rows: Tensor
    live: Tensor
    mask: Tensor
    positions: Tensor

    def keep(self, chosen: Tensor) -> None:
        """Keep the chosen rows, by index; an index may repeat."""
        self.cache.batch_select_indices(chosen)
        self.rows, self.live = self.rows[chosen], self.live[chosen]
        self.mask, self.positions = self.mask[chosen], self.positions[chosen]


class Sampler:
    """Draws completions from a model.

    Args:
        model: A causal language model; it is put into evaluation mode.
        eos_ids: Every id that ends a completion.
        pad_id: Any id the model can read; padding is masked out and never part of a result.
        context: Most tokens the model can hold, or None.
        finished_share: Finished rows are dropped when they are at least this part of the batch; above 1: never.
        traits: What is known of the model, when the caller has it already.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        eos_ids: Iterable[int],
        pad_id: int,
        *,
        context: int | None = None,
        finished_share: float = FINISHED_SHARE,
        traits: ModelTraits | None = None,
    ) -> None:
        model.train(False)
        self.model = model
        self.eos_ids = sorted(eos_ids)
        self.pad_id = pad_id
        self.context = context
        self.finished_share = finished_share
        self.traits = traits or ModelTraits(model)

    @torch.inference_mode()
    def __call__(
        self,
        prompts: Sequence[Sequence[int]],
        group_size: int = 1,
        *,
        max_tokens: int,
        temperature: float = 1.0,
        greedy: bool = False,
        generator: torch.Generator | None = None,
        rows_per_batch: int = ROWS_PER_BATCH,
    ) -> list[Completion]:
        """Draw `group_size` completions of each prompt.

        Args:
            prompts: P prompts as token ids.
            group_size: G completions each.
            max_tokens: Most tokens of a completion; a row gets fewer where the context ends before.
            temperature: Logits are divided by it; the log-probs are of the distribution at this temperature.
            greedy: Take the most likely token; the log-probs are then those at temperature 1.
            generator: CPU generator of the uniform numbers; None takes torch's global one.
            rows_per_batch: Rows decoded together, which bounds the memory.

        Returns:
            P * G completions; row `p * G + g` belongs to prompt p.

        Raises:
            ModelError: A prompt is empty or leaves no room in the context.
            InvalidValueError: A number is out of its bounds.
        """
        _check_settings(temperature, group_size=group_size, max_tokens=max_tokens, rows_per_batch=rows_per_batch)
        self.model.train(False)
        rooms = [self._room(prompt, max_tokens) for prompt in prompts]
        owners = [prompt for prompt in range(len(prompts)) for _ in range(group_size)]
        shape = (len(owners), 0 if greedy else max_tokens)
        uniforms = torch.rand(shape, generator=generator, dtype=torch.float64)
        completions: list[Completion] = []
        head = self._head()
        for start in range(0, len(owners), rows_per_batch):
            span = owners[start : start + rows_per_batch]
            first = span[0]
            drawn = self._decode(
                head,
                prompts[first : span[-1] + 1],
                torch.tensor(span, device=self.model.device) - first,
                torch.tensor([rooms[prompt] for prompt in span], device=self.model.device),
                None if greedy else uniforms[start : start + len(span)].to(self.model.device),
                temperature,
            )
            completions += drawn.completions()
        return completions

    @torch.inference_mode()
    def stream(
        self,
        prompt: Sequence[int],
        *,
        max_tokens: int,
        temperature: float = 1.0,
        greedy: bool = False,
        generator: torch.Generator | None = None,
    ) -> Iterator[tuple[int, float]]:
        """Yield one completion's tokens with their log-probs as they are drawn: those that a call would return.

        The arguments and errors are those of `__call__` with a single prompt and a group of one.
        """
        _check_settings(temperature, max_tokens=max_tokens)
        self.model.train(False)
        steps = self._room(prompt, max_tokens)
        uniforms = torch.rand((1, 0 if greedy else max_tokens), generator=generator, dtype=torch.float64)
        uniforms = uniforms.to(self.model.device)
        head, owner = self._head(), torch.zeros(1, dtype=torch.int64, device=self.model.device)
        batch, logits = self._prefill(head, [prompt], owner, steps)
        for step in range(steps):
            ids, logprobs = draw(logits, None if greedy else uniforms[:, step], temperature)
            token = int(ids)
            yield token, float(logprobs)
            if token in self.eos_ids or step + 1 == steps:
                return
            mask = batch.mask[..., : len(prompt) + step + 1]
            logits = self._forward(head, ids[:, None], mask, batch.positions, batch.cache)
            batch.positions = self._next(batch.positions)

    def _room(self, prompt: Sequence[int], max_tokens: int) -> int:
        """Return how many tokens may follow a prompt."""
        if not prompt:
            raise ModelError("an empty prompt: the policy needs at least one token to continue")
        if self.context is None:
            return max_tokens
        if len(prompt) > self.context - 1:
            raise ModelError(
                f"a prompt of {len(prompt)} tokens does not fit the model's context of {self.context} "
                "with room for an answer: shorten the prompt or take a model with a longer context"
            )
        return min(max_tokens, self.context - len(prompt))

    def _head(self) -> Head | None:
        """Return the head as the log-probs of training compute it, None where that is what the model does by itself."""
        if not self.traits.head_apart:
            return None
        if is_plain(self.traits.head) and is_half(self.traits.head.weight):
            return wide_head(self.traits.head)
        return None if "logits_to_keep" in self.traits.arguments else self.traits.head

    def _decode(
        self,
        head: Head | None,
        prompts: Sequence[Sequence[int]],
        owners: Tensor,
        rooms: Tensor,
        uniforms: Tensor | None,
        temperature: float,
    ) -> _Drawn:
        """Decode one batch of R rows; `owners` [R] names each row's prompt, `rooms` [R] its token limit."""
        steps = int(rooms.max())
        batch, logits = self._prefill(head, prompts, owners, steps)
        drawn = _Drawn.empty(len(owners), steps, logits.device)
        ends = torch.tensor(self.eos_ids, device=logits.device)
        width = batch.mask.shape[-1] - steps
        for step in range(steps):
            chance = None if uniforms is None else uniforms[batch.rows, step]
            ids, logprobs = draw(logits, chance, temperature)
            drawn.ids[batch.rows, step] = ids
            drawn.logprobs[batch.rows, step] = logprobs
            ended = torch.isin(ids, ends)
            finished = (ended | (rooms[batch.rows] == step + 1)) & batch.live
            drawn.lengths[batch.rows[finished]] = step + 1
            drawn.ended[batch.rows[finished]] = ended[finished]
            batch.live &= ~finished
            left = int(batch.live.sum())
            if not left:
                break
            if len(ids) - left >= self.finished_share * len(ids):
                ids = ids[batch.live]
                batch.keep(batch.live.nonzero()[:, 0])
            mask = batch.mask[..., : width + step + 1]
            logits = self._forward(head, ids[:, None], mask, batch.positions, batch.cache)
            batch.positions = self._next(batch.positions)
        return drawn

    def _prefill(
        self, head: Head | None, prompts: Sequence[Sequence[int]], owners: Tensor, steps: int
    ) -> tuple[_Batch, Tensor]:
        """Read each prompt once; return the rows' batch and their first logits [R, V]."""
        device = self.model.device
        width = max(map(len, prompts))
        padded = [[self.pad_id] * (width - len(prompt)) + list(prompt) for prompt in prompts]
        ids = torch.tensor(padded, device=device)
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
        columns = torch.arange(width + steps, device=device)
        mask = (columns >= width - lengths[:, None]).long()
        positions = (columns[:width] - (width - lengths[:, None])).clamp(min=0)
        cache = DynamicCache(config=self.model.config)
        self._refuse_unless(all(hasattr(layer, "batch_select_indices") for layer in cache.layers))
        logits = self._forward(head, ids, mask[:, :width], positions, cache)
        self._refuse_unless(cache.get_seq_length() > 0)
        if self.traits.block_masks:  # a mask in its final form spares the model building one at each step
            lowest = torch.finfo(self.model.dtype).min
            mask = ((1 - mask).to(self.model.dtype) * lowest)[:, None, None]
        live = torch.ones(len(prompts), dtype=torch.bool, device=device)
        batch = _Batch(cache, torch.arange(len(prompts), device=device), live, mask, self._next(positions[:, -1:]))
        batch.keep(owners)
        batch.rows = torch.arange(len(owners), device=device)
        return batch, logits[owners]

    def _refuse_unless(self, cached: bool) -> None:
        if not cached:
            raise ModelError(
                f"{type(self.model).__name__} keeps no keys and values of what it has read, or a running state instead "
                "(Mamba, linear attention), so answers cannot share a prompt: take a model of attention layers only"
            )

    def _next(self, positions: Tensor) -> Tensor:
        """Return the following positions; finished rows may not run past a learned position table."""
        return (positions + 1).clamp(min=0, max=None if self.context is None else self.context - 1)

    def _forward(self, head: Head | None, ids: Tensor, mask: Tensor, positions: Tensor, cache: DynamicCache) -> Tensor:
        """Read `ids` [B, S] behind the cache; return the logits [B, V] after the last one."""
        inputs = {"input_ids": ids, "attention_mask": mask, "use_cache": True, self.traits.cache_argument: cache}
        if "position_ids" in self.traits.arguments:
            inputs["position_ids"] = positions
        if head is not None:
            states: Tensor = self.traits.backbone(**inputs).last_hidden_state
            return head(states[:, -1])
        if "logits_to_keep" in self.traits.arguments:
            inputs["logits_to_keep"] = 1
        logits: Tensor = self.model(**inputs).logits
        return logits[:, -1]


def draw(logits: Tensor, uniforms: Tensor | None, temperature: float) -> tuple[Tensor, Tensor]:
    """Choose one token per row.

    The sums are float64: in float32 the last of 150,000 tokens would carry the rounding of all others.

    Args:
        logits: [B, V], any float type.
        uniforms: [B] float64 in [0, 1) for inverse-CDF sampling, or None for the most likely token.
        temperature: Divides the logits when sampling; greedy choice ignores it.

    Returns:
        Ids [B] int64 and their log-probs [B] float32 under the distribution drawn from.
    """
    if uniforms is None:
        best, ids = logits.float().log_softmax(-1).max(-1)
        return ids, best
    probabilities = (logits.float() / temperature).softmax(-1)
    sums = probabilities.double().cumsum(-1)
    ids = torch.searchsorted(sums, uniforms[:, None] * sums[:, -1:], right=True).clamp_(max=logits.shape[-1] - 1)
    return ids[:, 0], probabilities.gather(1, ids)[:, 0].log()


def _check_settings(temperature: float, **counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise InvalidValueError(f"{name} must be at least 1, not {value}")
    if not temperature > 0:
        raise InvalidValueError(f"temperature must be above 0, not {temperature}; for the likeliest tokens set greedy")
