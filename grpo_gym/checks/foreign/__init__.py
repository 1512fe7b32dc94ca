"""Rewards and environments of others, read so that `check_reward` can ask them what it asks ours.

* `functions.py`: `module:function` rewards, called as `grpo_gym.calling` finds out; `cases.py` has the problems
* `reasoning_gym.py`: the data sets of reasoning-gym
* `environments.py`: any Gymnasium id whose observations and actions are text

Nothing of others is imported before one of them is asked for.
"""
