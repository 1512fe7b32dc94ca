"""One batch of episodes into a better policy: advantages, weights, microbatches, one guarded optimiser step."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from grpo_agents.advantages import compute_advantages
from grpo_agents.collect import Episode
from grpo_agents.config import Objective, Optimisation
from grpo_agents.kl import k3, k3_corrected
from grpo_agents.logprobs import LogProbs
from grpo_agents.losses import LossTerms, policy_loss, token_weights
from grpo_agents.packing import Group
from grpo_agents.rollout import Trajectory


@dataclass(frozen=True)
class Update:
    """What an update did.

    Attributes:
        advantages: One per episode, 0.0 for rows that did not teach.
        terms: Loss terms of the last pass; None when nothing taught.
        grad_norm: Norm of the last pass's gradient before clipping, 0.0 when nothing taught.
        trained_tokens: Own tokens that the weights moved by.
        skipped: Why the weights were left untouched, "" when they moved. A refusal in a later pass over the batch
            keeps the passes before it.
        refused: Whether a step was due and not taken, as opposed to a batch in which nothing taught.
    """

    advantages: Tensor
    terms: LossTerms | None
    grad_norm: float
    trained_tokens: int
    skipped: str
    refused: bool = False

    @classmethod
    def none(cls, rows: int, why: str, refused: bool = True) -> Update:
        """What a step did that had nothing to learn from."""
        return cls(torch.zeros(rows), None, 0.0, 0, why, refused)


@dataclass(frozen=True)
class Lesson:
    """The rows that teach, as flat own tokens [N] in the order of their groups.

    Attributes:
        groups: Rows of one prompt together.
        old: Log-probs as sampled.
        advantages: Each token's advantage.
        weights: Each token's weight in the mean over the whole batch.
        reference: Log-probs under the starting policy, None without a KL term.
    """

    groups: list[Group]
    old: Tensor
    advantages: Tensor
    weights: Tensor
    reference: Tensor | None


def update(
    logprobs: LogProbs,
    optimizer: torch.optim.Optimizer,
    episodes: Sequence[Episode],
    objective: Objective,
    optimisation: Optimisation,
    *,
    max_tokens: int,
    temperature: float,
    reference: LogProbs | None = None,
) -> Update:
    """Take `updates_per_batch` optimiser steps on a batch.

    Rows whose advantage is zero (all their group got the same reward) have no gradient without a KL term, so they are
    not forwarded; they still count in the mean. Sampled log-probs, a loss or a gradient that are not finite leave the
    weights untouched.
    """
    sampled = [[p for p, own in _own(e.trajectory) if own] if e.trajectory else [] for e in episodes]
    if broken := _not_finite(range(len(episodes)), sampled):
        return Update.none(len(episodes), f"the sampled {broken}")
    advantages = advantages_of(episodes, objective)
    teaching = [
        row
        for row, episode in enumerate(episodes)
        if episode.valid and episode.length and (advantages[row] != 0 or reference is not None)
    ]
    if not teaching:
        return Update.none(len(episodes), "no group had a spread of rewards", refused=False)
    lesson = lesson_of(episodes, teaching, advantages, objective, max_tokens)
    if reference is not None:
        frozen = reference.frozen(lesson.groups, temperature, optimisation.token_budget)
        lesson = dataclasses.replace(lesson, reference=frozen)
    terms, norm = None, 0.0
    for turn in range(optimisation.updates_per_batch):
        optimizer.zero_grad(set_to_none=True)
        terms = accumulate(logprobs, lesson, objective, optimisation.token_budget, temperature)
        norm = _clip(optimizer, optimisation.max_grad_norm)
        if not (math.isfinite(norm) and math.isfinite(float(terms.loss))):
            optimizer.zero_grad(set_to_none=True)
            new = logprobs.frozen(lesson.groups, temperature, optimisation.token_budget)
            parts = new.cpu().split([episodes[row].length for row in teaching])
            broken = _not_finite(teaching, [part.tolist() for part in parts])
            why = f"loss {float(terms.loss)} or gradient norm {norm} is not finite" + (broken and f"; {broken}")
            return Update(advantages, terms, norm, len(lesson.old) if turn else 0, why, refused=True)
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return Update(advantages, terms, norm, len(lesson.old), "")


def advantages_of(episodes: Sequence[Episode], objective: Objective) -> Tensor:
    """Return one advantage per episode [N] float32; rows that are not valid get 0 and count in no mean."""
    valid = torch.tensor([episode.valid for episode in episodes])
    rewards = torch.tensor([e.reward if e.valid else 0.0 for e in episodes], dtype=torch.float64)
    groups = torch.tensor([episode.group for episode in episodes])
    return compute_advantages(rewards, groups, scale=objective.scale, baseline=objective.baseline, valid=valid).float()


def lesson_of(
    episodes: Sequence[Episode], teaching: Sequence[int], advantages: Tensor, objective: Objective, max_tokens: int
) -> Lesson:
    """Return the teaching rows as flat tokens. Weights are taken over all valid rows: skipping changes nothing."""
    counted = [row for row, episode in enumerate(episodes) if episode.valid and episode.length]
    lengths = torch.tensor([episodes[row].length for row in counted])
    mask = torch.arange(int(lengths.max()))[None, :] < lengths[:, None]
    weights = token_weights(mask, objective.loss, max_tokens)
    weight_of = {row: weights[place, : episodes[row].length] for place, row in enumerate(counted)}
    groups = [
        Group.of([_trajectory(episodes[row]) for row in rows])
        for _, rows in groupby(teaching, key=lambda row: episodes[row].group)
    ]
    old = [p for row in teaching for p, own in _own(_trajectory(episodes[row])) if own]
    return Lesson(
        groups=groups,
        old=torch.tensor(old),
        advantages=torch.cat([advantages[row].expand(episodes[row].length) for row in teaching]),
        weights=torch.cat([weight_of[row] for row in teaching]),
        reference=None,
    )


def accumulate(
    logprobs: LogProbs, lesson: Lesson, objective: Objective, token_budget: int, temperature: float
) -> LossTerms:
    """Add the gradient of the whole lesson, microbatch by microbatch; how it is cut does not change the sum."""
    total: LossTerms | None = None
    for part in logprobs.microbatches(lesson.groups, token_budget):
        new = logprobs(part.groups, temperature)
        place = part.tokens
        old = lesson.old[place].to(new.device)
        kl = None
        if lesson.reference is not None:
            kl = _kl(new, old, lesson.reference[place.to(lesson.reference.device)], objective)
        terms = policy_loss(
            new,
            old,
            lesson.advantages[place].to(new.device),
            lesson.weights[place].to(new.device),
            clip_low=objective.clip_low,
            clip_high=objective.clip_high,
            kl=kl,
            kl_coef=objective.kl_coef if kl is not None else 0.0,
        )
        terms.loss.backward()
        terms = dataclasses.replace(terms, loss=terms.loss.detach())
        total = terms if total is None else total + terms
    assert total is not None
    return total


def _kl(new: Tensor, old: Tensor, reference: Tensor, objective: Objective) -> Tensor:
    everywhere = torch.ones_like(new, dtype=torch.bool)
    if objective.kl_ratio_correction:
        return k3_corrected(new, old, reference, everywhere)
    return k3(new, reference, everywhere)


def _clip(optimizer: torch.optim.Optimizer, max_norm: float) -> float:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return float(torch.nn.utils.clip_grad_norm_(parameters, max_norm, error_if_nonfinite=False))


def _not_finite(rows: Sequence[int], logprobs: Sequence[Sequence[float]], most: int = 5) -> str:
    """Return a sentence that names the rows whose log-probs are not all finite; "" for none."""
    found = [str(row) for row, values in zip(rows, logprobs, strict=True) if not math.isfinite(sum(values))]
    shown = ", ".join(found[:most]) + (", ..." if len(found) > most else "")
    return f"log-probs of completions {shown} are not finite" if found else ""


def _trajectory(episode: Episode) -> Trajectory:
    assert episode.trajectory is not None  # valid rows with a length have one
    return episode.trajectory


def _own(trajectory: Trajectory) -> zip[tuple[float, bool]]:
    return zip(trajectory.logprobs, trajectory.own, strict=True)
