"""Curricula: which task and tier comes next, decided by what the policy earned so far.

    envs = gym.make_vec("grpo/Math-v0", num_envs=64, group_size=8, tier=[0, 5], curriculum="threshold")
    env = CurriculumWrapper(gym.make("grpo/Math-v0", tier=[0, 5]), "threshold")

A curriculum chooses once per group and is told the group's rewards once, when all its rows have ended. The agent sees
an ordinary environment: it resets with seeds, steps, and need not know. A choice is a function of the curriculum's
state and the episode's seed, and the state changes only by what it is told: so a resumed run needs both and no more.
"""

from grpo_gym.curriculum.arms import Arm, Arms, Curriculum, arms_of
from grpo_gym.curriculum.fixed import Fixed
from grpo_gym.curriculum.learnability import Learnability
from grpo_gym.curriculum.lessons import Lessons
from grpo_gym.curriculum.linear import Linear
from grpo_gym.curriculum.making import KINDS, make_curriculum
from grpo_gym.curriculum.record import Recorded
from grpo_gym.curriculum.thompson import ThompsonSampling
from grpo_gym.curriculum.threshold import Threshold
from grpo_gym.curriculum.wrapper import CurriculumWrapper

__all__ = [
    "KINDS",
    "Arm",
    "Arms",
    "Curriculum",
    "CurriculumWrapper",
    "Fixed",
    "Learnability",
    "Lessons",
    "Linear",
    "Recorded",
    "ThompsonSampling",
    "Threshold",
    "arms_of",
    "make_curriculum",
]
