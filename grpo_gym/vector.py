"""Many episodes at once, in groups: rows i*G .. i*G+G-1 share a problem, which is what GRPO compares within.

A group is nothing more than the same seed G times, so any text VectorEnv can be trained on. This one adds that a
group's problem is drawn once, equal answers are scored once, and chosen problems and whole-group resets are possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from grpo_gym.curriculum import Lessons, arms_of, make_curriculum
from grpo_gym.curriculum.making import Wanted
from grpo_gym.data.fingerprint import check_same
from grpo_gym.episode import Episode, Outcome, reset_info, step_info
from grpo_gym.errors import InvalidValueError
from grpo_gym.infos import batch_infos
from grpo_gym.mixture import Mixture, TierChoice
from grpo_gym.reward import PlainReward, Reward
from grpo_gym.scoring import release_workers, score_all
from grpo_gym.spaces import TextSpace
from grpo_gym.stream import Drawn, ProblemStream, chosen_index
from grpo_gym.task import Task, fingerprints, replacement
from grpo_gym.verdict import SOLVED, Verdict

Observations = tuple[str, ...]
Step = tuple[Observations, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]


class GroupVectorEnv(VectorEnv[Observations, Sequence[str], np.ndarray]):
    """Vectorised text episodes in groups.

    Autoreset is DISABLED: rows that are done stay done until the next `reset`, and actions for them are ignored
    (observation "", reward 0.0, terminated True).

    Args:
        tasks: One Task, several (mixed uniformly), or a Mixture with weights.
        num_envs: Number of rows; a multiple of `group_size`.
        group_size: Rows that share a problem; 1 for independent rows.
        name, tier, split, instructions, expose_answer, reward: As in `TextEnv`.
        curriculum: Chooses task and tier of each training group: "threshold", {"kind": "linear", "over": 500}, or a
            curriculum. It learns from steps alone; held-out splits neither follow nor feed it.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # Gymnasium's own convention
        "autoreset_mode": AutoresetMode.DISABLED,
        "finished_rows": "ignored",
        "render_modes": ["ansi"],
        "render_fps": 1,
    }

    def __init__(
        self,
        tasks: Task | Sequence[Task] | Mixture,
        *,
        num_envs: int = 1,
        group_size: int = 1,
        name: str | None = None,
        tier: TierChoice = None,
        split: str = "train",
        instructions: bool = True,
        expose_answer: bool = False,
        reward: Reward | PlainReward | None = None,
        curriculum: Wanted | None = None,
        render_mode: str | None = None,
    ) -> None:
        if group_size < 1 or num_envs < 1 or num_envs % group_size:
            raise InvalidValueError(
                f"num_envs={num_envs} counts rows and must be a positive multiple of group_size={group_size}"
            )
        if render_mode not in (None, "ansi"):
            raise InvalidValueError(f"render_mode is {render_mode!r}: text environments know None and 'ansi'")
        self.num_envs = num_envs
        self.group_size = group_size
        self.num_groups = num_envs // group_size
        self.stream = ProblemStream(name, tasks, tier, split)
        self.instructions = instructions
        self.expose_answer = expose_answer
        self.reward = replacement(reward, self.stream.tasks.values())
        self.render_mode = render_mode
        self.single_observation_space = TextSpace()
        self.single_action_space = TextSpace()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.curriculum = None if curriculum is None else make_curriculum(curriculum, arms_of(self))
        self._lessons = None if self.curriculum is None else Lessons(self.curriculum, group_size)
        self._seeds: list[int | None] = [None] * self.num_groups
        self._indices = [-1] * self.num_groups
        self._drawn: list[Drawn | None] = [None] * self.num_groups
        self._episodes: list[Episode | None] = [None] * num_envs

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Start an episode in every row, or in the groups that `options["reset_mask"]` selects.

        Args:
            seed: An int gives group i the seed + i. A sequence gives each row its seed; seeds must be equal inside a
                group. None moves every group to the next problem of its stream.
            options: Any of tier, task, index, split, problem (for all groups), and reset_mask (bool per row, whole
                groups).

        Raises:
            InvalidValueError: Unequal seeds or masks inside a group.
        """
        options = dict(options or {})
        groups = self._selected_groups(options.pop("reset_mask", None))
        self._seed_groups(seed, groups)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        observations = [""] * self.num_envs
        starts = {group: self._start(group, options) for group in groups}
        beside = {start: place for place, start in enumerate(dict.fromkeys(starts.values()))}
        for group, start in starts.items():
            chosen = options
            if self._lessons is not None:
                chosen = self._lessons.begin(group, start, options, self.stream.split)
            drawn = self.stream.at(*start, chosen, beside)
            self._indices[group] = start[1]
            self._drawn[group] = drawn
            for row in self.rows_of(group):
                episode = Episode(drawn, self.instructions)
                self._episodes[row] = episode
                observations[row] = episode.first_message
                infos[row] = reset_info(episode, self.expose_answer)
        return tuple(observations), batch_infos(infos)

    def step(self, actions: Sequence[str]) -> Step:
        """Answer in every row. Rows that are done ignore their action.

        Returns:
            observations (tuple of text), rewards [num_envs] float64, terminated and truncated [num_envs] bool, infos.
        """
        if len(actions) != self.num_envs or not all(isinstance(action, str) for action in actions):
            raise InvalidValueError(f"step takes {self.num_envs} texts, one per row")
        if any(episode is None for episode in self._episodes):
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        outcomes = self._outcomes(actions)
        self._teach(outcomes)
        infos = [
            {} if episode is None or outcome is None else step_info(episode, outcome.verdict, self.expose_answer)
            for episode, outcome in zip(self._episodes, outcomes, strict=True)
        ]
        return (
            tuple("" if o is None else o.message for o in outcomes),
            np.array([0.0 if o is None else o.reward for o in outcomes], dtype=np.float64),
            np.array([o is None or o.terminated for o in outcomes], dtype=np.bool_),
            np.array([o is not None and o.truncated for o in outcomes], dtype=np.bool_),
            batch_infos(infos),
        )

    def set_reward(self, reward: Reward | PlainReward | None) -> None:
        """Let another reward judge from the next step on, in every row; None gives the tasks back their own.

        As `TextEnv.set_reward`.

        Raises:
            InvalidValueError: No reward, or every task here is interactive and judges itself.
        """
        self.reward = replacement(reward, self.stream.tasks.values())
        release_workers(self)

    def state_dict(self) -> dict[str, Any]:
        """Return what must outlive a restart, as a JSON object: the curriculum's state, and what data sets there are.

        Seeds are the agent's; an agent that resets with seeds goes on exactly where it stopped.
        """
        state: dict[str, Any] = {} if self.curriculum is None else {"curriculum": self.curriculum.state_dict()}
        data = fingerprints(self.stream.tasks.values())
        return {**state, "data": data} if data else state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned.

        Raises:
            InvalidValueError: It is the state of another environment, or a data set has changed since.
        """
        if "data" in state:  # else it is from before they were kept, or there were none
            check_same(state["data"], fingerprints(self.stream.tasks.values()))
        if ("curriculum" in state) != (self.curriculum is not None):
            kind = "with" if "curriculum" in state else "without"
            raise InvalidValueError(f"this is the state of an environment {kind} a curriculum: make it as it was made")
        if self.curriculum is not None:
            self.curriculum.load_state_dict(state["curriculum"])

    def rows_of(self, group: int) -> range:
        """Return the rows of a group."""
        return range(group * self.group_size, (group + 1) * self.group_size)

    def close_extras(self, **kwargs: Any) -> None:
        """Release the worker processes and what the rewards hold."""
        release_workers(self)
        for task in self.stream.tasks.values():
            task.reward.close()
        if self.reward is not None:
            self.reward.close()

    def _start(self, group: int, options: Mapping[str, Any]) -> tuple[int, int]:
        """Return the seed and index that a group begins at."""
        seed = self._seeds[group]
        assert seed is not None
        return seed, chosen_index(options, self._indices[group] + 1)

    def _teach(self, outcomes: Sequence[Outcome | None]) -> None:
        """Tell the curriculum what the rows earned."""
        if self._lessons is None:
            return
        for row, outcome in enumerate(outcomes):
            if outcome is not None:
                ended, verdict = outcome.terminated or outcome.truncated, outcome.verdict
                solved = None if verdict is None else verdict.components.get(SOLVED)
                self._lessons.book(row, outcome.reward, ended, verdict is not None and verdict.abstains, solved)
        self._lessons.report()

    def _outcomes(self, actions: Sequence[str]) -> list[Outcome | None]:
        """Return one outcome per row, None for rows that were done. Single-turn answers are scored as one batch."""
        outcomes: list[Outcome | None] = [None] * self.num_envs
        to_score: list[int] = []
        for row, (action, episode) in enumerate(zip(actions, self._episodes, strict=True)):
            if episode is None or episode.done:
                continue
            if episode.dialogue is None:
                to_score.append(row)
            else:
                outcomes[row] = episode.converse(action)
        for row, verdict in zip(to_score, self._verdicts(actions, to_score), strict=True):
            episode = self._episodes[row]
            assert episode is not None
            outcomes[row] = episode.finish(actions[row], verdict)
        return outcomes

    def _verdicts(self, actions: Sequence[str], rows: list[int]) -> list[Verdict]:
        drawn = [self._drawn[row // self.group_size] for row in rows]
        answers = [(actions[row], d) for row, d in zip(rows, drawn, strict=True) if d is not None]
        return score_all(self.reward, answers, self)

    def _selected_groups(self, mask: Any) -> list[int]:
        if mask is None:
            return list(range(self.num_groups))
        rows = np.asarray(mask, dtype=np.bool_)
        if rows.shape != (self.num_envs,):
            raise InvalidValueError(f"reset_mask has shape {rows.shape}, must be ({self.num_envs},)")
        by_group = rows.reshape(self.num_groups, self.group_size)
        if (by_group.any(axis=1) != by_group.all(axis=1)).any():
            raise InvalidValueError("reset_mask selects part of a group: its rows share a problem and reset together")
        return [int(group) for group in np.flatnonzero(by_group.all(axis=1))]

    def _seed_groups(self, seed: int | Sequence[int | None] | None, groups: list[int]) -> None:
        """Give the selected groups their new seeds; one that has none yet and gets none draws it."""
        if isinstance(seed, (int, np.integer)):
            self._np_random, self._np_random_seed = gymnasium.utils.seeding.np_random(int(seed))
            seeds: list[int | None] = [int(seed) + group for group in range(self.num_groups)]
        else:
            seeds = [None] * self.num_groups if seed is None else self._group_seeds(list(seed))
        for group in groups:
            new = seeds[group]
            if new is None and self._seeds[group] is None:
                new = int(self.np_random.integers(2**31))
            if new is not None:
                self._seeds[group], self._indices[group] = int(new), -1

    def _group_seeds(self, per_row: list[int | None]) -> list[int | None]:
        if len(per_row) != self.num_envs:
            raise InvalidValueError(f"{len(per_row)} seeds for {self.num_envs} rows: give one per row, or one int")
        for group in range(self.num_groups):
            inside = [per_row[row] for row in self.rows_of(group)]
            if any(s != inside[0] for s in inside):
                raise InvalidValueError(f"rows {self.rows_of(group)} are one group and need equal seeds, got {inside}")
        return per_row[:: self.group_size]
