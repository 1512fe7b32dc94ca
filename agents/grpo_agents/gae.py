"""Generalised advantage estimation: from rewards and a critic's values to the advantages and value targets of PPO.

An episode is one row. Its steps are the policy's own tokens, and what an environment says between two of them is part
of the next step's state: no step of its own, and not discounted. With reward r and value v per own token, value 0 after
the last (episodes end), discount gamma and lambda, the return is

    R_t = r_t + gamma * ((1 - lambda) * v_{t+1} + lambda * R_{t+1})         advantage A_t = R_t - v_t

which is the usual sum over (gamma * lambda)^k of the errors r + gamma * v' - v (arXiv 1506.02438, equation 16) without
its telescoping: at lambda 1 no value enters a return, not even by its rounding. With gamma 1 too, the return of every
token of a row is the sum of the rewards behind it, however long the row.

Numbers in, numbers out, all float64 on the CPU: no model, no environment, no gradient. Rows never mix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

Lengths = Sequence[int] | Tensor
Lambda = float | Tensor


def gae(rewards: Tensor, values: Tensor, lengths: Lengths, *, discount: float, lam: Lambda) -> Tensor:
    """Advantage of each token over the critic's value before it (Schulman et al., arXiv 1506.02438, equation 16).

    Args:
        rewards: [N], reward per own token, row by row; most have it on their last token only.
        values: [N], the critic's value of the state each token was drawn in.
        lengths: Own tokens of each of the B rows, adding up to N; 0 for a row without any.
        discount: gamma per own token, from 0 to 1.
        lam: lambda from 0 to 1, one for all or one per row [B]. 1 takes the whole return minus the value, 0 the error
            of one step.

    Returns:
        [N] float64 on the CPU, in the order of `rewards`, without gradient.

    Raises:
        ValueError: Shapes or lengths that do not fit, a number out of bounds, or a reward or value that is not finite.
    """
    return returns(rewards, values, lengths, discount=discount, lam=lam) - _flat(values)


def returns(rewards: Tensor, values: Tensor, lengths: Lengths, *, discount: float, lam: Lambda) -> Tensor:
    """Lambda-return of each token: what the critic's values are fitted to.

    Its lambda need not be the one of the advantages (VC-PPO, arXiv 2503.01491, "decoupled GAE"): with 1
    the target is the discounted sum of the rewards that followed, without bias from the values themselves.

    Args:
        rewards: As in `gae`, and so are the others.
        values: One per token.
        lengths: One per row.
        discount: gamma.
        lam: lambda.

    Returns:
        [N] float64 on the CPU, in the order of `rewards`, without gradient.

    Raises:
        ValueError: As in `gae`.
    """
    rows, places, counts = _layout(lengths)
    r, v = _flat(rewards), _flat(values)
    _check(r, v, rows, discount)
    weight = _lambdas(lam, len(counts))
    width = int(counts.max()) if len(counts) else 0
    # One column more than the longest row has tokens: the value after an episode's end, which is 0.
    reward, value = (torch.zeros(width + 1, len(counts), dtype=torch.float64) for _ in range(2))
    reward[places, rows], value[places, rows] = r, v
    found = torch.zeros_like(reward)
    for place in reversed(range(width)):
        after = (1 - weight) * value[place + 1] + weight * found[place + 1]
        found[place] = reward[place] + discount * after
    return found[places, rows]


def length_adaptive_lambda(lengths: Lengths, alpha: float) -> Tensor:
    """Lambda of each row by its length l: 1 - 1 / (alpha * l), cut to 0 and 1 (VAPO, arXiv 2504.05118).

    The sum of the weights lambda^k of the one-step errors is then about alpha * l: proportional to the length.

    Args:
        lengths: Own tokens of each of the B rows.
        alpha: Above 0; VAPO takes 0.05, with which rows of up to 20 tokens have lambda 0.

    Returns:
        [B] float64.

    Raises:
        ValueError: alpha not above 0 and finite, or a negative length.
    """
    if not 0 < alpha < math.inf:
        raise ValueError(f"alpha is {alpha}, must be above 0 and finite")
    counts = _counts(lengths)
    return (1 - 1 / (alpha * counts.double())).clamp(0, 1)


def explained_variance(values: Tensor, targets: Tensor) -> float:
    """Share of the targets' variance that the values explain: 1 - Var(targets - values) / Var(targets).

    1 for values that are right up to one constant, 0 for a constant, below 0 for worse than a constant. Tokens weigh
    alike, so long rows weigh more. The sums are exact: the order of the tokens does not show.

    Args:
        values: [N], the critic's values.
        targets: [N], the returns.

    Returns:
        At most 1; NaN where the targets are all equal or there are none, for then nothing is there to explain.

    Raises:
        ValueError: Shapes that differ, or a number that is not finite.
    """
    v, t = _flat(values), _flat(targets)
    if v.shape != t.shape:
        raise ValueError(f"one target per value is needed; got {len(v)} values and {len(t)} targets")
    if not (v.isfinite().all() and t.isfinite().all()):
        raise ValueError("values and targets must be finite: leave out the rows that have none")
    spread = 0.0 if not len(t) or bool((t == t[0]).all()) else _variance(t)
    return 1 - _variance(t - v) / spread if spread else math.nan


def _variance(numbers: Tensor) -> float:
    listed = numbers.tolist()
    mean = math.fsum(listed) / len(listed)
    return math.fsum((number - mean) ** 2 for number in listed) / len(listed)


def _flat(numbers: Tensor) -> Tensor:
    if numbers.ndim != 1:
        raise ValueError(f"one number per own token is needed, shape [N]; got shape {list(numbers.shape)}")
    return numbers.detach().to("cpu", torch.float64)


def _counts(lengths: Lengths) -> Tensor:
    counts = torch.as_tensor(lengths, device="cpu").detach()
    if not counts.numel():
        return torch.zeros(0, dtype=torch.int64)
    if counts.ndim != 1 or counts.is_floating_point() or counts.is_complex() or counts.dtype == torch.bool:
        raise ValueError(f"lengths must be whole numbers, one per row; got {counts.dtype} of {list(counts.shape)}")
    if int(counts.min()) < 0:
        raise ValueError(f"lengths must not be negative; got {int(counts.min())}")
    return counts.to(torch.int64)


def _layout(lengths: Lengths) -> tuple[Tensor, Tensor, Tensor]:
    """Return the row of each token [N], its place within the row [N], and the tokens of each row [B]."""
    counts = _counts(lengths)
    rows = torch.repeat_interleave(torch.arange(len(counts)), counts)
    places = torch.arange(len(rows)) - (counts.cumsum(0) - counts)[rows]
    return rows, places, counts


def _check(rewards: Tensor, values: Tensor, rows: Tensor, discount: float) -> None:
    if not len(rewards) == len(values) == len(rows):
        raise ValueError(
            f"rewards, values and lengths must speak of the same tokens; got {len(rewards)} rewards, {len(values)} "
            f"values and lengths that add up to {len(rows)}"
        )
    if not 0 <= discount <= 1:
        raise ValueError(f"discount is {discount}, must be from 0 to 1")
    broken = ~(rewards.isfinite() & values.isfinite())
    if bool(broken.any()):
        named = ", ".join(map(str, rows[broken].unique()[:5].tolist()))
        raise ValueError(f"a reward or value of row {named} is not finite: leave such rows out of the batch")


def _lambdas(lam: Lambda, rows: int) -> Tensor:
    weight = torch.as_tensor(lam, dtype=torch.float64, device="cpu").detach()
    if list(weight.shape) not in ([], [rows]):
        raise ValueError(f"lam must be one number or one per row, [{rows}]; got shape {list(weight.shape)}")
    if not bool(((weight >= 0) & (weight <= 1)).all()):
        raise ValueError(f"lam must be from 0 to 1; got {weight.tolist()!r:.80}")
    return weight
