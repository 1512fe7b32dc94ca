"""Every logic task with partial credit and deductions that count, for a child process to find by name."""

from __future__ import annotations

import dataclasses

from grpo_envs.logic.credit import LogicReward
from grpo_gym import Task
from grpo_gym.registration import load_tasks


def __getattr__(name: str) -> Task:
    """The task `logic.NAME`, judged by a LogicReward that pays half for what is right beyond luck."""
    if name.startswith("_"):
        raise AttributeError(name)
    return dataclasses.replace(load_tasks(f"grpo/logic.{name}")[0], reward=LogicReward(partial=0.5))
