"""Weights of strata: golden values, and the balance against finite differences of what it is said to maximise."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grpo_agents.strata.weights import balance_weights, fixed_weights, renormalised, worst_weights

MEANS = st.dictionaries(st.sampled_from("abcdef"), st.floats(-1, 1), min_size=1)


def objective(means: list[float], balance_coef: float) -> float:
    """mean_g(m_g) - lambda Var_g(m_g), written out."""
    mean = sum(means) / len(means)
    return mean - balance_coef * sum((m - mean) ** 2 for m in means) / len(means)


def test_fixed_weights_by_name():
    assert fixed_weights(["hard", "easy", "hard"], {"hard": 1.2, "gone": 9.0}).tolist() == [1.2, 1.0, 1.2]
    assert fixed_weights([], {"hard": 1.2}).shape == (0,)
    assert fixed_weights(["hard"], {}).dtype == torch.float64


@given(MEANS, st.floats(0, 0.2))
def test_balance_is_the_derivative_of_its_objective(means, balance_coef):
    """By central differences, times the number of strata, where no weight is at its floor (coefficients up to 0.2)."""
    names, values, step = list(means), list(means.values()), 1e-4
    weights = balance_weights(means, balance_coef)

    for i, name in enumerate(names):
        up = [*values[:i], values[i] + step, *values[i + 1 :]]
        down = [*values[:i], values[i] - step, *values[i + 1 :]]
        slope = (objective(up, balance_coef) - objective(down, balance_coef)) / (2 * step)
        assert weights[name] == pytest.approx(len(values) * slope, abs=1e-8)


def test_balance_by_hand():
    weights = balance_weights({"easy": 0.9, "hard": 0.1}, 0.5)

    assert weights == {"easy": pytest.approx(0.6), "hard": pytest.approx(1.4)}


def test_balance_never_teaches_to_fail():
    assert balance_weights({"easy": 1.0, "hard": 0.0}, 3.0) == {"easy": 0.0, "hard": pytest.approx(4.0)}


def test_worst_by_hand():
    weights = worst_weights({"easy": 1.0, "hard": 0.0}, math.log(3))

    assert weights == {"easy": pytest.approx(0.5), "hard": pytest.approx(1.5)}


@given(MEANS, st.floats(0, 50))
def test_the_worst_weigh_most_and_all_of_them_one_on_average(means, coef):
    weights = worst_weights(means, coef)

    assert sum(weights.values()) / len(weights) == pytest.approx(1)
    ordered = sorted(means, key=means.__getitem__)
    assert all(weights[a] >= weights[b] for a, b in pairwise(ordered))


@given(MEANS, st.floats(0, 5))
def test_weights_do_not_depend_on_the_order_of_strata(means, coef):
    turned = dict(reversed(means.items()))

    assert balance_weights(means, coef) == balance_weights(turned, coef)
    assert worst_weights(means, coef) == worst_weights(turned, coef)


def test_large_coefficients_do_not_overflow():
    assert worst_weights({"a": -1e3, "b": 1e3}, 1e3) == {"a": 2.0, "b": 0.0}


@given(MEANS)
def test_a_coefficient_of_zero_changes_nothing(means):
    assert set(balance_weights(means, 0).values()) == {1.0}
    assert list(worst_weights(means, 0).values()) == pytest.approx([1.0] * len(means))


def test_nothing_seen_gives_no_weights():
    assert balance_weights({}, 1.0) == worst_weights({}, 1.0) == {}


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30).filter(lambda values: sum(values) > 1e-3))
def test_renormalised_weights_are_one_on_average_and_in_proportion(values):
    weights = torch.tensor(values, dtype=torch.float64)

    scaled = renormalised(weights)

    assert float(scaled.mean()) == pytest.approx(1)
    torch.testing.assert_close(scaled * weights.mean(), weights)
    assert renormalised(weights.flip(0)).flip(0).tolist() == scaled.tolist()


def test_weights_of_zero_stay_zero():
    assert renormalised(torch.zeros(3, dtype=torch.float64)).tolist() == [0.0, 0.0, 0.0]
    assert renormalised(torch.zeros(0, dtype=torch.float64)).tolist() == []


@pytest.mark.parametrize("values", [[1.0, -1.0], [math.nan], [math.inf], [[1.0]]])
def test_weights_that_are_none_are_refused(values):
    with pytest.raises(ValueError, match="finite, at least 0 and of shape"):
        renormalised(torch.tensor(values, dtype=torch.float64))


@pytest.mark.parametrize(("weigh", "name"), [(balance_weights, "balance_coef"), (worst_weights, "worst_coef")])
def test_bad_coefficients_and_means_are_told(weigh, name):
    with pytest.raises(ValueError, match=f"{name} is -1"):
        weigh({"a": 0.0}, -1)
    with pytest.raises(ValueError, match=f"{name} is nan"):
        weigh({"a": 0.0}, math.nan)
    with pytest.raises(ValueError, match="mean reward of b is not finite"):
        weigh({"a": 0.0, "b": math.nan}, 1.0)
