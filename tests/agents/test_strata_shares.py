"""Shares of a batch: exact quotas by largest remainder, and a choice in the order of arrival."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agents.strata import choose, lacking, quotas

NAMES = st.lists(st.sampled_from("abcde"), max_size=40)


@st.composite
def shares_of(draw):
    """Shares in hundredths that are at most 1 together."""
    parts = draw(st.lists(st.integers(0, 50), max_size=4))
    left, shares = 100, {}
    for name, part in zip("abxy", parts, strict=False):
        shares[name] = min(part, left) / 100
        left -= min(part, left)
    return shares


@pytest.mark.parametrize(
    ("shares", "names", "prompts", "expected"),
    [
        ({"hard": 0.5}, ["easy", "hard"], 8, {"hard": 4, "easy": 4}),
        ({"hard": 0.3, "easy": 0.7}, ["easy"], 10, {"hard": 3, "easy": 7}),
        ({"hard": 0.1}, ["a", "b", "a"], 10, {"hard": 1, "a": 6, "b": 3}),
        ({"hard": 0.5}, ["a", "b", "c"], 8, {"hard": 4, "a": 2, "b": 1, "c": 1}),  # equal remainders: by name
        ({"hard": 0.25}, ["hard"], 8, {"hard": 8}),  # nobody else to take the rest
        ({"hard": 0.25, "easy": 0.5}, [], 9, {"hard": 3, "easy": 6}),
        ({"a": 0.375, "b": 0.625}, [], 4, {"a": 1, "b": 3}),  # equal remainders: to the larger share
        ({"a": 0.02, "b": 0.98}, [], 25, {"a": 0, "b": 25}),  # equal too, though not as floats
        ({"hard": 1.0}, ["a", "b"], 5, {"hard": 5, "a": 0, "b": 0}),
        ({"hard": 0.0}, ["a", "hard"], 5, {"hard": 0, "a": 5}),
        ({"hard": 0.0}, ["hard"], 5, {"hard": 0}),
        ({}, ["a", "b", "b"], 3, {"a": 1, "b": 2}),
        ({"hard": 0.5}, ["a"], 0, {"hard": 0, "a": 0}),
    ],
)
def test_quotas_by_hand(shares, names, prompts, expected):
    assert quotas(shares, names, prompts) == expected


@given(shares_of(), NAMES, st.integers(0, 64))
def test_quotas_are_exact(shares, names, prompts):
    wanted = quotas(shares, names, prompts)
    others = Counter(name for name in names if name not in shares)

    assert set(wanted) == {*shares, *names}
    if others or any(shares.values()):
        assert sum(wanted.values()) == prompts
    if others:
        left = 1 - sum((Fraction(str(share)) for share in shares.values()), Fraction(0))
        for name, count in wanted.items():
            share = Fraction(str(shares[name])) if name in shares else left * others[name] / others.total()
            assert abs(count - share * prompts) < 1


@given(shares_of(), NAMES, st.integers(0, 64), st.randoms(use_true_random=False))
def test_quotas_do_not_depend_on_order(shares, names, prompts, random):
    turned = dict(random.sample(list(shares.items()), len(shares)))

    assert quotas(shares, names, prompts) == quotas(turned, random.sample(names, len(names)), prompts)


@pytest.mark.parametrize("tenths", range(11))
def test_a_share_means_the_decimal_that_was_written(tenths):
    assert quotas({"hard": tenths / 10}, ["easy"], 10)["hard"] == tenths


def test_quotas_are_filled_in_order_and_the_rest_by_arrival():
    names = ["easy", "easy", "easy", "hard", "easy", "hard", "hard"]

    assert choose(names, {"easy": 2, "hard": 2}, 4) == [0, 1, 3, 5]
    assert choose(names, {"easy": 1, "hard": 1, "gone": 2}, 4) == [0, 1, 2, 3]
    assert choose(names, {"hard": 4}, 4) == [0, 3, 5, 6]
    assert choose(names, {}, 3) == [0, 1, 2]


@given(NAMES, shares_of(), st.data())
def test_a_choice_is_full_in_order_and_fills_what_can_be_filled(names, shares, data):
    prompts = data.draw(st.integers(0, len(names)))
    wanted = quotas(shares, names, prompts)

    picked = choose(names, wanted, prompts)

    assert len(picked) == prompts
    assert picked == sorted(set(picked))
    have, held = Counter(names), Counter(names[i] for i in picked)
    assert all(held[name] >= min(count, have[name]) for name, count in wanted.items())
    for name in have:  # within a stratum nobody is passed over
        own = [i for i, other in enumerate(names) if other == name]
        assert [i for i in own if i in set(picked)] == own[: held[name]]


def test_what_lacks_can_be_looked_for():
    assert lacking(["easy", "hard"], {"easy": 1, "hard": 3, "gone": 1, "none": 0}) == {"hard": 2, "gone": 1}
    assert lacking(["easy"], {"easy": 1}) == {}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: quotas({"a": -0.1}, [], 4), "each must be 0 to 1"),
        (lambda: quotas({"a": float("nan")}, [], 4), "nan}, each must be 0 to 1"),
        (lambda: quotas({"a": 0.6, "b": 0.6}, [], 4), "sum to 1.2"),
        (lambda: quotas({}, [], -1), "prompts is -1"),
        (lambda: choose(["a"], {"a": 1}, 2), "1 candidates cannot fill a batch of 2"),
        (lambda: choose(["a", "a"], {"a": 3}, 2), "quotas add up to 3"),
    ],
)
def test_bad_shares_are_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()
