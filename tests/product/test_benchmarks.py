"""The benchmarks' own arithmetic: intervals against published quantiles, and what each learning figure means."""

from __future__ import annotations

import pytest
from gymnasium.vector import SyncVectorEnv

from benchmarks.false_rewards import ShuffledRewards
from benchmarks.intervals import difference_interval, mean_interval, t_quantile
from benchmarks.learning import end_of_growth
from tests.agents.foreign_envs import Word


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 12.7062), (2, 4.30265), (7, 2.36462), (30, 2.04227)])
def test_quantiles_of_student_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(quantile, rel=1e-5)


def test_a_mean_has_its_t_interval() -> None:
    mean, low, high = mean_interval([1.0, 2.0, 3.0])

    assert (mean, high - mean) == pytest.approx((2.0, 4.30265 / 3**0.5), rel=1e-5)
    assert mean - low == pytest.approx(high - mean)


def test_a_difference_has_welchs_interval() -> None:
    """Variances 1 and 4 of three values each give 20 / 6.8 = 2.941 degrees of freedom."""
    difference, low, high = difference_interval([1.0, 2.0, 3.0], [4.0, 6.0, 8.0])

    assert difference == pytest.approx(-4.0)
    assert high - low == pytest.approx(2 * t_quantile(0.975, (5 / 3) ** 2 / (1 / 18 + 16 / 18)) * (5 / 3) ** 0.5)


def test_growth_ends_where_the_final_length_is_nearly_reached() -> None:
    curve = [{"step": step, "length": length} for step, length in ((5, 30.0), (10, 38.7), (15, 39.5), (20, 40.0))]

    assert end_of_growth(curve)["step"] == 15


def test_shuffled_rewards_are_the_same_rewards_in_another_order() -> None:
    answers = ["a", "a1", "a11", "a111", "a1111", "a11111"]
    plain, shuffled = (SyncVectorEnv([lambda: Word() for _ in answers]) for _ in range(2))
    mixed = ShuffledRewards(shuffled, seed=0)
    for env in (plain, mixed):
        env.reset(seed=7)

    right, other = (env.step(answers)[1] for env in (plain, mixed))

    assert sorted(right) == sorted(other)
    assert list(right) != list(other)
