"""How noisy is the policy gradient under each baseline? A simulation in which the true gradient is known.

48 prompts with 100 answers each share 32 parameters: the chance of an answer is a softmax over its features times the
parameters, plus an offset of the right answer by which prompts are easy or hard. Each draw samples G answers a prompt,
rewards the right one with 1, and makes of `grpo_agents.advantages.compute_advantages` (scale none) the gradient that a
policy would follow. Noise over signal is the sum of the variances of its components over the squared length of the true
gradient; as steps are averaged, twice the noise takes twice the completions.

Strata are quarters of the prompts by past pass rate: as it is, or as it was seen with an error of 0.2 (std). "oracle"
subtracts the true pass rate, which no training knows: what is left is the noise that no baseline of the prompt removes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

GROUP_SIZES = (2, 4, 8)
PROMPTS = 48
ANSWERS = 100
PARAMETERS = 32
STRATA = 4
DRAWS = 2000
PAST_ERROR = 0.2
"""Std of the error of a past pass rate, where it has one."""
SHARPNESS = 0.3
"""Std of the answers' logits. It sets how large the signal is; how baselines compare hardly depends on it."""
LEAVE_ONE_OUT: Final = "leave_one_out"
OF_STRATA: Final = ("stratum", "shrinkage")
ORACLE = "oracle"


@dataclass(frozen=True)
class Bandit:
    """Prompts whose answers are drawn from one policy.

    Attributes:
        chances: Probability of each answer, float64 [P, A]; answer 0 is the right one.
        scores: Gradient of each answer's log-probability by the parameters, float64 [P, A, D].
    """

    chances: np.ndarray
    scores: np.ndarray

    @property
    def pass_rates(self) -> np.ndarray:
        """Chance of the right answer, [P]."""
        return self.chances[:, 0]

    @property
    def gradient(self) -> np.ndarray:
        """Gradient of the mean pass rate over prompts, [D]."""
        gradient: np.ndarray = (self.chances[:, 0, None] * self.scores[:, 0]).mean(axis=0)
        return gradient

    @classmethod
    def made(cls, seed: int = 0) -> Bandit:
        """Return the policy of a seed; pass rates are spread evenly between 0.02 and 0.98."""
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((PROMPTS, ANSWERS, PARAMETERS))
        logits = features @ (rng.standard_normal(PARAMETERS) * SHARPNESS / math.sqrt(PARAMETERS))
        wanted = rng.permutation(np.linspace(0.02, 0.98, PROMPTS))
        others = np.logaddexp.reduce(logits[:, 1:], axis=1)
        logits[:, 0] = others + np.log(wanted / (1 - wanted))
        chances = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
        return cls(chances, features - np.einsum("pa,pad->pd", chances, features)[:, None])


@dataclass(frozen=True)
class Noise:
    """What was found about one baseline.

    Attributes:
        group_size: Completions of a prompt, G.
        baseline: Its name.
        past_error: Std of the error in the past pass rates that strata are made of; 0 where there are none.
        ratio: Noise over signal of one batch of 48 x G completions.
        error: Standard error of that, from the draws.
        cosine: Cosine between the mean gradient over all draws and the true one.
    """

    group_size: int
    baseline: str
    past_error: float
    ratio: float
    error: float
    cosine: float

    @property
    def at_equal_completions(self) -> float:
        """The ratio for as many completions as 48 groups of 8 have, spent on 8 / G times the prompts."""
        return self.ratio * self.group_size / 8


def simulate(draws: int = DRAWS, sizes: Sequence[int] = GROUP_SIZES, seed: int = 0) -> list[Noise]:
    """Measure every baseline at every group size, on the same draws for all.

    Args:
        draws: Batches drawn for each group size.
        sizes: Completions of a prompt.
        seed: Decides everything.

    Returns:
        Per size: leave-one-out, stratum and shrinkage with exact and with mistaken pass rates, and the oracle.
    """
    bandit = Bandit.made(seed)
    found = []
    for size in sizes:
        rng = np.random.default_rng((seed, size))
        gradients: dict[tuple[str, float], list[np.ndarray]] = {}
        for _ in range(draws):
            answers = draw(bandit, size, rng)
            right = (answers == 0).astype(np.float64)
            scores = bandit.scores[np.arange(PROMPTS)[:, None], answers]
            mistaken = bandit.pass_rates + PAST_ERROR * rng.standard_normal(PROMPTS)
            cases = advantages(right, bandit.pass_rates, 0.0) | advantages(right, mistaken, PAST_ERROR)
            cases[ORACLE, 0.0] = right - bandit.pass_rates[:, None]
            for case, values in cases.items():
                gradient = np.einsum("pg,pgd->d", values, scores) / right.size
                gradients.setdefault(case, []).append(gradient)
        found += [_noise(size, *case, np.array(drawn), bandit.gradient) for case, drawn in gradients.items()]
    return found


def draw(bandit: Bandit, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return answers [P, G], drawn by inverting each prompt's distribution."""
    uniform = rng.random((PROMPTS, size, 1))
    answers: np.ndarray = (bandit.chances.cumsum(axis=1)[:, None, :-1] < uniform).sum(axis=2)
    return answers


def strata_of(past: np.ndarray) -> np.ndarray:
    """Return the stratum of each prompt [P]: quarters of equal size by past pass rate, ties in order."""
    ranks = np.argsort(np.argsort(past, kind="stable"), kind="stable")
    strata: np.ndarray = ranks * STRATA // len(past)
    return strata


def advantages(right: np.ndarray, past: np.ndarray, error: float) -> dict[tuple[str, float], np.ndarray]:
    """Return advantages [P, G] of each baseline that the library has, keyed by (baseline, error).

    Args:
        right: Rewards [P, G].
        past: Past pass rates [P], the strata's only source.
        error: Std of their error. Leave-one-out knows no strata and is given once, for 0.
    """
    import torch

    from grpo_agents.advantages import compute_advantages

    prompts, size = right.shape
    rewards = torch.from_numpy(right.ravel())
    groups = torch.arange(prompts).repeat_interleave(size)
    strata = torch.from_numpy(strata_of(past)).repeat_interleave(size)
    cases: dict[tuple[str, float], np.ndarray] = {}
    for baseline in OF_STRATA if error else (LEAVE_ONE_OUT, *OF_STRATA):
        values = compute_advantages(rewards, groups, scale="none", baseline=baseline, strata=strata)
        cases[baseline, error] = values.numpy().reshape(prompts, size)
    return cases


def _noise(size: int, baseline: str, error: float, drawn: np.ndarray, truth: np.ndarray) -> Noise:
    mean = drawn.mean(axis=0)
    signal = float(truth @ truth)
    squares = ((drawn - mean) ** 2).sum(axis=1) / signal
    count = len(drawn)
    cosine = float(mean @ truth / (np.linalg.norm(mean) * math.sqrt(signal)))
    ratio = float(squares.sum() / (count - 1))
    return Noise(size, baseline, error, ratio, float(squares.std(ddof=1) / math.sqrt(count)), cosine)


if __name__ == "__main__":
    for found in simulate():
        print(
            f"G {found.group_size}  {found.baseline:14} past error {found.past_error:g}  noise/signal "
            f"{found.ratio:.3f} +- {1.96 * found.error:.3f}  cosine {found.cosine:.4f}"
        )
