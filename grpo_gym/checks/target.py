"""The thing under check as the child process sees it: problems, right answers, and a score for any text.

A registered id, a Task and a reward of others all become the same few methods. Nothing here catches what the subject
raises: the child reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from grpo_gym.episode import Episode
from grpo_gym.problem import Problem, Split
from grpo_gym.reward import Probe, Reward
from grpo_gym.stream import Drawn, ProblemStream
from grpo_gym.task import Task, Transcript
from grpo_gym.verdict import Reason, Verdict

Act = Callable[[Problem, Transcript], str]
"""Chooses the next action of an episode."""

DEFAULT_FLOORS = "*"


@dataclass(frozen=True)
class Facts:
    """What a subject says of itself; JSON values.

    Attributes:
        name: What it is called.
        tiers: Tiers that exist.
        default_tiers: Tiers that are drawn when none is asked for.
        range: Lowest and highest value of the reward.
        floors: Line key -> declared level.
        forms: Spellings of a right answer that must keep its reward; None: all that apply.
        small_tiers: Tiers with few distinct problems.
        cost: "fast" or "slow".
        time_limit: Seconds that one answer of a slow reward may take.
        interactive: Whether an episode takes several turns.
        foreign: Whether the code comes from outside the registry, so that it is confined.
        note: How the subject was read, for people.
        not_applicable: Line key -> why the question does not arise.
    """

    name: str
    tiers: tuple[int, ...]
    default_tiers: tuple[int, ...]
    range: tuple[float, float] = (0.0, 1.0)
    floors: Mapping[str, float] = field(default_factory=dict)
    forms: tuple[str, ...] | None = None
    small_tiers: tuple[int, ...] = ()
    cost: str = "fast"
    time_limit: float = 10.0
    interactive: bool = False
    foreign: bool = False
    note: str = ""
    not_applicable: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Facts:
        """Read what `to_json` wrote."""
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
        return cls(**fields)


class Target(Protocol):
    """What can be asked of the thing under check."""

    facts: Facts

    def problem(self, tier: int | None, split: Split, seed: int, index: int) -> Problem:
        """Return the problem at a key; `tier` None draws among the default tiers."""

    def right_answer(self, problem: Problem) -> str | None:
        """Return an answer that should earn the maximum, None when none is known."""

    def final_answer(self, problem: Problem, reference: object) -> str | None:
        """Write a reference, right or wrong, as a final answer in the asked format; None when that cannot be done."""

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge an answer; in an interactive episode the same text in every turn."""

    def play_right(self, problem: Problem, spell: Callable[[str], str]) -> Verdict:
        """Judge an episode of right actions, each spelled in another way. Only of subjects with interactive tasks."""

    def equivalents(self, problem: Problem) -> Sequence[str] | None:
        """Return other spellings of the right answer, None when the subject declares none."""

    def solutions(self, problem: Problem) -> Sequence[str] | None:
        """Return every right answer that an independent solver finds, None when there is no solver."""

    def effort(self, problem: Problem) -> float | None:
        """Return how much work the problem is, None when the subject cannot say."""

    def probes(self, problem: Problem) -> Sequence[tuple[Probe, str]]:
        """Return the reward's own hostile answers."""

    def opening(self, problem: Problem) -> tuple[str, dict[str, Any]]:
        """Return what a reset shows of the problem: text and info, without the answer."""


class TaskTarget:
    """One task, or a mixture of several under one id.

    Args:
        name: The environment id.
        tasks: The tasks behind it.
        foreign: Whether the code comes from outside the registry.
        note: How the subject was read.
        not_applicable: Line key -> why the question does not arise.
    """

    def __init__(
        self,
        name: str,
        tasks: Sequence[Task],
        foreign: bool = False,
        note: str = "",
        not_applicable: Mapping[str, str] | None = None,
    ) -> None:
        self.stream = ProblemStream(name.rsplit("-v", 1)[0], tasks)
        rewards = [task.reward for task in tasks]
        floors: dict[str, float] = {}
        for task in tasks:  # in a mixture a degenerate answer earns at most what the softest task pays it
            for key, level in task.floors.items():
                floors[key] = max(level, floors.get(key, level))
        self.facts = Facts(
            name=name,
            tiers=tuple(sorted({tier for task in tasks for tier in task.tiers})),
            default_tiers=tuple(sorted({tier for task in tasks for tier in task.default_tiers})),
            range=(min(r.range[0] for r in rewards), max(r.range[1] for r in rewards)),
            floors=floors,
            forms=_common_forms(tasks),
            small_tiers=tuple(sorted({tier for task in tasks for tier in task.small_tiers})),
            cost="slow" if any(r.cost == "slow" for r in rewards) else "fast",
            time_limit=max(r.time_limit for r in rewards),
            interactive=any(task.dialogue is not None for task in tasks),
            foreign=foreign,
            note=note,
            not_applicable=dict(not_applicable or {}),
        )

    def problem(self, tier: int | None, split: Split, seed: int, index: int) -> Problem:
        """Return the problem at a key."""
        return self.stream.at(seed, index, {"tier": tier, "split": split}).problem

    def right_answer(self, problem: Problem) -> str | None:
        """Return the oracle's first action, or the worked solution, or the answer in the asked format."""
        return self._task(problem).right_answer(problem)

    def final_answer(self, problem: Problem, reference: object) -> str | None:
        """Write a reference as the task writes its answers."""
        return self._task(problem).answer(replace(problem, reference=reference))

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge an answer."""
        if self._task(problem).dialogue is not None:
            return self._play(problem, lambda _, __: response)
        return self.reward(problem).score(response, problem)

    def play_right(self, problem: Problem, spell: Callable[[str], str]) -> Verdict:
        """Play the oracle's actions, each spelled in another way; where one answer is all, that answer."""
        task = self._task(problem)
        if task.dialogue is None:  # a mixture may hold both kinds
            return self.reward(problem).score(spell(task.right_answer(problem)), problem)
        return self._play(problem, lambda p, transcript: spell(task.right_answer(p, transcript)))

    def equivalents(self, problem: Problem) -> Sequence[str] | None:
        """Return the task's `equivalents`."""
        task = self._task(problem)
        return None if task.equivalents is None else list(task.equivalents(problem))

    def solutions(self, problem: Problem) -> Sequence[str] | None:
        """Return what the task's `solver` finds."""
        task = self._task(problem)
        return None if task.solver is None else list(task.solver(problem))

    def effort(self, problem: Problem) -> float | None:
        """Return the task's `effort`."""
        task = self._task(problem)
        return None if task.effort is None else float(task.effort(problem))

    def probes(self, problem: Problem) -> Sequence[tuple[Probe, str]]:
        """Return the reward's own probes with their texts."""
        return [(probe, probe.response(problem)) for probe in self.reward(problem).probes()]

    def opening(self, problem: Problem) -> tuple[str, dict[str, Any]]:
        """Return the first message and the info of a reset."""
        from grpo_gym.episode import Episode, reset_info

        episode = Episode(Drawn(self._task(problem), problem))
        return episode.first_message, reset_info(episode, expose_answer=False)

    def reward(self, problem: Problem) -> Reward:
        """Return what judges the problem."""
        return self._task(problem).reward

    def _task(self, problem: Problem) -> Task:
        return self.stream.tasks[problem.task]

    def _play(self, problem: Problem, act: Act) -> Verdict:
        episode = Episode(Drawn(self._task(problem), problem))
        total = 0.0
        while True:
            outcome = episode.converse(act(problem, episode.transcript))
            total += outcome.reward
            if outcome.verdict is not None:
                if outcome.verdict.reason is Reason.SCORER_ERROR:
                    raise RuntimeError(outcome.verdict.feedback)
                return replace(outcome.verdict, value=None if outcome.verdict.abstains else total)


def _common_forms(tasks: Sequence[Task]) -> tuple[str, ...] | None:
    """Return the spellings that all tasks accept; None when none of them restricts any."""
    declared = [set(task.forms) for task in tasks if task.forms is not None]
    return tuple(sorted(set.intersection(*declared))) if declared else None
