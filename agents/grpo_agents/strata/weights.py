"""What a stratum's advantages are multiplied by. Pure; means of rewards in, weights out.

The means are RUNNING ones of past batches: a weight that looked at the rewards it is about to multiply would bias the
gradient. A stratum without a mean yet weighs 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from grpo_agents.strata.averages import exact_mean


def fixed_weights(names: Sequence[str], table: Mapping[str, float]) -> Tensor:
    """Look each row's weight up: float64 [n]; 1 for names that are not in the table.

    Args:
        names: Stratum of each row, [n].
        table: Weight by name, e.g. {"hard": 1.2}.
    """
    return torch.tensor([table.get(name, 1.0) for name in names], dtype=torch.float64)


def balance_weights(means: Mapping[str, float], balance_coef: float) -> dict[str, float]:
    """Weights that maximise mean_g(m_g) - balance_coef * Var_g(m_g), with m_g the mean reward of stratum g.

    The variance is over the K strata (divided by K), each counting once however many prompts it has. The derivative by
    m_g, times K, is 1 - 2 * balance_coef * (m_g - mean of the means): the weight. It is floored at 0, for below it the
    policy would be taught to fail where it does best.

    Args:
        means: Running mean reward by stratum, finite.
        balance_coef: In 1 / reward, at least 0; 0 makes all weights 1.

    Raises:
        ValueError: A negative coefficient, or a mean that is not finite.
    """
    _check(means, "balance_coef", balance_coef)
    if not means:
        return {}
    centre = exact_mean(list(means.values()))
    return {name: max(0.0, 1 - 2 * balance_coef * (mean - centre)) for name, mean in means.items()}


def worst_weights(means: Mapping[str, float], coef: float) -> dict[str, float]:
    """Weights in proportion to exp(-coef * m_g), with a mean of 1 over the strata: the worst weigh most.

    The exponential weights of group distributionally robust optimisation (GDRO for LLMs: arXiv 2601.19280). There a
    sampler sums losses up over the steps and draws hard groups more often; here the running mean stands in for the sum,
    so the weights follow what is worst now, and they multiply advantages.

    Args:
        means: Running mean reward by stratum, finite.
        coef: In 1 / reward, at least 0; 0 makes all weights 1.

    Raises:
        ValueError: A negative coefficient, or a mean that is not finite.
    """
    _check(means, "worst_coef", coef)
    if not means:
        return {}
    lowest = min(means.values())  # taken off first, so that no exponential overflows
    raw = {name: math.exp(-coef * (mean - lowest)) for name, mean in means.items()}
    scale = len(raw) / math.fsum(raw.values())
    return {name: scale * value for name, value in raw.items()}


def renormalised(weights: Tensor) -> Tensor:
    """Scale weights [n] to a mean of 1 over the rows. All 0 stay 0: no factor makes them anything else.

    Raises:
        ValueError: Weights that are negative, not finite, or not of shape [n].
    """
    values = weights.tolist()
    if weights.ndim != 1 or not all(math.isfinite(value) and value >= 0 for value in values):
        raise ValueError(f"weights must be finite, at least 0 and of shape [n]; got shape {list(weights.shape)}")
    total = math.fsum(values)  # exact, so that the order of rows changes no bit
    return weights * (len(values) / total) if total else weights.clone()


def _check(means: Mapping[str, float], name: str, coef: float) -> None:
    if not 0 <= coef < math.inf:
        raise ValueError(f"{name} is {coef}, must be finite and at least 0")
    broken = [stratum for stratum, mean in means.items() if not math.isfinite(mean)]
    if broken:
        raise ValueError(f"the mean reward of {', '.join(broken)} is not finite; leave such strata out")
