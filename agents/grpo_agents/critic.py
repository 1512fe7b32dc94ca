"""The critic of PPO: a value for the state that each own token was drawn in, i.e. everything before it.

    shared      one linear head on the policy's last hidden state: H + 1 weights more, no forward pass of its own, and
                the value loss moves the policy's trunk too
    separate    the same head on a trunk of its own, a copy of the policy as it is at the start: about twice the weights
                and the work, and neither loss disturbs the other

Both heads begin at zero, so every value is exactly 0 before the first update and the first advantages are the returns,
not the noise of a random head. The head is float32 whatever the policy is.

    critic = make_critic("shared", policy)
    old = critic.frozen(groups, temperature, token_budget)              # [N], once per batch, without gradient
    reading = policy.logprobs.read(part.groups, temperature, hidden=critic.needs_hidden)
    new = critic.values(part.groups, reading, temperature)              # [n], with gradient, in the reading's order
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from grpo_agents.logprobs import TOKEN_BUDGET, Layout, LogProbs, Reading
from grpo_agents.lora import resting, twin
from grpo_agents.packing import Group
from grpo_agents.policy import Policy

CriticKind: TypeAlias = Literal["shared", "separate"]


class Critic(Protocol):
    """What a trainer uses of a critic. Values are of no temperature; it is passed along for critics that read it.

    Attributes:
        needs_hidden: Whether `values` reads `Reading.hidden`.
    """

    needs_hidden: bool

    @property
    def parameter_count(self) -> int:
        """Numbers that belong to the critic alone and take a gradient."""

    def values(self, groups: Sequence[Group], reading: Reading, temperature: float = 1.0) -> Tensor:
        """Return [n] float32, one value per own token of `groups`, in the order of `LogProbs.read`, with gradient."""

    def frozen(self, groups: Sequence[Group], temperature: float = 1.0, token_budget: int = TOKEN_BUDGET) -> Tensor:
        """Return the same [N] without gradient and in bounded memory: what a batch's advantages are taken over."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Return what belongs to the critic alone; some may take no gradient (`requires_grad`)."""

    def state_dict(self) -> dict[str, Any]:
        """Return all that a resumed run needs beside the policy."""

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any:
        """Take over a state. Raises RuntimeError, with the names, when it is not of such a critic."""


class SharedCritic(nn.Module):
    """A value head on the policy's own last hidden state; gradient flows into the policy.

    Args:
        policy: Read at every call, so the values follow its weights.
    """

    needs_hidden = True

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.logprobs = policy.logprobs  # no nn.Module: the policy's weights are not the critic's
        self.head = ValueHead(hidden_width(policy.logprobs), policy.device)

    @property
    def parameter_count(self) -> int:
        """Numbers that belong to the critic alone."""
        return _count(self)

    def values(self, groups: Sequence[Group], reading: Reading, temperature: float = 1.0) -> Tensor:
        """Return [n] float32 from the hidden states of `reading`, which has to be of the same groups.

        Raises:
            ValueError: A reading without hidden states.
        """
        if reading.hidden is None:
            raise ValueError("a shared critic reads hidden states: call logprobs.read(..., hidden=critic.needs_hidden)")
        values: Tensor = self.head(reading.hidden)
        return values

    def frozen(self, groups: Sequence[Group], temperature: float = 1.0, token_budget: int = TOKEN_BUDGET) -> Tensor:
        """Return [N] float32 without gradient, by forward passes of the trunk alone."""
        return _frozen(self.logprobs, self.head, groups, token_budget)


class SeparateCritic(nn.Module):
    """A value head on its own copy of the policy's trunk; the policy gets no gradient from it.

    What takes a gradient in the policy takes one in the copy, but for an output head that is only that. What rests is
    shared with the policy and not copied: beside an adapted policy the critic is an adapter and a head.

    Args:
        policy: Copied as it is now; later changes of it do not show.
    """

    needs_hidden = False

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.model = twin(policy.model)
        layout: Layout = "packed" if policy.logprobs.packed else "plain"
        self.logprobs = LogProbs(self.model, policy.pad_id, layout=layout)
        if policy.logprobs.recomputed:
            self.logprobs.recompute_layers()
        self.head = ValueHead(hidden_width(self.logprobs), policy.device)
        self._drop_output_head()

    def _drop_output_head(self) -> None:
        """Take the unused output head off the copy, or out of training where the model cannot run without it."""
        model: Any = self.model  # some of its methods carry no annotations
        if self.logprobs.traits.head_apart:  # looked at while the head is there, and kept
            model.set_output_embeddings(nn.Identity())
            return
        output = model.get_output_embeddings()
        embedded = {id(parameter) for parameter in model.get_input_embeddings().parameters()}
        for parameter in () if output is None else output.parameters():
            if id(parameter) not in embedded:
                parameter.requires_grad_(False)

    @property
    def parameter_count(self) -> int:
        """Numbers that belong to the critic alone and take a gradient."""
        return _count(self)

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]  # two overloads
        """Return what learns; what rests is the policy's, and in its checkpoint or its base."""
        names, whole = resting(self), super().state_dict(*args, **kwargs)
        return {name: value for name, value in whole.items() if name not in names}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Take over what `state_dict` returned. Raises RuntimeError, with the names, for anything else."""
        names = resting(self)
        rest = {name: value for name, value in super().state_dict().items() if name in names}
        return super().load_state_dict(rest | dict(state_dict), strict, assign)

    def values(self, groups: Sequence[Group], reading: Reading, temperature: float = 1.0) -> Tensor:
        """Return [n] float32 by a forward pass of its own trunk; `reading` is the policy's and not looked at."""
        values: Tensor = self.head(self.logprobs.hidden_states(groups))
        return values

    def frozen(self, groups: Sequence[Group], temperature: float = 1.0, token_budget: int = TOKEN_BUDGET) -> Tensor:
        """Return [N] float32 without gradient, by forward passes of its own trunk."""
        return _frozen(self.logprobs, self.head, groups, token_budget)


class ValueHead(nn.Module):
    """A linear map from a hidden state to one number, float32, zero at the start.

    Args:
        width: H, numbers in a hidden state.
        device: Where the policy is.
    """

    def __init__(self, width: int, device: torch.device) -> None:
        super().__init__()
        # No nn.Linear: it would draw its first weights from the global generator, which others read.
        self.weight = nn.Parameter(torch.zeros(1, width, dtype=torch.float32, device=device))
        self.bias = nn.Parameter(torch.zeros(1, dtype=torch.float32, device=device))

    def forward(self, hidden: Tensor) -> Tensor:
        """Return [n] float32 from hidden states [n, H] of any float type."""
        return functional.linear(hidden.float(), self.weight, self.bias).squeeze(-1)


CRITICS: Final[dict[CriticKind, type[SharedCritic] | type[SeparateCritic]]] = {
    "shared": SharedCritic,
    "separate": SeparateCritic,
}
"""Every critic by its name."""


def make_critic(kind: CriticKind, policy: Policy) -> Critic:
    """Return a new critic of a policy.

    Raises:
        ValueError: An unknown kind.
        ModelError: The policy's model shows no hidden states.
    """
    if kind not in CRITICS:
        raise ValueError(f"critic kind must be one of {', '.join(CRITICS)}; got {kind!r}")
    return CRITICS[kind](policy)


@torch.no_grad()
def hidden_width(logprobs: LogProbs) -> int:
    """Return H as the model shows it, by a trial on two tokens: configs name it differently, or name another width."""
    return logprobs.hidden_states([Group([0], [[0]], [[True]])]).shape[-1]


def _frozen(logprobs: LogProbs, head: ValueHead, groups: Sequence[Group], token_budget: int) -> Tensor:
    return logprobs.in_parts(groups, token_budget, lambda part: head(logprobs.hidden_states(part)))


def _count(critic: nn.Module) -> int:
    return sum(parameter.numel() for parameter in critic.parameters() if parameter.requires_grad)
