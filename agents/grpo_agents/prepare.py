"""From a batch of episodes to what is learned from it: credit, which rows teach, weights, reference, corrections."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from grpo_agents.collect import Episode
from grpo_agents.config import Objective, Optimisation, Selection
from grpo_agents.credit import (
    Credit,
    Estimator,
    GroupCredit,
    Strata,
    UnusableBatchError,
    lively_groups,
    no_strata,
    shaped_rewards,
)
from grpo_agents.critic import Critic
from grpo_agents.kl import k1
from grpo_agents.lesson import Drawn, Lesson, Tokens
from grpo_agents.logprobs import LogProbs
from grpo_agents.losses import form_of, high_entropy, mismatch, sampler_ratio, token_weights
from grpo_agents.reference import Reference
from grpo_agents.turn_credit import TurnCredit

Figures = dict[str, float]


@dataclass(frozen=True)
class Learner:
    """All that an update needs beside the episodes.

    Attributes:
        logprobs: Of the policy that is trained.
        optimizer: Over its weights, and over the critic's.
        objective: What is maximised.
        optimisation: How the weights move.
        max_tokens: Most tokens that a turn may have.
        temperature: At which the episodes were sampled.
        selection: Which completions count.
        estimator: How rewards become advantages; None compares as the objective says.
        reference: What a KL term pulls to; None without one.
        critic: Learns along with the policy; None without one.
        value_coef: Weight of its loss.
        value_clip: How far its values may move in one update; 0 for no limit.
        policy_rests: Whether only the critic learns, as long as it warms up.
    """

    logprobs: LogProbs
    optimizer: torch.optim.Optimizer
    objective: Objective
    optimisation: Optimisation
    max_tokens: int
    temperature: float
    selection: Selection = field(default_factory=Selection)
    estimator: Estimator | None = None
    reference: Reference | None = None
    critic: Critic | None = None
    value_coef: float = 0.0
    value_clip: float = 0.0
    policy_rests: bool = False

    def frozen(self, source: LogProbs | Reference, drawn: Drawn) -> Tensor:
        """Return the log-prob of each drawn token without gradient, on the CPU."""
        return source.frozen(drawn.groups, self.temperature, self.optimisation.token_budget).cpu()

    def held(self, drawn: Drawn) -> Tensor:
        """Return the log-prob of each drawn token under the reference. Raises UnusableBatchError."""
        assert self.reference is not None
        values = self.frozen(self.reference, drawn)
        if not values.isfinite().all():
            raise UnusableBatchError("the reference's log-probs are not finite")
        return values


@dataclass(frozen=True)
class Prepared:
    """What there is to learn from a batch.

    Attributes:
        lessons: One per minibatch; empty when nothing teaches.
        credit: What each token was found to be worth.
        figures: For the log.
    """

    lessons: list[Lesson]
    credit: Credit
    figures: Figures


def prepare(
    learner: Learner,
    episodes: Sequence[Episode],
    kl_coef: float,
    strata: Strata | None = None,
    generator: torch.Generator | None = None,
) -> Prepared:
    """Return the lessons of a batch.

    Args:
        learner: Policy and options.
        episodes: The batch.
        kl_coef: Weight of the KL term now.
        strata: What the strata of its rows ask for; None for one stratum.
        generator: Decides which groups make a minibatch; None for torch's own.

    Raises:
        UnusableBatchError: Log-probs of the reference or values of the critic are not finite.
    """
    objective, reference = learner.objective, learner.reference if kl_coef > 0 else None
    strata = strata or no_strata(len(episodes), objective)
    drawn = Drawn.of(episodes)
    rewards = shaped_rewards(episodes, learner.selection, learner.max_tokens, objective.turn_discount)
    figures: Figures = {}
    penalties = None
    if reference is not None and objective.kl_estimator == "k1":
        if not drawn.sampled.isfinite().all():
            raise UnusableBatchError("sampled log-probs are not finite, and kl_estimator k1 takes them off the reward")
        gap = k1(drawn.sampled, learner.held(drawn), torch.ones_like(drawn.sampled, dtype=torch.bool))
        penalties, reference = kl_coef * gap, None
        figures["kl"] = float(gap.mean()) if len(gap) else 0.0
    credit = _estimator(learner)(episodes, drawn, rewards, penalties, strata)
    counted = _counted(learner, episodes, drawn)
    figures |= credit.figures | counted.figures()
    teaching = counted.rows & ~counted.dropped
    if reference is None and not objective.entropy_coef and learner.critic is None:
        teaching &= drawn.per_row(credit.advantages != 0) > 0
    if not teaching.any():
        return Prepared([], credit, figures)
    part = _minibatch_of_row(drawn, teaching, learner.optimisation.minibatches, generator)
    tokens = _tokens(drawn, credit, strata, *_weights(drawn, counted, part, learner))
    if objective.entropy_share < 1:
        tokens = dataclasses.replace(tokens, keep=_of_high_entropy(learner, drawn, tokens))
    taught, chosen = drawn.of_rows(teaching)
    lesson = Lesson(taught, tokens.pick(chosen))
    if reference is not None:
        lesson = lesson.with_(reference=learner.held(taught))
    if objective.correction != "none":
        lesson = _corrected(learner, lesson, figures)
    of_teaching = part[teaching]
    return Prepared([lesson.part(of_teaching == number) for number in of_teaching.unique()], credit, figures)


def _estimator(learner: Learner) -> Estimator:
    """Return how rewards become advantages."""
    if learner.estimator is not None:
        return learner.estimator
    if learner.objective.credit == "turn":
        return TurnCredit(learner.objective, learner.selection, learner.max_tokens)
    return GroupCredit(learner.objective)


@dataclass(frozen=True)
class _Counted:
    """Which of the drawn rows count, bool [R] each.

    Attributes:
        rows: Those whose tokens carry loss; the others were cut at their limit and count as rows only.
        dropped: Those of groups that are left out of every mean.
        dropped_groups: How many such groups there are.
    """

    rows: Tensor
    dropped: Tensor
    dropped_groups: int

    def figures(self) -> Figures:
        """Return what was left out, for the log."""
        return {"rows/masked": float((~self.rows).sum()), "groups/dropped": float(self.dropped_groups)}


def _counted(learner: Learner, episodes: Sequence[Episode], drawn: Drawn) -> _Counted:
    selection = learner.selection
    rows = torch.tensor([episodes[row].ended or selection.truncated == "keep" for row in drawn.rows], dtype=torch.bool)
    dropped = torch.zeros_like(rows)
    if selection.zero_variance == "keep":
        return _Counted(rows, dropped, 0)
    lively = set(lively_groups(episodes, learner.objective, selection, learner.max_tokens))
    dropped = torch.tensor([episodes[row].group not in lively for row in drawn.rows], dtype=torch.bool)
    return _Counted(rows, dropped, len({episodes[row].group for row in drawn.rows} - lively))


def _minibatch_of_row(drawn: Drawn, teaching: Tensor, count: int, generator: torch.Generator | None) -> Tensor:
    """Deal whole groups out to minibatches, those that teach first and each kind as evenly as can be: [R] int64."""
    sizes = torch.tensor([len(group.tails) for group in drawn.groups])
    group_of_row = torch.arange(len(sizes)).repeat_interleave(sizes)
    teach = torch.zeros(len(sizes), dtype=torch.bool)
    teach[group_of_row[teaching]] = True
    numbers = torch.zeros(len(sizes), dtype=torch.int64)
    count = min(count, int(teach.sum()))
    if count > 1:
        dealt = torch.randperm(len(sizes), generator=generator)
        dealt = torch.cat([dealt[teach[dealt]], dealt[~teach[dealt]]])
        numbers[dealt] = torch.arange(len(sizes)) % count
    return numbers[group_of_row]


def _weights(drawn: Drawn, counted: _Counted, part: Tensor, learner: Learner) -> tuple[Tensor, Tensor]:
    """Return each token's weight in the loss and in a plain mean over tokens, float64 [N].

    Means over the whole batch are taken once and times the number of minibatches, so that a minibatch's loss has the
    size of the whole batch's; they are taken over all rows that count, whether they teach or not.
    """
    own = torch.arange(int(drawn.lengths.max()))[None, :] < drawn.lengths[:, None]
    mask = own & counted.rows[:, None]
    loss = torch.zeros(mask.shape, dtype=torch.float64)
    plain = torch.zeros(mask.shape, dtype=torch.float64)
    kept, parts = ~counted.dropped, int(part.max()) + 1
    average = form_of(learner.objective).average
    if average == "minibatch_token":
        for number in range(parts):
            rows = kept & (part == number)
            loss[rows] = token_weights(mask[rows], learner.objective.loss, learner.max_tokens, average=average)
    else:
        whole = token_weights(mask[kept], learner.objective.loss, learner.max_tokens, average=average)
        loss[kept] = whole * parts
    plain[kept] = token_weights(mask[kept], "dapo", learner.max_tokens) * parts
    return loss[own], plain[own]


def _tokens(drawn: Drawn, credit: Credit, strata: Strata, weights: Tensor, plain: Tensor) -> Tokens:
    """Return what is known of every drawn token before any further forward pass."""
    return Tokens(
        row=drawn.place,
        sampled=drawn.sampled,
        old=drawn.sampled,
        advantages=credit.advantages,
        weights=weights,
        plain_weights=plain,
        clip_low=drawn.spread(strata.clip_low).float(),
        clip_high=drawn.spread(strata.clip_high).float(),
        values=credit.values,
        targets=credit.targets,
    )


def _corrected(learner: Learner, lesson: Lesson, figures: Figures) -> Lesson:
    """Take the old log-probs from the trainer itself, and correct for the sampler's being others."""
    objective, sampled = learner.objective, lesson.tokens.sampled
    old = learner.frozen(learner.logprobs, lesson.drawn)
    factor = sampler_ratio(
        old,
        sampled,
        rows=lesson.tokens.row,
        mode=objective.correction,
        high=objective.correction_high,
        low=objective.correction_low,
    )
    figures |= {f"mismatch/{name}": value for name, value in mismatch(old, sampled).items()}
    return lesson.with_(old=old, factor=factor)


def _of_high_entropy(learner: Learner, drawn: Drawn, tokens: Tokens) -> Tensor:
    """Return which tokens the policy term counts: those of highest entropy among all that have a weight, bool [N]."""
    entropies = learner.logprobs.frozen_entropies(drawn.groups, learner.temperature, learner.optimisation.token_budget)
    return high_entropy(entropies.cpu(), tokens.weights != 0, learner.objective.entropy_share)
