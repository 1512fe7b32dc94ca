"""Advantages of one reward per completion: a baseline and a scale, chosen apart.

Baseline, subtracted from the reward:
    * `mean`: mean of the group's valid rows, the row itself included (GRPO, arXiv 2402.03300, section 4.1.2).
    * `leave_one_out`: mean of the group's OTHER valid rows (RLOO, arXiv 2402.14740), which leaves the gradient
      unbiased. Equal to the centred reward times n / (n - 1).
    * `stratum`: mean of the OTHER prompts of the row's stratum, which weigh alike. Unbiased. Least noise where prompts
      of a stratum are alike and groups are small. Without another prompt: `leave_one_out`.
    * `shrinkage`: between the last two, each as sure as it is (`shrunk_baseline`), with both variances estimated from
      the other prompts of the stratum. Unbiased. Where the variances cannot be told apart (fewer than two other
      prompts, or none with two valid rows): `leave_one_out`, as one prompt alone may be quite another case. A row
      alone in its group takes the stratum's mean.
    * `batch`: mean of all valid rows of the batch (REINFORCE++, arXiv 2501.03262).
    * `none`: 0.

Scale, by which the difference is then divided:
    * `group`: std of the group's valid rewards, plus 1e-4 (GRPO). Not for the last four baselines, under which a group
      without spread has a difference.
    * `batch`: std of all valid rewards of the batch, plus 1e-4; 1 if those are all equal. Under `none` a batch that is
      almost constant gives large advantages: take `whiten`.
    * `none`: 1 (Dr. GRPO, arXiv 2503.20783): dividing by the std weighs very easy and very hard prompts up.
    * `whiten`: the differences' own std, plus 1e-4, after their own mean was subtracted (TRL's RLOOTrainer;
      REINFORCE++). Under `mean`, `leave_one_out` and `batch` that mean is 0 and flat groups stay where they are. Under
      the others it includes the row's own reward, a bias of order 1 / N.
"""

from __future__ import annotations

from torch import Tensor

from grpo_agents.advantages.baselines import BASELINES
from grpo_agents.advantages.measuring import Groups, measure
from grpo_agents.advantages.scales import SCALES, check_ddof
from grpo_agents.config.objective import OF_STRATA, SPREADLESS, Baseline, Scale


def compute_advantages(
    rewards: Tensor,
    groups: Groups,
    *,
    scale: Scale,
    baseline: Baseline = "mean",
    valid: Tensor | None = None,
    strata: Groups | None = None,
    ddof: int = 1,
) -> Tensor:
    """Advantage of each row over its baseline.

    What the names mean, and where they come from, stands at the top of this module.

    Args:
        rewards: [N], float32 or float64. Invalid rows may hold anything, NaN too.
        groups: One id per row, [N]: a sequence of hashables or a tensor of numbers.
        scale: `group`, `batch`, `none` or `whiten`.
        baseline: `mean`, `leave_one_out`, `stratum`, `shrinkage`, `batch` or `none`.
        valid: bool [N]; False where the reward abstained. None: all rows are valid.
        strata: Id of each row's stratum, as `groups`; alike in all rows of a group, valid or not. Groups of different
            strata may not share an id. Read by `stratum` and `shrinkage`, checked in any case.
        ddof: 1 for the sample std (n - 1) in the scale, 0 for the population std (n). The variances that `shrinkage`
            estimates always take n - 1.

    Returns:
        [N], dtype and device of `rewards`, no gradient; the same bits in whatever order the rows come. Exactly 0 in
        invalid rows; under `mean` and `leave_one_out` also in groups with fewer than two valid rows and in groups
        whose rewards are equal up to rounding.

    Raises:
        ValueError: An unknown name, scale `group` with one of the last four baselines, `stratum` or `shrinkage`
            without strata, a group that lies in two strata, shapes that do not fit, a dtype other than those above, or
            a valid reward that is not finite.
    """
    _check_names(scale, baseline, strata)
    check_ddof(ddof)
    measured = measure(rewards, groups, valid, strata)
    return SCALES[scale](measured, BASELINES[baseline](measured), ddof).to(rewards)


def _check_names(scale: Scale, baseline: Baseline, strata: Groups | None) -> None:
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}; got {scale!r}")
    if baseline not in BASELINES:
        raise ValueError(f"baseline must be one of {', '.join(BASELINES)}; got {baseline!r}")
    if scale == "group" and baseline in SPREADLESS:
        raise ValueError(
            f"baseline {baseline} does not go with scale group: a group of equal rewards differs from that baseline "
            "but has a std of 0, which would make the advantage enormous; take scale batch, none or whiten"
        )
    if baseline in OF_STRATA and strata is None:
        raise ValueError(f"baseline {baseline} needs strata: one id per row, alike in all rows of a group")
