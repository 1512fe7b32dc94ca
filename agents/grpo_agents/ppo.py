"""Proximal Policy Optimisation (arXiv 1707.06347) on the same rollouts as GRPO, so that the two can be compared.

    GRPO    advantage = reward of a completion, compared with the others of its group; the same for all its tokens
    PPO     advantage = generalised advantage estimate over a value function, token by token (gae.py, critic.py)

Rollout, reward, clipping, averaging and optimiser are shared, line for line: only `credit` differs, and the critic
learns along. A reward comes with the last token of the turn that it was paid for, the penalty for length with the last
of the episode, the KL penalty of `kl_estimator` k1 with each token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from grpo_agents import config as configs
from grpo_agents.advantages import whitened
from grpo_agents.collect import Episode
from grpo_agents.credit import Credit, Strata, UnusableBatchError
from grpo_agents.critic import Critic, make_critic
from grpo_agents.gae import explained_variance, gae, length_adaptive_lambda, returns
from grpo_agents.grpo import GRPO
from grpo_agents.lesson import Drawn
from grpo_agents.policy import Policy
from grpo_agents.prepare import Learner
from grpo_agents.turns import paid_by_turn
from grpo_agents.update import Update


class PPO(GRPO):
    """Trains a policy and a critic on an environment. Arguments as for GRPO; `config.critic` has its options.

    Example:
        >>> PPO(Policy.load("path/to/model"), config=TrainConfig(algo="ppo", steps=20)).learn()   # doctest: +SKIP
    """

    def __init__(self, policy: Policy, *args: Any, **kwargs: Any) -> None:
        super().__init__(policy, *args, **kwargs)
        options = self.config.critic
        self.critic = make_critic(options.kind, policy)
        own = [parameter for parameter in self.critic.parameters() if parameter.requires_grad]
        self.optimizer.add_param_group(
            {"params": own, "lr": options.learning_rate, "initial_lr": options.learning_rate}
        )

    def learner(self) -> Learner:
        """Return what an update needs; as long as the critic warms up, the policy rests."""
        options = self.config.critic
        return replace(
            super().learner(),
            estimator=CriticCredit(self.critic, options, self.config),
            critic=self.critic,
            value_coef=options.value_coef,
            value_clip=options.value_clip,
            policy_rests=self.step <= options.warmup_steps,
        )

    def measured_kl(self, result: Update) -> float | None:
        """Return the mean KL of an update; None as long as the policy rests, and so cannot be steered."""
        return None if self.step <= self.config.critic.warmup_steps else super().measured_kl(result)

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """Return what a checkpoint keeps beside the policy: the critic too."""
        return super().tensors() | {"critic": self.critic.state_dict()}

    def load_tensors(self, saved: dict[str, dict[str, Tensor]]) -> None:
        """Take back what `tensors` returned."""
        super().load_tensors(saved)
        self.critic.load_state_dict(saved["critic"])


@dataclass(frozen=True)
class CriticCredit:
    """Compares what followed each token with what a critic expected before it.

    Attributes:
        critic: Values every state.
        options: Discount and lambdas.
        config: Of the run, for the sizes of its forward passes.
    """

    critic: Critic
    options: configs.Critic
    config: configs.TrainConfig

    def __call__(
        self, episodes: Sequence[Episode], drawn: Drawn, rewards: Tensor, penalties: Tensor | None, strata: Strata
    ) -> Credit:
        """Return one advantage per token, and the returns that the critic is to learn."""
        temperature, budget = self.config.sampling.temperature, self.config.optimisation.token_budget
        values = self.critic.frozen(drawn.groups, temperature, budget).cpu()
        if not values.isfinite().all():
            raise UnusableBatchError("the critic's values are not finite")
        paid = _paid_per_token(episodes, drawn, rewards)
        if penalties is not None:
            paid -= penalties.double()
        lengths, options = drawn.lengths, self.options
        lam: float | Tensor = options.gae_lambda
        if options.length_adaptive:
            lam = length_adaptive_lambda(lengths, options.length_adaptive)
        advantages = gae(paid, values, lengths, discount=options.discount, lam=lam)
        targets = returns(paid, values, lengths, discount=options.discount, lam=options.critic_lambda)
        figures = {"value/explained_variance": explained_variance(values, targets), "value/mean": float(values.mean())}
        if options.whiten:
            advantages = whitened(advantages, torch.ones(len(advantages), dtype=torch.bool))
        advantages = (advantages * drawn.spread(strata.weights)).float()
        per_row = torch.zeros(len(episodes))
        per_row[torch.tensor(drawn.rows, dtype=torch.int64)] = (drawn.per_row(advantages) / lengths).float()
        return Credit(advantages, per_row, values, targets.float(), figures)


def _paid_per_token(episodes: Sequence[Episode], drawn: Drawn, rewards: Tensor) -> Tensor:
    """Return each token's reward, float64 [N]: a turn's at its last token, and all else of the episode at the end."""
    paid = torch.zeros(int(drawn.lengths.sum()), dtype=torch.float64)
    first = 0
    for row, length in zip(drawn.rows, drawn.lengths.tolist(), strict=True):
        episode, place, early = episodes[row], first, 0.0
        for turn_length, reward in zip(episode.turn_lengths[:-1], paid_by_turn(episode), strict=False):
            place += turn_length
            paid[place - 1] = reward
            early += reward
        first += length
        paid[first - 1] = rewards[row] - early
    return paid
