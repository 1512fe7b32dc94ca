"""The reference policy of a KL term: a frozen copy, or the policy itself with its adapter switched off.

A copy costs a second model, and can be moved towards the policy now and then (TR-DPO, arXiv 2404.09656, section 3). A
policy that trains an adapter has its reference inside: without the adapter it is the model it began as, exactly.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from grpo_agents.config import Reference as Options
from grpo_agents.logprobs import LogProbs
from grpo_agents.packing import Group
from grpo_agents.policy import Policy
from grpo_gym.errors import InvalidValueError


class Reference(Protocol):
    """What a KL term needs of its reference."""

    def frozen(self, groups: Sequence[Group], temperature: float, token_budget: int) -> Tensor:
        """Return the log-prob of each own token [N], without gradient."""

    def move(self, policy: Policy, mix: float) -> None:
        """Move towards the policy: 0 stays, 1 becomes it."""

    def state_dict(self) -> dict[str, Tensor]:
        """Return what a checkpoint must keep; {} where the starting policy says it all."""

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take back what `state_dict` returned."""


def is_copied(policy: Policy, options: Options) -> bool:
    """Whether a policy's reference is a copy: it has no adapter to switch off, is told so, or the reference moves."""
    if options.kind != "auto":
        return options.kind == "copy"
    return options.sync_every > 0 or not has_adapter(policy.model)


def make_reference(policy: Policy, options: Options, start: Policy | None = None) -> Reference:
    """Return the reference of a policy.

    Args:
        policy: What is trained.
        options: How; under "auto" a start that is given is copied, too.
        start: What a copy is taken of; None for the policy as it is now.

    Raises:
        InvalidValueError: "adapter", and the policy has none.
    """
    if options.kind == "adapter" and not has_adapter(policy.model):
        raise InvalidValueError(
            "reference.kind adapter needs a policy with an adapter (LoRA); this one has none: take copy"
        )
    given = options.kind == "auto" and start is not None
    return FrozenCopy(start or policy) if given or is_copied(policy, options) else AdapterOff(policy)


class FrozenCopy:
    """A copy of a policy as it is now; later changes of its weights do not show."""

    def __init__(self, policy: Policy) -> None:
        self._logprobs = LogProbs(copy.deepcopy(policy.model).requires_grad_(False), policy.pad_id)
        self._moved = False

    def frozen(self, groups: Sequence[Group], temperature: float, token_budget: int) -> Tensor:
        """Return the log-prob of each own token [N], without gradient."""
        return self._logprobs.frozen(groups, temperature, token_budget)

    @torch.no_grad()
    def move(self, policy: Policy, mix: float) -> None:
        """Replace each weight w by (1 - mix) w + mix w', with w' the policy's."""
        theirs = dict(policy.model.named_parameters())
        for name, mine in self._logprobs.model.named_parameters():
            mine.lerp_(theirs[name].to(mine), mix)
        self._moved = True

    def state_dict(self) -> dict[str, Tensor]:
        """Return the weights once they have moved, {} before."""
        if not self._moved:
            return {}
        return {name: value.detach().cpu() for name, value in self._logprobs.model.state_dict().items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take weights back."""
        if state:
            self._logprobs.model.load_state_dict(state)
            self._moved = True


class AdapterOff:
    """The policy with its adapter switched off while the reference is asked."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def frozen(self, groups: Sequence[Group], temperature: float, token_budget: int) -> Tensor:
        """Return the log-prob of each own token [N], without gradient."""
        with without_adapter(self._policy.model):
            return self._policy.logprobs.frozen(groups, temperature, token_budget)

    def move(self, policy: Policy, mix: float) -> None:
        """Refuse: without its adapter the policy is what it began as."""
        raise InvalidValueError("a reference that is the policy without its adapter cannot be moved: take kind copy")

    def state_dict(self) -> dict[str, Tensor]:
        """Return nothing: the policy's own checkpoint holds it."""
        return {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take nothing back."""


def has_adapter(model: Any) -> bool:
    """Whether a model has an adapter that can be switched off: a peft model, or one that transformers added it to."""
    return hasattr(model, "disable_adapter") or bool(getattr(model, "_hf_peft_config_loaded", False))


@contextlib.contextmanager
def without_adapter(model: Any) -> Iterator[None]:
    """Switch a model's adapter off for a while; on again also when something is raised."""
    if hasattr(model, "disable_adapter"):  # a peft model
        with model.disable_adapter():
            yield
        return
    model.disable_adapters()
    try:
        yield
    finally:
        model.enable_adapters()
