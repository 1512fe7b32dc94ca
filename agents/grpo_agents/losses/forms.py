"""The table of losses: every name is a ratio level, a surrogate and an average."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Final

from grpo_agents.config.objective import Average, LossName, Objective, Ratio
from grpo_agents.losses import surrogates
from grpo_agents.losses.surrogates import Surrogate


@dataclass(frozen=True)
class Form:
    """What a loss is made of.

    Attributes:
        ratio: Level of the importance ratio.
        surrogate: What is made of ratio and advantage.
        average: How tokens are averaged (`token_weights`).
        own_ratio: Whether the surrogate builds its ratio in a way of its own (or has none), so that no other level can
            take its place; `ratio` is then only what a KL term is weighted by.
    """

    ratio: Ratio
    surrogate: Surrogate
    average: Average
    own_ratio: bool = False


FORMS: Final[dict[LossName, Form]] = {
    "dapo": Form("token", surrogates.clipped, "token"),
    "grpo": Form("token", surrogates.clipped, "sequence"),
    "bnpo": Form("token", surrogates.clipped, "minibatch_token"),
    "dr_grpo": Form("token", surrogates.clipped, "constant"),
    "cispo": Form("token", surrogates.weighted, "token"),
    "sapo": Form("token", surrogates.soft, "sequence"),
    "gspo": Form("sequence", surrogates.clipped, "sequence"),
    "gmpo": Form("token", surrogates.geometric, "sequence", own_ratio=True),
    "luspo": Form("sequence", surrogates.clipped, "sequence_sum"),
    "vespo": Form("token", surrogates.kernel, "token", own_ratio=True),
    "reinforce": Form("token", surrogates.plain, "token", own_ratio=True),
}
"""Every loss: DAPO arXiv 2503.14476, GRPO 2402.03300, Dr. GRPO 2503.20783, CISPO 2506.13585, SAPO 2511.20347,
GSPO 2507.18071, GMPO 2507.20673, LUSPO 2602.05261, VESPO 2602.10693; `bnpo` is TRL's name for the mean over the tokens
at hand. RLOO (arXiv 2402.14740) is `grpo` with ratio `product`."""


def form_of(objective: Objective) -> Form:
    """Return the form of an objective's loss, with its overrides in place.

    Raises:
        ValueError: An unknown name, a ratio level for a loss that has its own, or clip_dual where it cannot act.
    """
    if objective.loss not in FORMS:
        raise ValueError(f"loss must be one of {', '.join(FORMS)}; got {objective.loss!r}")
    form = FORMS[objective.loss]
    if objective.ratio != "auto":
        if form.own_ratio:
            raise ValueError(f"loss {objective.loss} has a ratio of its own: leave ratio auto; got {objective.ratio!r}")
        if objective.ratio not in ("token", "sequence", "product"):
            raise ValueError(f"ratio must be auto, token, sequence or product; got {objective.ratio!r}")
        form = dataclasses.replace(form, ratio=objective.ratio)
    if objective.average != "auto":
        form = dataclasses.replace(form, average=objective.average)
    if objective.clip_dual and form.surrogate is not surrogates.clipped:
        raise ValueError(f"clip_dual bounds a clipped ratio, and loss {objective.loss} clips none: set it to 0")
    if objective.clip_dual and objective.clip_dual <= 1:
        raise ValueError(f"clip_dual must be above 1, or 0 for none; got {objective.clip_dual}")
    return form
