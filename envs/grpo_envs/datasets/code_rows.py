"""From a row of a data set to a programming problem: the statement, the tests as the judge reads them, a right program.

HumanEval: the statement is the head of a function with its docstring, to be completed. The tests are the row's `check`,
called with the function; what the head defines beside the function (imports, helpers) is `given`.

MBPP: the statement is the row's sentence, and the first of its asserts, which says how the function is called. The
paper shows all asserts; here the others stay hidden, so that a program that knows the shown one by heart fails.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grpo_envs.code.draft import fenced
from grpo_envs.datasets.code_presets import CodePreset
from grpo_gym.data.reading import RowError, column
from grpo_gym.errors import GrpoGymError
from grpo_gym.problem import Problem
from grpo_rewards.code.reference import read_reference
from grpo_rewards.code.syntax import parsed

OPTIONS = ("style", "public", "given", "entry_point", "in_place", "time_s", "memory_mb")
"""Columns of a file of one's own that go into the reference as they are."""


_KNOWN = {
    "humaneval": {"task_id", "prompt", "entry_point", "test"},
    "mbpp": {"task_id", "code", "test_list"},
}
"""Preset -> columns that give its rows away."""


@dataclass(frozen=True)
class CodeRows:
    """Turns rows into rows of the columns prompt, reference, solution, tier and meta; picklable, unlike a closure."""

    preset: CodePreset

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of what comes out, as a `Dataset` wants them."""
        columns: dict[str, Any] = {"prompt": "prompt", "reference": "reference", "solution": "solution"}
        columns["meta"] = list(self.preset.meta)
        return columns | ({"tier": "tier"} if self.preset.tier else {})

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the new row. Raises RowError for a column that is missing or is not what it should be."""
        made = {"humaneval": humaneval, "mbpp": mbpp, "plain": self._plain}[self.preset.form](row)
        if self.preset.tier:
            made["tier"] = column(row, self.preset.tier)
        return made | {name: row.get(name) for name in self.preset.meta}

    def _plain(self, row: Mapping[str, Any]) -> dict[str, Any]:
        known = next((name for name, columns in _KNOWN.items() if columns <= row.keys()), None)
        if known and self.preset.tests not in row:
            raise RowError(f"no column {self.preset.tests!r}; the columns are those of a known set: preset={known!r}")
        prompt, tests = _text(row, self.preset.prompt), _tests(column(row, self.preset.tests), self.preset.tests)
        reference = {"style": _style(tests), "tests": tests}
        reference |= {name: row[name] for name in OPTIONS if row.get(name) is not None}
        solution = row.get(self.preset.solution)
        if solution is not None and not isinstance(solution, str):
            raise RowError(f"column {self.preset.solution!r} is {solution!r:.40}, not a program")
        if solution is not None and "```" not in solution:
            solution = fenced(solution)
        return {"prompt": prompt, "reference": reference, "solution": solution}


def humaneval(row: Mapping[str, Any]) -> dict[str, Any]:
    """Read a row as in HumanEval. Raises RowError."""
    head, name, test = _text(row, "prompt"), _text(row, "entry_point"), _text(row, "test")
    reference = {
        "style": "asserts",
        "tests": f"{test.strip()}\n\ncheck({name})",
        "given": _given(head, name),
        "entry_point": name,
    }
    return {
        "prompt": f"Complete the Python function `{name}`; answer with the whole function.\n\n{fenced(head)}",
        "reference": reference,
        "solution": fenced(head + _text(row, "canonical_solution")),
    }


def mbpp(row: Mapping[str, Any]) -> dict[str, Any]:
    """Read a row as in MBPP, whole, sanitized, or with the tests of EvalPlus. Raises RowError."""
    asked = _text(row, "prompt" if "prompt" in row else "text")
    asserts = column(row, "test_list")
    if not isinstance(asserts, list) or not asserts or not all(isinstance(one, str) for one in asserts):
        raise RowError(f"column 'test_list' is {asserts!r:.40}, not a list of asserts")
    setup = row.get("test_imports") or row.get("test_setup_code") or []
    before = [setup] if isinstance(setup, str) else list(setup)
    more = row.get("test")
    tests = [*before, *asserts] if not isinstance(more, str) or not more.strip() else [*before, *asserts, more]
    reference = {
        "style": "asserts",
        "tests": "\n".join(tests),
        "public": "\n".join([*before, asserts[0]]),
    }
    code = _text(row, "code").replace("\r\n", "\n")
    if name := _called(code, asserts[0]):
        reference["entry_point"] = name
    return {
        "prompt": f"{asked.strip()}\nYour program should pass this test:\n\n{fenced(asserts[0])}",
        "reference": reference,
        "solution": fenced(code),
    }


def unusable(problem: Problem) -> str:
    """Say why a problem cannot be judged, "" when it can: the judge must be able to read its tests."""
    try:
        read_reference(problem.reference)
    except GrpoGymError as error:
        return str(error)
    return ""


def _given(head: str, name: str) -> str:
    """Return what the head of a function defines beside it."""
    try:
        tree = parsed(head)
    except SyntaxError as error:
        raise RowError(f"column 'prompt' is no head of a function: {error.msg}") from None
    tree.body = [part for part in tree.body if not (isinstance(part, ast.FunctionDef) and part.name == name)]
    return ast.unparse(tree)


def _called(code: str, test: str) -> str | None:
    """Return the function of a program that a test calls, also where it is called like a builtin one (`sum`)."""
    try:
        defined = {part.name for part in parsed(code).body if isinstance(part, ast.FunctionDef)}
        calls = [node.func for node in ast.walk(parsed(test)) if isinstance(node, ast.Call)]
    except SyntaxError as error:
        raise RowError(f"the program or its first test is no Python: {error.msg}") from None
    return next((call.id for call in calls if isinstance(call, ast.Name) and call.id in defined), None)


def _text(row: Mapping[str, Any], name: str) -> str:
    value = column(row, name)
    if not isinstance(value, str) or not value.strip():
        raise RowError(f"column {name!r} is {value!r:.40}, not a text")
    return value


def _tests(value: Any, name: str) -> Any:
    """Return tests as the judge takes them: lists of asserts become a text, JSON texts objects."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n".join(value)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except ValueError as error:
            raise RowError(f"column {name!r} begins like JSON and is none: {error}") from None
    return value


def _style(tests: Any) -> str:
    if not isinstance(tests, Mapping):
        return "asserts"
    return "function" if tests.get("fn_name") else "stdio"
