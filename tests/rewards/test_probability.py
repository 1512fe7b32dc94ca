"""Scoring rules: honest probabilities are the best ones, strictly, by both rules, and nothing else is paid in full."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import Problem, Reason
from grpo_gym.errors import InvalidValueError
from grpo_rewards.probability import SCALES, ForecastReward, RuleName, divergence, expected_score, probabilities, score
from tests.rewards.hostile import HOSTILE, limited

RULES: tuple[RuleName, ...] = ("brier", "log")
GRID = [k / 200 for k in range(201)]
PROBLEM = Problem("?", "Arvix: 0.30, Brenza: 0.85", meta={"posterior": {"Arvix": 0.3, "Brenza": 0.85}})


def value(answer: str, rule="brier", problem: Problem = PROBLEM, **options) -> float:
    return float(ForecastReward(rule, **options).score(f"\\boxed{{{answer}}}", problem))


# --- the rules


@pytest.mark.parametrize("rule", RULES)
def test_the_honest_report_has_the_best_expected_score_and_no_other_has(rule):
    for truth in GRID:
        scores = {report: expected_score(rule, report, truth) for report in GRID}
        honest = scores.pop(truth)
        assert all(other < honest for other in scores.values()), truth


@given(truth=st.floats(0.001, 0.999), report=st.floats(0.001, 0.999))
def test_what_a_report_falls_short_by_is_what_the_formulas_say(truth, report):
    kullback = truth * math.log(truth / report) + (1 - truth) * math.log((1 - truth) / (1 - report))

    assert divergence("brier", report, truth) == pytest.approx((report - truth) ** 2)
    assert divergence("log", report, truth) == pytest.approx(kullback, abs=1e-12)
    for rule in RULES:
        best = expected_score(rule, truth, truth)
        assert divergence(rule, report, truth) == pytest.approx(best - expected_score(rule, report, truth), abs=1e-12)


@given(truth=st.floats(0.001, 0.999), report=st.floats(0.001, 0.999))
def test_what_earns_nothing_by_the_squares_earns_nothing_by_the_logarithm(truth, report):
    assert (
        divergence("log", report, truth) / SCALES["log"] >= divergence("brier", report, truth) / SCALES["brier"] - 1e-9
    )


@pytest.mark.parametrize("rule", RULES)
def test_drawn_outcomes_agree_with_the_expected_score(rule):
    """Paying the score of an outcome that is drawn from the truth pays the same on average, and ranks alike."""
    outcomes = [random.Random(k).random() < 0.3 for k in range(20_000)]

    means = {report: sum(score(rule, report, o) for o in outcomes) / len(outcomes) for report in (0.1, 0.3, 0.5)}

    assert max(means, key=lambda report: means[report]) == 0.3
    for report, mean in means.items():
        assert mean == pytest.approx(expected_score(rule, report, 0.3), abs=0.02)


def test_a_sure_report_that_is_wrong_is_infinitely_bad_by_the_logarithm_alone():
    assert (score("log", 0, True), score("log", 1, True)) == (-math.inf, 0)
    assert (score("brier", 0, True), score("brier", 1, True)) == (-1, 0)
    assert divergence("log", 0, 0.5) == math.inf
    assert divergence("log", 0, 0) == divergence("brier", 0, 0) == 0


# --- the reward


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("truth", [0.02, 0.3, 0.5, 0.97])
def test_the_reward_is_highest_for_the_truth_and_falls_on_both_sides(rule, truth):
    problem = Problem("?", "", meta={"posterior": {"Arvix": truth}})

    values = [value(f"Arvix: {report:.3f}", rule, problem) for report in GRID]

    top = [report for report, earned in zip(GRID, values, strict=True) if earned == 1]
    assert truth in top
    assert all(abs(report - truth) <= 0.005 + 1e-9 for report in top)
    left = [earned for report, earned in zip(GRID, values, strict=True) if report <= truth]
    right = [earned for report, earned in zip(GRID, values, strict=True) if report >= truth]
    assert left == sorted(left)
    assert right == sorted(right, reverse=True)
    assert min(values) == 0


@given(report=st.floats(0.2, 0.4))
def test_within_its_scale_the_reward_is_affine_in_the_expected_score(report):
    """So whoever is unsure about the truth itself does best to report its mean."""
    problem = Problem("?", "", meta={"posterior": {"Arvix": 0.3}})
    said = float(f"{report:.12f}")
    if abs(said - 0.3) > 0.006:
        short = (expected_score("brier", 0.3, 0.3) - expected_score("brier", said, 0.3)) / SCALES["brier"]
        assert value(f"Arvix: {said:.12f}", "brier", problem) == pytest.approx(max(0.0, 1 - short))


@pytest.mark.parametrize(
    ("answer", "earned"),
    [
        ("Arvix: 0.30, Brenza: 0.85", 1),
        ("Brenza = .85; Arvix = .3", 1),
        ("P(Arvix) = 0.304 and P(Brenza) = 0.846", 1),
        ("Arvix: 30%, Brenza: 85 %", 1),
        (r"Arvix: 30\%, Brenza: 85\%", 1),
        ("arvix is 0.295, brenza is 0.855", 1),
        ("Arvix 0.3, Brenza 0.85", 1),
        ("Arvix: 0.35, Brenza: 0.85", 1 - 0.05**2 / 2 / 0.01),
        ("Arvix: 0.4, Brenza: 0.75", 0),
        ("Arvix: 0.3, Brenza: 0.65", 0),
    ],
)
def test_answers_are_read_and_paid(answer, earned):
    assert value(answer) == pytest.approx(earned)


@pytest.mark.parametrize(
    ("answer", "said", "reason"),
    [
        ("Arvix: 0.3", "nothing is said about Brenza", Reason.UNPARSEABLE),
        ("Arvix: 0.3, Brenza: 0.85, Colith: 0.1", "'Colith: 0.1' does not give one of the names", Reason.UNPARSEABLE),
        ("Arvix: 0.3, Brenza: 0.85, Arvix: 0.4", "Arvix is given two probabilities", Reason.HEDGED),
        ("Arvix: 0.3, Brenza: 1.5", "'1.5' is more than 1", Reason.UNPARSEABLE),
        ("Arvix: 0.3, Brenza: 1.01", "", Reason.UNPARSEABLE),
        ("Arvix: 0.3, Brenza: 185%", "'185%' is more than 1", Reason.UNPARSEABLE),
        ("Arvix: 0.3, Brenza: -0.85", "is no probability", Reason.UNPARSEABLE),
        ("Arvix: 0.3, Brenza: 0.8-0.9", "is no probability", Reason.UNPARSEABLE),
        ("Arvix: 0.3, Brenza: 8.5e-1", "is no probability", Reason.UNPARSEABLE),
        ("Arvix: 0.3, Brenza: nan", "is no probability", Reason.UNPARSEABLE),
        ("0.3, 0.85", "does not give one of the names", Reason.UNPARSEABLE),
        ("Arvix: 0.3, Brenza: 0.65", "Brenza is off by 0.20", Reason.WRONG),
        ("", r"no \boxed{...}", Reason.NO_ANSWER),
    ],
)
def test_an_answer_is_told_what_is_wrong_with_it(answer, said, reason):
    verdict = ForecastReward().score(f"\\boxed{{{answer}}}", PROBLEM)

    assert (verdict.value, verdict.reason) == (0, reason)
    assert said in verdict.feedback


def test_a_sure_answer_that_is_wrong_earns_nothing_and_its_details_are_json():
    verdict = ForecastReward("log").score(r"\boxed{Arvix: 0, Brenza: 1}", PROBLEM)

    assert (verdict.value, dict(verdict.details)) == (0, {})
    assert ForecastReward("log").score(r"\boxed{Arvix: 0.3, Brenza: 0.84}", PROBLEM).details["divergence"] > 0


def test_the_scale_is_what_earns_nothing():
    assert value("Arvix: 0.4, Brenza: 0.75", scale=0.02) == pytest.approx(0.5)
    for wrong in (0, -1, math.nan, math.inf):
        with pytest.raises(InvalidValueError, match="must be a positive number"):
            ForecastReward(scale=wrong)
    with pytest.raises(InvalidValueError, match="rule is 'squares', must be one of brier, log"):
        ForecastReward("squares")  # type: ignore[arg-type]


def test_hostile_answers_earn_nothing_and_raise_nothing():
    reward = ForecastReward()
    texts = [text[:100_000] for text in HOSTILE.values()]
    texts += [f"\\boxed{{{text[:10_000]}}}" for text in HOSTILE.values()]
    texts += [f"\\boxed{{Arvix: {text[:2_000]}, Brenza: 0.85}}" for text in HOSTILE.values()]
    texts += [probe.response(PROBLEM) for probe in reward.probes()]
    texts += [f"\\boxed{{{PROBLEM.reference}}} or \\boxed{{Arvix: 0.1, Brenza: 0.2}}"]
    with limited(60):
        for text in texts:
            assert reward.score(text, PROBLEM).value == 0, text[:80]


def test_names_are_told_apart_by_the_whole_word():
    assert probabilities("Arvix2: 0.1, Arvix: 0.2", ["Arvix", "Arvix2"]) == {"Arvix2": 0.1, "Arvix": 0.2}
