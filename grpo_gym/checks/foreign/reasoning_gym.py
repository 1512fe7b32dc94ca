"""A data set of reasoning-gym as a task: its items as its users draw them, judged by its own `score_answer`.

reasoning-gym knows neither tiers nor splits: an item is a function of a seed and its position. So every split asked for
is a range of seeds of its own, and tier 0 is the data set's default configuration. Its scorer wants the whole entry
beside the answer; the entry is made again from the seed and the position, as another process would have to.
"""

from __future__ import annotations

import functools
import importlib
import re
from typing import Any

from grpo_gym.checks.target import TaskTarget
from grpo_gym.errors import GeneratorError, MissingExtraError, UnknownNameError
from grpo_gym.problem import Problem, Split
from grpo_gym.reward import Reward
from grpo_gym.sources import Key, labelled
from grpo_gym.task import Task
from grpo_gym.verdict import Reason, Verdict

SIZE = 2_000
"""Items of a data set: more than a check asks for. Most are made when asked for, some data sets draw on all at once."""

DATASETS_KEPT, ENTRIES_KEPT = 16, 4_096

MIXTURE = "composite"
"""Made of others that a configuration must name: no data set by itself."""

_SEEDS: dict[Split, int] = {"train": 0, "val": 1 << 30, "test": 1 << 31}
"""Where the seeds of a split begin."""


class Items:
    """The items of one data set as a Source.

    Args:
        name: The data set's name, e.g. "chain_sum".
    """

    tiers = (0,)

    def __init__(self, name: str) -> None:
        self.name = name
        self.dataset = functools.lru_cache(DATASETS_KEPT)(self._create)
        self._entries: dict[tuple[int, int], dict[str, Any]] = {}

    def problem(self, key: Key) -> Problem:
        """Return the item at a key, made anew. Raises GeneratorError when the data set fails on it."""
        seed, index = (_SEEDS[key.split] + key.seed) % 2**32, key.index
        try:
            entry = self._make(seed, index)
        except Exception as error:
            raise GeneratorError(
                f"{self.name} fails at seed {seed}, item {index}: {type(error).__name__}: {error}"
            ) from error
        problem = Problem(str(entry["question"]), entry["answer"], meta={"seed": seed, "index": index})
        return labelled(problem, key)

    def entry(self, seed: int, index: int) -> dict[str, Any]:
        """Return an item with all that the scorer wants: the one made last, else made anew."""
        known = self._entries.get((seed, index))
        return self._make(seed, index) if known is None else known

    def _create(self, seed: int) -> Any:
        return _library().create_dataset(self.name, seed=seed, size=SIZE)

    def _make(self, seed: int, index: int) -> dict[str, Any]:
        entry: dict[str, Any] = self.dataset(seed)[index]
        if len(self._entries) >= ENTRIES_KEPT:
            self._entries.clear()
        self._entries[seed, index] = entry
        return entry


class ScoreAnswer(Reward):
    """reasoning-gym's own verdict.

    Args:
        items: The data set's items.
    """

    def __init__(self, items: Items) -> None:
        self.items = items

    def score(self, response: str, problem: Problem) -> Verdict:
        """Hand the answer to `score_answer` with its entry. Raises whatever that raises."""
        seed, index = problem.meta["seed"], problem.meta["index"]
        value = float(self.items.dataset(seed).score_answer(response, self.items.entry(seed, index)))
        return Verdict(value, Reason.CORRECT if value >= 1.0 else Reason.WRONG)


def target_of_dataset(name: str) -> TaskTarget:
    """Return a data set as the thing under check."""
    seeds = "the data set has no splits, only seeds"
    return TaskTarget(
        f"reasoning_gym:{name}", [task_of_dataset(name)], foreign=True, note=seeds, not_applicable={"splits": seeds}
    )


def task_of_dataset(name: str) -> Task:
    """Return a data set of reasoning-gym as a task.

    Raises:
        MissingExtraError: reasoning-gym is not installed.
        UnknownNameError: It has no data set of this name.
    """
    if name not in dataset_names():
        raise UnknownNameError("data set of reasoning-gym", name, dataset_names())
    items = Items(name)
    task_name = re.sub(r"_(?=\d)", "", name.lower())  # "arc_1d" would be a word that begins with a digit
    return Task(
        f"reasoning.{task_name}",
        source=items,
        reward=ScoreAnswer(items),
        answer_format="Write the answer and nothing else.",
        tiers=(0,),
        answer=_answer,
        namespace="reasoning_gym",
    )


def _answer(problem: Problem) -> Any:
    """Return the entry's answer as text: the scorers are called with it bare. None where it has none."""
    return None if problem.reference is None else str(problem.reference)


def dataset_names() -> list[str]:
    """Return the names of all data sets. Raises MissingExtraError when reasoning-gym is not installed."""
    known: dict[str, Any] = _library("reasoning_gym.factory").DATASETS
    return sorted(name for name in known if name != MIXTURE)


def _library(module: str = "reasoning_gym") -> Any:
    try:
        importlib.import_module("reasoning_gym")  # fills the registry
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError("checking a data set of reasoning-gym", "bench") from error
