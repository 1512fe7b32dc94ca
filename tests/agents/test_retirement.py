"""Retirement: groups in a row at a high pass rate, exactly counted, resumable."""

from __future__ import annotations

import json
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grpo_agents import retirement
from grpo_agents.retirement import Retirement


def test_a_problem_leaves_after_so_many_groups_in_a_row():
    prompts = Retirement(retire_at=0.9, retire_after=2)

    prompts.observe("a", 1.0)
    assert not prompts.is_retired("a")
    prompts.observe("a", 0.5)
    prompts.observe("a", 0.9)
    prompts.observe("b", 1.0)
    assert not prompts.is_retired("a")
    prompts.observe("a", 0.95)

    assert prompts.is_retired("a")
    assert not prompts.is_retired("b")
    assert not prompts.is_retired("never seen")
    assert len(prompts) == 1


@given(st.lists(st.floats(0, 1)), st.floats(0.01, 1), st.integers(1, 4))
def test_the_last_groups_decide(rates, retire_at, retire_after):
    prompts = Retirement(retire_at, retire_after)
    for rate in rates:
        prompts.observe("a", rate)

    last = rates[-retire_after:]
    high = [rate >= retire_at - retirement.ROUNDING for rate in last]
    assert prompts.is_retired("a") == (len(last) == retire_after and all(high))


def test_off_at_zero():
    prompts = Retirement(retire_at=0.0, retire_after=1)
    prompts.observe("a", 1.0)

    assert not prompts.is_retired("a")
    assert prompts.state_dict() == {"in_a_row": []}


def test_a_rate_in_float32_reaches_its_limit():
    rate = float(torch.tensor([1.0] * 9 + [0.0]).mean())
    assert rate < 0.9
    prompts = Retirement(retire_at=0.9, retire_after=1)

    prompts.observe("a", rate)

    assert prompts.is_retired("a")


def test_unjudged_groups_and_unnamed_problems_do_not_count():
    prompts = Retirement(retire_at=0.9, retire_after=2)
    for rate in (1.0, math.nan, 1.0):
        prompts.observe("a", rate)
        prompts.observe("", rate)

    assert prompts.is_retired("a")
    assert not prompts.is_retired("")


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(retirement, "PROBLEMS_KEPT", 2)
    prompts = Retirement(retire_at=0.9, retire_after=1)
    for name in ("a", "b", "a", "c"):
        prompts.observe(name, 1.0)

    assert [prompts.is_retired(name) for name in "abc"] == [True, False, True]


def test_state_goes_through_json():
    first, second = Retirement(0.9, 3), Retirement(0.9, 3)
    for name in ("a", "b", "a"):
        first.observe(name, 1.0)

    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for prompts in (first, second):
        prompts.observe("a", 1.0)

    assert second.is_retired("a")
    assert second.state_dict() == first.state_dict()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Retirement(1.5, 2), "retire_at is 1.5"),
        (lambda: Retirement(math.nan, 2), "retire_at is nan"),
        (lambda: Retirement(0.9, 0), "retire_after is 0"),
        (lambda: Retirement(0.9, 2).observe("a", 1.1), "pass rate of 'a' is 1.1"),
        (lambda: Retirement(0.0, 2).observe("a", -0.1), "pass rate of 'a' is -0.1"),
    ],
)
def test_bad_numbers_are_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()
