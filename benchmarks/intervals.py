"""Intervals for means and differences of a few runs: Student's and Welch's t."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import mpmath


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return mean and 95 % t interval of at least two values."""
    mean = statistics.fmean(values)
    half = t_quantile(0.975, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def difference_interval(left: Sequence[float], right: Sequence[float]) -> tuple[float, float, float]:
    """Return mean(left) - mean(right) and its 95 % Welch interval; at least two values each."""
    a, b = statistics.variance(left) / len(left), statistics.variance(right) / len(right)
    difference = statistics.fmean(left) - statistics.fmean(right)
    if a + b == 0:
        return difference, difference, difference
    freedom = (a + b) ** 2 / (a**2 / (len(left) - 1) + b**2 / (len(right) - 1))
    half = t_quantile(0.975, freedom) * math.sqrt(a + b)
    return difference, difference - half, difference + half


def t_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t for a probability above one half, by bisection of the incomplete beta."""
    low, high = 0.0, 1000.0
    for _ in range(80):
        middle = (low + high) / 2
        tail = 0.5 * float(mpmath.betainc(freedom / 2, 0.5, 0, freedom / (freedom + middle**2), regularized=True))
        low, high = (middle, high) if 1 - tail < probability else (low, middle)
    return (low + high) / 2
