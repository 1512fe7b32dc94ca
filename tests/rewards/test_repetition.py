"""Repetition is found in words, in scripts without blanks and in one endless word; ordinary text is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import Problem, Reason
from grpo_gym.errors import InvalidValueError
from grpo_rewards.repetition import Repetition, repeated_share
from tests.rewards.hostile import HOSTILE, limited

PROBLEM = Problem("?", "5")


@pytest.mark.parametrize(
    ("text", "n", "share"),
    [
        ("", 2, 0.0),
        ("one", 2, 0.0),
        ("one two three", 2, 0.0),
        ("a b a b a b", 2, 3 / 5),  # ab ba ab ba ab: two of five are new
        ("a b c a b c", 3, 1 / 4),  # abc bca cab abc
        ("No no NO no", 1, 3 / 4),
        ("wait, wait, wait,", 2, 3 / 5),  # wait , / , wait / wait , / , wait / wait ,
        ("\u6211\u60f3\u6211\u60f3\u6211\u60f3", 2, 3 / 5),
        ("\u0e01\u0e02\u0e01\u0e02\u0e01\u0e02", 2, 3 / 5),
        ("!!!!!", 1, 4 / 5),
        ("a" * 16 * 5, 1, 4 / 5),
        ("aaaa bbbb", 1, 0.0),
    ],
)
def test_shares_by_hand(text, n, share):
    assert repeated_share(text, n) == pytest.approx(share)


def test_the_penalty_is_minus_the_share():
    verdict = Repetition(2).score("a b a b a b", PROBLEM)
    assert verdict.value == pytest.approx(-0.6)
    assert verdict.reason is Reason.WRONG
    assert verdict.feedback == "60% of its 2-grams are repetitions"
    assert Repetition(2).score("a b c", PROBLEM).value == 0.0
    with pytest.raises(InvalidValueError, match="n is 0"):
        Repetition(0)


@pytest.mark.parametrize("unit", ["x", "xyz", "wait ", "\u7b54", "so it is. ", "\n", "0123456789", "\u0e01\u0e33"])
def test_endless_repetition_costs_nearly_everything_however_it_is_written(unit):
    value = Repetition().score(unit * 2000, PROBLEM).value
    assert value == 0.0 if unit == "\n" else value is not None and value < -0.9


def test_ordinary_text_is_left_alone():
    text = "First add 3 and 4, which gives 7. Then take 2 away from 7, which gives 5. So the answer is 5."
    assert Repetition().score(text, PROBLEM).value == 0.0


@given(text=st.text(), n=st.integers(1, 5))
def test_a_share_is_a_share_and_saying_it_twice_never_lowers_it(text, n):
    share = repeated_share(text, n)
    assert 0.0 <= share < 1.0
    assert repeated_share(f"{text}\n{text}\n{text}", 1) >= repeated_share(text, 1)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_in_one_pass(name):
    with limited(30):
        value = Repetition().score(HOSTILE[name], PROBLEM).value
    assert value is not None
    assert -1.0 <= value <= 0.0
