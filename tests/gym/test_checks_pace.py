"""A cost is judged in seconds of one machine: neither a slow machine nor a busy moment turns a sound reward red."""

from __future__ import annotations

import pytest

from grpo_gym.checks import check_reward, pace
from grpo_gym.checks.pace import STANDARD, in_standard_seconds, work


@pytest.mark.parametrize("slower", [1.0, 2.0, 7.0])
def test_a_cost_on_a_slow_machine_is_told_as_on_the_standard_one(slower: float) -> None:
    assert in_standard_seconds(lambda: 0.3 * slower, lambda: STANDARD * slower) == pytest.approx(0.3)


def test_a_fast_machine_makes_no_cost_larger_than_it_was() -> None:
    assert in_standard_seconds(lambda: 0.3, lambda: STANDARD / 5) == 0.3


def test_of_several_tries_the_least_counts_and_both_are_done_in_turns() -> None:
    calls: list[str] = []
    costs, paces = iter((0.9, 0.2, 0.8)), iter((3 * STANDARD, 2 * STANDARD, 9 * STANDARD))

    def measure() -> float:
        calls.append("cost")
        return next(costs)

    def yardstick() -> float:
        calls.append("pace")
        return next(paces)

    assert in_standard_seconds(measure, yardstick) == pytest.approx(0.1)
    assert calls == ["pace", "cost"] * 3


def test_the_yardstick_is_work() -> None:
    assert 0 < work() < 100 * STANDARD


@pytest.mark.slow
def test_a_sound_reward_passes_where_its_cost_is_over_a_limit_and_the_machine_is_to_blame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broken task, judged as if the limits had been chosen on a machine a thousand times as fast."""
    monkeypatch.setattr(pace, "STANDARD", STANDARD / 1000)

    assert check_reward("tests.gym.broken_problems:judges_long", 8).ok
