"""A data set and a reward, from anywhere, as a task: which columns are what, and how the reward is called.

    Data("train.jsonl", exact, {"prompt": "question", "reference": "answer"})
    Data(rows, lambda response, problem: float(problem.reference in response))
    Data("openai/gsm8k", "my_rewards:compute_score", subset="main")

The first row is read at once, to find the columns that nobody named and to tell those that are not there. All other
rows are read when the first problem is drawn.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grpo_gym.calling import REFERENCES, calling_of
from grpo_gym.data import Dataset, check_columns
from grpo_gym.data.reading import RowError
from grpo_gym.data.tables import read_tables
from grpo_gym.errors import DataError, InvalidValueError, nearest
from grpo_gym.foreign import ForeignReward, found_by_name
from grpo_gym.reward import Reward
from grpo_gym.task import Task

logger = logging.getLogger(__name__)

PROMPTS = ("prompt", "question", "problem", "query", "instruction", "input")
"""Where a question is looked for when no column is named, in this order; references as in `calling.REFERENCES`."""

MAX_NAME = 40

_VERL, _NESTED = "reward_model", "reward_model.ground_truth"
_NONE = "no reference"


@dataclass(frozen=True)
class Data:
    """Problems from a data set, judged by a reward.

    Attributes:
        dataset: A file, hub id, list of rows, `datasets.Dataset` or mapping from splits to these, as `grpo_gym.Dataset`
            takes them; or a Dataset, whose columns are its own. A prompt may be a list of messages with one question.
        reward: A Reward; a function `(response, problem)`; one in the style of TRL, `(completions, **columns)`, or of
            verl, `(data_source, solution_str, ground_truth, extra_info)`; or "module:function".
        columns: Problem field -> column (prompt, reference, solution, tier, meta). Those left out are looked for under
            usual names. Whatever the reward names is handed to it as well.
        weight: Its share beside others.
        style: How the reward is called, where its signature does not tell: plain, trl or verl.
        answer_format: A line under each prompt that says how to answer.
        subset: The configuration of a hub data set.
        name: What `info["task"]` calls it, "data.NAME"; default: after the file or hub id.
    """

    dataset: Any
    reward: Any
    columns: Mapping[str, str | Sequence[str]] | None = None
    weight: float = 1
    style: str = "auto"
    answer_format: str = ""
    subset: str | Sequence[str] | None = None
    name: str = ""

    def task(self) -> Task:
        """Return the task.

        Raises:
            DataError: The data cannot be read, or lack a column; it names those that exist.
            InvalidValueError: The reward is none, or it cannot be told how it is called.
            UnknownNameError: A problem field or style that does not exist.
            MissingExtraError: A file or hub id without the libraries that read it.
        """
        if isinstance(self.dataset, Dataset):
            return self._task(self.dataset, self._of_a_dataset(self.dataset))
        Dataset(self.dataset)  # what can be read only once is refused before its first row is taken
        first = _first_row(self.dataset, self.subset, self.title)
        fields = _fields(first, self.columns or {}, self.title)
        reward = self._reward([*first], "reference" in fields)
        if "reference" not in fields and not _judges_without(reward):
            raise _lacking("reference", first, self.title)
        if isinstance(reward, ForeignReward) and isinstance(first[fields["prompt"]], list):
            reward.calling = replace(reward.calling, messages=True)
        named = _strings((self.columns or {}).get("meta", ())) + _called_for(reward)
        others = () if "meta" in (self.columns or {}) else _plain_columns(first, fields["prompt"], named, self.title)
        reading = Fields(fields, tuple(name for name in dict.fromkeys(named) if name in first), others)
        logger.info("%s: %s", self.title, ", ".join(f"the {field} is {column!r}" for field, column in fields.items()))
        return self._task(Dataset(self.dataset, reading.columns, transform=reading, subset=self.subset), reward)

    @property
    def title(self) -> str:
        """What the data set is called."""
        return self.name or name_of(self.dataset)

    def _task(self, source: Dataset, reward: Any) -> Task:
        name = f"data.{self.title}"
        return Task(name, source=source, reward=reward, answer_format=self.answer_format, namespace="user")

    def _of_a_dataset(self, source: Dataset) -> Any:
        if self.columns is not None:
            raise InvalidValueError(f"columns are named twice: the Dataset of {self.title} has its own")
        return self._reward(_strings(source.columns.get("meta", ())), True)

    def _reward(self, columns: Sequence[str], has_reference: bool) -> Any:
        """Return a Reward, or what is none, which the Task refuses.

        Args:
            columns: Those of the data.
            has_reference: Whether the problems have one.
        """
        found: Any = self.reward
        if isinstance(found, str):
            if ":" not in found:
                raise InvalidValueError(f"the reward of {self.title} is {found!r}: name one as 'module:function'")
            found = found_by_name(found)
        if isinstance(found, (Reward, type)) or not callable(found):
            return found
        spec = self.reward if isinstance(self.reward, str) else getattr(found, "__name__", type(found).__name__)
        calling = calling_of(found, str(spec), self.style, columns, option="style=", offers_reference=has_reference)
        source = self.dataset if isinstance(self.dataset, str) else self.title
        if calling.style != "plain":
            return ForeignReward(replace(calling, source=source))
        second = "" if calling.order is None else calling.order[1]
        if second in columns:
            return ForeignReward(calling, column=second)
        return ForeignReward(replace(calling, whole=second not in REFERENCES))


@dataclass(frozen=True)
class Fields:
    """Reads a row: a question out of messages, verl's nested reference, and the columns that go along in `meta`.

    Attributes:
        of: Problem field -> column; without a reference it is "".
        named: Columns that somebody named; a row without one is no problem.
        others: Columns that go along where a row has them.
    """

    of: Mapping[str, str]
    named: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def columns(self) -> dict[str, str | Sequence[str]]:
        """The map that a Dataset reads the new row by."""
        return {"reference": _NONE, **self.of, "meta": (*self.named, *self.others)}

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the row as the map reads it. Raises RowError for messages that are not one question."""
        read = {**dict.fromkeys(self.others), _NONE: "", **row}
        if isinstance(row.get(_VERL), Mapping):
            read[_NESTED] = row[_VERL].get("ground_truth")
        prompt = row.get(self.of["prompt"])
        if isinstance(prompt, (list, tuple)):
            read[self.of["prompt"]] = _question(prompt)
        return read


def name_of(dataset: Any) -> str:
    """Return what to call a data set: after its file or hub id, "rows" where it has neither."""
    if isinstance(dataset, Dataset):
        return name_of(dataset.data)
    name = Path(dataset).stem if isinstance(dataset, (str, Path)) else ""
    words = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    words = re.sub(r"_(?=\d)", "", words)[:MAX_NAME].rstrip("_")  # each word of a task's name begins with a letter
    return words if words[:1].isalpha() else f"rows{words}"


def _first_row(dataset: Any, subset: Any, name: str) -> Mapping[str, Any]:
    tables = read_tables(dataset, subset)
    table = tables.get("train") or next(iter(tables.values()))
    first = next((row for _, row in table.rows if isinstance(row, Mapping)), None)
    if first is None:
        raise DataError(f"the data set {name} has no row that is an object of columns")
    return first


def _fields(first: Mapping[str, Any], columns: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return problem field -> column, those that were named and those that are found. Raises DataError."""
    check_columns(columns, needed=())
    for field, column in columns.items():
        for own in _strings(column):
            if own not in first:
                close = nearest(own, map(str, first))
                hint = f"; did you mean {close!r}?" if close else ""
                raise DataError(f"{name} has no column {own!r} for the {field}{hint} (it has {_shown(first)})")
    fields: dict[str, str] = {field: column for field, column in columns.items() if field != "meta"}
    for field, usual in (("prompt", PROMPTS), ("reference", REFERENCES)):
        found = next((own for own in usual if first.get(own) is not None and own not in fields.values()), None)
        if field not in fields and found is not None:
            fields[field] = found
    nested = first.get(_VERL)
    if "reference" not in fields and isinstance(nested, Mapping) and nested.get("ground_truth") is not None:
        fields["reference"] = _NESTED
    if "prompt" not in fields:
        raise _lacking("prompt", first, name)
    return fields


def _judges_without(reward: Any) -> bool:
    """Whether a reward can do without a reference: a function that is handed columns or the whole problem."""
    if not isinstance(reward, ForeignReward):
        return False
    calling = reward.calling
    return calling.style == "trl" or (calling.style == "plain" and (calling.whole or bool(reward.column)))


def _called_for(reward: Any) -> tuple[str, ...]:
    """Return the names that a reward's signature has."""
    if not isinstance(reward, ForeignReward):
        return ()
    return (*([reward.column] if reward.column else []), *sorted(reward.calling.takes or ()))


def _plain_columns(first: Mapping[str, Any], prompt: str, named: Sequence[str], name: str) -> tuple[str, ...]:
    """Return the columns that nobody named and that may go along: JSON values, and not the prompt once more."""
    plain = {column: _is_json(value) for column, value in first.items() if column not in (prompt, *named)}
    if odd := [column for column, ok in plain.items() if not ok]:
        logger.warning("%s: the columns %s are no JSON values and are not handed to the reward", name, odd)
    return tuple(column for column, ok in plain.items() if ok)


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _question(messages: Sequence[Any]) -> str:
    """Return a conversation that holds one question as a text: what the system says, then the question."""
    roles = [message.get("role") if isinstance(message, Mapping) else None for message in messages]
    if roles not in (["user"], ["system", "user"]):
        raise RowError(f"the prompt has messages of the roles {roles}: a question is one of a user, behind a system's")
    texts = [message["content"] for message in messages if message.get("content")]
    if not all(isinstance(text, str) for text in texts):
        raise RowError("the prompt has a message that is no text")
    return "\n\n".join(texts)


def _lacking(field: str, first: Mapping[str, Any], name: str) -> DataError:
    return DataError(f"which column of {name} is the {field}? It has {_shown(first)}: say columns={{{field!r}: ...}}")


def _shown(row: Mapping[str, Any]) -> str:
    return ", ".join(repr(str(column)) for column in row) or "none"


def _strings(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
