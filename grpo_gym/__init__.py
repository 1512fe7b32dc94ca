"""Text environments with verifiable rewards, behind Gymnasium's own API.

    import gymnasium as gym
    import grpo_gym

    env = gym.make("grpo/Math-v0", tier=1)
    envs = gym.make_vec("grpo/Math-v0", num_envs=64, group_size=8)

Importing this registers every installed task by name; a task's code is imported when it is first made.
"""

from grpo_gym.data import Dataset
from grpo_gym.data.task import Data
from grpo_gym.env import TextEnv
from grpo_gym.mixture import Mixture, Part
from grpo_gym.problem import Problem
from grpo_gym.registration import load_plugins, register_family, register_mixture, register_task, registered_ids
from grpo_gym.reward import FunctionReward, Probe, Reward
from grpo_gym.rng import Rng
from grpo_gym.sources import Procedural
from grpo_gym.spaces import TextSpace
from grpo_gym.task import Task, Turn, task
from grpo_gym.vector import GroupVectorEnv
from grpo_gym.verdict import Reason, Verdict

__all__ = [
    "Data",
    "Dataset",
    "FunctionReward",
    "GroupVectorEnv",
    "Mixture",
    "Part",
    "Probe",
    "Problem",
    "Procedural",
    "Reason",
    "Reward",
    "Rng",
    "Task",
    "TextEnv",
    "TextSpace",
    "Turn",
    "Verdict",
    "register_family",
    "register_mixture",
    "register_task",
    "registered_ids",
    "task",
]

__version__ = "0.1.0"

load_plugins()
