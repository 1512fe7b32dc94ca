"""Rewards for answers that are not unique or must be worked out: antiderivatives, points, exact values."""

from __future__ import annotations

import pytest

from grpo_gym import Problem
from grpo_gym.verdict import Reason
from grpo_rewards.math.antiderivative import AntiderivativeReward
from grpo_rewards.math.derive import derive
from grpo_rewards.math.equality import equal
from grpo_rewards.math.parser import parse
from grpo_rewards.math.substitution import SubstitutionReward
from grpo_rewards.math.worked_out import WorkedOutReward

INTEGRAL = Problem("?", r"x^2 + \ln(x)", meta={"integrand": r"2x + \frac{1}{x}", "variable": "x"})
CIRCLE = Problem(
    "?", "(3, 4)", meta={"variables": ["x", "y"], "conditions": ["x^2 + y^2 = 25", "x > 0"], "integers": True}
)


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        ("x^5", "5x^4"),
        (r"\sin^2(3x)", r"6\sin(3x)\cos(3x)"),
        (r"x^x", r"x^x(\ln(x) + 1)"),
        (r"\frac{x}{x + 1}", r"\frac{1}{(x + 1)^2}"),
        (r"\sqrt{x^2 + 1}", r"\frac{x}{\sqrt{x^2 + 1}}"),
        (r"e^{-x^2}", r"-2xe^{-x^2}"),
        (r"2^x", r"2^x\ln(2)"),
        (r"\arctan(x) + \arcsin(x/3)", r"\frac{1}{1 + x^2} + \frac{1}{\sqrt{9 - x^2}}"),
        (r"\ln|x|", r"\frac{1}{x}"),
        ("C + a^2", "0"),
    ],
)
def test_a_tree_is_differentiated(f, slope):
    assert equal(derive(parse(f), "x"), parse(slope))


@pytest.mark.parametrize(
    "text",
    [
        r"x^2 + \ln(x)",
        r"x^2 + \ln|x| + C",
        r"F(x) = \ln(3x) + x^2",
        r"x^2 + \ln x + 7",
        "x^2+ln(x)+k",
        "(x+1)^2-2x+ln(x)",
    ],
)
def test_any_antiderivative_is_right(text):
    assert AntiderivativeReward().score(f"\\boxed{{{text}}}", INTEGRAL).value == 1.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (r"x^2 + 2\ln(x)", Reason.WRONG),
        (r"x^2 + \ln(x) + Cx", Reason.WRONG),
        (r"\int (2x + \frac{1}{x}) dx", None),
        (r"2x + \frac{1}{x}", Reason.WRONG),
        (r"x^2 + \ln(x) = 5", None),
        (r"x^2 + \ln(x) + __import__('os')", None),
        ("", Reason.NO_ANSWER),
    ],
)
def test_what_is_no_antiderivative_is_not_paid(text, reason):
    verdict = AntiderivativeReward().score(f"\\boxed{{{text}}}", INTEGRAL)
    assert verdict.value == 0.0
    assert reason is None or verdict.reason == reason


@pytest.mark.parametrize("text", ["(3, 4)", "(4,-3)", "x = 5, y = 0", "(x, y) = (3, -4)", r"\left(4, 3\right)", "3, 4"])
def test_any_point_that_fulfils_the_conditions_is_right(text):
    assert SubstitutionReward().score(f"\\boxed{{{text}}}", CIRCLE).value == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "(-3, 4)",
        "(3, 5)",
        "(3)",
        "(3, 4, 0)",
        "(x, y)",
        "[3, 4]",
        r"(\sqrt{5}, \sqrt{20})",
        "(7/5, 24/5)",
        "x = 3",
        "y = 4, y = 3",
    ],
)
def test_other_points_are_not_paid(text):
    assert SubstitutionReward().score(f"\\boxed{{{text}}}", CIRCLE).value == 0.0


@pytest.mark.parametrize("reward", [AntiderivativeReward(), SubstitutionReward()])
def test_a_problem_that_cannot_be_read_abstains(reward):
    meta = {"integrand": "((", "variables": ["x"], "conditions": ["x"]}
    assert reward.score(r"\boxed{1}", Problem("?", "1", meta=meta)).abstains


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (r"\frac{5\pi\sqrt{3}}{2}", r"5\pi\sqrt{3}/2"),
        (r"\frac{5\pi\sqrt{3}}{2}", "2.5*pi*sqrt(3)"),
        (r"1 + 2\sqrt{5}", r"\frac{2 + 4\sqrt{5}}{2}"),
        (r"-\frac{11}{5} - \frac{3i}{5}", r"\frac{-11 - 3i}{5}"),
        (r"\frac{4\sqrt{3}}{3}", r"\frac{4}{\sqrt{3}}"),
        (r"\frac{\sqrt{3}}{8\pi}", r"\frac{\sqrt{3}}{8\pi}"),
        (r"2e^3 - e^{-1}", r"2e^3 - \frac{1}{e}"),
        (r"4\ln(\frac{11}{9})", r"4\ln 11 - 4\ln 9"),
        ("3 + 4i, 1 - i", "1 - i, 3 + 4i"),
        ("3x(x + 1)(x + 2)", "3x(x + 2)(x + 1)"),
    ],
)
def test_a_value_that_is_worked_out_is_paid(reference, text):
    assert WorkedOutReward().score(f"\\boxed{{{text}}}", Problem("?", reference)).value == 1.0


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("7 - i", "(2 + i)(3 - i) + 0"),
        ("7 + i", "(2 + i)(3 - i)"),
        ("3 + 4i", "(2 + i)^2"),
        (r"\frac{\sqrt{3}}{2}", r"\sin(\frac{\pi}{3})"),
        (r"5\sqrt{2}", "|5 + 5i|"),
        (r"6\sqrt{5}", r"2 * 3 * 7\sqrt{5} / 7"),
        (r"3\sqrt{5}", r"\sqrt{5} + 2\sqrt{5}"),
        (r"9\pi", r"10\pi - \pi"),
        ("1 + 2i, 3", "1 + 2i, (1 + i)(1 - i) + 1"),
    ],
)
def test_a_value_that_is_left_standing_is_not_paid(reference, text):
    verdict = WorkedOutReward().score(f"\\boxed{{{text}}}", Problem("?", reference))
    assert verdict.value == 0.0
