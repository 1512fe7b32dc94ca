r"""Maths: find the final answer in a response and compare it exactly. Answer text is never evaluated.

>>> from grpo_rewards.math import verify
>>> bool(verify(r"3 + 3 = 6, so \boxed{6/8}", "3/4"))
True
"""

from grpo_rewards.math.policy import DEFAULT, WORKED, Policy
from grpo_rewards.math.reward import MathReward
from grpo_rewards.math.verify import verify

__all__ = ["DEFAULT", "WORKED", "MathReward", "Policy", "verify"]
