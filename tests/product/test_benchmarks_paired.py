"""Comparisons over seeds, and what a published benchmark says of them: the arithmetic and the words."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.gradient_noise import PROMPTS, Bandit, advantages, draw, simulate, strata_of
from benchmarks.multitask import found_by_task, grid
from benchmarks.paired import Comparison, change, completions_to, difference, drawdown, pass_at_k, ratio
from benchmarks.picture import Panel, draw_points
from benchmarks.publish import Page, rows_of, text_of
from benchmarks.strata import noise_table
from benchmarks.tables import by_arm, compared, compared_speed, cost_table, reached, score_table, speed_table


def result(arm: str, seed: int, start: float, curve: list[float], **further: Any) -> dict[str, Any]:
    points = [{"step": i, "completions": 100 * i, "pass@1": score} for i, score in enumerate(curve, 1)]
    return {
        "arm": arm,
        "seed": seed,
        "env": "e",
        "before": {"pass@1": start},
        "after": {"pass@1": curve[-1]},
        "curve": points,
        "steps_done": len(curve),
        "completions": 100 * len(curve),
        "seconds": 30.0,
        "step_s": 0.5,
        "peak_mb": 100.0,
        "failed": 0,
        "idle": 1,
        "collapsed": False,
        "drawdown": drawdown([start, *curve]),
        "entropy": 0.2,
        "parameters": 1000,
        **further,
    }


RESULTS = [
    result("new", 0, 0.2, [0.3, 0.5]),
    result("new", 1, 0.3, [0.6, 0.6]),
    result("old", 1, 0.3, [0.4, 0.5], collapsed=True, failed=1),
    result("old", 0, 0.2, [0.2, 0.3]),
]


def test_a_paired_difference_has_students_interval_over_common_seeds() -> None:
    """Differences 1, 2 and 3: mean 2, half width 4.30265 / sqrt 3; the seed that one arm lacks is left out."""
    found = difference("a", "b", {0: 1.0, 1: 4.0, 2: 9.0, 3: 7.0}, {2: 6.0, 0: 0.0, 1: 2.0})

    assert (found.value, found.high - found.value) == pytest.approx((2.0, 4.30265 / 3**0.5), rel=1e-5)
    assert (found.seeds, found.left_out, found.verdict) == (3, 1, "no difference")


def test_pairing_takes_out_what_the_seeds_share() -> None:
    """Seeds differ by far more than the arms: only the paired interval sees the arms."""
    worse = {seed: seed / 10 for seed in range(8)}
    better = {seed: value + 0.01 + 0.001 * (seed % 2) for seed, value in worse.items()}

    assert difference("b", "w", better, worse).verdict == "b higher"
    assert difference("w", "b", worse, better).verdict == "b higher"
    assert change("b", worse, better).verdict == "b after higher"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=2, max_size=9), st.randoms())
def test_a_comparison_is_the_mirror_of_its_reverse_whatever_the_order(pairs: Any, random: Any) -> None:
    left, right = ({seed: pair[side] for seed, pair in enumerate(pairs)} for side in (0, 1))
    order = list(left)
    random.shuffle(order)

    found, mirrored = difference("a", "b", left, right), difference("b", "a", right, left)

    assert found == difference("a", "b", {seed: left[seed] for seed in order}, right)
    assert (found.low, found.high) == pytest.approx((-mirrored.high, -mirrored.low))
    assert found.verdict == mirrored.verdict


def test_a_verdict_needs_the_whole_interval_on_one_side() -> None:
    assert Comparison("a", "b", 1.0, 0.0, 2.0, 8).verdict == "no difference"
    assert Comparison("a", "b", 0.9, 0.7, 1.0, 8, neutral=1.0).verdict == "no difference"
    assert Comparison("a", "b", 0.9, 0.7, 0.99, 8, neutral=1.0).verdict == "b needs more"


def test_a_ratio_is_a_geometric_mean_of_the_seeds_that_both_reached() -> None:
    found = ratio("a", "b", {0: 200.0, 1: 400.0, 2: None, 3: 5.0}, {0: 100.0, 1: 50.0, 2: 70.0, 3: None})

    assert found is not None
    assert found.value == pytest.approx(4.0)
    assert (found.seeds, found.left_out) == (2, 2)
    half = 12.7062 * math.log(2) * 2**0.5 / 2**0.5  # logs 2 and 8: their std over sqrt 2 is log(2)
    assert math.log(found.high) == pytest.approx(math.log(4) + half, rel=1e-4)
    assert ratio("a", "b", {0: 1.0, 1: None}, {0: 1.0, 1: 2.0}) is None


def test_figures_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(ValueError, match="1 seeds in common"):
        difference("a", "b", {0: 1.0, 1: 2.0}, {0: 1.0, 2: 2.0})
    with pytest.raises(ValueError, match="of b is not finite at seed 1"):
        difference("a", "b", {0: 1.0, 1: 2.0}, {0: 1.0, 1: math.nan})
    with pytest.raises(ValueError, match=r"seed 0 has 0\.0"):
        ratio("a", "b", {0: 0.0, 1: 2.0}, {0: 1.0, 1: 1.0})


def test_completions_to_a_score_lie_on_the_line_between_two_scores() -> None:
    curve = [(100, 0.3), (200, 0.25), (300, 0.65)]

    assert completions_to(curve, 0.1, 0.2) == pytest.approx(50)
    assert completions_to(curve, 0.1, 0.45) == pytest.approx(250)
    assert completions_to(curve, 0.1, 0.3) == pytest.approx(100)
    assert completions_to(curve, 0.5, 0.4) == 1
    assert completions_to(curve, 0.1, 0.7) is None


def test_a_drawdown_is_the_largest_fall_from_any_earlier_score() -> None:
    assert drawdown([0.1, 0.6, 0.4, 0.7, 0.65]) == pytest.approx(0.2)
    assert drawdown([0.1, 0.2]) == 0


@pytest.mark.parametrize(
    ("n", "right", "k"), [(n, c, k) for n in (1, 4, 8) for c in range(n + 1) for k in range(1, n + 1)]
)
def test_pass_at_k_is_the_share_of_subsets_that_hold_a_right_answer(n: int, right: int, k: int) -> None:
    subsets = list(itertools.combinations([True] * right + [False] * (n - right), k))

    assert pass_at_k(n, right, k) == pytest.approx(sum(map(any, subsets)) / len(subsets), abs=1e-12)


@pytest.mark.parametrize(("n", "right", "k"), [(4, 2, 5), (4, 2, 0), (4, 5, 1), (4, -1, 1)])
def test_pass_at_k_of_too_few_completions_is_refused(n: int, right: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"pass@|cannot be right"):
        pass_at_k(n, right, k)


def test_the_simulated_gradient_is_that_of_the_mean_pass_rate() -> None:
    """Finite differences of the pass rates in the direction of each parameter, through the scores as features."""
    bandit = Bandit.made()
    logits = np.log(bandit.chances)

    def mean_pass_rate(step: float, parameter: int) -> float:
        moved = np.exp(logits + step * bandit.scores[:, :, parameter])
        return float((moved[:, 0] / moved.sum(axis=1)).mean())

    for parameter in (0, 13, 31):
        slope = (mean_pass_rate(1e-4, parameter) - mean_pass_rate(-1e-4, parameter)) / 2e-4
        assert bandit.gradient[parameter] == pytest.approx(slope, rel=1e-6)
    assert bandit.chances.sum(axis=1) == pytest.approx(np.ones(PROMPTS))


def test_answers_are_drawn_as_often_as_their_chance_says() -> None:
    bandit = Bandit.made()

    share = (draw(bandit, 4000, np.random.default_rng(1)) == 0).mean(axis=1)

    assert np.abs(share - bandit.pass_rates).max() < 4 * 0.5 / 4000**0.5


def test_strata_are_quarters_of_the_past_whatever_its_scale() -> None:
    past = np.array([0.9, 0.1, 0.5, 0.3, 0.95, 0.2, 0.6, 0.35])

    assert strata_of(past).tolist() == [3, 0, 2, 1, 3, 0, 2, 1]
    assert strata_of(100 * past).tolist() == strata_of(past).tolist()


def test_the_simulation_asks_the_library_for_its_baselines() -> None:
    """A stratum's baseline is the mean of its other prompts: counted again for one prompt, by hand."""
    right = np.zeros((PROMPTS, 2))
    right[::3] = 1
    past = np.linspace(0, 1, PROMPTS)

    found = advantages(right, past, 0.0)

    assert set(found) == {("leave_one_out", 0.0), ("stratum", 0.0), ("shrinkage", 0.0)}
    assert found["leave_one_out", 0.0] == pytest.approx(np.zeros((PROMPTS, 2)))
    assert found["stratum", 0.0][0] == pytest.approx([1 - 3 / 11] * 2)


def test_strata_take_noise_off_small_groups_and_keep_the_direction() -> None:
    noise = {(f.baseline, f.past_error): f for f in simulate(draws=150, sizes=(2,))}

    plain = noise["leave_one_out", 0.0].ratio
    assert noise["stratum", 0.0].ratio < 0.7 * plain
    assert noise["shrinkage", 0.2].ratio < 0.7 * plain
    assert noise["oracle", 0.0].ratio < 0.7 * plain
    assert all(found.cosine > 0.97 for found in noise.values())
    table = noise_table(list(noise.values()))
    assert len(table.rows) == 6
    assert all(len(row) == len(table.header) for row in table.rows)


def test_arms_are_compared_seed_by_seed_whatever_the_order_of_the_results() -> None:
    arms = by_arm(RESULTS, ("new", "old"))

    (end,) = compared(arms, [("new", "old")], "last pass@1", subject="e")
    (speed,) = compared_speed(arms, [("new", "old")], 0.1)

    assert [r["seed"] for r in arms["old"]] == [0, 1]
    assert end.comparison is not None
    assert end.comparison.value == pytest.approx(0.15)
    assert end.sentence().startswith("**no difference** in last pass@1 on e: new minus old +0.150 (-0.485 to +0.785)")
    assert [reached(r, 0.1) for r in arms["old"]] == pytest.approx([200, 100])
    assert speed.comparison is not None
    assert speed.comparison.value == pytest.approx(math.sqrt(100 / 200 * (100 / 3) / 100))


def test_tables_show_every_seed_and_count_what_went_wrong() -> None:
    arms = by_arm(RESULTS, ("new", "old"))

    scores, costs = score_table("s", arms).markdown(), cost_table("c", arms).markdown()
    speed = speed_table("t", arms, 0.25).markdown()

    assert "| new | 0.250 | 0.550 (-0.085 to 1.185) | 0.500 0.600 |" in scores
    assert "| old | 1 of 4 | 2 of 4 | 1 of 2 | 0.000 | 0.200 | 0.50 | 100 | 1,000 |" in costs
    assert "| old | 0 of 2 |  | never never |" in speed


def test_a_page_says_question_verdict_command_and_every_seed() -> None:
    arms = by_arm(RESULTS, ("new", "old"))
    findings = tuple(compared(arms, [("new", "old")], "last pass@1") + compared_speed(arms, [("new", "old")], 0.25))
    page = Page("Title", "Asked?", ("Did.",), findings, (score_table("Ends", arms),), ())

    text = text_of("strata", page)

    assert text.startswith("# Title\n\nAsked?\n\n## What was found\n\n* **no difference** in last pass@1: ")
    assert "* **not compared**: new and old in completions until +0.25" in text
    assert "`python -m benchmarks.strata`" in text
    assert "[strata.jsonl](strata.jsonl)" in text
    assert text.endswith("| 0.500 0.600 |\n| old | 0.250 | 0.400 (-0.871 to 1.671) | 0.300 0.500 |\n")
    assert [row.subject for row in rows_of("strata", findings)] == ["new - old"]


def test_a_picture_of_the_same_runs_is_the_same_file(tmp_path: Any) -> None:
    panels = [Panel("a", {"x": [0.1, 0.2], "y": [0.5]}, {"x": [0.0, 0.1]}), Panel("b", {"z": [3.0]}, share=False)]

    for name in ("one.svg", "two.svg"):
        draw_points(panels, tmp_path / name)

    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "one.svg").stat().st_size < 60_000


def test_tasks_are_compared_together_and_alone_and_with_their_start() -> None:
    def of(arm: str, seed: int, maths: float) -> dict[str, Any]:
        before = {"maths": 0.2, "code": 0.3, "logic": 0.1 + seed / 100}
        after = {"maths": maths, "code": 0.3 + seed / 100, "logic": 0.1}
        further = {"before": {"pass@1": 0.2, "exams": before}, "after": {"pass@1": 0.3, "exams": after}}
        return result(arm, seed, 0.2, [0.3], **further)

    scores = {"together": 0.5, "maths": 0.6, "code": 0.2, "logic": 0.2}
    arms = by_arm([of(arm, seed, score + seed / 100) for arm, score in scores.items() for seed in (0, 1)], scores)

    found = {(f.subject, f.arms): f.comparison for f in found_by_task(arms)}

    alone, own = found["maths", ("together", "maths")], found["maths", ("code after", "code before")]
    assert alone is not None
    assert own is not None
    assert alone.value == pytest.approx(-0.1)
    assert alone.verdict == "maths higher"
    assert own.value == pytest.approx(0.005)
    assert len(found) == 3 * 4
    assert grid(arms).rows[0] == ("start", "0.200", "0.300", "0.105")
