"""The completions of a finished run, scored again: by another reward, or by the same one after it was mended.

No model is needed and no learning library: a run's problems are a pure function of their seeds. The environment of
config.yaml, reset with a completion's seed, shows the problem that the policy saw, and the completion stands in the
log. That it is the same problem is checked for every completion (by `problem_id`, or by the text where an environment
gives none); where it is not, the completion is left out, and counted under the cause.

    one turn, our environment    `score_all`: errors are verdicts, equal answers are judged once, slow rewards pooled
    several turns, or not ours   the texts are played again; no reward is given then, the environment judges
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from grpo_agents.config import TrainConfig
from grpo_agents.environments import EnvChoice, ask, reset_rows, seeds_for
from grpo_agents.row_guard import number
from grpo_agents.run_log import COMPLETIONS, RunLog
from grpo_gym.errors import CheckpointError, InvalidValueError
from grpo_gym.infos import row_info
from grpo_gym.problem import Problem
from grpo_gym.reward import Reward
from grpo_gym.scoring import score_all
from grpo_gym.stream import Drawn, ProblemStream
from grpo_gym.verdict import Verdict

NOTHING_SAID = "nothing was said: the prompt did not fit the context"
OTHER_PROBLEM = (
    "the seed leads to another problem now: the task or the options of the environment changed, or the run was given "
    "an environment of its own"
)
SEVERAL_TURNS = "an episode of several turns: its dialogue judges it, no reward can"
NOT_OVER = "the episode goes on now where it ended then"
NOT_FINITE = "the reward is not finite"
END = 80
"""Characters of a completion's end that are kept for reports."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Rescored:
    """One completion with its old and its new judgement.

    Attributes:
        completion_id: Its name in completions.jsonl.
        step: Step of the run.
        task: Task name; "" in environments that give none.
        old: The reward then; None when it was not judged.
        old_parts: The reward's components then.
        new: The reward now; None when the scorer abstains.
        parts: The reward's components now.
        reason: Why.
        feedback: What the scorer says about it.
        leaves: What a composite reward says of each of its parts (`details["leaves"]`); empty for others.
        end: The last characters of what the policy wrote.
    """

    completion_id: str
    step: int
    task: str
    old: float | None
    old_parts: Mapping[str, float]
    new: float | None
    parts: Mapping[str, float]
    reason: str
    feedback: str = ""
    leaves: Any = ()
    end: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the line of the file that a rescoring leaves."""
        return {
            "completion_id": self.completion_id,
            "step": self.step,
            "task": self.task,
            "old_reward": self.old,
            "reward": 0.0 if self.new is None else self.new,
            "rewards": dict(self.parts),
            "reason": self.reason,
            "abstain": self.new is None,
            "feedback": self.feedback,
        }


@dataclass(frozen=True)
class Rescoring:
    """What came of a run's completions.

    Attributes:
        rows: The completions that were scored again, in the order of the log.
        left_out: Cause -> how many were not.
    """

    rows: list[Rescored] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def rescore(log: RunLog, reward: Reward | None = None, steps: range | None = None) -> Rescoring:
    """Score a run's completions again.

    Args:
        log: The run.
        reward: Judges instead of the environment's own; it stays open.
        steps: Only completions of these steps.

    Raises:
        CheckpointError: The folder holds no run or a damaged log.
        InvalidValueError: A reward is given for an environment of others, whose problems are not known.
        UnknownNameError: The run's environment is not there any more.
    """
    config = log.train_config()
    choice = EnvChoice.of(config)
    if reward is not None and not choice.ours:
        choice.check()  # an id that does not exist is told first
        raise InvalidValueError(
            f"{choice.id} is not one of grpo-gym's environments: its problems are known to itself alone, so only its "
            "own reward can score again"
        )
    found = Rescoring()
    with closing(_Scorer(choice, config, reward)) as scorer:
        for step, records in _by_step(log, steps):
            for result in scorer.score_step(step, records):
                if isinstance(result, str):
                    found.left_out[result] += 1
                else:
                    found.rows.append(result)
    return found


class _Scorer:
    """A run's environment, asked again."""

    def __init__(self, choice: EnvChoice, config: TrainConfig, reward: Reward | None) -> None:
        self.config = config
        self.given = reward
        self.env = choice.vector(1)
        inside: Any = self.env.unwrapped
        self.stream: ProblemStream | None = inside.stream if choice.ours else None
        self.reward = reward or (inside.reward if choice.ours else None)

    def score_step(self, step: int, records: Sequence[Row]) -> list[Rescored | str]:
        """Return for each completion of a step its new judgement, or why it has none."""
        seeds = seeds_for("train", self.config.seed, step, self.config.prompts)
        drawn: dict[int, Drawn] = {}
        results: list[Rescored | str | None] = []
        waiting: list[tuple[int, str, Drawn]] = []
        for place, record in enumerate(records):
            texts, group = _texts(record), record["group"]
            seed = record.get("seed")
            if seed is None and group < len(seeds):
                seed = seeds[group]
            if not texts or seed is None:
                results.append(OTHER_PROBLEM if texts else NOTHING_SAID)
                continue
            if self.stream is None:
                results.append(self._play(record, texts, seed))
                continue
            if seed not in drawn:
                drawn[seed] = self._drawn(seed, record)
            judged = self._own(record, texts, drawn[seed], seed)
            if judged is None:
                waiting.append((place, texts[0], drawn[seed]))
            results.append(judged)
        verdicts = score_all(self.reward, [(text, of) for _, text, of in waiting], holder=self.env.unwrapped)
        for (place, _, _), verdict in zip(waiting, verdicts, strict=True):
            results[place] = _judged(records[place], verdict)
        return [result for result in results if result is not None]

    def _drawn(self, seed: int, record: Row) -> Drawn:
        """Return the problem of a seed: the one the stream shows, or that which a curriculum or a schedule chose."""
        assert self.stream is not None
        usual = self.stream.at(seed, 0)
        task, tier = record.get("task"), record.get("tier")
        if usual.problem.problem_id == record.get("problem_id") or task not in self.stream.tasks:
            return usual
        of_task = self.stream.at(seed, 0, {"task": task})
        if of_task.problem.problem_id == record.get("problem_id") or tier not in of_task.task.tiers:
            return of_task
        return self.stream.at(seed, 0, {"task": task, "tier": tier})

    def _own(self, record: Row, texts: Sequence[str], drawn: Drawn, seed: int) -> Rescored | str | None:
        """Return what came of a completion in one of our environments; None for one that waits for its verdict."""
        alone = drawn.task.dialogue is None
        if drawn.problem.problem_id != record.get("problem_id") or (alone and len(texts) > 1):
            return OTHER_PROBLEM
        if alone:
            return None
        return SEVERAL_TURNS if self.given is not None else self._play(record, texts, seed, drawn.problem)

    def _play(self, record: Row, texts: Sequence[str], seed: int, problem: Problem | None = None) -> Rescored | str:
        """Play an episode's texts again in the environment; in one of ours, on the problem given."""
        observations, infos = reset_rows(self.env, [seed], **({} if problem is None else {"problem": problem}))
        if not _same_problem(record, observations[0], row_info(infos, 0)):
            return OTHER_PROBLEM
        reward = 0.0
        for text in texts:
            _, rewards, terminated, truncated, infos = ask(self.env.step, (text,))
            reward += number(rewards[0])
            if terminated[0] or truncated[0]:
                return _played(record, reward, row_info(infos.get("final_info", infos), 0))
        return NOT_OVER

    def close(self) -> None:
        """Close the environment; with it go the worker processes of slow rewards."""
        self.env.close()


def _by_step(log: RunLog, steps: range | None) -> Iterator[tuple[int, list[Row]]]:
    """Yield the completions step by step. Raises CheckpointError for a line that is no completion."""
    records = (record for record in log.read(COMPLETIONS) if _is_wanted(record, steps, log))
    for step, group in groupby(records, key=itemgetter("step")):
        yield step, list(group)


def _is_wanted(record: Any, steps: range | None, log: RunLog) -> bool:
    whole = isinstance(record, dict) and all(isinstance(record.get(key), int) for key in ("step", "group"))
    if not whole or "completion" not in record:
        raise CheckpointError(f"{log.path / COMPLETIONS} is damaged: {record!r:.80} is no completion")
    return steps is None or record["step"] in steps


def _texts(record: Row) -> list[str]:
    """Return what the policy said, one text per turn; nothing when it was not asked."""
    said = record["completion"]
    return [said] if isinstance(said, str) else [str(text) for text in said]


def _same_problem(record: Row, text: Any, info: Row) -> bool:
    """Whether an episode begins as the recorded one did."""
    if record.get("problem_id"):
        return str(info.get("problem_id")) == str(record["problem_id"])
    return bool(text == record.get("prompt"))


def _judged(record: Row, verdict: Verdict) -> Rescored:
    components = {name: float(value) for name, value in verdict.components.items()}
    return Rescored(
        **_before(record),
        new=None if verdict.abstains else float(verdict),
        parts=components or {"score": float(verdict)},  # as an environment's info says it
        reason=str(verdict.reason),
        feedback=str(verdict.feedback),
        leaves=verdict.details.get("leaves", ()),
    )


def _played(record: Row, reward: float, info: Row) -> Rescored:
    finite = math.isfinite(reward)
    parts = info.get("rewards")
    return Rescored(
        **_before(record),
        new=reward if finite and not info.get("abstain") else None,
        parts={str(k): float(v) for k, v in parts.items()} if isinstance(parts, dict) else {},
        reason=str(info.get("reason", "")),
        feedback=str(info.get("feedback", "")) if finite else NOT_FINITE,
    )


def _before(record: Row) -> dict[str, Any]:
    """Return the fields of a Rescored that the log gives."""
    texts, parts = _texts(record), record.get("rewards")
    return {
        "completion_id": str(record.get("completion_id", "")),
        "step": record["step"],
        "task": str(record.get("task") or ""),
        "old": record.get("reward") if record.get("valid", True) else None,
        "old_parts": parts if isinstance(parts, dict) else {},
        "end": texts[-1][-END:],
    }
