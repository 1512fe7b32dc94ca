"""Supervised warm start: imitate worked episodes before rewards take over.

What is imitated is in `demonstrations.py`. Of an episode of several turns only the answers carry loss; what the
environment says is read. A share of the demonstrations may be hasty: a policy taught on such a mixture knows both ways,
and reinforcement then has a choice to make.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

import torch

from grpo_agents.config import SFTConfig
from grpo_agents.demonstrations import Demonstration, demonstrations, trajectory
from grpo_agents.logprobs import LogProbs
from grpo_agents.optimizers import AdamW
from grpo_agents.packing import Group
from grpo_agents.policy import Policy
from grpo_agents.quantised import check_trainable
from grpo_gym.errors import InvalidValueError

logger = logging.getLogger(__name__)


def sft(policy: Policy, config: SFTConfig, on_step: Callable[[int, float], None] = lambda step, loss: None) -> None:
    """Train the policy in place on an environment's worked solutions.

    Args:
        policy: The model to teach.
        config: What and how.
        on_step: Called with step and loss (mean nats per response token).

    Demonstrations that are longer than the context, and episodes that could not be played to their end, are left out
    and counted in warnings at the end.

    Raises:
        InvalidValueError: The environment shows no solutions, or none of a batch fits the context.
        ModelError: The policy's weights are in 8 bits.
    """
    check_trainable(policy.model)
    optimizers = _optimizers(policy.model, config)
    rates = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]
    logprobs = LogProbs(policy.model, policy.pad_id, layout="plain")
    too_long = not_played = 0
    for step, batch in enumerate(demonstrations(config), 1):
        share = _schedule(step, config)
        for optimizer, highest in zip(optimizers, rates, strict=True):
            for group, rate in zip(optimizer.param_groups, highest, strict=True):
                group["lr"] = rate * share
        groups = _fitting(policy, [_group(policy, demonstration) for demonstration in batch])
        too_long += len(batch) - len(groups)
        not_played += config.batch - len(batch)
        on_step(step, _step(policy, logprobs, optimizers, groups, config))
    if too_long:
        logger.warning("%d demonstrations are longer than the context and were left out", too_long)
    if not_played:
        logger.warning("%d episodes were left out: the environment did not show the way to their end", not_played)


def _step(
    policy: Policy,
    logprobs: LogProbs,
    optimizers: list[torch.optim.Optimizer],
    groups: list[Group],
    config: SFTConfig,
) -> float:
    """Take one optimiser step; the mean is over all response tokens of the batch."""
    tokens = sum(group.own_length for group in groups)
    for optimizer in optimizers:
        optimizer.zero_grad(set_to_none=True)
    total = 0.0
    for part in logprobs.microbatches(groups, config.token_budget):
        loss = -logprobs(part.groups).sum() / tokens
        loss.backward()
        total += float(loss.detach())
    norm = torch.nn.utils.clip_grad_norm_(policy.model.parameters(), config.max_grad_norm)
    if not (math.isfinite(total) and math.isfinite(float(norm))):
        raise InvalidValueError(f"the loss is {total} and the gradient norm {float(norm)}: lower the learning rate")
    for optimizer in optimizers:
        optimizer.step()
    return total


def _group(policy: Policy, demonstration: Demonstration) -> Group:
    played = trajectory(policy, demonstration)
    return Group(played.prompt, [played.tail], [played.own])


def _fitting(policy: Policy, groups: list[Group]) -> list[Group]:
    """Return those that the context can hold."""
    fitting = [group for group in groups if policy.room(group.packed_length) >= 0]
    if not fitting:
        shortest = min(group.packed_length for group in groups)
        raise InvalidValueError(
            f"no demonstration of the batch fits the context of {policy.context} tokens; the shortest has {shortest}"
        )
    return fitting


def _optimizers(model: torch.nn.Module, config: SFTConfig) -> list[torch.optim.Optimizer]:
    parameters = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    if config.optimizer == "adamw":
        return [_adamw([p for _, p in parameters], config, config.weight_decay)]
    matrices = [p for name, p in parameters if p.ndim == 2 and "embed" not in name and "lm_head" not in name]
    chosen = {id(p) for p in matrices}
    rest = [p for _, p in parameters if id(p) not in chosen]
    muon = torch.optim.Muon(matrices, lr=config.matrix_rate, momentum=0.95, weight_decay=config.weight_decay)
    return [muon, _adamw(rest, config, 0.0)]


def _adamw(parameters: list[torch.nn.Parameter], config: SFTConfig, decay: float) -> torch.optim.Optimizer:
    return AdamW(parameters, lr=config.learning_rate, betas=(0.9, 0.98), weight_decay=decay)


def _schedule(step: int, config: SFTConfig) -> float:
    rise = min(1.0, step / config.warmup_steps) if config.warmup_steps else 1.0
    return rise * max(0.01, 1.0 - (step - 1) / config.steps)
