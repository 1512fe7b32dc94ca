"""Where numbers are cut: edges, ties, hysteresis, merging, growth, names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agents.strata.boundaries import (
    LENGTH_128_256,
    counts,
    how_many,
    linear_edges,
    merged,
    place,
    quantile_edges,
    settled,
    thinned,
)
from grpo_agents.strata.names import difficulty_names, joined

NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=40)
WHOLE = st.lists(st.integers(0, 12).map(float), max_size=40)
EDGES = st.lists(st.integers(0, 12).map(float), max_size=5, unique=True).map(sorted).map(tuple)


def rising(edges: Sequence[float]) -> bool:
    return all(a < b for a, b in pairwise(edges))


@pytest.mark.parametrize(("tokens", "name"), [(127, "easy"), (128, "medium"), (255, "medium"), (256, "hard")])
def test_the_seed_articles_strata(tokens, name):
    assert difficulty_names(3, high_is_easy=False)[place(tokens, LENGTH_128_256)] == name


def test_quantiles_by_hand():
    assert quantile_edges([4, 1, 3, 2, 8, 7, 6, 5], 4) == (3, 5, 7)
    assert quantile_edges([1, 2, 3], 2) == (2,)  # 1 or 2 below: equally far from 1.5, the lower one
    assert quantile_edges([0] * 6 + [1] * 4, 2) == (1,)
    assert quantile_edges([0] * 4 + [1] * 6, 2) == (1,)
    assert quantile_edges([0, 0, 0, 1, 2, 2, 2, 2], 4) == (1, 2)
    assert quantile_edges([5, 5, 5], 4) == ()
    assert quantile_edges([], 4) == ()


@given(st.sets(st.floats(-1e9, 1e9), min_size=1, max_size=60), st.integers(1, 6))
def test_quantiles_of_distinct_values_make_equal_strata(values, n):
    held = counts(list(values), quantile_edges(list(values), n))

    assert len(held) == min(n, len(values))
    assert max(held) - min(held) <= 1


@given(WHOLE, st.integers(1, 5))
def test_quantile_cuts_are_the_nearest_that_ties_allow(values, n):
    """Against a slow search: no other cut between different values has its rank nearer to k/n."""
    edges = quantile_edges(values, n)
    ranks = sorted({sum(v < value for v in values) for value in values} - {0})

    chosen = set()
    for k in range(1, n):
        if ranks:
            chosen.add(min((abs(rank * n - k * len(values)), rank) for rank in ranks)[1])
    assert [sum(v < edge for v in values) for edge in edges] == sorted(chosen)


@given(NUMBERS, st.integers(1, 6))
def test_quantile_edges_rise_and_leave_no_stratum_empty(values, n):
    edges = quantile_edges(values, n)

    assert rising(edges)
    assert len(edges) <= n - 1
    assert not values or min(counts(values, edges)) >= 1
    assert edges == quantile_edges(values[::-1], n)


def test_linear_edges_by_hand():
    assert linear_edges([0, 1, 10], 4) == (2.5, 5.0, 7.5)
    assert linear_edges([3, 3], 4) == ()
    assert linear_edges([], 4) == ()
    assert linear_edges([1, 9], 1) == ()


@given(NUMBERS, st.integers(1, 6))
def test_linear_edges_rise_within_the_values(values, n):
    edges = linear_edges(values, n)

    assert rising(edges)
    assert len(edges) <= n - 1
    assert all(min(values) < edge <= max(values) for edge in edges)


@given(WHOLE, EDGES)
def test_counts_are_what_place_says(values, edges):
    held = [0] * (len(edges) + 1)
    for value in values:
        held[place(value, edges)] += 1

    assert counts(values, edges) == held


def test_a_small_drift_keeps_edges_and_a_shift_moves_them():
    old = (10.0, 20.0)

    assert settled(old, (10.9, 19.1), spread=10, hysteresis=0.1) == old
    assert settled(old, (11.0, 19.0), spread=10, hysteresis=0.1) == old
    assert settled(old, (11.1, 20.5), spread=10, hysteresis=0.1) == (11.1, 20.0)
    assert settled(old, (10.9, 19.1), spread=10, hysteresis=0) == (10.9, 19.1)


def test_edges_that_would_cross_are_all_taken_anew():
    assert settled((10.0, 11.0), (9.0, 9.5), spread=10, hysteresis=0.12) == (9.0, 9.5)


@pytest.mark.parametrize("new", [(), (15.0,), (10.0, 20.0, 30.0)])
def test_another_number_of_edges_is_taken_as_it_is(new):
    assert settled((10.0, 20.0), new, spread=10, hysteresis=9) == new


@given(EDGES, EDGES, st.floats(0, 5), st.floats(0, 2))
def test_settled_edges_rise_and_are_never_further_off_than_the_hysteresis(old, new, spread, hysteresis):
    edges = settled(old, new, spread, hysteresis)

    assert rising(edges)
    assert len(edges) == len(new)
    assert all(abs(a - b) <= hysteresis * spread for a, b in zip(edges, new, strict=True))


def test_small_strata_are_merged_with_their_smaller_neighbour():
    values = [1] * 10 + [2] * 1 + [3] * 6 + [4] * 10

    assert merged((2, 3, 4), values, 1) == (2, 3, 4)
    assert merged((2, 3, 4), values, 2) == (2, 4)
    assert merged((2, 3, 4), values, 8) == (4,)  # the seven of 2 and 3 then join the lower of two equal neighbours
    assert merged((2, 3, 4), values, 27) == ()
    assert merged((2,), [], 1) == ()


@given(EDGES, WHOLE, st.integers(1, 10))
def test_after_merging_every_stratum_holds_enough(edges, values, min_count):
    left = merged(edges, values, min_count)

    assert set(left) <= set(edges)
    assert not left or min(counts(values, left)) >= min_count
    if not edges or min(counts(values, edges)) >= min_count:
        assert left == edges


def test_strata_come_one_by_one():
    assert [how_many(step, 4, 3) for step in range(11)] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4]
    assert [how_many(step, 4, 0) for step in (0, 9)] == [4, 4]


def test_fixed_edges_come_evenly():
    assert [thinned((1, 2, 3), n) for n in (1, 2, 3, 4)] == [(), (2,), (1, 3), (1, 2, 3)]
    assert thinned(LENGTH_128_256, 2) == (256.0,)
    assert thinned((), 1) == ()


@given(st.integers(0, 12), st.data())
def test_thinned_edges_are_so_many_and_rise(size, data):
    n = data.draw(st.integers(1, size + 1))

    edges = thinned(tuple(range(size)), n)

    assert len(edges) == n - 1
    assert rising(edges)


def test_names_go_from_easy_to_hard():
    assert difficulty_names(1, False) == ("all",)
    assert difficulty_names(2, False) == ("easy", "hard")
    assert difficulty_names(4, False) == ("easy", "medium", "hard", "hardest")
    assert difficulty_names(4, True) == ("hardest", "hard", "medium", "easy")
    assert difficulty_names(5, True) == ("hardest", "hard", "medium", "easy", "easiest")
    assert difficulty_names(7, False)[0] == difficulty_names(7, True)[-1] == "1 of 7"


@pytest.mark.parametrize("count", range(1, 9))
def test_names_are_distinct(count):
    names = difficulty_names(count, False)

    assert len(names) == count
    assert all(a != b for a, b in combinations(names, 2))


def test_names_of_several_keys_are_joined():
    assert joined(["sums", "tier 2", "hard"]) == "sums / tier 2 / hard"
    assert joined([]) == "all"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("cut", [quantile_edges, linear_edges])
def test_numbers_that_cannot_be_ordered_are_refused(cut, bad):
    with pytest.raises(ValueError, match="must be finite"):
        cut([1.0, bad], 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: quantile_edges([1.0], 0), "n is 0"),
        (lambda: linear_edges([1.0], -1), "n is -1"),
        (lambda: settled((), (), math.nan, 0), "spread is nan"),
        (lambda: settled((), (), 1, -1), "hysteresis is -1"),
        (lambda: merged((), [], 0), "min_count is 0"),
        (lambda: how_many(-1, 4, 1), "step -1"),
        (lambda: how_many(0, 0, 1), "count 0"),
        (lambda: thinned((1,), 3), "1 edges make 1 to 2 strata, not 3"),
        (lambda: difficulty_names(0, False), "count is 0"),
    ],
)
def test_bad_numbers_are_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()
