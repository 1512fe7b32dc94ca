"""A curriculum around one environment. For groups of rows, `gym.make_vec(..., curriculum=...)` has it inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from grpo_gym.curriculum.arms import arms_of
from grpo_gym.curriculum.lessons import Lessons
from grpo_gym.curriculum.making import Wanted, make_curriculum
from grpo_gym.stream import chosen_index
from grpo_gym.verdict import SOLVED


class CurriculumWrapper(gymnasium.Wrapper[str, str, str, str], RecordConstructorArgs):
    """Chooses task and tier at every reset, and learns from the episode when it has ended.

    A single episode is a group of one. Several wrappers may share one curriculum; `SyncVectorEnv` takes them as they
    are, and equal seeds that are reset together are still one problem.

    Args:
        env: One of ours, in any wrappers.
        curriculum: A curriculum, its kind, or {"kind": ..., options}, as in `gym.make_vec(..., curriculum=...)`.
    """

    def __init__(self, env: gymnasium.Env[str, str], curriculum: Wanted) -> None:
        RecordConstructorArgs.__init__(self, curriculum=curriculum, _disable_deepcopy=True)
        super().__init__(env)
        self.curriculum = make_curriculum(curriculum, arms_of(env))
        self._lessons = Lessons(self.curriculum)
        self._seed: int | None = None
        self._index = -1

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode of the chosen arm. The caller's own task, tier, problem or held-out split comes first."""
        options = options or {}
        if seed is None and self._seed is None:
            seed = int(self.np_random.integers(2**31))
        if seed is not None:
            self._seed, self._index = seed, -1
        assert self._seed is not None
        self._index = chosen_index(options, self._index + 1)
        split = self.get_wrapper_attr("stream").split
        chosen = self._lessons.begin(0, (self._seed, self._index), options, split)
        return self.env.reset(seed=seed, options=chosen)

    def step(self, action: str) -> tuple[str, Any, bool, bool, dict[str, Any]]:
        """Step, and tell the curriculum when the episode has ended."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        ended, solved = terminated or truncated, info.get("rewards", {}).get(SOLVED)
        self._lessons.book(0, float(reward), ended, bool(info.get("abstain")), solved if ended else None)
        self._lessons.report()
        return observation, reward, terminated, truncated, info

    def state_dict(self) -> dict[str, Any]:
        """Return the curriculum's state as a JSON object."""
        return self.curriculum.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        self.curriculum.load_state_dict(state)
