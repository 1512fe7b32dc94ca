"""Code: solutions judged by tests that they never share a process with. See `docs/code-judge.md`.

>>> from grpo_rewards.code import judge
>>> bool(judge("def double(n): return 2 * n", "assert double(4) == 8"))
True
"""

from grpo_rewards.code.best_of import best_of, pass_at_k
from grpo_rewards.code.job import Job
from grpo_rewards.code.judge import CodeJudge, judge
from grpo_rewards.code.reward import CodeReward, CodeStyle, Compiles, PassesTests
from grpo_rewards.code.tiers import Isolation, NotIsolatedError, isolation

__all__ = [
    "CodeJudge",
    "CodeReward",
    "CodeStyle",
    "Compiles",
    "Isolation",
    "Job",
    "NotIsolatedError",
    "PassesTests",
    "best_of",
    "isolation",
    "judge",
    "pass_at_k",
]
