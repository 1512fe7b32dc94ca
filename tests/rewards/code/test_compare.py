"""The rules of comparison, one by one: right in any of the allowed forms, and nothing else. What was got is hostile."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_rewards.code.compare import first_difference, same_value
from grpo_rewards.code.plain import shown, why_not_plain
from tests.rewards.hostile import limited

NAN, INF = math.nan, math.inf
Point = namedtuple("Point", "x y")


class Liar(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


# --- values


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (None, None),
        (2, 2.0),
        (2.0, 2),
        (10**400, 10**400),
        ((1, [2, (3,)]), [1, (2, [3])]),
        ([], ()),
        ({1, 2}, frozenset({2.0, 1})),
        ({"a": [1], "b": (2,)}, {"b": [2], "a": [1]}),
        ({(1, (2, 3)): 4}, {(1.0, (2, 3)): 4}),
        (Counter("abca"), {"a": 2, "b": 1, "c": 1}),
        (defaultdict(int, a=1), {"a": 1}),
        (OrderedDict(a=1, b=2), {"b": 2, "a": 1}),
        (b"ab", bytearray(b"ab")),
        (1 + 2j, 1 + 2j),
        (complex(NAN, 1), complex(NAN, 1)),
        (NAN, float("nan")),
        ([NAN, {"a": -NAN}], [NAN, {"a": NAN}]),
        ({float("nan"), 1}, {float("nan"), 1}),
        (-0.0, 0),
        (INF, INF),
        (Fraction(1, 2), Fraction(2, 4)),
        (Decimal("1.0"), Decimal("1")),
        (Decimal("sNaN"), Decimal("nan")),
        (deque([1, 2]), deque([1, 2])),
        (range(3), range(0, 3, 1)),
        (slice(1, 2), slice(1, 2)),
        (..., ...),
        (date(2024, 1, 2), date(2024, 1, 2)),
        ("\ud800", "\ud800"),
        (np.int64(3), 3),
        (np.float64(0.5), 0.5),
        (np.bool_(True), True),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        ([np.float32(0.5)], np.array([0.5])),
    ],
)
def test_equal_values(got, expected):
    assert same_value(got, expected)
    assert first_difference(got, expected) == ""


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (True, 1),
        (1, True),
        (0, False),
        (None, 0),
        (None, False),
        ("1", 1),
        ("a", "A"),
        ("a ", "a"),
        (b"a", "a"),
        (1, 1.0000000001),
        (NAN, 1.0),
        (1.0, NAN),
        (NAN, None),
        (INF, -INF),
        (1 + 0j, 1),
        (Fraction(1, 2), 0.5),
        (Decimal("0.5"), 0.5),
        (Decimal("nan"), NAN),
        ([1, 2], [2, 1]),
        ([1, 2], [1, 2, 3]),
        ([1, 2, 3], [1, 2]),
        ([1, 2], {1, 2}),
        ([0, 1, 2], range(3)),
        (deque([1]), [1]),
        ({1, 2}, {1, 3}),
        ({1}, {1, 2}),
        ({True}, {1}),
        ({(1, True)}, {(1, 1)}),
        ({float("nan"), float("nan")}, {float("nan"), 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": 1}, {"a": True}),
        ({True: 1}, {1: 1}),
        ({"1": 1}, {1: 1}),
        ({1: "a"}, {1: "b"}),
        ([("a", 1)], {"a": 1}),
        (datetime(2024, 1, 2), date(2024, 1, 2)),
        ("abc", ["a", "b", "c"]),
        (Point(1, 2), (1, 2)),
        (Liar(3), 5),
        (Liar(3), 3),
        ([Liar(3)], [5]),
        (object(), object()),
        (np.array([1, 2]), [1, 3]),
        (np.bool_(True), 1),
    ],
)
@pytest.mark.parametrize("tolerance", [None, 1e-12])
def test_unequal_values(got, expected, tolerance):
    assert not same_value(got, expected, tolerance)
    assert first_difference(got, expected, tolerance)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (1.0, 1.0000001),
        (1, 1.0000001),
        (1.0000001, 1),
        (1e9, 1e9 + 500),
        (1e-9, 0.0),
        ([0.1 + 0.2, {"a": 2.0}], (0.3, {"a": 2.0000001})),
        ({1.0, 2.0}, {2.0000001, 1.0000001}),
        ({-1, 2.0}, {2, -1.0000001}),
        (NAN, NAN),
        (INF, INF),
        (np.array([0.3]), [0.1 + 0.2]),
    ],
)
def test_a_tolerance_lets_floats_differ(got, expected):
    assert same_value(got, expected, 1e-6)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (1.0, 1.00001),
        (10**9, 10**9 + 1),
        (10**400, 1e300),
        (10**400, INF),
        (1e308, INF),
        (INF, 1e308),
        (-INF, INF),
        (NAN, 1.0),
        (1.0, NAN),
        (INF, NAN),
        (True, 1.0),
        ("1.0000001", 1.0),
        ({1.0, 2.0}, {1.0, 3.0}),
        ({1.0, NAN}, {1.0, 2.0}),
        ({1.0, True + 1}, {1.0, 3}),
        ({1.0000001: 1}, {1.0: 1}),
        ([1.0], [1.0, 1.0]),
    ],
)
def test_what_a_tolerance_does_not_forgive(got, expected):
    assert not same_value(got, expected, 1e-6)


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5)
    | st.complex_numbers() | st.fractions() | st.decimals()
)  # fmt: skip
keys = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
plain_data = st.recursive(
    scalars | st.sets(keys, max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


def rebuilt(value: Any) -> Any:
    """The same value made of other objects, with other list and set types: nothing may rest on identity."""
    if isinstance(value, (list, tuple)):
        return [rebuilt(item) for item in value]
    if isinstance(value, dict):
        return {key: rebuilt(item) for key, item in reversed(value.items())}
    return float(repr(value)) if isinstance(value, float) else value


@given(plain_data, st.none() | st.floats(0, 1e9))
def test_plain_data_equal_themselves(value, tolerance):
    assert why_not_plain(value) == ""
    assert same_value(rebuilt(value), value, tolerance)
    assert same_value(value, rebuilt(value), tolerance)


@given(plain_data, st.data())
def test_one_changed_leaf_is_noticed(value, data):
    changed = perturbed(value, data)
    assert not same_value(changed, value)
    assert not same_value(value, changed)


def perturbed(value: Any, data: st.DataObject) -> Any:
    """The value with one place changed: a leaf of another kind, a member more or less."""
    if isinstance(value, (list, tuple)) and value and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(value) - 1))
        return [*value[:place], perturbed(value[place], data), *value[place + 1 :]]
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(list(value)))
        return {**value, key: perturbed(value[key], data)}
    if isinstance(value, (list, tuple)):
        return [*value, None] if data.draw(st.booleans()) or not value else value[:-1]
    if isinstance(value, set):
        return value | {"another"} if "another" not in value else value - {"another"}
    if isinstance(value, dict):
        return {**value, "another": 1} if "another" not in value else {}
    if isinstance(value, bool):
        return int(value)
    return bool(value) if isinstance(value, (int, float)) else [value]


@given(plain_data, plain_data, st.floats(0, 10), st.floats(0, 10))
def test_a_larger_tolerance_never_refuses_what_a_smaller_one_takes(got, expected, one, other):
    small, large = sorted((one, other))
    if same_value(got, expected):
        assert same_value(got, expected, small)
    if same_value(got, expected, small):
        assert same_value(got, expected, large)


@given(
    st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 10)
)
def test_near_is_what_the_formula_says(got, expected, tolerance):
    near = abs(got - expected) <= tolerance * max(1.0, abs(expected))
    assert same_value(got, expected, tolerance) == (near or got == expected)


few = st.recursive(
    st.sampled_from([0, 1, 2.5, "a", None]) | st.sets(st.integers(0, 1)),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([0, "a"]), inner, max_size=2),
    max_leaves=3,
)


@given(few, few)
def test_without_bools_tuples_and_nan_the_rules_are_pythons(got, expected):
    assert same_value(got, expected) == (got == expected)


def test_a_tolerance_is_absolute_up_to_one_and_relative_beyond():
    assert same_value(0.0, 0.5, 0.5)
    assert not same_value(0.0, 0.5, 0.48)
    assert same_value(2.0, 4.0, 0.5)
    assert not same_value(4.0, 2.0, 0.9)


def test_integers_and_floats_are_compared_exactly():
    assert same_value(2**53, float(2**53))
    assert not same_value(2**53 + 1, float(2**53))


# --- words


@pytest.mark.parametrize(
    ("got", "expected", "words"),
    [
        (3, 4, "got 3, expected 4"),
        ("3", 3, "got '3', expected 3 (str where int is expected)"),
        (True, 1, "got True, expected 1 (bool where int is expected)"),
        ([1, [2, 5]], [1, [2, 3]], "at [1][1]: got 5, expected 3"),
        ({"a": [1]}, {"a": [2]}, "at ['a'][0]: got 1, expected 2"),
        ([1], [1, 2], "got 1 element, expected 2"),
        ({"b": 1}, {"a": 1}, "got the key 'b', which is not expected"),
        ({}, {"a": 1}, "no key 'a', which is expected"),
        ({1, 5}, {1, 2}, "got the member 5, which is not expected"),
        ({1}, {1, 2}, "got 1 member, expected 2"),
        ({1.0}, {2.0}, "got the member 1.0, which is not expected"),
        (object(), 1, "got a object, expected 1 (object where int is expected)"),
        (2**4_000, 1, "got an integer of 4001 bits, expected 1"),
    ],
)
def test_the_first_difference_in_words(got, expected, words):
    assert first_difference(got, expected, 1e-9) == words


@pytest.mark.parametrize(
    "value", [None, [], (1,), (1, 2), {}, {"a": {1}}, set(), frozenset({1}), deque([1]), "it's", 1.5]
)
def test_values_are_shown_as_python_writes_them(value):
    assert shown(value) == repr(value)


@given(plain_data)
def test_showing_never_raises_and_stays_short(value):
    assert len(shown(value, 50)) <= 53


# --- hostile


def big_values() -> dict[str, Any]:
    deep: Any = 1
    for _ in range(190):
        deep = [deep]
    digits = 10**20_000
    return {
        "deep": deep,
        "long": list(range(200_000)),
        "keys": dict.fromkeys(range(200_000)),
        "members": set(range(200_000)),
        "pairs": {(number, str(number)) for number in range(50_000)},
        "digits": [digits] * 2,
        "fraction": Fraction(digits, digits + 1),
        "range": range(digits),
        "decimal": [Decimal("1e999999999999999"), Decimal("9" * 20_000)],
        "empty": [[[]] * 3] * 50_000,
        "text": "x" * 1_000_000,
    }


def test_large_values_take_a_few_passes_and_short_words():
    values = big_values()
    with limited(60):
        for name, value in values.items():
            assert same_value(value, value), name
            assert len(shown(value)) <= 150, name
            for other in values.values():
                assert value is other or 0 < len(first_difference(value, other, 0.5)) < 500, name
