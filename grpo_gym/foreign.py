"""A reward function of others as a Reward: found by its name, called as `calling.py` found out, its result read.

A function that takes lists is called once for a batch. Should that fail, scoring goes on one by one, so that one answer
on which it raises costs one row.
"""

from __future__ import annotations

import importlib
import inspect
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grpo_gym.calling import Calling
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.problem import Problem
from grpo_gym.reward import Reward
from grpo_gym.verdict import Reason, Verdict

Spell = Callable[[Any], Any]
"""Turns our reference into what a function is handed."""


def same(reference: Any) -> Any:
    """Hand a reference over as it is."""
    return reference


class ForeignReward(Reward):
    """A function of others that is called as it wants.

    None abstains, and so does NaN where the style has it mean that (trl).

    Args:
        calling: How it is called.
        spell: Turns our reference into what it is handed.
        range: The least and the most it pays.
        column: A column of the data that is handed over in the reference's place; "" for none.
    """

    def __init__(
        self, calling: Calling, spell: Spell = same, range: tuple[float, float] = (0.0, 1.0), column: str = ""
    ) -> None:
        self.calling = calling
        self.spell = spell
        self.range = range
        self.column = column

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one answer. Raises what the function raises, and InvalidValueError for what is no number."""
        return self.score_batch([(response, problem)])[0]

    def score_batch(self, rows: Sequence[tuple[str, Problem]]) -> list[Verdict]:
        """Judge several answers, by one call where the function takes lists. Raises as `score`."""
        results = self.calling([(response, problem, self._reference(problem)) for response, problem in rows])
        return [self._verdict(result) for result in results]

    def _reference(self, problem: Problem) -> Any:
        return problem.meta[self.column] if self.column else self.spell(problem.reference)

    def _verdict(self, result: Any) -> Verdict:
        if isinstance(result, Verdict):
            return result
        components: dict[str, float] = {}
        if isinstance(result, Mapping):
            if "score" not in result:
                raise InvalidValueError(f"it returned a dictionary without 'score': {sorted(map(str, result))}")
            others = {str(name): value for name, value in result.items() if name != "score"}
            components = {name: float(value) for name, value in others.items() if isinstance(value, numbers.Real)}
            result = result["score"]
        if result is None:
            return Verdict.abstain("it returned None")
        if isinstance(result, (str, bytes)):
            raise InvalidValueError(f"it returned the text {result!r:.60}, not a number")
        try:
            value = float(result)
        except (TypeError, ValueError) as error:
            raise InvalidValueError(f"it returned {result!r:.60}, not a number: {error}") from error
        if math.isnan(value) and self.calling.style == "trl":
            return Verdict.abstain("it returned NaN")
        return Verdict(value, Reason.CORRECT if value >= self.range[1] else Reason.WRONG, components)


def found_by_name(spec: str) -> Callable[..., Any] | Reward:
    """Return what "module:function" names, a Reward among them; a class is made without arguments.

    Raises:
        InvalidValueError: The module cannot be imported, or what is there cannot be called.
        UnknownNameError: Nothing in the module is so called; names the nearest.
    """
    module, _, name = spec.rpartition(":")
    try:
        owner = importlib.import_module(module)
    except (ImportError, ValueError) as error:
        raise InvalidValueError(f"cannot import the module of {spec!r}: {error}") from error
    if not hasattr(owner, name):
        raise UnknownNameError(f"attribute of {module}", name, [known for known in vars(owner) if known[0] != "_"])
    found = getattr(owner, name)
    if inspect.isclass(found):
        try:
            found = found()
        except TypeError as error:
            raise InvalidValueError(
                f"{spec} is a class that needs arguments ({error}): name an object of it"
            ) from error
    if isinstance(found, Reward):
        return found
    if not callable(found):
        raise InvalidValueError(f"{spec} is {found!r:.60}: neither a function nor a class with __call__")
    called: Callable[..., Any] = found
    return called
