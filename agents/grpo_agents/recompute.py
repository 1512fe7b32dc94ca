"""Gradient checkpointing (arXiv 1604.06174): a layer's inner values are computed again in the backward pass, not kept.

transformers does the same, but only for layers in training mode, where dropout would be on, and it then takes the
cache away from whoever samples. Here a layer's forward is replaced while the training pass runs, and for no longer;
the model stays in evaluation mode, and nobody else sees a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from grpo_gym.errors import ModelError


def repeated_layers(model: nn.Module) -> tuple[nn.Module, ...]:
    """Return the layers that a model marks for this, below adapters too.

    Raises:
        ModelError: It marks none.
    """
    layers = tuple(module for module in model.modules() if isinstance(module, GradientCheckpointingLayer))
    if not layers:
        raise ModelError(
            f"{type(model).__name__} marks no layers that can be computed again: "
            "leave optimisation.gradient_checkpointing off, and lower optimisation.token_budget to save memory"
        )
    return layers


@contextmanager
def recomputing(layers: Sequence[nn.Module]) -> Iterator[None]:
    """Have the forward passes inside keep of each layer its input only; without gradients they are as ever."""
    if not torch.is_grad_enabled():
        yield
        return
    before = [vars(layer).get("forward") for layer in layers]  # some have one of their own, put on by other libraries
    for layer in layers:
        vars(layer)["forward"] = partial(
            checkpoint,
            layer.forward,
            use_reentrant=False,
            preserve_rng_state=False,  # nothing is drawn: no dropout
        )
    try:
        yield
    finally:
        for layer, own in zip(layers, before, strict=True):
            if own is None:
                del vars(layer)["forward"]
            else:
                vars(layer)["forward"] = own
