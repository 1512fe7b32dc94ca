r"""From a row of a data set to a problem: the answer is taken out of its column, the solution ends in the asked format.

Two promises: every reference that comes out here is one that the verifier accepts as an answer to itself (`unusable`
says why not, and the row is counted and named), and every solution is a right answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grpo_envs.boxed import boxed
from grpo_envs.datasets.presets import Preset, Reader
from grpo_gym.data.reading import RowError, column
from grpo_gym.problem import Problem
from grpo_rewards.math import DEFAULT, MathReward
from grpo_rewards.math.extract import final_answer

REWARD = MathReward(DEFAULT)
"""Judges answers to the rows of data sets."""

ANNOTATION = re.compile(r"<<([^<>=]*)=([^<>]*)>>")
"""A calculation in a solution of GSM8K: `<<48/2=24>>`."""

_THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII)
_LEVEL = re.compile(r"(?:level\s*)?([0-5])(?:\.0)?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class Rows:
    """Turns rows into rows of the columns prompt, reference, solution, tier and meta; picklable, unlike a closure."""

    preset: Preset

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of what comes out, as a `Dataset` wants them."""
        columns: dict[str, Any] = {"prompt": "prompt", "reference": "reference", "solution": "solution"}
        columns["meta"] = [*self.preset.meta, *(["annotated"] if self.preset.annotated else [])]
        return columns | ({"tier": "tier"} if self.preset.tier else {})

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the new row. Raises RowError for a column that is missing or an answer that cannot be found."""
        preset = self.preset
        name, value = self._found(row, tuple(dict(preset.reference)))
        reference = read(value, dict(preset.reference)[name], name)
        asked, prompt = self._found(row, preset.prompt)
        if not isinstance(prompt, str) or not prompt.strip():
            raise RowError(f"column {asked!r} is {prompt!r:.40}, not a question")
        told = optional(row, preset.solution)
        text = told if isinstance(told, str) and told.strip() else None
        made: dict[str, Any] = {meta: optional(row, names) for meta, names in preset.meta.items()}
        made |= {"prompt": prompt, "reference": reference}
        made["solution"] = None if text is None else finished(text, reference)
        if preset.annotated:
            made["annotated"] = text
        if preset.tier:
            name, value = self._found(row, preset.tier)
            made["tier"] = level(value, name)
        return made

    def _found(self, row: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, Any]:
        """Return the first of several columns that a row has, with its value. Raises RowError when there is none."""
        name = next((name for name in names if name in row), names[0])
        try:
            value = column(row, name)
        except RowError as error:
            hint = (
                ""
                if self.preset.names
                else "; say which with columns={'prompt': ..., 'reference': ...} or preset='gsm8k'"
            )
            raise RowError(f"{error}{hint}") from None
        if value is None:
            raise RowError(f"column {name!r} is empty")
        return name, value


def optional(row: Mapping[str, Any], names: Any) -> Any:
    """Return the value of the first of several columns that a row has, None when it has none."""
    return next((row[name] for name in names if name in row), None)


def read(value: Any, how: Reader, name: str) -> Any:
    """Take the answer out of its column. Raises RowError when it is not there."""
    if how == "listed":
        if isinstance(value, str) or not isinstance(value, (list, tuple)):
            return value
        if not value:
            raise RowError(f"column {name!r} is an empty list")
        return ", ".join(map(str, value))
    if how == "text":
        return value
    if not isinstance(value, str):
        raise RowError(f"column {name!r} is {value!r:.40}, not a solution")
    if how == "hashes":
        _, hashes, answer = value.rpartition("####")
        if not hashes or not answer.strip():
            raise RowError(f"column {name!r} has no answer behind ####: {value!r:.60}")
        return without_separators(answer.strip())
    found = final_answer(value)
    if not found.text or not found.marked:
        raise RowError(f"column {name!r} has no \\boxed{{}}: {value!r:.60}")
    return ", ".join(found.parts) if found.joined and found.parts else found.text


def without_separators(number: str) -> str:
    """Write 1,250 as 1250; anything else stays as it is."""
    return number.replace(",", "") if _THOUSANDS.fullmatch(number) else number


def level(value: Any, name: str) -> int:
    """Return the tier of a level: 3, 3.0 or "Level 3" is tier 3. Raises RowError for any other."""
    match = None if isinstance(value, bool) else _LEVEL.fullmatch(str(value).strip())
    if match is None:
        raise RowError(f"column {name!r} is {value!r:.40}, not a level from 0 to 5")
    return int(match[1])


def finished(solution: str, reference: Any) -> str:
    r"""Return a solution as one that ends in the asked format: annotations and `####` give way to a box."""
    text = ANNOTATION.sub("", solution).strip()
    body, hashes, _ = text.rpartition("####")
    text = body.strip() if hashes else text
    problem = Problem("", reference)
    if REWARD.score(text, problem) and "\\boxed" in text:
        return text
    return f"{text}\n{boxed(problem)}"


def unusable(problem: Problem) -> str:
    """Say why a problem cannot be judged, "" when it can: its own reference must be a right answer to it."""
    reference = str(problem.reference)
    if "\n" in reference.strip() or "####" in reference:
        return f"the reference is a whole solution ({reference!r:.50}): name the preset that reads it, preset='gsm8k'"
    verdict = REWARD.score(boxed(problem), problem)
    if verdict.abstains:
        return f"the verifier cannot read the reference {reference!r:.60}"
    if not verdict:
        return f"the verifier refuses the reference {reference!r:.60} as an answer to itself ({verdict.reason})"
    return ""
