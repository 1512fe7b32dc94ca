"""Choosing by public tests, and pass@k against its definition."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from grpo_gym import Reason
from grpo_gym.errors import InvalidValueError
from grpo_rewards.code.best_of import best_of, pass_at_k
from grpo_rewards.code.job import Job
from tests.rewards.code.fake_judge import FakeJudge, program

PUBLIC = Job("not this one", "assert f(1) == 2", time_s=2.0, given="x = 1")


def failing(how: str, name: str = "f") -> str:
    """A program that passes two tests and fails the others in this way."""
    return program(2, name=name).replace(f" {Reason.WRONG_ANSWER}", f" {Reason.WRONG_ANSWER} {how}")


@pytest.mark.parametrize(
    ("candidates", "chosen"),
    [
        ([program(1)], 0),
        ([program(1), program(3), program(2)], 1),
        ([failing("got 7"), failing("got 8"), failing("got 8", "ff")], 1),
        (
            [failing("got 7"), failing("got 8"), failing("got 7", "ff"), failing("got 8", "g"), failing("got 8", "gg")],
            1,
        ),
        ([failing("got 7"), failing("got 8"), failing("got 8")], 1),
        ([program(4, name="much_longer"), program(4), program(4, name="g")], 1),
        ([program(3), failing("a"), failing("a"), failing("a")], 0),
    ],
)
def test_most_passed_then_most_agreement_then_the_shortest_then_the_first(candidates, chosen):
    assert best_of(candidates, PUBLIC, FakeJudge()) == chosen


def test_each_program_runs_once_on_all_tests_as_the_public_job_says():
    judge = FakeJudge()
    best_of([program(1), program(2), program(1)], PUBLIC, judge)
    assert [job.solution for job in judge.jobs] == [program(1), program(2)]
    assert all(job.every_test and job.suite == PUBLIC.suite for job in judge.jobs)
    assert all((job.time_s, job.given) == (2.0, "x = 1") for job in judge.jobs)


def test_there_must_be_a_candidate():
    with pytest.raises(InvalidValueError, match="at least one candidate"):
        best_of([], PUBLIC, FakeJudge())


def test_pass_at_k_is_the_share_of_choices_that_hold_a_right_one():
    for samples in range(1, 8):
        for right in range(samples + 1):
            for k in range(1, samples + 1):
                choices = list(combinations(range(samples), k))
                share = sum(any(sample < right for sample in choice) for choice in choices) / len(choices)
                assert math.isclose(pass_at_k(samples, right, k), share, abs_tol=1e-12)


@pytest.mark.parametrize(
    ("samples", "right", "k", "value"),
    [
        (200, 10, 1, 0.05), (200, 10, 100, 1 - math.comb(190, 100) / math.comb(200, 100)), (200, 0, 100, 0.0),
        (200, 200, 1, 1.0), (5, 4, 2, 1.0), (1_000_000, 500_000, 2, 0.75),
    ],
)  # fmt: skip
def test_golden_values_and_large_numbers(samples, right, k, value):
    assert pass_at_k(samples, right, k) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("samples", "right", "k", "message"),
    [(5, 6, 1, "6 of 5"), (5, -1, 1, "-1 of 5"), (5, 1, 0, "k is 0"), (5, 1, 6, "k is 6"), (0, 0, 1, "k is 1")],
)
def test_impossible_numbers_are_refused(samples, right, k, message):
    with pytest.raises(InvalidValueError, match=message):
        pass_at_k(samples, right, k)
