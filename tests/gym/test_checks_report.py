"""What a check says: reports, the questions themselves, and subjects that cannot be asked."""

from __future__ import annotations

import json
import re

import pytest

from grpo_gym import Procedural, Task
from grpo_gym.checks import QUESTIONS, Line, Report, Status, check_reward
from grpo_gym.checks.subjects import Subject
from grpo_gym.errors import GrpoGymError
from grpo_rewards.math import MathReward
from tests.gym.broken_kit import sums


def _report(*statuses: Status, found: str = "so much") -> Report:
    advice = {Status.FAIL: "do less"}
    lines = tuple(Line(f"line {k}", status, found, advice.get(status, "")) for k, status in enumerate(statuses))
    return Report("a/B-v0", lines, 1.25)


def test_a_report_is_ok_when_no_line_failed() -> None:
    assert _report(Status.PASS, Status.SKIP).ok
    assert not _report(Status.PASS, Status.FAIL).ok
    assert [line.key for line in _report(Status.FAIL, Status.PASS, Status.FAIL).failed] == ["line 0", "line 2"]
    assert _report(Status.PASS).line("line 0").found == "so much"
    with pytest.raises(KeyError):
        _report().line("line 0")


def test_a_report_reads_as_a_table_and_as_json() -> None:
    report = _report(Status.PASS, Status.FAIL, Status.SKIP)

    assert str(report).splitlines() == [
        "a/B-v0: 1 passed, 1 failed, 1 skipped in 1.2 s",
        "  pass  line 0  so much",
        "  fail  line 1  so much",
        "                -> do less",
        "  skip  line 2  so much",
    ]
    record = json.loads(json.dumps(report.to_json()))
    assert record["ok"] is False
    assert record["lines"][1] == {"key": "line 1", "status": "fail", "found": "so much", "advice": "do less"}


def test_a_report_shows_control_characters_and_does_not_obey_them() -> None:
    assert "\x1b" not in str(_report(Status.FAIL, found="\x1b[2J\u202e"))
    assert r"\x1b[2J\u202e" in str(_report(Status.FAIL, found="\x1b[2J\u202e"))


# --- questions and subjects ---


def test_keys_and_advice_are_short_unique_lower_case_texts() -> None:
    keys = [question.key for question in QUESTIONS]

    assert len(set(keys)) == len(keys)
    assert all(re.fullmatch(r"[a-z ]{4,20}", key) for key in keys)
    assert all(20 < len(question.advice) < 130 for question in QUESTIONS)
    for place, question in enumerate(QUESTIONS):
        assert set(question.after) <= set(keys[:place]), question.key


def test_a_task_that_no_other_process_can_load_is_refused_with_the_way_out() -> None:
    task = Task("test.local", Procedural(lambda rng, tier: sums(rng, tier)), MathReward())

    with pytest.raises(GrpoGymError, match="define its functions at the top of a module"):
        Subject.of(task)


@pytest.mark.slow
def test_a_task_itself_is_checked_like_its_name() -> None:
    from grpo_envs.math.gcd import gcd

    assert check_reward(gcd, 8).ok


def test_too_few_problems_are_refused() -> None:
    with pytest.raises(GrpoGymError, match="n is 7"):
        check_reward("grpo/Math.Chain-v0", 7)
