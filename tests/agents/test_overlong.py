"""The soft overlong punishment against DAPO's equation 13."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agents.overlong import overlong_penalty


@pytest.mark.parametrize(
    ("length", "expected"),
    [(0, 0.0), (16384, 0.0), (16385, -1 / 4096), (18432, -0.5), (20479, -4095 / 4096), (20480, -1.0), (20481, -1.0)],
)
def test_the_papers_setting(length, expected):
    """An expected maximum of 16,384 tokens and a cache of 4,096 (section 4.1 of the paper)."""
    assert overlong_penalty(length, limit=20480, buffer=4096, penalty=1.0) == expected


@given(st.integers(1, 500), st.data(), st.floats(0, 10))
def test_equation_13(limit, data, penalty):
    """Against the equation written out, case by case."""
    buffer = data.draw(st.integers(1, limit))
    length = data.draw(st.integers(0, limit + 10))

    if length <= limit - buffer:
        expected = 0.0
    elif length <= limit:
        expected = ((limit - buffer) - length) / buffer
    else:
        expected = -1.0
    assert overlong_penalty(length, limit, buffer, penalty) == pytest.approx(penalty * expected)


@given(st.integers(0, 100), st.floats(0, 10))
def test_no_buffer_no_penalty(length, penalty):
    assert overlong_penalty(length, 50, 0, penalty) == 0.0


def test_no_penalty_is_a_plain_zero():
    assert math.copysign(1, overlong_penalty(3, 10, 5, 1.0)) == 1.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1, 10, 5, 1.0), "length is -1"),
        ((1, 10, 11, 1.0), "buffer is 11, must be 0 to the limit of 10"),
        ((1, 10, -1, 1.0), "buffer is -1"),
        ((1, 10, 5, -1.0), "penalty is -1"),
        ((1, 10, 5, math.nan), "penalty is nan"),
        ((1, 10, 5, math.inf), "penalty is inf"),
    ],
)
def test_bad_numbers_are_told(arguments, words):
    with pytest.raises(ValueError, match=words):
        overlong_penalty(*arguments)
