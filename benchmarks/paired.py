"""Two arms over the same seeds: by how much one is above the other, and whether that could be nothing.

A seed decides the test problems, the training problems and the sampler's random numbers in every arm alike, so what a
seed shares falls out of the difference. Everything here is a pure function of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.intervals import mean_interval

NO_DIFFERENCE = "no difference"
ROUNDING = 1e-9
"""A score this little below a target has reached it: 0.2 + 0.1 is not 0.3 in floating point."""
FEWEST = 2
"""Seeds that an interval needs."""


@dataclass(frozen=True)
class Comparison:
    """One arm beside another over seeds that both have.

    Attributes:
        first: Name of an arm.
        second: Name of the other.
        value: The mean difference first - second, or the ratio first / second.
        low: Lower end of its 95 % interval.
        high: Upper end.
        seeds: Seeds compared.
        left_out: Seeds that could not be compared.
        neutral: The value that means "equal": 0 for a difference, 1 for a ratio.
    """

    first: str
    second: str
    value: float
    low: float
    high: float
    seeds: int
    left_out: int = 0
    neutral: float = 0.0

    @property
    def verdict(self) -> str:
        """`<first> higher`, `<second> higher`, or "no difference" where the interval holds the neutral value.

        A ratio is one of what was needed: there it is `<first> needs more`, and so on.
        """
        word = "needs more" if self.neutral else "higher"
        if self.low > self.neutral:
            return f"{self.first} {word}"
        if self.high < self.neutral:
            return f"{self.second} {word}"
        return NO_DIFFERENCE


def difference(first: str, second: str, left: Mapping[int, float], right: Mapping[int, float]) -> Comparison:
    """Compare two arms by the mean of their differences, seed by seed, with Student's 95 % interval.

    Args:
        first: Name of the first arm.
        second: Name of the second.
        left: Figure of the first arm by seed.
        right: Figure of the second.

    Raises:
        ValueError: Fewer than two common seeds, or a figure that is not finite.
    """
    common = _common(first, second, left, right)
    for name, figures in ((first, left), (second, right)):
        if broken := [seed for seed in common if not math.isfinite(figures[seed])]:
            raise ValueError(f"the figure of {name} is not finite at seed {broken[0]}")
    mean, low, high = mean_interval([left[seed] - right[seed] for seed in common])
    return Comparison(first, second, mean, low, high, len(common), len(set(left) ^ set(right)))


def ratio(
    first: str, second: str, left: Mapping[int, float | None], right: Mapping[int, float | None]
) -> Comparison | None:
    """Compare two arms by the geometric mean of their ratios first / second, with a t interval on the log scale.

    A figure of None was never reached. Only seeds at which both arms have one are compared, which flatters the arm that
    fails more often: read it beside the counts. None where fewer than two seeds are left.

    Args:
        first: Name of the first arm.
        second: Name of the second.
        left: Figure of the first arm by seed, above 0, or None.
        right: Figure of the second.

    Raises:
        ValueError: Fewer than two common seeds, or a figure that is not above 0.
    """
    common = _common(first, second, left, right)
    logs = []
    for seed in common:
        above, below = left[seed], right[seed]
        if above is None or below is None:
            continue
        if not (0 < above < math.inf and 0 < below < math.inf):
            raise ValueError(f"a ratio needs figures above 0; seed {seed} has {above} and {below}")
        logs.append(math.log(above / below))
    if len(logs) < FEWEST:
        return None
    mean, low, high = (math.exp(value) for value in mean_interval(logs))
    every = len(set(left) | set(right))
    return Comparison(first, second, mean, low, high, len(logs), every - len(logs), neutral=1.0)


def change(name: str, before: Mapping[int, float], after: Mapping[int, float]) -> Comparison:
    """Compare an arm with its own start, seed by seed. Raises as `difference` does."""
    return difference(f"{name} after", f"{name} before", after, before)


def completions_to(curve: Sequence[tuple[int, float]], start: float, target: float) -> float | None:
    """Return after how many completions a curve first reaches a score, None if it never does.

    Args:
        curve: (completions so far, score), in order, the start not included.
        start: The score at 0 completions.
        target: The score to be reached.

    Returns:
        Between two points the score is taken to move in a straight line. At least 1, for a ratio needs it above 0.
    """
    behind = (0, start)
    for point in [behind, *curve]:
        if point[1] >= target - ROUNDING:
            span = point[1] - behind[1]
            share = min(1.0, (target - behind[1]) / span) if span > 0 else 1.0
            return max(1.0, behind[0] + share * (point[0] - behind[0]))
        behind = point
    return None


def drawdown(scores: Sequence[float]) -> float:
    """Return the largest fall from a score to any later one, 0 where it never falls."""
    highest, worst = -math.inf, 0.0
    for score in scores:
        highest = max(highest, score)
        worst = max(worst, highest - score)
    return worst


def pass_at_k(n: int, right: int, k: int) -> float:
    """Return the unbiased estimate of pass@k, 1 - C(n - c, k) / C(n, k) (arXiv 2107.03374, section 2.1).

    Args:
        n: Completions of the problem.
        right: How many of them are right, c.
        k: Completions of which one has to be right.

    Raises:
        ValueError: Not 1 <= k <= n, or not 0 <= right <= n.
    """
    if not 1 <= k <= n:
        raise ValueError(f"pass@{k} needs k of 1 or more and at least k completions of a problem, got {n}")
    if not 0 <= right <= n:
        raise ValueError(f"{right} of {n} completions cannot be right")
    miss = 1.0
    for place in range(n - right + 1, n + 1):
        miss *= max(0.0, 1 - k / place)
    return 1 - miss


def _common(first: str, second: str, left: Mapping[int, object], right: Mapping[int, object]) -> list[int]:
    common = sorted(set(left) & set(right))
    if len(common) < FEWEST:
        raise ValueError(f"{first} and {second} have {len(common)} seeds in common: an interval needs {FEWEST}")
    return common
