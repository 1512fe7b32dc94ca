"""The reference policy of a KL term: a frozen copy, or the policy itself with its adapter switched off.

A copy costs a second model, and can be moved towards the policy now and then (TR-DPO, arXiv 2404.09656, section 3). A
policy that trains an adapter has its reference inside: without the adapter it is the model it began as, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from grpo_agents.config import Reference as Options
from grpo_agents.logprobs import LogProbs
from grpo_agents.lora import has_adapter, resting, twin, without_adapter
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
    """A copy of a policy as it is now; later changes of its weights do not show.

    Weights of the policy that rest are shared and not copied: they are the same for ever.
    """

    def __init__(self, policy: Policy) -> None:
        self._resting = resting(policy.model)
        self._logprobs = LogProbs(twin(policy.model).requires_grad_(False), policy.pad_id)
        self._moved = False

    def frozen(self, groups: Sequence[Group], temperature: float, token_budget: int) -> Tensor:
        """Return the log-prob of each own token [N], without gradient."""
        return self._logprobs.frozen(groups, temperature, token_budget)

    @torch.no_grad()
    def move(self, policy: Policy, mix: float) -> None:
        """Replace each weight w that learns by (1 - mix) w + mix w', with w' the policy's.

        Raises:
            InvalidValueError: A policy with other weights, for instance one with an adapter where this copy has none.
        """
        theirs = dict(policy.model.named_parameters())
        mine = {name: weight for name, weight in self._logprobs.model.named_parameters() if name not in self._resting}
        if strange := sorted(mine.keys() - theirs.keys()):
            raise InvalidValueError(
                f"the reference cannot move to the policy, which has no {strange[0]}: give a start of the same make, "
                "with an adapter of the same rank where the policy has one"
            )
        for name, weight in mine.items():
            weight.lerp_(theirs[name].to(weight), mix)
        self._moved = True

    def state_dict(self) -> dict[str, Tensor]:
        """Return the weights that learn once they have moved, {} before."""
        if not self._moved:
            return {}
        state = self._logprobs.model.state_dict()
        return {name: value.detach().cpu() for name, value in state.items() if name not in self._resting}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take weights back."""
        if state:
            model = self._logprobs.model
            resting = {name: value for name, value in model.state_dict().items() if name in self._resting}
            model.load_state_dict(resting | state)
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
