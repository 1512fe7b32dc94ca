"""The random streams: frozen for ever, uniform, and the same whatever the platform."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import Rng
from grpo_gym.rng import permuted, stable_hash

KEYS = st.lists(st.one_of(st.text(), st.integers()), max_size=4)


def test_the_streams_are_frozen():
    """A change here changes every problem ever made: it needs a new version of every task."""
    rng = Rng("grpo/math.chain", 0, 3, "train", 42, 7)
    assert [rng.below(1_000_000) for _ in range(4)] == [189787, 781425, 739393, 496443]
    assert [rng.integer(-5, 5) for _ in range(8)] == [4, 0, 4, 4, 4, 3, -1, -2]
    assert [rng.choice("abcdefgh") for _ in range(6)] == ["c", "d", "d", "d", "f", "a"]
    assert rng.sample(range(100), 5) == [45, 5, 97, 95, 10]
    items = list(range(8))
    rng.shuffle(items)
    assert items == [1, 7, 5, 0, 6, 4, 2, 3]
    assert [rng.chance(1, 3) for _ in range(6)] == [True, True, False, True, True, False]
    assert [rng.weighted([1, 0, 5, 2]) for _ in range(6)] == [3, 2, 0, 2, 2, 0]
    assert rng.below(10**30) == 552743673540052761465938145296
    assert stable_hash("a", 1) == 4251914881784117381
    assert [permuted(k, 10, "key", 1) for k in range(10)] == [9, 2, 8, 4, 5, 7, 0, 6, 3, 1]


@given(KEYS, KEYS)
def test_equal_keys_give_equal_streams_and_different_ones_do_not(one, two):
    first, again, other = Rng(*one), Rng(*one), Rng(*two)
    draws = [first.below(2**64) for _ in range(3)]
    assert draws == [again.below(2**64) for _ in range(3)]
    assert (draws == [other.below(2**64) for _ in range(3)]) == (one == two)


def test_a_number_and_its_text_are_different_keys():
    assert stable_hash("1") != stable_hash(1)
    assert stable_hash("a", "b") != stable_hash("ab")


@given(KEYS, st.integers(1, 10**40))
def test_below_stays_below(key, n):
    assert 0 <= Rng(*key).below(n) < n


@given(KEYS, st.integers(-(10**9), 10**9), st.integers(0, 10**9))
def test_integer_includes_both_ends(key, low, width):
    assert low <= Rng(*key).integer(low, low + width) <= low + width


@given(KEYS, st.lists(st.integers(), max_size=30))
def test_shuffle_and_sample_lose_nothing(key, items):
    shuffled = list(items)
    Rng(*key).shuffle(shuffled)
    assert Counter(shuffled) == Counter(items)
    assert Counter(Rng(*key).sample(items, len(items))) == Counter(items)


@given(KEYS, st.lists(st.integers(0, 9), min_size=1).filter(any))
def test_weighted_never_picks_a_weight_of_zero(key, weights):
    assert weights[Rng(*key).weighted(weights)] > 0


def test_every_draw_is_uniform():
    rng = Rng("uniform")
    for draw, expected in (
        (lambda: rng.below(6), 1 / 6),
        (lambda: rng.choice("abc"), 1 / 3),
        (lambda: tuple(rng.sample(range(4), 2)), 1 / 12),
        (lambda: rng.weighted([1, 1, 2]) == 2, 1 / 2),
        (lambda: rng.chance(1, 2), 1 / 2),
    ):
        counts = Counter(draw() for _ in range(6_000))
        assert len(counts) == round(1 / expected)
        for count in counts.values():
            assert abs(count / 6_000 - expected) < 0.03


def test_draws_that_cannot_be_are_refused():
    rng = Rng()
    with pytest.raises(ValueError, match="cannot draw below 0: the range is empty"):
        rng.below(0)
    with pytest.raises(ValueError, match="range is empty"):
        rng.integer(3, 2)
    with pytest.raises(ValueError, match="cannot draw 3 distinct elements from 2"):
        rng.sample([1, 2], 3)
    with pytest.raises(TypeError, match="choose from a sorted list, not from a set"):
        rng.choice({1, 2})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="range is empty"):
        rng.weighted([0, 0])


@given(KEYS, st.integers(1, 400))
def test_permuted_is_a_bijection(key, n):
    assert sorted(permuted(position, n, *key) for position in range(n)) == list(range(n))


def test_permutations_of_different_keys_differ():
    one, two = ([permuted(position, 1_000, "rows", seed) for position in range(1_000)] for seed in (1, 2))
    assert sum(a == b for a, b in zip(one, two, strict=True)) < 10
    assert 0 <= permuted(10**15, 10**18) < 10**18
    with pytest.raises(ValueError, match=r"position 3 is not in range\(3\)"):
        permuted(3, 3)
