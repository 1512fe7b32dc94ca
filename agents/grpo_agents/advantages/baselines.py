"""What is subtracted from a reward: its group's mean, other prompts of its stratum, the batch, or nothing.

Only a baseline that the row's own reward has no part in leaves the policy gradient unbiased (with scale `none`: a std
includes the row too): `leave_one_out`, `stratum`, `shrinkage` and `none`. `mean` shortens it by (n - 1) / n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from grpo_agents.advantages.measuring import Measured, Summary, summarise
from grpo_agents.config.objective import OF_STRATA, Baseline


@dataclass(frozen=True)
class Difference:
    """Reward minus baseline of N rows.

    Attributes:
        values: float64 [N]; exactly 0 in rows that do not count.
        counts: Rows that are valid and have a baseline, bool [N].
        sums_to_zero: Whether the values sum to 0 by construction (they may miss it by rounding).
    """

    values: Tensor
    counts: Tensor
    sums_to_zero: bool


@dataclass(frozen=True)
class OtherPrompts:
    """What the other prompts of a prompt's stratum say; prompts weigh alike, however many completions they have.

    Attributes:
        mean: Mean of their mean rewards.
        between: Variance of the true mean rewards between prompts; None with fewer than two other prompts.
        within: Variance of a reward within a prompt, pooled; None if none of them has two valid rewards.
    """

    mean: float
    between: float | None
    within: float | None


def shrunk_baseline(own: float, stratum: float, *, between: float, within: float, others: int) -> float:
    """Empirical Bayes mean of a prompt: its other completions and its stratum, each as sure as it is.

        (between * own + within / others * stratum) / (between + within / others)

    This is the posterior mean of a prompt whose true mean is drawn with variance `between` around the stratum's and
    seen through `others` rewards of variance `within` (Efron and Morris, "Stein's estimation rule and its
    competitors", JASA 1973; James-Stein with estimated variances).

    Args:
        own: Mean reward of the other completions of the prompt; not read where `others` is 0.
        stratum: Mean over the other prompts of the stratum.
        between: Variance between prompts, at least 0, in squared units of reward, as the next one.
        within: Variance of one reward within a prompt, at least 0.
        others: How many other completions `own` is the mean of, at least 0.

    Returns:
        The baseline. `stratum` where `others` is 0; `own` where both variances are 0, as nothing contradicts it.

    Raises:
        ValueError: A variance or a count that is negative or not finite.
    """
    if not (0 <= between < math.inf and 0 <= within < math.inf and others >= 0):
        raise ValueError(
            "between, within and others must be finite and not negative; "
            f"got between {between}, within {within}, others {others}"
        )
    if others == 0:
        return stratum
    sampling = within / others
    if sampling == 0:
        return own
    if between == 0:
        return stratum
    return own + sampling / (between + sampling) * (stratum - own)


def _minus_group_mean(measured: Measured) -> Difference:
    return Difference(measured.centred, _comparable(measured), sums_to_zero=True)


def _minus_mean_of_others(measured: Measured) -> Difference:
    count = measured.count
    values = measured.centred * count / (count - 1).clamp(min=1)
    return Difference(values, _comparable(measured), sums_to_zero=True)


def _minus_stratum(measured: Measured) -> Difference:
    return _minus_other_prompts(measured, lambda own, others, mates: others.mean)


def _minus_shrunk(measured: Measured) -> Difference:
    def baseline(own: float, others: OtherPrompts, mates: int) -> float:
        if others.between is None or others.within is None:
            return own if mates else others.mean
        return shrunk_baseline(own, others.mean, between=others.between, within=others.within, others=mates)

    return _minus_other_prompts(measured, baseline)


def _minus_batch_mean(measured: Measured) -> Difference:
    batch = measured.batch
    values = torch.zeros_like(measured.rewards) if batch.flat else measured.rewards - batch.mean
    counts = measured.valid if batch.count > 1 else torch.zeros_like(measured.valid)
    return Difference(torch.where(counts, values, 0.0), counts, sums_to_zero=True)


def _minus_nothing(measured: Measured) -> Difference:
    return Difference(measured.rewards, measured.valid, sums_to_zero=False)


BASELINES: Final[dict[Baseline, Callable[[Measured], Difference]]] = {
    "mean": _minus_group_mean,
    "leave_one_out": _minus_mean_of_others,
    "stratum": _minus_stratum,
    "shrinkage": _minus_shrunk,
    "batch": _minus_batch_mean,
    "none": _minus_nothing,
}
"""Every baseline: name -> reward minus baseline."""


def _comparable(measured: Measured) -> Tensor:
    return measured.valid & (measured.count > 1)


def _minus_other_prompts(measured: Measured, baseline: Callable[[float, OtherPrompts, int], float]) -> Difference:
    """Subtract baseline(mean of the row's mates, the other prompts, number of mates), row by row.

    Without another prompt in the stratum the mates alone are the baseline, and without those the row has none.
    """
    left_out = _minus_mean_of_others(measured)
    values, counts = left_out.values.tolist(), left_out.counts.tolist()
    rewards, valid = measured.rewards.tolist(), measured.valid.tolist()
    evidence = _leave_each_prompt_out(measured)
    for row, group in enumerate(measured.index.tolist()):
        others = evidence[group]
        if not valid[row] or others is None:
            continue
        own = baseline(rewards[row] - values[row], others, measured.groups[group].count - 1)
        distance = rewards[row] - own
        only_rounding = abs(distance) <= measured.tolerance * max(abs(rewards[row]), abs(own))
        values[row], counts[row] = (0.0 if only_rounding else distance), True
    return Difference(
        torch.tensor(values, dtype=torch.float64), torch.tensor(counts, dtype=torch.bool), sums_to_zero=False
    )


def _leave_each_prompt_out(measured: Measured) -> list[OtherPrompts | None]:
    """Measure, for each group, the other prompts of its stratum; None where no other has a valid reward.

    The sums run over the others alone instead of taking one's own from a total: what is taken from a total leaves its
    rounding behind, and all of the rest's digits if it was large.
    """
    if measured.strata is None:
        raise ValueError(f"the baselines {' and '.join(OF_STRATA)} need strata: one id per row, alike within a group")
    members: dict[int, list[int]] = {}
    for group, stratum in enumerate(measured.strata):
        if measured.groups[group].count:
            members.setdefault(stratum, []).append(group)
    evidence: list[OtherPrompts | None] = [None] * len(measured.groups)
    for groups in members.values():
        prompts = [measured.groups[group] for group in groups]
        # Equal prompts leave equal others behind: with right or wrong answers few prompts differ.
        known: dict[Summary, OtherPrompts] = {}
        for place, group in enumerate(groups) if len(groups) > 1 else ():
            own = prompts[place]
            if own not in known:
                known[own] = _evidence(prompts[:place] + prompts[place + 1 :], measured.tolerance)
            evidence[group] = known[own]
    return evidence


def _evidence(prompts: list[Summary], tolerance: float) -> OtherPrompts:
    """Estimate both variances by the method of moments.

    Prompt means vary by the variance between prompts plus the variance of each mean; the latter is a prompt's own
    sample variance over its count, or the pooled one for a prompt with a single valid reward.
    """
    means = summarise([prompt.mean for prompt in prompts], tolerance)
    freedom = sum(prompt.count - 1 for prompt in prompts)
    if not freedom:
        return OtherPrompts(means.mean, None, None)
    within = math.fsum(prompt.squares for prompt in prompts) / freedom
    if len(prompts) < 2:
        return OtherPrompts(means.mean, None, within)
    sampling = [(p.variance() if p.count > 1 else within) / p.count for p in prompts]
    between = max(0.0, means.variance() - math.fsum(sampling) / len(prompts))
    return OtherPrompts(means.mean, between, within)
