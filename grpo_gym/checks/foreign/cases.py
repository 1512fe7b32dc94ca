"""Problems to ask a reward of others with: sums of our own, or a file of the user's.

A file is JSONL, JSON or parquet. Of each row, `prompt` (or question, problem, query) is the question, and `reference`
(or ground_truth, target, ..., else `answer`, else `solution`) decides. An `answer` beside a reference is a text that
should earn the most, and so is a `solution` beside an answer. All columns are handed on to the reward by their names.
Rows as verl keeps them are understood: messages as the prompt, and the reference inside `reward_model`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grpo_gym.calling import REFERENCES
from grpo_gym.data.tables import NotJson, read_tables
from grpo_gym.errors import DataError
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.sources import Key, Procedural, labelled

TEXTS = ("answer", "solution")
"""Columns that may be a right answer in words, where another one decides."""

PROMPTS = ("prompt", "question", "problem", "query", "instruction", "input")


def sum_of_two(rng: Rng, _: int) -> Problem:
    """Add or subtract two numbers of three or four digits; the answer is a whole number from 0 to 19,998."""
    larger, smaller = sorted((rng.integer(100, 9_999), rng.integer(100, 9_999)), reverse=True)
    if rng.chance(1, 2):
        return Problem(f"What is {larger} - {smaller}?", reference=str(larger - smaller))
    return Problem(f"What is {smaller} + {larger}?", reference=str(smaller + larger))


SUMS = Procedural(sum_of_two)


class Cases:
    """The rows of a file as a Source; every split has them all.

    Attributes:
        rows: The problems, without names.
        columns: The names of their columns.
    """

    tiers = (0,)

    def __init__(self, path: Path) -> None:
        tables = read_tables(path).values()
        numbered = [(table, number, row) for table in tables for number, row in table.rows]
        self.rows = [_problem(row, f"{table.unit} {number} of {table.name}") for table, number, row in numbered]
        self.columns = tuple(dict.fromkeys(name for row in self.rows for name in row.meta))
        if not self.rows:
            raise DataError(f"{str(path)!r} has no rows")

    def problem(self, key: Key) -> Problem:
        """Return the row at a key's index; after the last comes the first."""
        return labelled(self.rows[key.index % len(self.rows)], key)


def _problem(row: Any, where: str) -> Problem:
    """Return a row as a Problem. Raises DataError when it has no question or no reference."""
    if isinstance(row, NotJson) or not isinstance(row, dict):
        raise DataError(f"{where}: {row if isinstance(row, NotJson) else f'not an object: {row!r:.60}'}")
    prompt = next((row[name] for name in PROMPTS if row.get(name)), None)
    if isinstance(prompt, list):
        prompt = "\n".join(str(message.get("content", "")) for message in prompt if isinstance(message, dict))
    named = {name: row[name] for name in (*REFERENCES, *TEXTS) if row.get(name) is not None}
    nested = row.get("reward_model")
    if isinstance(nested, dict) and nested.get("ground_truth") is not None:
        named = {"ground_truth": nested["ground_truth"], **named}
    if not isinstance(prompt, str) or not named:
        raise DataError(f"{where} has the columns {sorted(row)}: it needs a 'prompt' and a 'reference'")
    decides = next(name for name in named if name not in TEXTS or len({*named} - {*TEXTS}) == 0)
    text = next((named[name] for name in TEXTS if name in named and name != decides), None)
    solution = text if isinstance(text, str) else None
    return Problem(prompt, named[decides], solution=solution, meta=row)
