"""The single environment: a Gymnasium Env whose observations and actions are texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium

from grpo_gym.episode import Episode, reset_info, step_info
from grpo_gym.errors import InvalidValueError
from grpo_gym.mixture import Mixture, TierChoice
from grpo_gym.printing import visible
from grpo_gym.reward import PlainReward, Reward
from grpo_gym.scoring import release_workers, score_all
from grpo_gym.seeding import SeededLater
from grpo_gym.spaces import TextSpace
from grpo_gym.stream import Drawn, ProblemStream, chosen_index
from grpo_gym.task import Task, replacement


class TextEnv(SeededLater):
    """Episodes of one or several tasks.

    Observation: the environment's new message; the first is the prompt with the answer-format line under it.
    Action: the policy's text.
    Reward: the verdict's value, 0.0 where it abstains (`info["abstain"]` is 1.0 then).
    Episode end: after one step, or when a dialogue ends; `truncated` when its turns are used up.

    Args:
        tasks: One Task, several (mixed uniformly), or a Mixture with weights.
        name: Names the stream of problems; default: the single task's full name.
        tier: One tier, a range (low, high), or None for each task's defaults.
        split: "train", "val" or "test".
        instructions: Whether the answer-format line is shown.
        expose_answer: Whether infos carry `answer` and `solution`; where a dialogue goes on, those of its steps carry
            the next `solution`.
        reward: Replaces the tasks' own reward: a Reward or a function `(response, problem) -> float`. Interactive tasks
            judge themselves: among several tasks they go on doing so, and where all are interactive it is an error.
        render_mode: None or "ansi" (the transcript, hostile characters escaped).
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  # Gymnasium's own convention

    def __init__(
        self,
        tasks: Task | Sequence[Task] | Mixture,
        *,
        name: str | None = None,
        tier: TierChoice = None,
        split: str = "train",
        instructions: bool = True,
        expose_answer: bool = False,
        reward: Reward | PlainReward | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise InvalidValueError(f"render_mode is {render_mode!r}: text environments know None and 'ansi'")
        self.stream = ProblemStream(name, tasks, tier, split)
        self.instructions = instructions
        self.expose_answer = expose_answer
        self.reward = replacement(reward, self.stream.tasks.values())
        self.render_mode = render_mode
        self.observation_space = TextSpace()
        self.action_space = TextSpace()
        self._seed: int | None = None
        self._index = -1
        self._drawn: Drawn | None = None
        self._episode: Episode | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode. With a seed: the first problem of that seed's stream; without: the next one.

        Args:
            seed: Names a stream of problems; also seeds `np_random`.
            options: Any of tier, task, index, split, problem.
        """
        super().reset(seed=seed)
        options = options or {}
        if seed is not None:
            self._seed, self._index = seed, -1
        if self._seed is None:
            self._seed = int(self.np_random.integers(2**31))
        index = chosen_index(options, self._index + 1)
        drawn = self.stream.at(self._seed, index, options)
        self._index = index
        self._drawn = drawn
        self._episode = Episode(drawn, self.instructions)
        return self._episode.first_message, reset_info(self._episode, self.expose_answer)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Answer. Never raises because of what the text says; only for a call out of order or a non-text."""
        if self._episode is None or self._drawn is None or self._episode.done:
            raise gymnasium.error.ResetNeeded("the episode is over or has not begun: call reset() first")
        if not isinstance(action, str):
            raise InvalidValueError(f"an action is a text (str), got {type(action).__name__}")
        if self._episode.dialogue is not None:
            outcome = self._episode.converse(action)
        else:
            outcome = self._episode.finish(action, score_all(self.reward, [(action, self._drawn)], self)[0])
        info = step_info(self._episode, outcome.verdict, self.expose_answer)
        return outcome.message, outcome.reward, outcome.terminated, outcome.truncated, info

    def set_reward(self, reward: Reward | PlainReward | None) -> None:
        """Let another reward judge from the next step on; None gives the tasks back their own.

        Through the wrappers of `gym.make`: `env.unwrapped.set_reward(...)`, or `env.get_wrapper_attr("set_reward")`.
        The reward before is not closed, since other environments may use it; the workers held for it are let go.
        Interactive tasks go on judging themselves.

        Raises:
            InvalidValueError: No reward, or every task here is interactive and judges itself.
        """
        self.reward = replacement(reward, self.stream.tasks.values())
        release_workers(self)

    def render(self) -> str | None:
        """Return the transcript in "ansi" mode: control characters are shown, never obeyed."""
        if self.render_mode != "ansi" or self._episode is None:
            return None
        return "\n".join(f"[{role}] {visible(text)}" for role, text in self._episode.transcript)

    @property
    def problem(self) -> Any:
        """The current problem, for tools that look inside (`env.unwrapped.problem`)."""
        if self._drawn is None:
            raise gymnasium.error.ResetNeeded("no problem yet: call reset() first")
        return self._drawn.problem

    def close(self) -> None:
        """Release the worker processes and what the rewards hold."""
        release_workers(self)
        for task in self.stream.tasks.values():
            task.reward.close()
        if self.reward is not None:
            self.reward.close()
