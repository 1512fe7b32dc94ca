"""How a reward function of others is called: the styles that are in use, and how to tell them apart by the signature.

* plain: `(response, reference) -> number`, also with a parameter `problem`, which is handed our Problem
* trl: `(prompts, completions, **columns) -> list of numbers`
* verl: `(data_source, solution_str, ground_truth, extra_info) -> number or {"score": number}`, or with plural names and
  lists

Only what a signature takes is handed over. What cannot be told is asked for, never guessed.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.problem import Problem

STYLES = ("auto", "plain", "trl", "verl")

REFERENCES = (
    "reference", "ground_truth", "answer", "solution", "target", "label", "gold", "expected", "ground_truths",
    "answers", "solutions", "targets", "labels", "reference_answer", "expected_answer", "final_answer", "gold_answer",
)  # fmt: skip
"""Names under which rewards expect what decides."""

RESPONSES = (
    "response", "completion", "solution_str", "prediction", "pred", "predicted", "output", "text", "model_output",
    "generation", "generated", "candidate", "predict_str", "content",
)  # fmt: skip

_VERL = ("data_source", "solution_str", "ground_truth", "extra_info")
_VERL_BATCH = ("data_sources", "solution_strs", "ground_truths", "extra_infos")
_VERL_SOURCE = "openai/gsm8k"
"""Verl's own dispatcher takes known names only; sums with whole answers are of this kind."""

Row = tuple[str, Problem, Any]
"""A response, its problem, and the reference as the function is handed it. Columns of the data are in `meta`."""


@dataclass(frozen=True)
class Calling:
    """How to call a function.

    Attributes:
        style: plain, trl or verl.
        why: How it was told, for people.
        function: What is called.
        takes: Names that may be handed by keyword; None: any.
        order: For plain: the two parameters' names in the order (response, reference), where they must be named.
        whole: For plain: the second parameter takes the Problem, whatever it is called.
        reference: For trl: a column of an unusual name that takes the reference.
        messages: For trl: completions are lists of messages, not texts.
        batch: For verl: plural names and lists.
        places: For verl: how many arguments it takes by position, because their names are its own; 0: by name.
        source: For verl: the data source of rows that name none.
        offers_reference: For trl: whether there is a reference, to be offered under all usual names.
    """

    style: str
    why: str
    function: Callable[..., Any]
    takes: frozenset[str] | None = None
    order: tuple[str, str] | None = None
    whole: bool = False
    reference: str = ""
    messages: bool = False
    batch: bool = False
    places: int = 0
    source: str = _VERL_SOURCE
    offers_reference: bool = True

    @property
    def takes_lists(self) -> bool:
        """Whether one call judges several responses."""
        return self.style == "trl" or self.batch

    def __call__(self, rows: Sequence[Row]) -> list[Any]:
        """Return the reward of each row; a function that takes no lists is called once a row.

        Raises:
            InvalidValueError: A list of another length, or no list where one is due.
            Exception: Whatever the function raises.
        """
        if not self.takes_lists:
            one = self._plain if self.style == "plain" else self._verl
            return [_awaited(one(row)) for row in rows]
        result = _awaited(self._trl(rows) if self.style == "trl" else self._verl_batch(rows))
        try:
            rewards = list(result)
        except TypeError:
            raise InvalidValueError(f"a reward of style {self.style} returns a list, got {result!r:.80}") from None
        if len(rewards) != len(rows):
            count = "one completion" if len(rows) == 1 else f"{len(rows)} completions"
            raise InvalidValueError(f"{len(rewards)} rewards for {count}: {result!r:.80}")
        return rewards

    def _plain(self, row: Row) -> Any:
        response, problem, reference = row
        second: Any = problem if self.whole or (self.order and self.order[1] == "problem") else reference
        if self.order is None:
            return self.function(response, second)
        return self.function(**{self.order[0]: response, self.order[1]: second})

    def _trl(self, rows: Sequence[Row]) -> Any:
        prompts: list[Any] = [problem.prompt for _, problem, _ in rows]
        completions: list[Any] = [response for response, _, _ in rows]
        if self.messages:
            prompts = [[{"role": "user", "content": text}] for text in prompts]
            completions = [[{"role": "assistant", "content": text}] for text in completions]
        references = [reference for _, _, reference in rows]
        names = (*REFERENCES, *([self.reference] if self.reference else [])) if self.offers_reference else ()
        columns = dict.fromkeys(names, references)
        for name in dict.fromkeys(name for _, problem, _ in rows for name in problem.meta):
            columns[name] = [problem.meta.get(name) for _, problem, _ in rows]
        return self.function(
            **self._taken({**columns, "prompts": prompts, "completions": completions, "trainer_state": None})
        )

    def _verl(self, row: Row) -> Any:
        values = self._verl_values(row)
        if self.places:
            return self.function(*values[: self.places])
        return self.function(**self._taken(dict(zip(_VERL, values, strict=True))))

    def _verl_batch(self, rows: Sequence[Row]) -> Any:
        columns = zip(*map(self._verl_values, rows), strict=True)
        return self.function(**self._taken({name: [*of] for name, of in zip(_VERL_BATCH, columns, strict=True)}))

    def _verl_values(self, row: Row) -> tuple[Any, ...]:
        response, problem, reference = row
        meta = problem.meta
        return meta.get("data_source", self.source), response, reference, meta.get("extra_info") or {}

    def _taken(self, offered: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in offered.items() if self.takes is None or name in self.takes}


def calling_of(
    function: Callable[..., Any],
    spec: str,
    style: str,
    columns: Sequence[str] = (),
    option: str = "--style ",
    offers_reference: bool = True,
) -> Calling:
    """Find out how a function is called.

    Args:
        function: What is called.
        spec: Its name for errors, "module:function".
        style: "auto" to tell by the signature, or the style itself.
        columns: Names of columns that the user's data have.
        option: How a style is said where this was asked, for errors.
        offers_reference: Whether there is a reference to hand over.

    Raises:
        UnknownNameError: No such style.
        InvalidValueError: The signature fits no style, fits several, or asks for a column that nobody has.
    """
    if style not in STYLES:
        raise UnknownNameError("style of a reward", style, STYLES)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # built in: Python cannot tell
        parameters = [inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL)]
    chosen = style if style != "auto" else _told_by(parameters)
    if chosen is None:
        shown = ", ".join(str(parameter) for parameter in parameters)
        raise InvalidValueError(
            f"cannot tell how {spec}({shown}) is called: say {option}plain for (response, reference), {option}trl for "
            f"(prompts, completions, **columns) or {option}verl for (data_source, solution_str, ground_truth, "
            "extra_info)"
        )
    why = "as asked" if style != "auto" else "by its signature"
    read = {"plain": _plain, "trl": _trl, "verl": _verl}[chosen]
    return read(Calling(chosen, why, function, offers_reference=offers_reference), spec, parameters, columns)


def _told_by(parameters: list[inspect.Parameter]) -> str | None:
    """Return the style of a signature, None where it is no known one."""
    names = {parameter.name for parameter in parameters}
    needed = _needed(parameters)
    if "completions" in names:
        return "trl"
    if {"solution_str", "ground_truth"} <= names or {"solution_strs", "ground_truths"} <= names:
        return "verl"
    if len(needed) == 2:
        return "plain"
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(needed) < 2 and len(positional) == 2 and {p.name for p in positional} & {*REFERENCES, *RESPONSES}:
        return "plain"  # with a default for the reference
    return None


def _plain(calling: Calling, spec: str, parameters: list[inspect.Parameter], _: Sequence[str]) -> Calling:
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    needed = _needed(parameters)
    extra = [p.name for p in needed[2:]]
    if extra:
        raise InvalidValueError(f"{spec}: a reward of style plain takes (response, reference); it also needs {extra}")
    if len(named) < 2:
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            return calling
        raise InvalidValueError(f"{spec} takes {len(named)} argument(s): style plain needs (response, reference)")
    first, second = (needed if len(needed) == 2 else named)[:2]
    swapped = first.name in REFERENCES and second.name in RESPONSES
    if first.kind is first.POSITIONAL_ONLY or second.kind is second.POSITIONAL_ONLY:
        if swapped:
            raise InvalidValueError(f"{spec}: its parameters come as (reference, response) and cannot be named")
        return calling
    order = (second.name, first.name) if swapped else (first.name, second.name)
    return dataclasses.replace(calling, order=order)


def _trl(calling: Calling, spec: str, parameters: list[inspect.Parameter], columns: Sequence[str]) -> Calling:
    references = REFERENCES if calling.offers_reference else ()
    offered = {"prompts", "completions", "trainer_state", *references, *columns}
    unknown = [p.name for p in _needed(parameters) if p.name not in offered]
    if unknown and columns:
        raise InvalidValueError(f"{spec} needs the columns {unknown}; the data have {sorted(columns)}")
    if len(unknown) > 1:
        raise InvalidValueError(
            f"{spec} needs the columns {unknown}: give --cases FILE, a JSONL file with prompt, reference and these"
        )
    messages = any("dict" in str(p.annotation).lower() for p in parameters if p.name == "completions")
    reference = unknown[0] if unknown else ""
    return dataclasses.replace(calling, takes=_takes(parameters), reference=reference, messages=messages)


def _verl(calling: Calling, spec: str, parameters: list[inspect.Parameter], _: Sequence[str]) -> Calling:
    if all(p.kind is p.VAR_POSITIONAL for p in parameters):
        return dataclasses.replace(calling, places=4)
    batch = any(p.name == "solution_strs" for p in parameters)
    known = _VERL_BATCH if batch else _VERL
    needed = [p.name for p in _needed(parameters)]
    unknown = [name for name in needed if name not in known]
    if unknown == needed and len(needed) in (3, 4):
        return dataclasses.replace(calling, places=len(needed))
    if unknown:
        raise InvalidValueError(f"{spec}: a reward of style verl takes {known}; it also needs {unknown}")
    return dataclasses.replace(calling, takes=_takes(parameters), batch=batch)


def _needed(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    return [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _takes(parameters: list[inspect.Parameter]) -> frozenset[str] | None:
    """Return the names that may be handed over; None where any may."""
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))


def _awaited(result: Any) -> Any:
    if not inspect.iscoroutine(result):
        return result
    import asyncio  # a tenth of the price of `import grpo_gym`, for the few that are coroutines

    return asyncio.run(result)
