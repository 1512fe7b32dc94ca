"""The working of a solution: true lines are sound, false ones cost, and unknowns and prose are left alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import Problem, Reason
from grpo_rewards.math import MathReward
from grpo_rewards.math.steps import check_steps
from tests.shared import shared_file


@pytest.mark.parametrize(
    "line",
    [
        "16 - 3 - 4 = 9",
        "Janet sells 16 - 3 - 4 = 9 eggs a day.",
        "She makes 9 * 2 = $18 every day.",
        "48/2 = <<48/2=24>>24 clips",
        "$\\frac{10}{2} = 5$",
        "x = 10/2 = 5",
        "\\[3^2+4^2=25\\]",
        "& = 3+4 = 7 \\\\",
        "1/3 = 0.33",
        "20% * 50 = 10",
        "12 + 7 = 19, so 19 * 2 = 38",
        "2 \u00d7 3 = 6",
        "15 = 5 * 3",
    ],
)
def test_a_true_line_is_sound(line):
    found = check_steps(line)
    assert found.checked > 0
    assert found.unsound == ()


@pytest.mark.parametrize(
    "line",
    [
        "16 - 3 - 4 = 8",
        "Janet sells 16 - 3 - 4 = 8 eggs a day.",
        "<<48/2=23>>",
        "$\\frac{10}{2} = 6$",
        "x = 10/2 = 6",
        "\\sqrt{16} = 5",
        "1/3 = 0.34",
        "12 + 7 = 19 = 19 * 2 = 38",
    ],
)
def test_a_false_line_is_named(line):
    assert check_steps(line).unsound


@pytest.mark.parametrize(
    "line",
    ["2x + 3 = 7", "x + 3 = 7", "2 + 3 = 2x", "Day 1 = 5", "5 apples * 2 = 10 apples", "a = b", "x^2-1=(x-1)(x+1)", ""],
)
def test_what_says_nothing_definite_is_left_alone(line):
    assert check_steps(line).checked == 0


def test_a_right_answer_over_false_steps_never_beats_right_and_sound():
    reward, problem = MathReward(steps=0.5), Problem("?", "18")
    sound = reward.score("16 - 3 - 4 = 9\n9 * 2 = 18\n\\boxed{18}", problem)
    half = reward.score("16 - 3 - 4 = 8\n9 * 2 = 18\n\\boxed{18}", problem)
    false = reward.score("16 - 3 - 4 = 8\n8 * 2 = 18\n\\boxed{18}", problem)
    wrong = reward.score("16 - 3 - 4 = 9\n9 * 2 = 18\n\\boxed{19}", problem)
    assert [v.value for v in (sound, half, false, wrong)] == [1.0, 0.75, 0.5, 0.0]
    assert half.components == {"answer": 1.0, "steps": 0.5}
    assert "16 - 3 - 4 = 8" in half.feedback
    assert half.reason is Reason.CORRECT
    assert not half
    assert reward.score("\\boxed{18}", problem).components == {"answer": 1.0}
    assert MathReward().score("1 + 1 = 3 \\boxed{18}", problem).value == 1.0
    assert MathReward(steps=0.0).score("1 + 1 = 3\n\\boxed{18}", problem).components["steps"] == 0.0
    with pytest.raises(ValueError, match=r"MathReward\.steps is 1\.5"):
        MathReward(steps=1.5)


@given(st.text(alphabet="0123456789+-*/=()$.,% xyz\\{}&<>\n", max_size=120))
def test_no_working_raises(text):
    found = check_steps(text)
    assert 0 <= found.share <= 1
    assert len(found.unsound) <= found.checked


def test_people_s_own_solutions_are_sound():
    rows = [json.loads(line) for line in shared_file("data", "gsm8k_test.jsonl").read_text("utf-8").splitlines()]
    found = [check_steps(row["answer"]) for row in rows]
    assert sum(f.checked for f in found) > 4_000
    assert sum(len(f.unsound) for f in found) < 8
