"""Held-out scores: known intervals, distinct problems, the same result twice, and what counts that was not judged."""

from __future__ import annotations

import json
import math
from typing import Any

import gymnasium
import pytest
import torch

from grpo_agents.collect import NOT_FINITE, TOO_LONG, Episode
from grpo_agents.config import Sampling
from grpo_agents.environments import EnvChoice, EnvironmentRaisedError, distinct_seeds
from grpo_agents.evaluate import Score, check_finite, evaluate, left_out, wilson
from grpo_gym.errors import InvalidValueError, ModelError
from tests.agents.foreign_envs import COUNTDOWN, WORD, Word
from tests.agents.runs import babbler

SAMPLING = Sampling(max_tokens=8)


def starts_low(response: str, problem: Any) -> float:
    return float(response[:1] < "a")


MATH = EnvChoice("grpo/Arithmetic-v0", {"reward": starts_low})


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [  # statsmodels.stats.proportion.proportion_confint(right, n, method="wilson"), also Newcombe 1998, table I
        (8, 10, 0.4902, 0.9433),
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
    ],
)
def test_the_interval_is_wilsons(right, n, low, high):
    assert wilson(right / n, n) == pytest.approx((low, high), abs=5e-5)


def test_an_interval_of_nothing_is_unknown():
    assert all(math.isnan(end) for end in wilson(math.nan, 0))


@pytest.fixture(scope="module")
def seeds() -> list[int]:
    return distinct_seeds(MATH, "val", 0, 24)


class TestEvaluate:
    def test_each_problem_is_answered_once_and_all_are_distinct(self, seeds):
        score = evaluate(babbler(), MATH, "val", seeds, SAMPLING)

        assert score.n == 24
        assert len({episode.info["problem_id"] for episode in score.episodes}) == 24
        assert {episode.info["split"] for episode in score.episodes} == {"val"}

    def test_the_same_call_gives_the_same_answers_and_another_seed_others(self, seeds):
        first, again, other = (evaluate(babbler(), MATH, "val", seeds, SAMPLING, seed=seed) for seed in (1, 1, 2))

        assert first.to_json() == again.to_json()
        assert [e.texts for e in first.episodes] == [e.texts for e in again.episodes]
        assert [e.texts for e in first.episodes] != [e.texts for e in other.episodes]

    def test_greedy_does_not_depend_on_the_seed(self, seeds):
        one, two = (evaluate(babbler(), MATH, "val", seeds, SAMPLING, greedy=True, seed=seed) for seed in (1, 2))

        assert one.greedy
        assert [e.texts for e in one.episodes] == [e.texts for e in two.episodes]

    def test_problems_are_in_the_order_of_their_seeds_however_many_are_answered_at_once(self, seeds):
        whole = evaluate(babbler(), MATH, "val", seeds, SAMPLING, greedy=True)
        parts = evaluate(babbler(), MATH, "val", seeds, SAMPLING, greedy=True, rows=7)

        assert [e.prompt for e in parts.episodes] == [e.prompt for e in whole.episodes]
        assert [e.texts for e in parts.episodes] == [e.texts for e in whole.episodes]

    def test_figures_by_task_add_up(self, seeds):
        score = evaluate(babbler(), MATH, "val", seeds, SAMPLING)
        by_task = score.by_task()

        assert list(by_task) == sorted(by_task)
        assert all(label.startswith("math.") and " tier " in label for label in by_task)
        assert sum(n for _, n in by_task.values()) == score.n
        assert sum(share * n for share, n in by_task.values()) / score.n == pytest.approx(score.pass_at_1)
        assert 0 < score.pass_at_1 < 1

    def test_its_record_is_strict_json(self, seeds):
        record = evaluate(babbler(), MATH, "val", seeds, SAMPLING).to_json()

        assert json.loads(json.dumps(record, allow_nan=False)) == record
        assert record["low"] <= record["pass@1"] <= record["high"]
        assert (record["n"], record["abstained"], record["greedy"]) == (24, 0, False)

    @pytest.mark.parametrize("identifier", [WORD, COUNTDOWN])
    def test_environments_of_others_are_scored_too(self, identifier):
        choice = EnvChoice(identifier)
        score = evaluate(babbler(), choice, "test", distinct_seeds(choice, "test", 0, 6), SAMPLING)

        assert score.n == 6
        assert list(score.by_task()) == ["all tier -"]
        assert 0 < score.reward < 1

    def test_its_environments_are_closed_also_when_they_raise(self, monkeypatch):
        opened: list[Any] = []
        make = EnvChoice.vector

        def spy(*args: Any, **kwargs: Any) -> Any:
            opened.append(make(*args, **kwargs))
            return opened[-1]

        monkeypatch.setattr(EnvChoice, "vector", spy)
        with pytest.raises(EnvironmentRaisedError, match="the environment raised ValueError: no good"):
            evaluate(babbler(), EnvChoice(WORD, {"faults": "all"}), "val", [1, 2, 3], SAMPLING)

        assert [env.unwrapped.closed for env in opened] == [True]

    def test_no_prompt_that_fits_is_an_error_and_one_that_does_not_is_left_out(self, seeds):
        with pytest.raises(InvalidValueError, match="none of the prompts fits the model's context of 8 tokens"):
            evaluate(babbler(context=8), MATH, "val", seeds, SAMPLING)
        score = evaluate(babbler(context=40), EnvChoice(WORD, {"padding": 40}), "val", list(range(8)), SAMPLING)

        assert 0 < score.n < 8
        assert score.to_json()["too_long"] == 8 - score.n


class TestScore:
    def score(self, *rows: tuple[float, bool, str]) -> Score:
        episodes = [
            Episode(row, "?", None, ["x"], reward, valid, skipped, {"task": f"t{row % 2}", "tier": 1})
            for row, (reward, valid, skipped) in enumerate(rows)
        ]
        return Score(episodes, False)

    def test_rows_that_were_not_judged_count_in_no_figure_and_are_told_apart(self):
        nan = math.nan
        score = self.score(
            (1.0, True, ""), (0.5, True, ""), (0.0, False, ""), (nan, False, NOT_FINITE), (0, False, TOO_LONG)
        )
        record = score.to_json()

        assert (score.n, score.pass_at_1, score.reward) == (2, 0.5, 0.75)
        assert (record["abstained"], record["not_finite"], record["too_long"]) == (1, 1, 1)
        assert score.by_task() == {"t0 tier 1": (1.0, 1), "t1 tier 1": (0.0, 1)}

    def test_only_a_full_reward_is_right(self):
        assert self.score((0.999, True, ""), (1.0, True, ""), (1.5, True, ""), (-1.0, True, "")).pass_at_1 == 0.5

    def test_nothing_judged_is_unknown_not_zero(self):
        score = self.score((0.0, False, ""))

        assert all(math.isnan(value) for value in (score.pass_at_1, score.reward, score.length, *score.interval))


@pytest.mark.parametrize("n", range(1, 40))
def test_an_interval_holds_its_share_also_where_that_is_0_or_1(n):
    assert wilson(0.0, n)[0] == 0.0
    assert wilson(1.0, n)[1] == 1.0


def test_what_is_left_out_is_told_with_its_reasons():
    assert left_out({"n": 3, "too_long": 0, "abstained": 0, "not_finite": 0}) == ""
    assert left_out({"too_long": 15, "abstained": 0, "not_finite": 2}) == (
        "17 left out (15 too long for the model's context, 2 with a reward that is not finite)"
    )


def test_damaged_weights_are_an_error_and_no_score_of_zero():
    policy = babbler()
    check_finite(policy)
    with torch.no_grad():
        next(policy.model.parameters()).fill_(math.nan)

    with pytest.raises(ModelError, match=r"no finite log-probs: are its weights damaged \(NaN"):
        evaluate(policy, EnvChoice(WORD), "test", [1, 2], SAMPLING)
    with pytest.raises(ModelError, match="no finite log-probs"):
        check_finite(policy)


class OddRewards(Word):
    """Gives every answer the same strange reward."""

    def __init__(self, reward: Any) -> None:
        super().__init__()
        self.given = reward

    def step(self, action: str) -> tuple[str, Any, bool, bool, dict[str, Any]]:
        return "", self.given, True, False, {}


gymnasium.register("odd/Rewards-v0", entry_point=f"{__name__}:OddRewards")


@pytest.mark.filterwarnings("ignore:.*The reward:UserWarning")
@pytest.mark.parametrize("value", [math.nan, "text"])
def test_rewards_that_are_never_finite_are_an_error_that_says_so(value):
    with pytest.raises(EnvironmentRaisedError, match="all 8 rewards are not finite"):
        evaluate(babbler(), EnvChoice(f"{__name__}:odd/Rewards-v0", {"reward": value}), "test", range(8), SAMPLING)
