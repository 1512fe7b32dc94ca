"""Training under a curriculum and on mixtures: the agent knows of neither, and a resumed run is the whole one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.vector import VectorWrapper

from grpo_agents.config import TrainConfig
from grpo_agents.environments import EnvChoice, curriculum_figures, restore, state_of
from grpo_agents.evaluate import evaluate
from grpo_agents.grpo import GRPO
from grpo_agents.policy import Policy
from grpo_agents.rescore import rescore
from grpo_agents.run_folder import RunFolder
from grpo_agents.run_log import RunLog
from grpo_gym import GroupVectorEnv, Problem, Rng, Task, task
from grpo_gym.errors import CheckpointError
from tests.agents.foreign_envs import WORD
from tests.agents.runs import babbler, identical, log, new_run, short, weights

ARITHMETIC = "grpo/Arithmetic-v0"
STEPS, STOP = 6, 3


def letters(response: str, problem: Problem) -> float:
    """What a policy of random bytes earns: more in low tiers."""
    share = sum(character.isalnum() for character in response) / max(1, len(response))
    return min(1.0, share * (3 - problem.tier) / 1.5)


def words(name: str) -> Task:
    @task(name, reward=letters, tiers=(0, 1, 2))
    def made(rng: Rng, tier: int) -> Problem:
        return Problem(f"word {tier} {rng.integer(0, 10**6)}", "1")

    return made


def environment(curriculum: Any) -> GroupVectorEnv:
    """A fresh environment for each run; 3 groups of 4 rows, as `short` has them."""
    return GroupVectorEnv([words("m.one"), words("m.two")], name="m", num_envs=12, group_size=4, curriculum=curriculum)


def config(**changes: Any) -> TrainConfig:
    return short(steps=STEPS, **changes)


def run(path: Path, env: GroupVectorEnv, steps: int = STEPS) -> Policy:
    policy = babbler()
    GRPO(policy, env, short(steps=steps), folder=new_run(path, short(steps=steps))).learn()
    return policy


# --- the state travels in checkpoints


@pytest.mark.parametrize(
    "curriculum",
    [
        {"kind": "threshold", "up": 0.5, "down": 0.1, "window": 2},
        pytest.param("thompson", marks=pytest.mark.long),
        pytest.param("learnability", marks=pytest.mark.long),
    ],
)
def test_a_resumed_run_is_the_uninterrupted_one_bit_for_bit(curriculum, tmp_path):
    whole_env = environment(curriculum)
    whole = run(tmp_path / "whole", whole_env)
    run(tmp_path / "cut", environment(curriculum), STOP)

    folder = RunFolder(tmp_path / "cut")
    policy = Policy.load(folder.checkpoint(), device="cpu")
    env = environment(curriculum)
    agent = GRPO(policy, env, config(), folder=folder)
    agent.resume()
    assert agent.step == STOP
    agent.learn()

    assert identical(weights(policy), weights(whole))
    assert env.state_dict() == whole_env.state_dict()
    for name in ("metrics", "completions"):
        assert log(tmp_path / "cut", name) == log(tmp_path / "whole", name)
    forgetful = environment(curriculum)
    GRPO(Policy.load(folder.checkpoint(STOP), device="cpu"), forgetful, config())
    first = [forgetful.reset(seed=seed)[1]["problem_id"].tolist() for seed in range(20)]
    restore(forgetful, folder.load_state(folder.checkpoint(), agent.optimizer)["environment"])
    assert first != [forgetful.reset(seed=seed)[1]["problem_id"].tolist() for seed in range(20)], "it does matter"


def test_a_checkpoint_of_another_environment_is_refused(tmp_path):
    run(tmp_path, environment("fixed"), 1)
    folder = RunFolder(tmp_path)
    for other, message in (
        (environment("linear"), r"cannot go on from the checkpoint: .* another curriculum \(Fixed, 6 arms\)"),
        (environment(None), "state of an environment with a curriculum"),
        (EnvChoice(WORD).vector(12), "holds a state of its environment, and this environment takes none"),
    ):
        agent = GRPO(babbler(), other, config(), folder=folder)
        with pytest.raises(CheckpointError, match=message):
            agent.resume()


class Counting(VectorWrapper):
    """A wrapper of someone else's that counts resets and says so."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.resets = 0

    def reset(self, **kwargs: Any) -> Any:
        self.resets += 1
        return self.env.reset(**kwargs)

    def state_dict(self) -> dict[str, Any]:
        return {"resets": self.resets}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.resets = state["resets"]


def test_any_environment_or_wrapper_may_carry_a_state(tmp_path):
    env = Counting(EnvChoice(WORD).vector(12))
    GRPO(babbler(), env, short(), folder=new_run(tmp_path, short())).learn()
    assert state_of(env) == {"resets": 2}
    again = Counting(EnvChoice(WORD).vector(12))
    GRPO(babbler(), again, config(), folder=RunFolder(tmp_path)).resume()
    assert again.resets == 2
    assert state_of(EnvChoice(WORD).vector(2)) == {}
    with pytest.raises(CheckpointError, match=r"cannot go on from the checkpoint: .* KeyError: 'resets'"):
        restore(again, {})


# --- what is seen of it


def test_metrics_tell_what_each_arm_has_had(tmp_path):
    env = environment({"kind": "threshold", "up": 0.5, "window": 2})
    run(tmp_path, env)
    records = log(tmp_path)
    figures = {key: value for key, value in records[-1].items() if key.startswith("curriculum/")}
    assert figures == curriculum_figures(env)
    groups = {key: value for key, value in figures.items() if key.endswith("/groups")}
    assert sum(groups.values()) == 3 * STEPS
    assert any("tier 1" in key for key in groups), "it has moved"
    means = [value for key, value in figures.items() if key.endswith("tier 0/mean")]
    assert all(0 < mean <= 1 for mean in means)
    assert not any(key.startswith("curriculum/") for key in curriculum_figures(environment(None)))


def test_validation_follows_no_curriculum_and_feeds_none(tmp_path):
    """Scores of different steps are scores on the same problems, in all tiers that were asked for."""
    args = {"curriculum": {"kind": "threshold", "window": 1}}
    wanted = short(env=ARITHMETIC, tier=(0, 5), env_args=args, steps=2, evaluation={"every": 1, "val_problems": 12})
    agent = GRPO(babbler(), None, wanted, folder=new_run(tmp_path, wanted))
    agent.learn()
    curriculum: Any = getattr(agent.env, "curriculum", None)
    assert sum(curriculum.groups.values()) == 2 * 3
    seeds = list(range(36))
    score = evaluate(babbler(), EnvChoice.of(wanted), "val", seeds, wanted.sampling)
    plain = evaluate(babbler(), EnvChoice(ARITHMETIC, {"tier": [0, 5]}), "val", seeds, wanted.sampling)
    ids = [episode.info["problem_id"] for episode in score.episodes]
    assert ids == [episode.info["problem_id"] for episode in plain.episodes]
    assert {episode.info["tier"] for episode in score.episodes} == set(range(6))


@pytest.mark.parametrize(
    "args",
    [
        {"curriculum": "learnability", "envs": {"grpo/Arithmetic-v0": 1, "grpo/Physics-v0": 1}},
        {"schedule": "exact", "envs": {"grpo/Math.Chain-v0": 2, "grpo/Logic.GuessNumber-v0": 1}},
    ],
)
def test_completions_are_scored_again_on_the_problems_that_were_chosen(args, tmp_path):
    wanted = short(env="grpo/Mix-v0", tier=(0, 4), env_args=args)
    folder = new_run(tmp_path, wanted)
    GRPO(babbler(), None, wanted, folder=folder).learn()
    found = rescore(RunLog(tmp_path))
    assert found.left_out == {}
    assert len(found.rows) == 2 * 12
    assert all(row.old == row.new for row in found.rows)


def test_a_mixture_trains_by_its_id_with_exact_shares(tmp_path):
    args = {
        "schedule": "exact",
        "envs": {"grpo/Math.Chain-v0": 2, "grpo/Math.Linear-v0": {"weight": 1, "tier": [3, 4]}},
    }
    wanted = short(env="grpo/Mix-v0", env_args=args, steps=4)
    GRPO(babbler(), None, wanted, folder=new_run(tmp_path, wanted)).learn()
    records = log(tmp_path, "completions")
    for step in range(1, 5):
        names = [record["task"] for record in records if record["step"] == step]
        assert (names.count("math.chain"), names.count("math.linear")) == (8, 4)
    assert {record["tier"] for record in records if record["task"] == "math.linear"} <= {3, 4}


def test_an_agent_of_someone_elses_needs_no_more_than_reset_and_step():
    """Seeds in, texts out: the curriculum learns from what comes by."""
    envs: Any = gymnasium.make_vec(
        ARITHMETIC, num_envs=8, group_size=4, tier=[0, 5], expose_answer=True, curriculum="learnability"
    )
    for step in range(40):
        infos = envs.reset(seed=[100 * step + row // 4 for row in range(8)])[1]
        answers = [answer if tier <= 1 else "?" for answer, tier in zip(infos["answer"], infos["tier"], strict=True)]
        envs.step(answers)
    figures = envs.curriculum.statistics()
    assert sum(of["groups"] for of in figures.values()) == 80
    assert all(of["mean"] == float(label[-1] in "01") for label, of in figures.items())
