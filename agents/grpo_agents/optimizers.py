"""AdamW for policies in any float type: half-precision weights are moved as float32 copies.

A bfloat16 number has 8 bits: a step of 1e-6 on a weight of 0.1 is rounded away, at every step anew, and the policy
stands still. So AdamW moves a float32 copy of such a weight (mixed-precision training, arXiv 1710.03740, section 3.1),
and the weight is that copy, rounded. Gradients of microbatches add up in float32, too. Memory per half-precision
weight: 2 bytes for itself, 4 for its gradient, 4 for the copy and 8 for the moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from grpo_agents.config import TrainConfig
from grpo_agents.policy import Policy

MASTERS = "masters"
"""Where a state dict holds the float32 copies, in the order of the parameters that have one."""


class AdamW(torch.optim.AdamW):
    """PyTorch's AdamW, which it equals bit for bit on float32 weights, with float32 copies of half-precision ones.

    The copies are what counts from the first moment on: a half-precision weight that somebody else changes is back at
    its copy after the next step.
    """

    def __init__(self, params: Any, **settings: Any) -> None:
        self._masters: dict[Tensor, Tensor] = {}
        super().__init__(params, **settings)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters; those of half precision get their copies."""
        super().add_param_group(param_group)
        for weight in self.param_groups[-1]["params"]:
            if weight.dtype.itemsize < 4:
                weight.grad_dtype = torch.float32
                self._masters[weight] = weight.detach().float()

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move the weights that have a gradient."""
        for weight, master in self._masters.items():
            master.grad = None if weight.grad is None else weight.grad.float()
        with self._on_masters():
            loss = super().step(closure)
        for weight, master in self._masters.items():
            master.grad = None
            weight.copy_(master)
        return loss

    def state_dict(self) -> dict[str, Any]:
        """Return moments and copies, all of them float32 at least."""
        with self._on_masters():
            return super().state_dict() | {MASTERS: [*self._masters.values()]}

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state back; half-precision weights become its copies, rounded, which they were when it was saved.

        Raises:
            ValueError: It is of other weights: their number or their sizes differ, or they were of another precision.
        """
        given = state_dict.get(MASTERS, [])
        if [value.shape for value in given] != [master.shape for master in self._masters.values()]:
            raise ValueError("its float32 copies are not of the half-precision weights that are here")
        for (weight, master), value in zip(self._masters.items(), given, strict=True):
            weight.copy_(master.copy_(value))
        with self._on_masters():
            super().load_state_dict(state_dict)

    @contextmanager
    def _on_masters(self) -> Iterator[None]:
        """Have the parameter groups hold the copies for a while, so that moments are of their type and are theirs."""
        self._replace(self._masters)
        try:
            yield
        finally:
            self._replace({master: weight for weight, master in self._masters.items()})

    def _replace(self, others: Mapping[Tensor, Tensor]) -> None:
        for group in self.param_groups:
            group["params"] = [others.get(parameter, parameter) for parameter in group["params"]]


def make_optimizer(policy: Policy, config: TrainConfig) -> AdamW:
    """Return AdamW over the weights that take a gradient."""
    settings = config.optimisation
    weights = [parameter for parameter in policy.model.parameters() if parameter.requires_grad]
    return AdamW(
        [{"params": weights, "initial_lr": settings.learning_rate}],
        lr=settings.learning_rate,
        betas=(settings.beta1, settings.beta2),
        weight_decay=settings.weight_decay,
    )


def set_learning_rate(optimizer: torch.optim.Optimizer, step: int, config: TrainConfig) -> None:
    """Set the rates of a step, counted from 1: linear warm-up, then constant."""
    settings = config.optimisation
    share = min(1.0, step / settings.warmup_steps) if settings.warmup_steps else 1.0
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] * share
