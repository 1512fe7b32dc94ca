"""Our environments inside Gymnasium's own vector environments, and `make_vec` with ours."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics

from grpo_gym import GroupVectorEnv
from grpo_gym.infos import batch_infos, row_info
from tests.shared import product_ids

IDS = product_ids()


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("identifier", IDS[:1] + IDS[-1:])
def test_gymnasiums_own_vector_environments_work(mode, identifier):
    """With `shared_memory=False`: with it, Gymnasium's Text space never shows an observation; ours refuses clearly."""
    kwargs = {"shared_memory": False} if mode == "async" else None
    envs: Any = gymnasium.make_vec(identifier, num_envs=4, vectorization_mode=mode, vector_kwargs=kwargs)
    try:
        observations, infos = envs.reset(seed=[11, 11, 12, 13])
        alone = [gymnasium.make(identifier).reset(seed=seed) for seed in (11, 11, 12, 13)]
        assert list(observations) == [observation for observation, _ in alone]
        assert list(infos["problem_id"]) == [info["problem_id"] for _, info in alone]
        _, rewards, _, _, infos = envs.step(("1", "2", "3", "4"))
        assert rewards.dtype == np.float64
        assert infos["abstain"].dtype == np.float64
        assert infos["rewards"]["score"].shape == (4,)
    finally:
        envs.close()


def test_shared_memory_is_refused_and_not_silently_wrong():
    with pytest.raises(ValueError, match="shared_memory"):
        AsyncVectorEnv([lambda: gymnasium.make(IDS[0])] * 2)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_every_autoreset_mode_runs_over_our_environments(mode):
    envs = SyncVectorEnv([lambda: gymnasium.make(IDS[0], expose_answer=True)] * 2, autoreset_mode=mode)
    _, first = envs.reset(seed=[4, 4])
    observations, rewards, terminations, _, infos = envs.step(tuple(first["answer"]))
    assert list(rewards) == [1.0, 1.0]
    assert all(terminations)
    if mode is AutoresetMode.SAME_STEP:
        assert list(infos["final_info"]["rewards"]["score"]) == [1.0, 1.0]
        assert all(observations)
    elif mode is AutoresetMode.NEXT_STEP:
        assert all(envs.step(("", ""))[0])
    else:
        assert all(envs.reset(options={"reset_mask": np.array([True, True])})[0])


def test_spawned_processes_make_the_same_problems():
    envs = AsyncVectorEnv([lambda: gymnasium.make(f"grpo_gym:{IDS[0]}")] * 2, shared_memory=False, context="spawn")
    try:
        observations, _ = envs.reset(seed=[21, 22])
    finally:
        envs.close()
    assert list(observations) == [gymnasium.make(IDS[0]).reset(seed=seed)[0] for seed in (21, 22)]


@pytest.mark.parametrize("identifier", IDS)
def test_make_vec_finds_our_group_environment(identifier):
    envs: Any = gymnasium.make_vec(identifier, num_envs=6, group_size=3)
    assert isinstance(envs, GroupVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    assert envs.metadata["render_fps"]
    observations, infos = envs.reset(seed=2)
    assert envs.observation_space.contains(observations)
    assert observations[0] == observations[2] != observations[3] == observations[5]
    assert list(infos["problem_id"][:3]) == [gymnasium.make(identifier).reset(seed=2)[1]["problem_id"]] * 3
    assert infos["tier"].dtype == np.int64
    recorded = RecordVectorStatistics(envs)
    recorded.reset(seed=2)
    while not (done := recorded.step(["4"] * 6))[2].all() and not done[3].all():
        pass
    assert done[4]["episode"]["l"].shape == (6,)


def test_infos_keep_their_numbers_whatever_row_comes_first():
    """Gymnasium takes the type of the first value: a leading 1 turns a later 0.5 into 0."""
    rows: list[dict[str, Any]] = [
        {"reward": 1, "tier": 2, "rewards": {"exact": 1.0}, "reason": "right"},
        {"reward": 0.5, "rewards": {"format": 0.25}},
        {},
        {"reward": True, "tier": 3, "rewards": {}, "reason": "wrong"},
    ]
    infos = batch_infos(rows)
    assert infos["reward"].tolist() == [1.0, 0.5, 0.0, 1.0]
    assert infos["_reward"].tolist() == [True, True, False, True]
    assert infos["tier"].dtype == np.int64
    assert infos["rewards"]["_format"].tolist() == [False, True, False, False]
    assert [row_info(infos, row) for row in range(4)] == rows
    assert batch_infos([{}, {}]) == {}
