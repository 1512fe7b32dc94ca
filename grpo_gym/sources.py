"""Where problems come from: a generator or the rows of a data set. A problem is a pure function of its key."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from grpo_gym.errors import GeneratorError, GrpoGymError
from grpo_gym.problem import Problem, Split, content_digest, split_of_digest
from grpo_gym.rng import Rng

Generator = Callable[[Rng, int], Problem]

MAX_REDRAWS = 2_000
"""Draws until a generator must have hit a split. A tenth of all content is `val`: missing it 2,000 times in a row has
probability 1e-91, unless the tier has no such content at all."""


@dataclass(frozen=True)
class Key:
    """What a problem is a function of.

    Attributes:
        task: Full task name, "grpo/math.linear".
        version: The task's version.
        tier: Difficulty, 0 to 5.
        split: Which bucket of content.
        seed: Names a stream of problems.
        index: Position in that stream.
    """

    task: str
    version: int
    tier: int
    split: Split
    seed: int
    index: int


class Source(Protocol):
    """Gives the problem at a key."""

    def problem(self, key: Key) -> Problem:
        """Return the problem at `key`, all fields filled. Raises GrpoGymError when there is none."""


class Procedural:
    """Problems from a generator `(rng, tier) -> Problem`.

    A problem belongs to the split that the hash of its content says; the generator is drawn again until that is the
    split asked for. So nothing that occurs in one split can occur in another, whatever the seeds.
    """

    def __init__(self, generate: Generator) -> None:
        self.generate = generate

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        """Pickle and copy by reference where `@task` has put a Task in its generator's place: else neither is found."""
        module, name = getattr(self.generate, "__module__", ""), getattr(self.generate, "__qualname__", "")
        if getattr(getattr(sys.modules.get(module), name, None), "source", None) is self:
            return _source_at, (module, name)
        return super().__reduce_ex__(protocol)

    def problem(self, key: Key) -> Problem:
        """Return the problem at `key`. Raises GeneratorError when the generator fails or the split stays empty."""
        rng = Rng(key.task, key.version, key.tier, key.split, key.seed, key.index)
        for _ in range(MAX_REDRAWS):
            try:
                problem = self.generate(rng, key.tier)
            except GrpoGymError:
                raise
            except Exception as error:
                raise GeneratorError(f"the generator failed at {key}: {type(error).__name__}: {error}") from error
            if not isinstance(problem, Problem):
                raise GeneratorError(f"the generator of {key.task} returned {type(problem).__name__}, not a Problem")
            digest = content_digest(problem.content)
            if split_of_digest(digest) == key.split:
                return _labelled(problem, key, digest)
        raise GeneratorError(
            f"no {key.split} problem in {MAX_REDRAWS} draws at {key}: the tier has too little distinct content"
        )


def _source_at(module: str, name: str) -> Procedural:
    source = getattr(importlib.import_module(module), name).source
    assert isinstance(source, Procedural)
    return source


def labelled(problem: Problem, key: Key) -> Problem:
    """Return the problem with task, tier, split and problem_id filled from its key and content."""
    return _labelled(problem, key, content_digest(problem.content))


def _labelled(problem: Problem, key: Key, digest: bytes) -> Problem:
    name = key.task.split("/", 1)[-1]
    problem_id = f"{name}-t{key.tier}-{digest[:8].hex()}"
    p = problem  # not by dataclasses.replace, which takes as long as the hash
    return Problem(p.prompt, p.reference, p.solution, p.meta, p.variant, name, key.tier, key.split, problem_id)
