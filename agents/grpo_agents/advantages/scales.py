"""The unit in which a difference to the baseline is measured: a std of rewards, one of differences, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from grpo_agents.advantages.baselines import Difference
from grpo_agents.advantages.measuring import Measured, check_finite, rounding, summarise
from grpo_agents.config.objective import Scale

STD_EPSILON: Final = 1e-4
"""Added to every std before dividing, in units of reward: what TRL 1.16 adds."""


def whitened(values: Tensor, valid: Tensor | None = None, *, centre: bool = True, ddof: int = 1) -> Tensor:
    """Subtract the mean of the valid values and divide by their std plus 1e-4.

    PPO implementations do this to the advantages of a batch's tokens (arXiv 2006.05990 measures it), REINFORCE++ to
    those of its completions (arXiv 2501.03262). Mean and std are those of ALL values given: cut them into microbatches
    afterwards.

    Args:
        values: Any shape, float32 or float64. Places that are not valid may hold anything, NaN too.
        valid: bool, shape of `values`. None: all count.
        centre: Whether the mean is subtracted. False divides only; the std is about the mean either way.
        ddof: 1 for the sample std (n - 1), 0 for the population std (n).

    Returns:
        Shape, dtype and device of `values`, no gradient. Exactly 0 where not valid and, with `centre`, where the valid
        values are equal up to rounding or fewer than two.

    Raises:
        ValueError: A dtype other than those above, a `valid` that does not fit, a valid value that is not finite, or a
            ddof other than 0 and 1.
    """
    if values.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"values must be float32 or float64; got {values.dtype}")
    valid = torch.ones(values.shape, dtype=torch.bool) if valid is None else valid.cpu()
    if valid.shape != values.shape or valid.dtype != torch.bool:
        raise ValueError(
            f"valid must be bool of shape {list(values.shape)}; got {valid.dtype} of shape {list(valid.shape)}"
        )
    check_ddof(ddof)
    check_finite(values, valid, "values")
    clean = torch.where(valid, values.detach().to("cpu", torch.float64), 0.0)
    return _whitened(clean, valid, rounding(values.dtype), centre, ddof).to(values)


def check_ddof(ddof: int) -> None:
    """Raise for a divisor of the variance that is neither n nor n - 1."""
    if ddof not in (0, 1):
        raise ValueError(f"ddof must be 1 (sample std, n - 1) or 0 (population std, n); got {ddof!r}")


def _by_group_std(measured: Measured, difference: Difference, ddof: int) -> Tensor:
    return difference.values / (measured.of_rows([group.std(ddof) for group in measured.groups]) + STD_EPSILON)


def _by_batch_std(measured: Measured, difference: Difference, ddof: int) -> Tensor:
    # A batch without spread offers no unit; 1e-4 alone as one would blow up whatever is not 0.
    return difference.values if measured.batch.flat else difference.values / (measured.batch.std(ddof) + STD_EPSILON)


def _by_one(measured: Measured, difference: Difference, ddof: int) -> Tensor:
    return difference.values


def _whiten(measured: Measured, difference: Difference, ddof: int) -> Tensor:
    # A mean that is 0 by construction is not subtracted: its rounding would leave flat groups with a trace of one.
    centre = not difference.sums_to_zero
    return _whitened(difference.values, difference.counts, measured.tolerance, centre, ddof)


def _whitened(clean: Tensor, valid: Tensor, tolerance: float, centre: bool, ddof: int) -> Tensor:
    """Whiten float64 values on the CPU that are 0 where not valid; `tolerance` as in `summarise`."""
    summary = summarise(clean[valid].tolist(), tolerance)
    if centre:
        clean = torch.zeros_like(clean) if summary.flat else torch.where(valid, clean - summary.mean, 0.0)
    return clean / (summary.std(ddof) + STD_EPSILON)


SCALES: Final[dict[Scale, Callable[[Measured, Difference, int], Tensor]]] = {
    "group": _by_group_std,
    "batch": _by_batch_std,
    "none": _by_one,
    "whiten": _whiten,
}
"""Every scale: name -> advantages, [N]."""
