"""Supervised warm start: imitate worked solutions before rewards take over.

Demonstrations come from any environment that shows its answers (`expose_answer=True` puts `solution` and `answer` into
the reset's info). A share of them may be hasty: the answer alone, mostly wrong, as from someone who skipped the
working: what the task's weak solver says (`guess`), else the answer with a near miss of its last number. A policy
taught on such a mixture knows both ways; reinforcement then has a choice to make.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from grpo_agents.config import SFTConfig
from grpo_agents.environments import EnvChoice, reset_rows, seeds_for
from grpo_agents.logprobs import LogProbs
from grpo_agents.optimizers import AdamW
from grpo_agents.packing import Group
from grpo_agents.policy import Policy
from grpo_agents.quantised import check_trainable
from grpo_gym.errors import InvalidValueError
from grpo_gym.infos import row_info
from grpo_gym.rng import Rng

logger = logging.getLogger(__name__)

NEAR_MISS = 6
"""A hasty answer's last number is off by at most this much; one time in thirteen it is right by luck."""


@dataclass(frozen=True)
class Demonstration:
    """A question and how it should be answered."""

    prompt: str
    response: str


def sft(policy: Policy, config: SFTConfig, on_step: Callable[[int, float], None] = lambda step, loss: None) -> None:
    """Train the policy in place on an environment's worked solutions.

    Args:
        policy: The model to teach.
        config: What and how.
        on_step: Called with step and loss (mean nats per response token).

    Demonstrations that are longer than the context are left out, and counted in a warning at the end.

    Raises:
        InvalidValueError: The environment shows no solutions, or none of a batch fits the context.
        ModelError: The policy's weights are in 8 bits.
    """
    check_trainable(policy.model)
    optimizers = _optimizers(policy.model, config)
    rates = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]
    logprobs = LogProbs(policy.model, policy.pad_id, layout="plain")
    left_out = 0
    for step, batch in enumerate(demonstrations(config), 1):
        share = _schedule(step, config)
        for optimizer, highest in zip(optimizers, rates, strict=True):
            for group, rate in zip(optimizer.param_groups, highest, strict=True):
                group["lr"] = rate * share
        groups = _fitting(policy, [_group(policy, demonstration) for demonstration in batch])
        left_out += len(batch) - len(groups)
        on_step(step, _step(policy, logprobs, optimizers, groups, config))
    if left_out:
        logger.warning("%d demonstrations are longer than the context and were left out", left_out)


def demonstrations(config: SFTConfig) -> Iterator[list[Demonstration]]:
    """Yield `steps` batches of demonstrations from the train split."""
    choice = EnvChoice.of(config)
    choice.check()
    if choice.ours:
        choice.args["expose_answer"] = True
    env = choice.vector(config.batch)
    rng = Rng("hasty", config.seed)
    try:
        for step in range(config.steps):
            prompts, infos = reset_rows(env, seeds_for("sft", config.seed, step, config.batch))
            yield [_demonstration(str(p), row_info(infos, row), config, rng) for row, p in enumerate(prompts)]
    finally:
        env.close()


def hasty_answer(answer: str, rng: Rng) -> str:
    """Return the answer with its last number off by up to NEAR_MISS, as from someone who skipped the working."""
    numbers = list(re.finditer(r"\d+", answer))
    if not numbers:
        return answer
    last = numbers[-1]
    changed = abs(int(last.group()) + rng.integer(-NEAR_MISS, NEAR_MISS))
    return answer[: last.start()] + str(changed) + answer[last.end() :]


def _demonstration(prompt: str, info: dict[str, Any], config: SFTConfig, rng: Rng) -> Demonstration:
    if "solution" not in info:
        raise InvalidValueError(f"{config.env} shows no solutions (no `solution` in info with expose_answer=True)")
    if config.careful >= 1 or rng.below(10_000) < config.careful * 10_000:
        return Demonstration(prompt, str(info["solution"]))
    if "guess" in info:
        return Demonstration(prompt, str(info["guess"]))
    if "answer" not in info:
        raise InvalidValueError(f"{config.env} shows no short answers (`answer` in info): hasty ones need them")
    return Demonstration(prompt, hasty_answer(str(info["answer"]), rng))


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
    prompt = policy.render([{"role": "user", "content": demonstration.prompt}])
    response = policy.tokenizer(demonstration.response, add_special_tokens=False)["input_ids"] + [end_id(policy)]
    return Group(prompt, [response], [[True] * len(response)])


def _fitting(policy: Policy, groups: list[Group]) -> list[Group]:
    """Return those that the context can hold."""
    fitting = [group for group in groups if policy.room(group.packed_length) >= 0]
    if not fitting:
        shortest = min(group.packed_length for group in groups)
        raise InvalidValueError(
            f"no demonstration of the batch fits the context of {policy.context} tokens; the shortest has {shortest}"
        )
    return fitting


def end_id(policy: Policy) -> int:
    """Return the token that a demonstration ends with: the tokenizer's own end token where the model stops at it."""
    own = policy.tokenizer.eos_token_id
    return int(own) if own in policy.eos_ids else min(policy.eos_ids)


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
