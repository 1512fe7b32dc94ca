"""The loss of a whole batch by the plainest way: row by row, a whole forward pass each, every formula written out.

It shares nothing with the product but the policy and the episodes: no microbatch, no mask, no cache, sums in Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from grpo_agents.collect import Episode
from grpo_agents.config import Objective, Selection
from grpo_agents.credit import Strata
from grpo_agents.policy import Policy
from grpo_agents.rollout import Trajectory
from tests.agents.lessons import MAX_TOKENS, TEMPERATURE, trajectory_of
from tests.agents.runs import gradient

RATIOS = {"gspo": "sequence", "luspo": "sequence"}
AVERAGES = {
    "grpo": "sequence",
    "sapo": "sequence",
    "gspo": "sequence",
    "gmpo": "sequence",
    "dr_grpo": "constant",
    "luspo": "sequence_sum",
}
OWN_RATIO = ("gmpo", "vespo", "reinforce")


def whole_forward(policy: Policy, trajectory: Trajectory) -> tuple[Tensor, Tensor]:
    """Return the log-prob and the entropy at every tail token [C], float64 and with gradient."""
    ids = torch.tensor([trajectory.context])
    logits = policy.model(input_ids=ids).logits[0].double() / TEMPERATURE
    before = logits.log_softmax(-1)[len(trajectory.prompt) - 1 : -1]
    entropies = -(before.exp() * before).sum(-1)
    return before.gather(1, torch.tensor(trajectory.tail)[:, None])[:, 0], entropies


class SlowBatch:
    """The rows of a batch, forwarded once; any number of objectives can be differentiated.

    Args:
        policy: What is differentiated.
        episodes: The batch.
        reference: Of a KL term.
    """

    def __init__(self, policy: Policy, episodes: Sequence[Episode], reference: Policy | None = None) -> None:
        self.policy = policy
        self.episodes = episodes
        self.counted = [row for row, e in enumerate(episodes) if e.valid and e.length]
        self.new: dict[int, Tensor] = {}
        self.old: dict[int, Tensor] = {}
        self.entropies: dict[int, Tensor] = {}
        self.held: dict[int, Tensor] = {}
        for row in self.counted:
            trajectory = trajectory_of(episodes[row])
            own = torch.tensor(trajectory.own)
            logprobs, entropies = whole_forward(policy, trajectory)
            self.new[row], self.entropies[row] = logprobs[own], entropies[own]
            self.old[row] = torch.tensor(trajectory.logprobs, dtype=torch.float64)[own]
            if reference is not None:
                self.held[row] = whole_forward(reference, trajectory)[0].detach()[own]

    def gradient(
        self, objective: Objective, selection: Selection | None = None, strata: Strata | None = None
    ) -> tuple[Tensor, float]:
        """Return gradient and loss."""
        self.policy.model.zero_grad()
        loss = self.loss(objective, selection or Selection(), strata)
        loss.backward(retain_graph=True)
        return gradient(self.policy), loss.item()

    def advantages(self, objective: Objective) -> dict[int, float]:
        """Return each counted row's reward minus its group's mean, in the unit that the objective names."""
        rewards = {row: self.episodes[row].reward for row in self.counted}
        found = {}
        for row in self.counted:
            group = [rewards[other] for other in self.counted if self.episodes[other].group == self.episodes[row].group]
            unit = {"batch": list(rewards.values()), "group": group}.get(objective.scale)
            divisor = 1.0 if unit is None else torch.tensor(unit, dtype=torch.float64).std().item() + 1e-4
            flat = max(group) - min(group) < 1e-12
            found[row] = 0.0 if flat else (rewards[row] - sum(group) / len(group)) / divisor
        return found

    def loss(self, objective: Objective, selection: Selection, strata: Strata | None) -> Tensor:
        """Return the loss, with its graph."""
        advantages = self.advantages(objective)
        lively = {self.episodes[row].group for row, advantage in advantages.items() if advantage}
        keeps = selection.zero_variance == "keep"
        rows = [row for row in self.counted if keeps or self.episodes[row].group in lively]
        tokens = {
            row: len(self.new[row]) if selection.truncated == "keep" or self.episodes[row].ended else 0 for row in rows
        }
        average = AVERAGES.get(objective.loss, "token") if objective.average == "auto" else objective.average
        total = torch.zeros((), dtype=torch.float64)
        for row in rows:
            if not tokens[row]:
                continue
            divisor = {
                "token": sum(tokens.values()),
                "minibatch_token": sum(tokens.values()),
                "sequence": tokens[row] * len(rows),
                "constant": len(rows) * MAX_TOKENS,
                "sequence_sum": len(rows),
            }[average]
            factor = 1.0 if strata is None else float(strata.weights[row])
            low = objective.clip_low if strata is None else float(strata.clip_low[row])
            high = objective.clip_high if strata is None else float(strata.clip_high[row])
            terms = -self.surrogate(row, advantages[row] * factor, low, high, objective)
            if row in self.held and objective.kl_coef:
                terms = terms + objective.kl_coef * self.kl(row, objective)
            total = total + terms.sum() / divisor
            if objective.entropy_coef:
                total = total - objective.entropy_coef * self.entropies[row].sum() / sum(tokens.values())
        return total

    def ratio(self, row: int, objective: Objective) -> Tensor:
        """Return the importance ratio of each token of a row, at the loss's level."""
        logs = self.new[row] - self.old[row]
        level = RATIOS.get(objective.loss, "token") if objective.ratio == "auto" else objective.ratio
        if level == "sequence":
            return logs.mean().exp().expand(len(logs))
        return logs.sum().exp().expand(len(logs)) if level == "product" else logs.exp()

    def kl(self, row: int, objective: Objective) -> Tensor:
        """Return the KL estimate of each token of a row."""
        x = self.held[row] - self.new[row]
        ratio = self.ratio(row, objective) if objective.kl_ratio_correction else torch.ones_like(x)
        return ratio.detach() * x**2 / 2 if objective.kl_estimator == "k2" else ratio * (x.exp() - x - 1)

    def surrogate(self, row: int, a: float, low: float, high: float, objective: Objective) -> Tensor:
        """Return what is maximised at each token of a row."""
        new, logs = self.new[row], self.new[row] - self.old[row]
        if objective.loss == "reinforce":
            return a * new
        if objective.loss == "gmpo":
            kept = logs.clamp(max=high) if a > 0 else logs.clamp(min=-low)
            return a * kept.mean().exp().expand(len(new))
        if objective.loss == "vespo":
            k, decay = (pair[0 if a >= 0 else 1] for pair in (objective.vespo_shape, objective.vespo_decay))
            w = math.exp(float(logs.detach().sum()))
            return float(w**k * math.exp(decay * (1 - w)) * a) * new
        r = self.ratio(row, objective)
        if objective.loss == "cispo":
            return r.detach().clamp(max=1 + high) * a * new
        if objective.loss == "sapo":
            tau = objective.sapo_temperature_positive if a > 0 else objective.sapo_temperature_negative
            gate: Tensor = 4 / tau / (1 + (-tau * (r - 1)).exp())
            return gate * a
        clipped: Tensor = torch.minimum(r * a, r.clamp(1 - low, 1 + high) * a)
        if objective.clip_dual and a < 0:
            clipped = clipped.clamp(min=objective.clip_dual * a)
        return clipped
