"""How many episodes per second does each environment give? One process, one core, CPU seconds.

An episode is a seeded reset and an answer scored; asked with the right answer and with a wrong one, since a verifier
that is slow on wrong answers slows exactly the beginning of training. Interactive environments play to their end. A
round ends after a number of episodes, or earlier, when its time is up: programs are run to judge them.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import gymnasium as gym

import grpo_gym
from benchmarks.rows import Report, Row, cpu_rounds, median_and_range
from grpo_gym.env import TextEnv

WRONG = "\\boxed{-987654}"


def run(quick: bool) -> Report:
    """Measure every registered id, and its vector form."""
    report = Report()
    episodes, rounds, seconds = (104, 3, 0.1) if quick else (1000, 5, 2.0)
    for identifier in grpo_gym.registered_ids():
        for kind, answer in (("right", _right), ("wrong", lambda env: WRONG)):
            env = gym.make(identifier).unwrapped
            assert isinstance(env, TextEnv)
            costs = cpu_rounds(lambda: _play(env, answer, episodes, seconds), rounds)  # noqa: B023  # called at once
            report.rows.append(_row(identifier, f"episodes/s, {kind} answers", costs))
            env.close()
        costs = cpu_rounds(lambda: _play_groups(identifier, episodes), rounds)  # noqa: B023  # called at once
        report.rows.append(_row(identifier, "episodes/s in groups of 8, wrong answers", costs))
    return report


def _row(identifier: str, figure: str, costs: list[float]) -> Row:
    middle, low, high = median_and_range([1 / cost for cost in costs])
    return Row("env_speed", identifier, figure, middle, "1/s", low, high)


def _right(env: TextEnv) -> str:
    episode = env._episode
    assert episode is not None
    return episode.task.right_answer(episode.problem, episode.transcript)


def _play(env: TextEnv, answer: Callable[[TextEnv], str], episodes: int, seconds: float) -> int:
    """Play until there are so many episodes or the time is up, and return how many there are."""
    end = time.perf_counter() + seconds
    for seed in range(episodes):
        env.reset(seed=seed)
        done = False
        while not done:
            _, _, terminated, truncated, _ = env.step(answer(env))
            done = terminated or truncated
        if time.perf_counter() > end:
            return seed + 1
    return episodes


def _play_groups(identifier: str, episodes: int) -> int:
    env = gym.make_vec(identifier, num_envs=episodes // 8 * 8, group_size=8)
    env.reset(seed=0)
    done = False
    while not done:
        _, _, terminated, truncated, _ = env.step([WRONG] * env.num_envs)
        done = bool((terminated | truncated).all())
    env.close()
    return env.num_envs
