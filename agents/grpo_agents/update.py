"""One batch of episodes into a better policy: guarded optimiser steps on what `prepare` found to be learned."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from grpo_agents.collect import Episode
from grpo_agents.credit import Strata, UnusableBatchError
from grpo_agents.kl import kl_in_loss
from grpo_agents.lesson import Lesson, Tokens, own_logprobs
from grpo_agents.logprobs import Reading
from grpo_agents.losses import LossTerms, importance_ratio, on_policy_enough, policy_loss
from grpo_agents.packing import Microbatch
from grpo_agents.prepare import Learner, Prepared, prepare
from grpo_agents.value_loss import ValueTerms, value_loss


@dataclass(frozen=True)
class Update:
    """What an update did.

    Attributes:
        advantages: One per episode, 0.0 for rows that did not teach.
        terms: Loss terms of the last pass over all its minibatches; None when nothing taught.
        grad_norm: Norm of the last step's gradient before clipping, 0.0 when nothing taught.
        trained_tokens: Own tokens that the weights moved by.
        skipped: Why the weights were left untouched, "" when they moved. A refusal in a later step on the batch
            keeps the steps before it.
        refused: Whether a step was due and not taken, as opposed to a batch in which nothing taught.
        figures: Further figures for the log.
    """

    advantages: Tensor
    terms: Terms | None
    grad_norm: float
    trained_tokens: int
    skipped: str
    refused: bool = False
    figures: dict[str, float] = field(default_factory=dict)

    def among(self, rows: Sequence[int], count: int) -> Update:
        """Return the same of a larger batch, of which these were the `rows`; the others did not teach."""
        advantages = torch.zeros(count)
        advantages[torch.tensor(rows, dtype=torch.int64)] = self.advantages
        return dataclasses.replace(self, advantages=advantages)

    def mean_kl(self) -> float | None:
        """Return the mean KL to the reference per token, in nats; None where none was measured."""
        if "kl" in self.figures:
            return self.figures["kl"]
        return None if self.terms is None else self.terms.metrics()["kl"]

    @classmethod
    def none(cls, rows: int, why: str, refused: bool = True) -> Update:
        """What a step did that had nothing to learn from."""
        return cls(torch.zeros(rows), None, 0.0, 0, why, refused)


def update(
    learner: Learner,
    episodes: Sequence[Episode],
    *,
    kl_coef: float | None = None,
    strata: Strata | None = None,
    generator: torch.Generator | None = None,
) -> Update:
    """Take `updates_per_batch` passes over a batch, each of `minibatches` optimiser steps.

    Rows whose advantage is zero (all their group got the same reward) have no gradient without a KL term or an entropy
    bonus, so they are not forwarded; whether they count in the mean is `selection.zero_variance`. Sampled log-probs, a
    loss or a gradient that are not finite leave the weights untouched; where `objective.correction` is on, it leaves
    out the tokens whose sampled log-probs are not.

    Args:
        learner: Policy, optimiser, options.
        episodes: The batch.
        kl_coef: Weight of the KL term now; None for the objective's own.
        strata: What the strata of its rows ask for; None for one stratum.
        generator: Cuts the minibatches; None for torch's own.
    """
    if broken := _unusable(learner, episodes):
        return Update.none(len(episodes), f"the sampled {broken}")
    coef = learner.objective.kl_coef if kl_coef is None else kl_coef
    try:
        prepared = prepare(learner, episodes, coef, strata, generator)
    except UnusableBatchError as error:
        return Update.none(len(episodes), str(error))
    result = Update(prepared.credit.per_row, None, 0.0, 0, "", figures=prepared.figures)
    if not prepared.lessons:
        return dataclasses.replace(result, skipped=_why_nothing(episodes, prepared))
    tokens = sum(len(lesson.tokens.row) for lesson in prepared.lessons)
    for _ in range(learner.optimisation.updates_per_batch):
        terms: list[Terms] = []
        for lesson in prepared.lessons:
            terms.append(gradient(learner, lesson, coef))
            norm = _clip(learner.optimizer, learner.optimisation.max_grad_norm)
            result = dataclasses.replace(result, terms=of_pass(terms), grad_norm=norm)
            loss = float(terms[-1].loss)
            if not (math.isfinite(norm) and math.isfinite(loss)):
                learner.optimizer.zero_grad(set_to_none=True)
                why = f"loss {loss} or gradient norm {norm} is not finite" + _which(learner, lesson)
                return dataclasses.replace(result, skipped=why, refused=True)
            learner.optimizer.step()
            result = dataclasses.replace(result, trained_tokens=tokens)
    learner.optimizer.zero_grad(set_to_none=True)
    return result


@dataclass(frozen=True)
class Terms:
    """The loss of a lesson, or of a piece of it, and what happened in it; pieces add up.

    Attributes:
        loss: What was differentiated.
        policy: The policy's part.
        value: The critic's, not times its weight; None without a critic.
    """

    loss: Tensor
    policy: LossTerms
    value: ValueTerms | None = None

    def __add__(self, other: Terms) -> Terms:
        value = self.value + other.value if self.value is not None and other.value is not None else None
        return Terms(self.loss + other.loss, self.policy + other.policy, value)

    def metrics(self) -> dict[str, float]:
        """Plain numbers for a log."""
        return self.policy.metrics() | ({} if self.value is None else self.value.metrics())


def of_pass(terms: Sequence[Terms]) -> Terms:
    """Return the terms of minibatches together: counts add up; losses, each the size of the whole, are averaged."""
    total, share = sum(terms[1:], terms[0]), 1 / len(terms)
    of = total.policy
    policy = dataclasses.replace(of, loss=of.loss * share, policy=of.policy * share, gradient_l1=of.gradient_l1 * share)
    value = None if total.value is None else dataclasses.replace(total.value, loss=total.value.loss * share)
    return Terms(total.loss * share, policy, value)


def gradient(learner: Learner, lesson: Lesson, kl_coef: float) -> Terms:
    """Set the gradient of a lesson, microbatch by microbatch; how it is cut does not change the sum."""
    learner.optimizer.zero_grad(set_to_none=True)
    total: Terms | None = None
    for part in learner.logprobs.microbatches(lesson.drawn.groups, learner.optimisation.token_budget):
        with torch.set_grad_enabled(not learner.policy_rests):
            reading = learner.logprobs.read(
                part.groups,
                learner.temperature,
                entropies=learner.objective.entropy_coef > 0,
                hidden=learner.critic is not None and learner.critic.needs_hidden,
            )
        terms = _terms(learner, part, reading, lesson.tokens.pick(part.tokens, reading.logprobs.device), kl_coef)
        terms.loss.backward()
        terms = dataclasses.replace(terms, loss=terms.loss.detach())
        total = terms if total is None else total + terms
    assert total is not None
    return total


def _terms(learner: Learner, part: Microbatch, reading: Reading, tokens: Tokens, kl_coef: float) -> Terms:
    """Return the loss of one microbatch."""
    objective, new = learner.objective, reading.logprobs
    keep = tokens.keep
    if objective.off_policy_threshold:
        near = on_policy_enough(
            new.detach(),
            tokens.sampled,
            tokens.advantages,
            objective.off_policy_threshold,
            rows=tokens.row,
            mask=tokens.weights != 0,
        )
        keep = near if keep is None else keep & near
    kl = None
    if tokens.reference is not None:
        counts = tokens.weights != 0
        ratio = None
        if objective.kl_ratio_correction:
            ratio = importance_ratio(new, tokens.old, tokens.weights, objective, tokens.row)
        kl = kl_in_loss(objective.kl_estimator, new, tokens.reference, counts, ratio)
    policy = policy_loss(
        new,
        tokens.old,
        tokens.advantages,
        tokens.weights,
        objective=objective,
        rows=tokens.row,
        clip_low=tokens.clip_low,
        clip_high=tokens.clip_high,
        kl=kl,
        kl_coef=kl_coef if kl is not None else 0.0,
        factor=tokens.factor,
        keep=keep,
        entropies=reading.entropies,
        entropy_weights=tokens.plain_weights if objective.entropy_coef else None,
    )
    if learner.critic is None:
        return Terms(policy.loss, policy)
    assert tokens.values is not None
    assert tokens.targets is not None
    values = learner.critic.values(part.groups, reading, learner.temperature)
    value = value_loss(values, tokens.values, tokens.targets, tokens.plain_weights, clip=learner.value_clip)
    detached = dataclasses.replace(value, loss=value.loss.detach())
    # At rest the policy is in no graph, not even times 0: its weights have no gradient, so weight decay passes them by.
    of_policy = 0.0 if learner.policy_rests else policy.loss
    return Terms(of_policy + learner.value_coef * value.loss, policy, detached)


def _why_nothing(episodes: Sequence[Episode], prepared: Prepared) -> str:
    """Return why a batch has no lesson."""
    if 0 < prepared.figures["rows/masked"] == sum(bool(e.valid and e.length) for e in episodes):
        return "every completion was cut at its limit, and selection.truncated masks those"
    if prepared.credit.per_row.any():
        return "no completion that counts has an advantage: the others are masked, or their groups dropped"
    return "no group had a spread of rewards"


def _clip(optimizer: torch.optim.Optimizer, max_norm: float) -> float:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return float(torch.nn.utils.clip_grad_norm_(parameters, max_norm, error_if_nonfinite=False))


def _unusable(learner: Learner, episodes: Sequence[Episode]) -> str:
    """Return which sampled log-probs nothing can be learned from; a correction leaves such tokens out by itself."""
    rows = [row for row, episode in enumerate(episodes) if episode.valid]
    if learner.objective.correction != "none":
        return ""
    return _not_finite(rows, [own_logprobs(episodes[row]) for row in rows])


def _which(learner: Learner, lesson: Lesson) -> str:
    """Return a clause that names the rows whose log-probs are not finite now; "" for none."""
    parts = learner.frozen(learner.logprobs, lesson.drawn).split(lesson.drawn.lengths.tolist())
    broken = _not_finite(lesson.drawn.rows, [part.tolist() for part in parts])
    return broken and f"; {broken}"


def _not_finite(rows: Sequence[int], logprobs: Sequence[Sequence[float]], most: int = 5) -> str:
    """Return a sentence that names the rows whose log-probs are not all finite; "" for none."""
    found = [str(row) for row, values in zip(rows, logprobs, strict=True) if not math.isfinite(sum(values))]
    shown = ", ".join(found[:most]) + (", ..." if len(found) > most else "")
    return f"log-probs of completions {shown} are not finite" if found else ""
