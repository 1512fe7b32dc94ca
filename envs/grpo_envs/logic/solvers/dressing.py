"""Puzzles whose costly part has no words: it is made once, and words are drawn for it until they fall into the split.

A problem's split is a matter of its content, and to hit a tenth of all content takes ten draws. Other names make other
content, so the names are what is drawn again, and the clues with their proof are not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

from grpo_gym.errors import GeneratorError, GrpoGymError
from grpo_gym.problem import Problem, split_of
from grpo_gym.rng import Rng
from grpo_gym.sources import MAX_REDRAWS, Key, Procedural, labelled
from grpo_gym.task import TIERS, Task


class Dress(Protocol):
    """A puzzle in words."""

    @property
    def prompt(self) -> str:
        """The question."""

    def problem(self) -> Problem:
        """Return the problem, with its worked solution."""


class Bare(Protocol):
    """A puzzle without words."""

    def dressed(self, rng: Rng) -> Dress:
        """Draw words for it."""


class Dressed(Procedural):
    """Problems from a generator of bare puzzles."""

    def __init__(self, make: Callable[[Rng, int], Bare]) -> None:
        @wraps(make)  # named as the generator, so that a pickled source is found again
        def generate(rng: Rng, tier: int) -> Problem:
            return self.draft(rng, tier).problem()

        super().__init__(generate)
        self.make = make

    def draft(self, rng: Rng, tier: int) -> Dress:
        """Draw a puzzle and its words."""
        return self.make(rng, tier).dressed(rng)

    def problem(self, key: Key) -> Problem:
        """Return the problem at `key`. Raises GeneratorError when the generator fails or the split stays empty."""
        rng = Rng(key.task, key.version, key.tier, key.split, key.seed, key.index)
        try:
            bare = self.make(rng, key.tier)
            for _ in range(MAX_REDRAWS):
                dress = bare.dressed(rng)
                if split_of(Problem(dress.prompt, None).content) == key.split:
                    return labelled(dress.problem(), key)
        except GrpoGymError:
            raise
        except Exception as error:
            raise GeneratorError(f"the generator failed at {key}: {type(error).__name__}: {error}") from error
        raise GeneratorError(f"no {key.split} problem in {MAX_REDRAWS} draws of words at {key}")


def dressing(name: str, **fields: Any) -> Callable[[Callable[[Rng, int], Bare]], Task]:
    """Turn a generator of bare puzzles into a Task. The keywords are Task's fields."""

    def decorate(make: Callable[[Rng, int], Bare]) -> Task:
        return Task(name=name, source=Dressed(make), tiers=tuple(TIERS), **fields)

    return decorate
