"""Each option of the policy changes what it says, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grpo_gym import Problem, Verdict
from grpo_rewards.math import DEFAULT, MathReward, Policy, verify
from grpo_rewards.math.policy import STRICT


def judged(answer: str, reference: str, policy: Policy) -> bool:
    return bool(verify(f"\\boxed{{{answer}}}", reference, policy))


@pytest.mark.parametrize(
    ("option", "answer", "reference"),
    [
        ("missing_units", "10", "10\\text{ cm}"),
        ("extra_units", "10\\text{ cm}", "10"),
        ("bare_percent", "25", "25\\%"),
        ("bare_percent", "25\\%", "25"),
        ("bare_values", "5", "x=5"),
        ("bare_values", "x=5", "5"),
        ("regions", "x<3", "(-\\infty,3)"),
        ("regions", "(-\\infty,3)", "x<3"),
        ("integration_constants", "x^2+k", "x^2+C"),
    ],
)
def test_a_leniency_can_be_switched_off(option, answer, reference):
    assert judged(answer, reference, DEFAULT)
    assert not judged(answer, reference, replace(DEFAULT, **{option: False}))
    assert not judged(answer, reference, STRICT)


def test_a_percentage_is_its_value_under_every_policy():
    assert judged("1/4", "25\\%", STRICT)
    assert judged("25\\%", "0.25", STRICT)


def test_the_question_again_is_an_answer_only_where_that_is_asked_for():
    assert not judged("\\sum_{k=1}^{10} k", "55", DEFAULT)
    assert judged("\\sum_{k=1}^{10} k", "55", Policy(unevaluated=True))


@pytest.mark.parametrize("answer", ["2+3", "10/2+0", "5^1", "\\sqrt{25}", "3!-1", "2\\cdot 2.5"])
def test_plain_numbers_only_where_working_out_is_the_task(answer):
    assert judged(answer, "5", DEFAULT)
    assert not judged(answer, "5", Policy(plain_numbers=True))


@pytest.mark.parametrize(
    ("answer", "reference"),
    [("10/2", "5"), ("x=5", "5"), ("1.5\\times10^3", "1500"), ("50\\%", "1/2"), ("5 cm", "5"), ("-5", "-5")],
)
def test_plain_numbers_are_numbers_in_any_dress(answer, reference):
    assert judged(answer, reference, Policy(plain_numbers=True))


def test_a_tolerance_holds_for_references_that_are_decimals_only():
    near = Policy(tolerance=0.01)
    assert judged("3.15", "3.14", near)
    assert not judged("3.2", "3.14", near)
    assert not judged("3.15", "3.14", DEFAULT)
    assert not judged("0.334", "\\frac13", near)
    assert not judged("1001", "1000", near)
    assert judged("1.39e-10", "1.38e-10", near)
    assert not judged("3.3e-10", "1.39e-10", near)
    with pytest.raises(ValueError, match="tolerance"):
        Policy(tolerance=1.0)


def test_equal_rows_of_a_batch_are_judged_once(monkeypatch):
    calls: list[str] = []
    reward = MathReward()
    original = reward.score

    def counted(response: str, problem: Problem) -> Verdict:
        calls.append(response)
        return original(response, problem)

    monkeypatch.setattr(reward, "score", counted)
    rows = [("\\boxed{5}", Problem("?", "5")), ("\\boxed{6}", Problem("?", "5")), ("\\boxed{5}", Problem("?", "5"))]
    assert [float(verdict) for verdict in reward.score_batch(rows)] == [1.0, 0.0, 1.0]
    assert len(calls) == 2
