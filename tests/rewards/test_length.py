"""The overlong penalty against values worked out by hand from DAPO's equation 13."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import Problem, Reason
from grpo_gym.errors import InvalidValueError
from grpo_rewards.length import SoftOverlong

PROBLEM = Problem("?", "5")


def value(reward: SoftOverlong, length: int) -> float | None:
    return reward.score("x" * length, PROBLEM).value


@pytest.mark.parametrize(
    ("length", "expected"),
    [(0, 0.0), (80, 0.0), (81, -0.05), (90, -0.5), (95, -0.75), (100, -1.0), (101, -1.0), (10_000, -1.0)],
)
def test_values_by_hand(length, expected):
    assert value(SoftOverlong(100, 20), length) == expected


def test_the_papers_own_setting():
    """20,480 tokens at most, the last 4,096 of them punished."""
    reward = SoftOverlong(20_480, 4_096)
    assert [value(reward, length) for length in (16_384, 18_432, 20_480, 20_481)] == [0.0, -0.5, -1.0, -1.0]


def test_without_a_buffer_it_is_a_step():
    assert [value(SoftOverlong(10, 0), length) for length in (9, 10, 11)] == [0.0, 0.0, -1.0]
    assert [value(SoftOverlong(10, 10), length) for length in (0, 5, 10)] == [0.0, -0.5, -1.0]


@given(limit=st.integers(1, 50), share=st.floats(0, 1), lengths=st.tuples(st.integers(0, 80), st.integers(0, 80)))
def test_longer_is_never_better_and_the_range_holds(limit, share, lengths):
    reward = SoftOverlong(limit, int(share * limit))
    short, long = (value(reward, length) for length in sorted(lengths))
    assert short is not None
    assert long is not None
    assert -1.0 <= long <= short <= 0.0


def words(text: str) -> int:
    return len(text.split())


def test_any_measure_can_be_given():
    reward = pickle.loads(pickle.dumps(SoftOverlong(4, 2, measure=words)))
    assert [reward.score(text, PROBLEM).value for text in ("long word", "a b c", "a b c d")] == [0.0, -0.5, -1.0]


def test_it_says_why():
    verdict = SoftOverlong(100, 20).score("x" * 90, PROBLEM)
    assert (verdict.reason, verdict.feedback) == (Reason.TOO_BIG, "length 90; free up to 80, limit 100")
    assert SoftOverlong(100, 20).score("x", PROBLEM).reason is Reason.CORRECT


@pytest.mark.parametrize(("limit", "buffer"), [(0, 0), (10, 11), (10, -1), (-5, 0)])
def test_wrong_lengths_are_named(limit, buffer):
    with pytest.raises(InvalidValueError, match=f"limit={limit} must be at least 1, and buffer={buffer}"):
        SoftOverlong(limit, buffer)
