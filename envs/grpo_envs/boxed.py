r"""The final answer that most tasks ask for: the reference in `\boxed{}`."""

from __future__ import annotations

from grpo_gym.problem import Problem


def boxed(problem: Problem) -> str:
    """Return the reference as a final answer in the asked format."""
    return f"\\boxed{{{problem.reference}}}"
