"""The rules for what programs print, one by one: lines, blanks, numerals with and without a tolerance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_rewards.code.compare import first_output_difference, same_output
from tests.rewards.hostile import HOSTILE, limited

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ("5\n", "5\n"),
        ("5", "5\n"),
        ("5\r\n6\r\n", "5\n6\n"),
        ("5  \n6\t\n", "5\n6"),
        ("5\n\n\n", "5"),
        ("5\n \n\r\n", "5"),
        ("", "\n"),
        ("a  b", "a  b"),
        ("\n5", "\n5"),
        ("  5", "  5"),
        ("nan", "nan"),
        ("\u0663", "\u0663"),
    ],
)
@pytest.mark.parametrize("tolerance", [None, 1e-6])
def test_equal_outputs(got, expected, tolerance):
    assert same_output(got, expected, tolerance)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ("1\n2\n", "12\n"),
        ("1 2", "1\n2"),
        ("1\n2", "1 2"),
        ("1", "1\n2\n3"),
        ("1\n2\n3", "1"),
        ("1\n\n2", "1\n2"),
        ("\n1", "1"),
        (" 1", "1"),
        ("1", " 1"),
        ("", "1"),
        ("1", ""),
        ("1_0", "10"),
        ("\u0663", "3"),
        ("nan", "1.5"),
        ("1.5", "nan"),
        ("inf", "1e999"),
        ("1e999", "1e998"),
        ("infinity", "inf"),
        ("YES", "Yes"),
        ("1,5", "1.5"),
        ("0x10", "16"),
        ("1e5j", "1e5"),
        ("5\f", "5"),
        ("5\u00a0", "5"),
        ("a\rb", "a\nb"),
        ("10", "11"),
        ("-5", "5"),
        ("9007199254740993", "9007199254740992"),
        ("1" * 5_000, "1" * 4_999 + "2"),
        ("1.5 2.5", "1.5"),
    ],
)
@pytest.mark.parametrize("tolerance", [None, 1e-6])
def test_unequal_outputs(got, expected, tolerance):
    assert not same_output(got, expected, tolerance)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ("1.0000001", "1"),
        ("1", "1.0000001"),
        ("x = 3.1415926 m", "x = 3.1415927 m"),
        ("1.5   2.5\n.5", "1.5 2.5\n0.5"),
        (".05", "0.05"),
        ("+5", "5"),
        ("005", "5"),
        ("-0", "0"),
        ("1e3", "1000"),
        ("1000000001.0", "1000000000"),
        ("1" * 5_000, "+" + "1" * 5_000),
    ],
)
def test_a_tolerance_lets_numerals_differ(got, expected):
    assert same_output(got, expected, 1e-6)
    assert not same_output(got, expected)


@given(finite, finite, st.floats(0, 10))
def test_near_is_what_the_formula_says(got, expected, tolerance):
    near = abs(got - expected) <= tolerance * max(1.0, abs(expected))
    assert same_output(repr(got), repr(expected), tolerance) == (near or got == expected)


def test_a_tolerance_is_absolute_up_to_one():
    assert same_output("0", "0.5", 0.5)
    assert not same_output("0", "0.5", 0.48)


def test_the_first_line_that_differs_in_words():
    assert first_output_difference("1\n3\n4", "1\n2\n3") == "line 2: got '3', expected '2'"
    assert first_output_difference("1\n", "1\n2\n") == "got 1 line, expected 2"


def test_large_outputs_take_a_few_passes_and_short_words():
    with limited(60):
        for name, text in HOSTILE.items():
            assert same_output(text, text, 0.5), name
            assert len(first_output_difference(text, "1.5 2.5\n" * 1_000, 0.5)) < 500, name
