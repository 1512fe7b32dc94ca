"""A pipeline of steps: each step is a sentence, a line of program, and a function, and has its typical mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from grpo_envs.code.draft import Wording
from grpo_gym.rng import Rng

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        words: What it does, as a sentence without its end: "keep only the even numbers".
        code: Lines of the program that do it; the value so far is in the pipeline's variable.
        apply: Does it, without changing its argument.
        wrong: What typical mistakes do instead.
        kind: Steps of one kind do not follow each other.
    """

    words: Wording
    code: str
    apply: Function
    wrong: Sequence[Function] = ()
    kind: str = ""


Maker = Callable[[Rng], Step]

_THEN = ("Then", "Next,", "After that,")
_LAST = ("Finally,", "At the end,", "Last,")


def drawn(rng: Rng, makers: Sequence[Maker], n: int) -> list[Step]:
    """Draw n steps, no two neighbours of one kind."""
    steps: list[Step] = []
    while len(steps) < n:
        step = rng.choice(makers)(rng)
        if not steps or step.kind != steps[-1].kind:
            steps.append(step)
    return steps


def told(steps: Sequence[Step]) -> list[Wording]:
    """Return the sentences of a pipeline."""
    sentences: list[Wording] = []
    for place, step in enumerate(steps):
        words = (step.words,) if isinstance(step.words, str) else step.words
        openings = ("First,",) if place == 0 else _LAST if place == len(steps) - 1 else _THEN
        if len(steps) == 1:
            sentences.append(tuple(f"{w[0].upper()}{w[1:]}." for w in words))
            continue
        sentences.append(tuple(f"{opening} {w}." for opening in openings for w in words))
    return sentences


def program(head: str, variable: str, steps: Sequence[Step]) -> str:
    """Return the function that goes through the steps."""
    lines = [line for step in steps for line in step.code.splitlines()]
    imports = list(dict.fromkeys(line for line in lines if line.startswith("from ")))
    body = [f"    {line}" for line in lines if line not in imports]
    if not steps[-1].code.startswith("return "):
        body.append(f"    return {variable}")
    return "\n".join([*imports, *([""] * 2 if imports else []), f"def {head}:", *body])


def composed(functions: Sequence[Function]) -> Function:
    """Return the function that applies all in order."""

    def whole(value: Any) -> Any:
        for function in functions:
            value = function(value)
        return value

    return whole


def omissions(steps: Sequence[Step]) -> list[Function]:
    """Return what the pipeline computes when one step is left out."""
    right = [step.apply for step in steps]
    return [composed([*right[:place], *right[place + 1 :]]) for place in range(len(steps))]


def slips(steps: Sequence[Step]) -> list[Function]:
    """Return what the pipeline computes with one mistake in it: a step done wrong, or two swapped."""
    right = [step.apply for step in steps]
    found: list[Function] = []
    for place, step in enumerate(steps):
        found += [composed([*right[:place], wrong, *right[place + 1 :]]) for wrong in step.wrong]
    for place in range(len(steps) - 2):
        found.append(composed([*right[:place], right[place + 1], right[place], *right[place + 2 :]]))
    return found
