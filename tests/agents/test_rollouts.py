"""Which prompts a step plays: the old seeds without options, shares by stratum, retired prompts, refills."""

from __future__ import annotations

import math
from itertools import islice, pairwise
from typing import Any

import gymnasium
import pytest
import torch
from gymnasium.vector import AutoresetMode

from grpo_agents.collect import Episode, collect
from grpo_agents.config import Strata, TrainConfig
from grpo_agents.environments import EnvironmentRaisedError, seed_stream, seeds_for
from grpo_agents.grpo import GRPO
from grpo_agents.retirement import Retirement
from grpo_agents.rollout import Trajectory
from grpo_agents.rollouts import Rollout, Rollouts, by_group, first_rows, is_solved, prompt_facts
from grpo_agents.strata import Stratifier
from grpo_gym.rng import stable_hash
from tests.agents.foreign_envs import TEXT, vector
from tests.agents.runs import Metrics, babbler, learn, short

PROMPTS, GROUP = 3, 4
ROWS = PROMPTS * GROUP


class Shop(gymnasium.Env[str, str]):
    """Problems of a data set of twelve; every fourth is rare. An answer earns by its length, or what is fixed."""

    def __init__(self, fixed: dict[str, float] | None = None, broken_after: float = math.inf) -> None:
        self.observation_space = TEXT
        self.action_space = TEXT
        self.fixed = fixed or {}
        self.resets = 0
        self.broken_after = broken_after

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.resets += 1
        if self.resets > self.broken_after:
            raise OSError("sold out")
        number = int(self.np_random.integers(12))
        self.problem = f"p{number}"
        self.task = "common" if number % 4 else "rare"
        return f"{self.task} {number}", {"task": self.task, "tier": number % 3 + 1, "problem_id": self.problem}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        earned = float(len(action.encode()) % 3) / 2
        return "", self.fixed.get(self.task, self.fixed.get(self.problem, earned)), True, False, {}


def shop(**args: Any) -> Any:
    return vector(Shop, ROWS, AutoresetMode.NEXT_STEP, **args)


def rollouts(config: TrainConfig, env: Any = None, retired: tuple[str, ...] = ()) -> Rollouts:
    retirement = Retirement(config.selection.retire_at, config.selection.retire_after)
    for problem in retired:
        for _ in range(config.selection.retire_after):
            retirement.observe(problem, 1.0)
    return Rollouts(babbler(), env or shop(), config, Stratifier(config.strata), retirement)


def tasks(rollout: Rollout) -> list[str]:
    return [rollout.episodes[row].info["task"] for row in first_rows(rollout.episodes)]


def seen(episodes: list[Episode]) -> list[Any]:
    return [(e.group, e.prompt, e.texts, e.reward, e.trajectory) for e in episodes]


class TestWithoutOptions:
    def test_seeds_and_luck_are_those_of_before(self):
        """A run of an older version, replayed: its step was one call of collect on `seeds_for`."""
        config = short(seed=5)
        seeds = seeds_for("train", 5, 7, PROMPTS)
        generator = torch.Generator().manual_seed(stable_hash("sample", 5, 7) % 2**63)
        expected = collect(babbler(), shop(), seeds, GROUP, config.sampling, generator)
        found = rollouts(config)(7)

        assert seen(found.episodes) == seen(expected)
        assert found.taught == list(range(ROWS))
        assert (found.rounds, found.retired) == (1, 0)

    def test_candidates_are_without_end_and_of_seed_and_step_alone(self):
        assert list(islice(seed_stream("train", 3, 2), 50)) == seeds_for("train", 3, 2, 50)
        assert (
            len({seed for step in (1, 2) for run in (0, 1) for seed in islice(seed_stream("train", run, step), 50)})
            == 200
        )

    def test_nothing_is_looked_at_twice(self):
        env = shop()
        rollouts(short(), env)(1)

        assert [e.unwrapped.resets for e in env.envs] == [1] * ROWS


class TestShares:
    def test_they_are_reached(self):
        """A quarter of the problems is rare, two thirds of each batch are asked for."""
        config = short(strata=Strata(by=("task",), shares={"rare": 0.67}), selection={"peek_rounds": 12})
        play = rollouts(config)

        assert [sorted(tasks(play(step))) for step in range(1, 9)] == [["common", "rare", "rare"]] * 8
        plain = [task for step in range(1, 9) for task in tasks(rollouts(short())(step))]
        assert 2 <= plain.count("rare") < 12

    def test_prompts_of_a_stratum_come_in_the_order_of_the_candidates(self):
        config = short(strata=Strata(by=("task",), shares={"rare": 0.67}))
        rollout = rollouts(config)(1)
        env = vector(Shop, 1, AutoresetMode.NEXT_STEP)
        prompts = [str(env.reset(seed=[seed])[0][0]) for seed in islice(seed_stream("train", 0, 1), 12)]
        rare = [p for p in prompts if p.startswith("rare")]
        common = [p for p in prompts if p.startswith("common")]
        played = [rollout.episodes[row].prompt for row in first_rows(rollout.episodes)]

        assert [p for p in played if p.startswith("rare")] == rare[:2]
        assert [p for p in played if p.startswith("common")] == common[:1]

    def test_a_share_that_does_not_come_is_filled_with_what_did(self):
        config = short(strata=Strata(by=("task",), shares={"never": 0.67}))
        rollout = rollouts(config)(1)

        assert len(first_rows(rollout.episodes)) == PROMPTS

    def test_a_peek_is_a_look_and_no_play(self):
        """The same prompts under the same seeds, whether or not others were looked at before."""
        config = short(strata=Strata(by=("task",), shares={"rare": 0.67}))
        play = rollouts(config)
        first = play(1)
        play(2)

        assert seen(play(1).episodes) == seen(first.episodes)
        seeds = list(islice(seed_stream("train", 0, 1), 12))
        facts = play._peek(seeds[:PROMPTS])
        assert facts == [prompt_facts(play.policy, f"{f.task} {f.problem_id[1:]}", vars(f)) for f in facts]
        assert facts == play._peek(seeds[:PROMPTS])

    def test_strata_are_of_prompts_only(self):
        """Other answers and other rewards, the same prompts and strata."""
        config = short(strata=Strata(by=("task", "tier"), shares={"rare / tier 1": 0.4}))
        here, there = rollouts(config), rollouts(config, shop(fixed={"rare": 9.0, "common": -3.0}))
        there.policy = babbler(context=250)
        with torch.no_grad():
            there.policy.model.get_output_embeddings().weight.mul_(0.1)
        a, b = here(1), there(1)

        assert [e.prompt for e in a.episodes] == [e.prompt for e in b.episodes]
        assert [e.texts for e in a.episodes] != [e.texts for e in b.episodes]
        assert a.facts(here.policy) == b.facts(there.policy)


class TestRetirement:
    def test_retired_prompts_are_replaced(self):
        config = short(selection={"retire_at": 0.9})
        gone = tuple(f"p{n}" for n in range(12) if n % 4)  # all common ones
        rollout = rollouts(config, retired=gone)(1)
        plain = rollouts(short())(1)

        assert set(tasks(plain)) == {"common", "rare"}
        assert (tasks(rollout), rollout.retired) == (["rare"] * PROMPTS, 0)

    def test_where_all_are_retired_they_are_played_all_the_same_and_counted(self):
        config = short(selection={"retire_at": 0.9})
        rollout = rollouts(config, retired=tuple(f"p{n}" for n in range(12)))(1)

        assert rollout.retired == PROMPTS
        assert [e.prompt for e in rollout.episodes] == [e.prompt for e in rollouts(short())(1).episodes]

    def test_a_run_retires_what_it_has_solved(self):
        """Rare problems pay 1 from the start; once each has been met often enough only common ones are played."""
        seen: list[Metrics] = []
        config = short(steps=12, selection={"retire_at": 1.0, "retire_after": 1, "peek_rounds": 8})
        agent = GRPO(babbler(), shop(fixed={"rare": 1.0, "common": 0.0}), config, on_step=seen.append)
        agent.learn()

        assert {f"p{n}" for n in range(0, 12, 4) if agent.retirement.is_retired(f"p{n}")} == {"p0", "p4", "p8"}
        assert not any(agent.retirement.is_retired(f"p{n}") for n in range(12) if n % 4)
        assert "task/rare" not in seen[-1]
        assert sum("task/rare" in m for m in seen) <= 3
        assert all(m["groups/retired"] == 0 for m in seen)


class TestRefill:
    CONFIG = short(selection={"refill_rounds": 3})

    def test_it_goes_on_to_the_cap_where_nothing_spreads(self):
        rollout = rollouts(self.CONFIG, shop(fixed={"rare": 1.0, "common": 0.0}))(1)

        assert rollout.rounds == 4
        assert len(rollout.episodes) == 4 * ROWS
        assert rollout.taught == list(range(ROWS))  # a batch's worth, the first ones
        assert [e.group for e in rollout.episodes[::GROUP]] == list(range(4 * PROMPTS))

    def test_it_stops_as_soon_as_a_batch_spreads(self):
        rollout = rollouts(self.CONFIG, shop())(1)

        assert rollout.rounds == 1
        assert rollout.taught == list(range(ROWS))

    def test_groups_with_a_spread_come_first_and_whole(self):
        rollout = rollouts(self.CONFIG, shop(fixed={"common": 0.0}))(1)
        lively = [
            rollout.episodes[row].group
            for row in first_rows(rollout.episodes)
            if len({e.reward for e in rollout.episodes if e.group == rollout.episodes[row].group}) > 1
        ]
        taught = [rollout.episodes[row].group for row in rollout.taught]

        assert rollout.rounds > 1
        assert max(lively) >= PROMPTS  # a later round brought some
        assert len(taught) == ROWS
        assert set(lively[:PROMPTS]) <= set(taught)
        assert all(taught.count(group) == GROUP for group in taught)
        assert rollout.lesson() == [rollout.episodes[row] for row in rollout.taught]

    def test_it_is_the_same_again_and_its_rounds_differ(self):
        first, again = (rollouts(self.CONFIG, shop(fixed={"common": 0.0}))(1) for _ in range(2))

        assert (seen(first.episodes), first.taught) == (seen(again.episodes), again.taught)
        rounds = [[e.texts for e in first.episodes[at : at + ROWS]] for at in range(0, len(first.episodes), ROWS)]
        assert all(a != b for a, b in pairwise(rounds))

    def test_a_run_counts_all_completions_and_learns_from_a_batchs_worth(self, tmp_path):
        metrics = learn(babbler(), self.CONFIG, shop(fixed={"common": 0.0}), path=tmp_path)

        assert any(m["rounds"] > 1 for m in metrics)
        for m in metrics:
            assert m["rows"] == m["rounds"] * ROWS
            assert 0 < m["tokens/trained"] < m["tokens/sampled"]

    def test_an_environment_that_fails_in_a_refill_costs_the_refill_only(self):
        rollout = rollouts(self.CONFIG, shop(fixed={"rare": 1.0, "common": 0.0}, broken_after=2))(1)

        assert rollout.rounds == 2
        assert len(rollout.episodes) == 2 * ROWS
        with pytest.raises(EnvironmentRaisedError, match="sold out"):
            rollouts(self.CONFIG, shop(broken_after=0))(1)

    def test_refills_are_new_prompts_also_beside_shares_and_retirement(self):
        config = short(
            selection={"refill_rounds": 1, "retire_at": 0.9},
            strata=Strata(by=("task",), shares={"rare": 0.34}),
        )
        rollout = rollouts(config, shop(fixed={"rare": 1.0, "common": 0.0}), retired=("p0",))(1)

        assert [tasks(rollout)[:3].count("rare"), tasks(rollout)[3:].count("rare")] == [1, 1]
        assert all(e.info["problem_id"] != "p0" for e in rollout.episodes)


class TestFigures:
    def row(self, group: int, reward: float, valid: bool = True, **info: Any) -> Episode:
        return Episode(group, "?", Trajectory([1], [5], [True], [-1.0]), reward=reward, valid=valid, info=info)

    def test_a_completion_is_right_by_the_environments_word_where_it_has_one(self):
        assert is_solved(self.row(0, 0.3, rewards={"solved": 1.0}))
        assert not is_solved(self.row(0, 1.7, rewards={"solved": 0.0}))
        assert [is_solved(self.row(0, r, rewards={"letters": 1.0})) for r in (1.0, 0.99)] == [True, False]
        assert is_solved(self.row(0, 1.0, rewards=[3]))
        assert not is_solved(self.row(0, 1.0, rewards={"solved": None}))

    def test_pass_rates_and_means_are_of_valid_rows_in_the_order_of_the_groups(self):
        rows = [
            self.row(4, 1.0),
            self.row(2, 0.5),
            self.row(4, 0.0),
            self.row(4, math.nan, False),
            self.row(9, 1, False),
        ]

        assert by_group(rows)[:2] == [(0.5, 0.5), (0.0, 0.5)]
        assert all(map(math.isnan, by_group(rows)[2]))
        assert first_rows(rows) == [0, 1, 4]

    def test_a_tier_that_is_no_number_is_none(self):
        facts = [prompt_facts(babbler(), "x", {"tier": tier}).tier for tier in (2, None, "hard", object())]

        assert facts == [2, None, None, None]
