"""What the tests of the losses share: batches, the loss as a trainer computes it, and a second, slow implementation.

The slow one is plain loops over complex numbers. A step of 1e-30 along the imaginary axis of one log-prob gives the
exact derivative (complex-step differentiation); whatever the papers hold fixed is computed from real parts only.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.config import Objective
from grpo_agents.kl import kl_in_loss
from grpo_agents.losses import LossTerms, Totals, importance_ratio, policy_loss, token_weights

STEP = 1e-30


def float64(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


@dataclass(frozen=True)
class Batch:
    """One batch as tensors: float64 [B, T], mask bool [B, T], advantages [B]."""

    mask: Tensor
    new: Tensor
    old: Tensor
    ref: Tensor
    advantages: Tensor


@dataclass(frozen=True)
class Options:
    """How a batch is learned from; tensors are [B, T]."""

    objective: Objective = field(default_factory=Objective)
    kl: str = "k3"
    kl_coef: float = 0.0
    corrected: bool = False
    max_length: int = 9
    clip_low: Tensor | None = None
    clip_high: Tensor | None = None
    factor: Tensor | None = None
    keep: Tensor | None = None
    entropies: Tensor | None = None
    totals: Totals | None = None


def run(
    batch: Batch, options: Options, pieces: list[list[int]] | None = None, packed: bool = False
) -> tuple[LossTerms, Tensor]:
    """The loss as a trainer computes it, piece by piece (lists of rows; None: all at once), and its gradient [B, T].

    Packed, the counted tokens of a piece are mixed up, and told apart by the number of their row alone.
    """
    new = batch.new.clone().requires_grad_()
    weights = token_weights(
        batch.mask,
        options.objective.loss,
        options.max_length,
        average=options.objective.average,
        totals=options.totals,
    )
    bonus = token_weights(batch.mask, "dapo", 1, totals=options.totals)
    numbers = torch.arange(len(new))[:, None].expand_as(new)
    parts = []
    for rows in pieces or [list(range(len(new)))]:
        where = batch.mask[rows] if packed else ...

        def cut(values: Tensor | None, rows: list[int] = rows, where: Any = where) -> Any:
            return None if values is None else values[rows][where]

        logprobs, old, weight = cut(new), cut(batch.old), cut(weights)
        number = cut(numbers) * 7 - 3 if packed else None
        kl = None
        if options.kl_coef:
            ratio = importance_ratio(logprobs, old, weight, options.objective, number) if options.corrected else None
            kl = kl_in_loss(options.kl, logprobs, cut(batch.ref), weight != 0, ratio)
        terms = policy_loss(
            logprobs,
            old,
            cut(batch.advantages[:, None].expand_as(new)),
            weight,
            objective=options.objective,
            rows=number,
            clip_low=cut(options.clip_low),
            clip_high=cut(options.clip_high),
            kl=kl,
            kl_coef=options.kl_coef,
            factor=cut(options.factor),
            keep=cut(options.keep),
            entropies=cut(options.entropies),
            entropy_weights=cut(bonus) if options.entropies is not None else None,
        )
        torch.autograd.backward(terms.loss)
        parts.append(terms.detach())
    assert new.grad is not None
    return reduce(LossTerms.__add__, parts), new.grad


def random_batch(rows: int = 8, length: int = 7, spread: float = 0.5) -> Batch:
    """A ragged batch with one row fully masked; old and reference log-probs are some way from the new ones."""
    generator = torch.Generator().manual_seed(3)
    new = -3 * torch.rand(rows, length, generator=generator, dtype=torch.float64)
    old, ref = (new + spread * torch.randn(new.shape, generator=generator, dtype=torch.float64) for _ in range(2))
    lengths = torch.randint(1, length + 1, (rows, 1), generator=generator)
    lengths[2] = 0
    advantages = torch.randn(rows, generator=generator, dtype=torch.float64)
    return Batch(torch.arange(length) < lengths, new, old, ref, advantages)


# --- what hypothesis draws ------------------------------------------------------------------------------------------


def _table(draw: st.DrawFn, rows: int, length: int, values: st.SearchStrategy[Any]) -> list[list[Any]]:
    return draw(st.lists(st.lists(values, min_size=length, max_size=length), min_size=rows, max_size=rows))


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Ragged masks (holes and empty rows too), log-probs up to 3 nats apart, advantages of both signs and zero."""
    rows, length = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    new = float64(_table(draw, rows, length, st.floats(-6.0, 0.0)))
    old, ref = (new + float64(_table(draw, rows, length, st.floats(-3.0, 3.0))) for _ in range(2))
    mask = torch.tensor(_table(draw, rows, length, st.booleans()), dtype=torch.bool)
    advantages = draw(st.lists(st.floats(-3.0, 3.0), min_size=rows, max_size=rows))
    return Batch(mask, new, old, ref, float64(advantages))


OWN_RATIO = ("gmpo", "vespo", "reinforce")
"""Losses whose ratio cannot be replaced."""


@st.composite
def options_for(draw: st.DrawFn, batch: Batch, loss: str) -> Options:
    """Any combination of options that a loss allows."""
    rows, length = batch.mask.shape
    clipped = loss not in ("cispo", "sapo", *OWN_RATIO)
    high = draw(st.sampled_from([0.1, 0.28, 2.0]))
    bonus = draw(st.booleans())
    factors = st.sampled_from([0.0, 0.3, 1.0, 2.0])
    by_row = draw(st.booleans())
    factor = _table(draw, rows, 1 if by_row else length, factors)
    objective = Objective(
        loss=loss,  # type: ignore[arg-type]
        ratio="auto" if loss in OWN_RATIO else draw(st.sampled_from(["auto", "token", "sequence", "product"])),
        average=draw(st.sampled_from(["auto", "token", "sequence", "constant", "sequence_sum", "minibatch_token"])),
        clip_low=draw(st.sampled_from([0.1, 0.2, 0.9])),
        clip_high=high,
        clip_dual=draw(st.sampled_from([0.0, 1 + high + 0.5])) if clipped else 0.0,
        sapo_temperature_positive=draw(st.sampled_from([0.5, 1.0])),
        vespo_shape=(2.0, draw(st.sampled_from([0.5, 3.0]))),
        vespo_decay=(draw(st.sampled_from([0.0, 3.0])), 2.0),
        entropy_coef=0.02 if bonus else 0.0,
        correction="sequence_mask" if by_row else "token_mask",
    )
    clips = float64(_table(draw, rows, 1, st.sampled_from([0.05, 0.4]))).expand(rows, length)
    return Options(
        objective=objective,
        kl=draw(st.sampled_from(["k2", "k3"])),
        kl_coef=draw(st.sampled_from([0.0, 0.04, 1.0])),
        corrected=draw(st.booleans()),
        max_length=length + draw(st.integers(0, 3)),
        clip_high=clips if draw(st.booleans()) and clipped and not objective.clip_dual else None,
        factor=float64(factor).expand(rows, length) if draw(st.booleans()) else None,
        keep=torch.tensor(_table(draw, rows, length, st.booleans())) if draw(st.booleans()) else None,
        entropies=float64(_table(draw, rows, length, st.floats(0.0, 3.0))) if bonus else None,
    )


# --- the second implementation --------------------------------------------------------------------------------------

PARTS = {
    "dapo": ("token", "token"),
    "grpo": ("token", "sequence"),
    "bnpo": ("token", "minibatch_token"),
    "dr_grpo": ("token", "constant"),
    "cispo": ("token", "token"),
    "sapo": ("token", "sequence"),
    "gspo": ("sequence", "sequence"),
    "gmpo": ("token", "sequence"),
    "luspo": ("sequence", "sequence_sum"),
    "vespo": ("token", "token"),
    "reinforce": ("token", "token"),
}
"""Ratio level and average of each loss."""


def slow(batch: Batch, options: Options) -> tuple[float, list[list[float]]]:
    """Loss and gradient of a batch."""
    new = [[complex(value) for value in row] for row in batch.new.tolist()]
    gradient = [[0.0] * len(row) for row in new]
    for i, row in enumerate(new):
        for t, value in enumerate(row):
            if batch.mask[i, t]:
                row[t] = value + STEP * 1j
                gradient[i][t] = _loss(new, batch, options).imag / STEP
                row[t] = value
    return _loss(new, batch, options).real, gradient


def _loss(new: list[list[complex]], batch: Batch, options: Options) -> complex:
    objective = options.objective
    level, average = PARTS[objective.loss]
    level = level if objective.ratio == "auto" else objective.ratio
    average = average if objective.average == "auto" else objective.average
    rows = len(new)
    counted = [[t for t in range(len(new[i])) if batch.mask[i, t]] for i in range(rows)]
    everything = sum(len(row) for row in counted)
    loss = 0j
    for i, places in enumerate(counted):
        logs = {t: new[i][t] - float(batch.old[i, t]) for t in places}
        whole = sum(logs.values())
        for t in places:
            ratio = cmath.exp({"token": logs[t], "sequence": whole / len(places), "product": whole}[level])
            term = -_surrogate(i, t, ratio, new[i][t], logs, batch, options)
            if options.keep is not None and not options.keep[i, t]:
                term = 0j
            if options.factor is not None and objective.loss != "vespo":
                term *= float(options.factor[i, t])
            term += options.kl_coef * _kl(float(batch.ref[i, t]) - new[i][t], ratio, options)
            divisor = {
                "token": everything,
                "minibatch_token": everything,
                "sequence": rows * len(places),
                "constant": rows * options.max_length,
                "sequence_sum": rows,
            }[average]
            loss += term / divisor
            if options.entropies is not None:
                loss -= objective.entropy_coef * float(options.entropies[i, t]) / everything
    return loss


def _kl(x: complex, ratio: complex, options: Options) -> complex:
    if options.kl == "k2":
        return x * x / 2 * (ratio.real if options.corrected else 1)
    return (cmath.exp(x) - x - 1) * (ratio if options.corrected else 1)


def _surrogate(
    i: int, t: int, ratio: complex, logprob: complex, logs: dict[int, complex], batch: Batch, options: Options
) -> complex:
    o, a = options.objective, float(batch.advantages[i])
    low = o.clip_low if options.clip_low is None else float(options.clip_low[i, t])
    high = o.clip_high if options.clip_high is None else float(options.clip_high[i, t])
    if o.loss == "reinforce":
        return a * logprob
    if o.loss == "cispo":
        return min(ratio.real, 1 + high) * a * logprob
    if o.loss == "sapo":
        tau = o.sapo_temperature_positive if a > 0 else o.sapo_temperature_negative
        z = tau * (ratio - 1)
        gate = 1 / (1 + cmath.exp(-z)) if z.real > 0 else 1 - 1 / (1 + cmath.exp(z))
        return 4 / tau * gate * a
    if o.loss == "gmpo":
        bounded = [_least(x, high) if a > 0 else _most(x, -low) if a < 0 else x for x in logs.values()]
        return cmath.exp(sum(bounded) / len(bounded)) * a
    if o.loss == "vespo":
        return _vespo(i, t, a, logprob, logs, options)
    inner = ratio * a
    outer = complex(min(max(ratio.real, 1 - low), 1 + high) * a)
    value = outer if outer.real < inner.real else inner
    if o.clip_dual and a < 0 and value.real < o.clip_dual * a:
        value = complex(o.clip_dual * a)
    return value


def _vespo(i: int, t: int, a: float, logprob: complex, logs: dict[int, complex], options: Options) -> complex:
    o, log_w = options.objective, 0.0
    factors = {s: 1.0 if options.factor is None else float(options.factor[i, s]) for s in logs}
    if factors[t] == 0:
        return 0j
    for s, x in logs.items():
        if factors[s] > 0:
            log_w += x.real + (math.log(factors[s]) if o.correction == "token_mask" else 0.0)
    if o.correction == "sequence_mask":
        log_w += math.log(factors[t])
    log_w = min(max(log_w, math.log(1e-8)), 20.0)
    w, kind = math.exp(log_w), 0 if a >= 0 else 1
    return complex(w ** o.vespo_shape[kind] * math.exp(o.vespo_decay[kind] * (1 - w))) * a * logprob


def _least(x: complex, bound: float) -> complex:
    return complex(bound) if x.real > bound else x


def _most(x: complex, bound: float) -> complex:
    return complex(bound) if x.real < bound else x
