"""The output head: from hidden states to log-probs and entropies, in float32, and never all logits at once.

For a real model the logits are the largest tensor of training by far: 4,096 tokens of a vocabulary of 150,000 are
2.4 GB, several times over. So large products are computed in chunks of tokens. A chunk's logits are reduced to a few
numbers and dropped, and the backward pass computes them again from the hidden states, the weight and each row's
normaliser, about 1.3 times the work of the head. Small products are kept whole, which is faster.

Half-precision models get a float32 product here, and in the sampler the same one: rounding the logits to bfloat16 was
what drove sampler and trainer apart in MiniMax-M1 (arXiv 2506.13585, section 3.2). Only a head that is a plain linear
map is multiplied here; any other (an adapter on the head, hooks) is called as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeGuard

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

SMALL: Final = 2**22
"""Logits (tokens x vocabulary) up to which they are kept whole: 16 MB."""
CHUNK: Final = 2**24
"""Logits of one chunk, 64 MB: with fewer, adding up the weight's gradient outweighs the products."""
ENTROPY_ROWS: Final = 256
"""Tokens whose entropies are computed at once from logits kept whole: bounds memory, does not change results."""


LEAST: Final = -1e4
"""A log-prob whose probability is 0 in any float type, in the place of -inf, which times 0 would be NaN."""


def read_head(
    head: nn.Module, states: Tensor, targets: Tensor, temperature: float = 1.0, *, entropies: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Return what a head says of tokens, with gradient to the states and to what the head learns.

    Args:
        head: Hidden states [n, H] to logits [n, V].
        states: [N, H], the model's dtype.
        targets: [N] int64, the tokens.
        temperature: Logits are divided by it.
        entropies: Whether to return entropies, too.

    Returns:
        Log-probs [N] and entropies [N] or None, float32, nats.
    """
    width = int(getattr(head, "out_features", 0)) or head(states[:1]).shape[-1]
    small = len(states) * width <= SMALL
    if is_plain(head):
        if small:
            logits = functional.linear(_wide(states), _wide(head.weight), _wide(head.bias))
            return read_logits(logits, targets, temperature, entropies=entropies)
        project: Callable[..., tuple[Tensor, Tensor]] = Projection.apply
        logprobs, spreads = project(states, head.weight, head.bias, targets, temperature, entropies)
        return logprobs.float(), spreads.float() if entropies else None

    def read(states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor | None]:
        return read_logits(head(states), targets, temperature, entropies=entropies)

    if small:
        return read(states, targets)
    parts = [
        checkpoint(read, states[span], targets[span], use_reentrant=False, preserve_rng_state=False)
        for span in chunks(len(states), width)
    ]
    return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts]) if entropies else None


def read_logits(
    logits: Tensor, targets: Tensor, temperature: float = 1.0, *, entropies: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Return the same from logits [N, V] of any float type."""
    logits = logits.float()
    if temperature != 1.0:
        logits = logits / temperature
    logprobs = -functional.cross_entropy(logits, targets, reduction="none")
    return logprobs, entropies_of(logits) if entropies else None


def is_plain(head: nn.Module) -> TypeGuard[nn.Linear]:
    """Whether a head is its weight and bias and nothing else: no subclass, no hook, no forward of its own."""
    hooked = head._forward_hooks or head._forward_pre_hooks or "forward" in vars(head)
    return type(head) is nn.Linear and not hooked


def is_half(values: Any) -> bool:
    """Whether a tensor is of a type of 16 bits, in which logits are not to be computed."""
    return bool(values.dtype.itemsize < 4)


def wide_head(head: nn.Linear) -> Callable[[Tensor], Tensor]:
    """Return a plain head as a function of states [n, H] to float32 logits [n, V], its weight converted once."""
    weight, bias = _wide(head.weight), _wide(head.bias)
    return lambda states: functional.linear(states.to(weight.dtype), weight, bias)


def chunks(rows: int, width: int) -> Iterator[slice]:
    """Yield slices of the rows with at most CHUNK logits each, but at least one row."""
    size = max(1, CHUNK // width)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


class Projection(torch.autograd.Function):
    """Log-probs and entropies of tokens under softmax((states @ weight.T + bias) / temperature), chunk by chunk.

    With g and h the gradients of a row's log-prob and entropy H, and p its distribution, the gradient of logit j is
    (g (1[j is the target] - p_j) - h p_j (log p_j + H)) / temperature.
    """

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        temperature: float,
        entropies: bool,
    ) -> tuple[Tensor, Tensor]:
        """Return log-probs [N] and entropies [N] (empty where not asked for), float32, or float64 for such states."""
        logits = _chunked(states, weight, bias, temperature)
        peaks, norms, picked, spreads = [], [], [], []
        for span, part in logits:
            peaks.append(part.amax(-1, keepdim=True))
            part -= peaks[-1]
            norms.append(part.exp().sum(-1, keepdim=True).log_())
            part -= norms[-1]
            picked.append(part.gather(1, targets[span, None])[:, 0])
            if entropies:
                spreads.append(_entropies(part))
        kept = torch.cat(spreads) if entropies else picked[0].new_empty(0)
        ctx.save_for_backward(states, weight, bias, targets, torch.cat(peaks), torch.cat(norms), kept)
        ctx.temperature = temperature
        return torch.cat(picked), kept.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_logprobs: Tensor, of_entropies: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of states, weight and bias, each in its own dtype, where they are needed."""
        states, weight, bias, targets, peaks, norms, entropies = ctx.saved_tensors
        to_states, to_weight, to_bias = ctx.needs_input_grad[:3]
        wide = _wide(weight)
        of_states = torch.empty_like(states) if to_states else None
        of_weight = torch.zeros_like(wide) if to_weight else None
        of_bias = wide.new_zeros(len(wide)) if to_bias else None
        for span, logprobs in _chunked(states, weight, bias, ctx.temperature):
            logprobs -= peaks[span]
            logprobs -= norms[span]  # in two steps: their sum would round away what likely tokens differ by
            slopes = logprobs.exp()
            if len(entropies):
                logprobs.clamp_(min=LEAST).add_(entropies[span, None])
                slopes *= logprobs.mul_(of_entropies[span, None]).add_(of_logprobs[span, None]).neg_()
            else:
                slopes *= -of_logprobs[span, None]
            slopes.scatter_add_(1, targets[span, None], of_logprobs[span, None])
            slopes /= ctx.temperature
            if of_states is not None:
                of_states[span] = slopes @ wide
            if of_weight is not None:
                of_weight.addmm_(slopes.T, states[span].to(slopes.dtype))
            if of_bias is not None:
                of_bias += slopes.sum(0)
        of_weight = of_weight.to(weight.dtype) if of_weight is not None else None
        return of_states, of_weight, of_bias.to(bias.dtype) if of_bias is not None else None, None, None, None


def _chunked(states: Tensor, weight: Tensor, bias: Tensor | None, temperature: float) -> Iterator[tuple[slice, Tensor]]:
    """Yield spans of the rows with their logits, which the caller may overwrite."""
    wide, wide_bias = _wide(weight), _wide(bias)
    for span in chunks(len(states), len(weight)):
        yield span, functional.linear(states[span].to(wide.dtype), wide, wide_bias).div_(temperature)


def _wide(values: Any) -> Any:
    """Return values of half precision as float32, others as they are."""
    return values.float() if values is not None and is_half(values) else values


def entropies_of(logits: Tensor) -> Tensor:
    """Entropy -sum p log p over the whole vocabulary, in nats, of each row's softmax.

    With gradient nothing of the vocabulary's size is kept for it but the logits: the rest is computed again. Logits of
    -inf (tokens that cannot be drawn) count 0.

    Args:
        logits: [N, V] float32 or float64, divided by the temperature already.

    Returns:
        [N], dtype of `logits`; from 0 to log V.
    """
    parts = logits.split(ENTROPY_ROWS)
    return torch.cat(
        [
            checkpoint(
                lambda part: _entropies(part.log_softmax(-1)), part, use_reentrant=False, preserve_rng_state=False
            )
            for part in parts
        ]
    )


def _entropies(logprobs: Tensor) -> Tensor:
    # Clamped and not hidden afterwards: the NaN of 0 * -inf would return in the gradient.
    return -(logprobs.exp() * logprobs.clamp(min=LEAST)).sum(-1)
