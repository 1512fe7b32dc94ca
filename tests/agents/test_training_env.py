"""What a run can be given to train on: every form, mixtures that follow from the seed, and what is refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_agents.config import TrainConfig
from grpo_agents.environments import reset_rows
from grpo_agents.training_env import as_source
from grpo_gym import Data, GroupVectorEnv
from grpo_gym.errors import DataError, GrpoGymError, InvalidValueError, UnknownNameError
from grpo_gym.infos import row_info
from tests.agents.foreign_envs import COUNTDOWN, WORD, Countdown, Numbers, Word
from tests.agents.runs import babbler, learn, short

ROWS = [{"question": f"{n} + 1?", "answer": str(n + 1), "level": n % 3} for n in range(60)]
COLUMNS = {"prompt": "question", "reference": "answer"}
CHAIN = "grpo/Math.Chain-v0"


def contains(response: str, problem: Any) -> float:
    return float(str(problem.reference) in response)


def trl_length(completions: Sequence[str], **columns: Any) -> list[float]:
    return [float(len(text) % 5) for text in completions]


def compute_score(data_source: str, solution_str: str, ground_truth: Any, extra_info: Any = None) -> float:
    return float(len(solution_str) % 3) / 2


def env_of(given_env: Any, rows: int = 6, group: int = 3, **config: Any) -> Any:
    return as_source(given_env, TrainConfig(**config)).vector(rows, group)


FORMS: dict[str, Any] = {
    "an id": WORD,
    "an id of ours": CHAIN,
    "an object": Word(),
    "a class": Word,
    "a function": lambda: Word(),
    "a wrapped object": gymnasium.wrappers.TimeLimit(Countdown(), 2),
    "an object of ours": gymnasium.make(CHAIN, tier=0),
    "a vector environment": SyncVectorEnv([Word] * 6),
    "a pair": (ROWS, contains),
    "a pair with columns": (ROWS, contains, COLUMNS),
    "a pair in TRL's style": (ROWS, trl_length),
    "a pair in verl's style": (ROWS, compute_score, COLUMNS),
    "a Data": Data(ROWS, contains, COLUMNS, answer_format="Say a number."),
    "a list": [Word, Countdown],
    "a list with weights": [(Word, 2.0), (COUNTDOWN, 0.5)],
    "a list of pairs": [(ROWS, contains), ((ROWS[:30], trl_length), 3)],
    "ours and others": [(CHAIN, 1), (Word, 2), (ROWS, contains)],
    "a mapping": {CHAIN: 2, "grpo/Logic.Knights-v0": {"weight": 1, "tier": 0}},
}


@pytest.mark.parametrize("kind", FORMS)
def test_every_form_makes_a_run(kind):
    metrics = learn(babbler(context=512), short(prompts=2, group_size=3), FORMS[kind])

    assert [m["rows"] for m in metrics] == [6, 6]
    assert all(m["rows/error_rate"] == 0 for m in metrics)
    assert all(math.isfinite(m["reward"]) for m in metrics)


@pytest.mark.parametrize("kind", [kind for kind in FORMS if kind != "a vector environment"])
def test_rows_of_a_group_see_one_problem_and_groups_see_others(kind):
    env = env_of(FORMS[kind], 24, 3)
    try:
        observations, _ = reset_rows(env, [seed for seed in range(8) for _ in range(3)])
    finally:
        env.close()

    groups = [set(observations[first : first + 3]) for first in range(0, 24, 3)]
    assert all(len(group) == 1 for group in groups)
    assert len({text for group in groups for text in group}) > 4


def test_ours_are_scored_as_one_batch_and_others_row_by_row():
    ours = [FORMS["a list of pairs"], FORMS["a mapping"], FORMS["a pair"], FORMS["an object of ours"]]

    assert all(isinstance(env_of(one).unwrapped, GroupVectorEnv) for one in ours)
    assert not isinstance(env_of(FORMS["ours and others"]).unwrapped, GroupVectorEnv)


MIXED = [(Word, 3), (Countdown, 1), ((ROWS, contains, COLUMNS), 2)]


class TestMixture:
    @settings(max_examples=10, deadline=None)
    @given(st.lists(st.integers(0, 2**31 - 1), min_size=4, max_size=4), st.permutations(range(4)))
    def test_what_a_group_shows_follows_from_its_seed_alone(self, seeds, order):
        env = env_of(MIXED, 4, 1)
        first, _ = reset_rows(env, seeds)
        again, _ = reset_rows(env, [seeds[place] for place in order])
        env.close()

        assert list(again) == [first[place] for place in order]

    @pytest.mark.parametrize("mixed", [MIXED, [(CHAIN, 1), ((ROWS, contains, COLUMNS), 2)]])
    def test_shares_come_near_the_weights_and_info_names_the_source(self, mixed):
        weights = [weight for _, weight in mixed]
        env = env_of(mixed, 60, 1)
        seen: Counter[str] = Counter()
        for batch in range(10):
            _, infos = reset_rows(env, range(1000 * batch, 1000 * batch + 60))
            seen.update(str(row_info(infos, row)["task"]) for row in range(60))
        env.close()

        assert len(seen) == len(mixed)
        shares = sorted(count / 600 for count in seen.values())
        expected = sorted(weight / sum(weights) for weight in weights)
        assert shares == pytest.approx(expected, abs=0.08)

    def test_strata_by_task_tell_the_sources_apart(self):
        config = short(prompts=8, group_size=2, strata={"by": ("task",)})
        metrics = learn(babbler(context=512), config, [Word, (ROWS, contains)])

        names = {key.split("/")[1] for m in metrics for key in m if key.startswith("strata/")}
        assert len(names) == 2


class TestValidation:
    @pytest.mark.parametrize("kind", ["a pair", "a class", "ours and others"])
    def test_objects_are_validated_on_other_problems_too(self, kind):
        config = short(steps=1, prompts=2, group_size=3, evaluation={"every": 1, "val_problems": 4})
        (metrics,) = learn(babbler(context=512), config, FORMS[kind])

        assert 0 <= metrics["val/pass@1"] <= 1

    def test_a_vector_environment_cannot_be_made_again(self):
        config = short(steps=1, prompts=2, group_size=3, evaluation={"every": 1, "val_problems": 4})
        (metrics,) = learn(babbler(context=512), config, SyncVectorEnv([Word] * 6))

        assert "val/pass@1" not in metrics


REFUSED: list[tuple[Any, type[GrpoGymError], str]] = [
    (7, InvalidValueError, "7 .int. is nothing to train on"),
    ([], InvalidValueError, "an empty list"),
    ({}, InvalidValueError, "an empty mapping"),
    (ROWS, InvalidValueError, "a list of rows needs a reward"),
    ((Word, Countdown), InvalidValueError, "several environments go in a list"),
    ((ROWS, 1.0, contains), InvalidValueError, "could be anything"),
    ([(Word, 0)], InvalidValueError, "weight of Word is 0: give a number above 0"),
    ([(Word, math.nan)], InvalidValueError, "give a number above 0"),
    ([(Word, -1)], InvalidValueError, "give a number above 0"),
    ([(Word, True)], InvalidValueError, "give a number above 0"),
    ([(Word, math.inf)], InvalidValueError, "give a number above 0"),
    ([SyncVectorEnv([Word])], InvalidValueError, "cannot be part of a mixture"),
    (SyncVectorEnv([Word] * 5), InvalidValueError, "has 5 rows; prompts x group_size = 2 x 3 = 6 are needed"),
    (Numbers, InvalidValueError, "must be texts"),
    (lambda: 3, InvalidValueError, "which is no gymnasium.Env"),
    ("grpo/Mth-v0", UnknownNameError, "did you mean"),
    ((ROWS, contains, {"prompt": "quest", "reference": "answer"}), DataError, "no column 'quest'"),
    (([{"a": 1, "b": 2}], contains), DataError, "which column"),
    (([], contains), DataError, "no row"),
    ((Path("nowhere.jsonl"), contains), DataError, "nowhere.jsonl"),
    ((ROWS, "no_module_of_this_name:f"), InvalidValueError, "no_module_of_this_name"),
    ((CHAIN, contains), InvalidValueError, "is an environment and no data set"),
]


@pytest.mark.parametrize(("given_env", "kind", "said"), REFUSED, ids=[str(place) for place in range(len(REFUSED))])
def test_what_cannot_be_trained_on_is_told_before_anything_is_played(given_env, kind, said):
    with pytest.raises(kind, match=said):
        env_of(given_env)


REWARDS: dict[str, tuple[Any, float]] = {
    "raises": (lambda response, problem: 1 / 0, 1.0),
    "returns None": (lambda response, problem: None, 1.0),
    "returns NaN": (lambda response, problem: math.nan, 1.0),
    "returns a text": (lambda response, problem: "good", 1.0),
    "returns a numpy number": (lambda response, problem: np.float32(len(response) % 2), 0.0),
    "returns a bool": (lambda response, problem: len(response) % 2 == 0, 0.0),
    "returns one value of infinity": (lambda response, problem: math.inf, 1.0),
}


@pytest.mark.parametrize("kind", REWARDS)
def test_what_a_reward_function_may_do_costs_rows_and_never_the_run(kind):
    function, error_rate = REWARDS[kind]
    metrics = learn(babbler(), short(prompts=2, group_size=3), (ROWS, function, COLUMNS))

    assert [m["rows/error_rate"] for m in metrics] == [error_rate] * 2


def test_a_given_environment_stays_open_and_one_made_here_is_closed():
    closed: list[str] = []

    class Closing(Word):
        def close(self) -> None:
            closed.append("closed")

    given_env = SyncVectorEnv([Closing] * 6)
    learn(babbler(), short(prompts=2, group_size=3), given_env)
    assert closed == []
    learn(babbler(), short(prompts=2, group_size=3), Closing)
    assert closed
    given_env.close()
