"""The tests of one job. What is wrong with them is said before anything runs: a broken test never costs an answer."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, get_args

from grpo_gym.errors import InvalidValueError, UnknownNameError, nearest
from grpo_gym.scoring import is_finite
from grpo_rewards.code.plain import shown, why_not_plain
from grpo_rewards.code.syntax import parsed

Style = Literal["asserts", "function", "stdio"]
STYLES: tuple[Style, ...] = get_args(Style)

Checker = str | Callable[[Any, Any, Any], object]
"""Decides instead of a comparison: text that defines `check(input, output, expected)`, or such a function."""

CHECK = "check"
"""The name that the text of a checker defines."""

_FUNCTION_KEYS = ("fn_name", "inputs", "outputs", "tolerance", "checker")
_STDIO_KEYS = ("inputs", "outputs", "tolerance", "checker")


@dataclass(frozen=True)
class AssertSuite:
    """Tests written as Python text that calls the solution's names: asserts, test functions, unittest classes.

    Attributes:
        source: The text.
    """

    style: ClassVar[Style] = "asserts"
    source: str

    def __post_init__(self) -> None:
        _check_asserts(self.source)


@dataclass(frozen=True)
class FunctionSuite:
    """Calls of one function, with what each should return.

    Attributes:
        fn_name: The function, or "Class.method": each call is made on a fresh instance then.
        inputs: The arguments of each call, by position.
        outputs: What each call should return; may be left out (None each) where a checker needs none.
        tolerance: By how much floats may differ; None: not at all.
        checker: Decides whether an output is right, instead of the comparison with the expected one.
    """

    style: ClassVar[Style] = "function"
    fn_name: str
    inputs: tuple[tuple[Any, ...], ...]
    outputs: tuple[Any, ...]
    tolerance: float | None = None
    checker: Checker | None = None

    def __post_init__(self) -> None:
        _check_name(self.fn_name)
        _check_cases(self)
        for number, value in enumerate(self.inputs):
            if why := why_not_plain(value):
                raise InvalidValueError(
                    f"inputs[{number}] {why}: arguments are plain data (numbers, texts, lists, dicts, ...); "
                    "for anything else write tests of style 'asserts'"
                )
        for number, value in enumerate(self.outputs):
            if why := why_not_plain(value):
                raise InvalidValueError(
                    f"outputs[{number}] {why}: expected values are plain data (numbers, texts, lists, dicts, ...); "
                    "for anything else give a checker, or tests of style 'asserts'"
                )


@dataclass(frozen=True)
class StdioSuite:
    """Runs of a program, with what each should print.

    Attributes:
        inputs: The text on standard input of each run.
        outputs: What each run should print; may be left out ("" each) where a checker needs none.
        tolerance: By how much numbers written as floats may differ; None: lines are equal as text.
        checker: Decides whether an output is right, instead of the comparison with the expected one.
    """

    style: ClassVar[Style] = "stdio"
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tolerance: float | None = None
    checker: Checker | None = None

    def __post_init__(self) -> None:
        _check_cases(self)
        for name in ("inputs", "outputs"):
            for number, text in enumerate(getattr(self, name)):
                if not isinstance(text, str):
                    raise InvalidValueError(
                        f"{name}[{number}] is {shown(text)}, must be a text: what a program reads and prints is text"
                    )


Suite = AssertSuite | FunctionSuite | StdioSuite


def read_suite(tests: object, style: str) -> Suite:
    """Return the tests of a job, checked.

    Args:
        tests: A text for "asserts", a mapping for "function" and "stdio" (keys as the attributes above), or a suite.
        style: "asserts", "function" or "stdio".

    Raises:
        UnknownNameError: A style or key that does not exist.
        InvalidValueError: Anything else that is wrong with the tests.
    """
    if style not in STYLES:
        raise UnknownNameError("style of tests", style, STYLES)
    if isinstance(tests, (AssertSuite, FunctionSuite, StdioSuite)):
        if tests.style != style:
            raise InvalidValueError(f"the tests are a {type(tests).__name__}, but the style is {style!r}")
        return tests
    if style == "asserts":
        if not isinstance(tests, str):
            raise InvalidValueError(f"tests of style 'asserts' are Python text, got {shown(tests)}{_better(tests)}")
        return AssertSuite(tests)
    if not isinstance(tests, Mapping):
        hint = "; for Python text the style is 'asserts'" if isinstance(tests, str) else ""
        raise InvalidValueError(f"tests of style {style!r} are a mapping with 'inputs' and 'outputs'{hint}")
    return _function_suite(tests) if style == "function" else _stdio_suite(tests)


def _function_suite(tests: Mapping[str, Any]) -> FunctionSuite:
    inputs, outputs = _columns(tests, _FUNCTION_KEYS, None)
    for number, case in enumerate(inputs):
        if not isinstance(case, (list, tuple)):
            raise InvalidValueError(
                f"inputs[{number}] is {shown(case)}, must be the list of the call's arguments, e.g. [{shown(case, 40)}]"
            )
    return FunctionSuite(
        tests["fn_name"], tuple(map(tuple, inputs)), outputs, tests.get("tolerance"), tests.get("checker")
    )


def _stdio_suite(tests: Mapping[str, Any]) -> StdioSuite:
    inputs, outputs = _columns(tests, _STDIO_KEYS, "")
    return StdioSuite(inputs, outputs, tests.get("tolerance"), tests.get("checker"))


def _columns(tests: Mapping[str, Any], keys: tuple[str, ...], nothing: object) -> tuple[tuple[Any, ...], ...]:
    """Return inputs and outputs after a look at the keys; outputs that a checker does without are `nothing`."""
    for key in tests:
        if key not in keys:
            raise UnknownNameError("key of tests", key, keys)
    without_outputs = tests.get("checker") is not None and "outputs" not in tests
    for key in keys[: keys.index("tolerance")]:
        if key not in tests and not (key == "outputs" and without_outputs):
            raise InvalidValueError(f"tests have no {key!r}, only {', '.join(map(repr, tests)) or 'nothing at all'}")
    columns = {key: tests[key] for key in ("inputs", "outputs") if key in tests}
    for key, column in columns.items():
        if not isinstance(column, (list, tuple)):
            raise InvalidValueError(f"{key!r} of tests is {shown(column)}, must be a list with one entry per test")
    inputs = tuple(columns["inputs"])
    return inputs, tuple(columns["outputs"]) if "outputs" in columns else (nothing,) * len(inputs)


def _check_cases(suite: FunctionSuite | StdioSuite) -> None:
    if not suite.inputs:
        raise InvalidValueError("no tests: 'inputs' is empty, and without a test every program would pass")
    if len(suite.inputs) != len(suite.outputs):
        raise InvalidValueError(
            f"{len(suite.inputs)} inputs but {len(suite.outputs)} outputs: each test needs one of both"
        )
    tolerance = suite.tolerance
    if tolerance is not None and (isinstance(tolerance, bool) or not is_finite(tolerance) or tolerance < 0):
        raise InvalidValueError(f"tolerance is {shown(tolerance)}, must be a finite number >= 0, or None")
    if isinstance(suite.checker, str):
        _check_checker(suite.checker)
    elif suite.checker is not None and not callable(suite.checker):
        raise InvalidValueError(
            f"checker is {shown(suite.checker)}, must be Python text that defines check, or a function"
        )


def _check_name(name: object) -> None:
    parts = name.split(".") if isinstance(name, str) else []
    if not 1 <= len(parts) <= 2 or not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
        raise InvalidValueError(f"fn_name is {shown(name)}, must be a function's name, or 'Class.method'")


@lru_cache(maxsize=512)
def _check_asserts(source: str) -> None:
    tree = _parsed(source, "the tests")
    if not any(isinstance(node, (ast.Assert, ast.Call)) for node in ast.walk(tree)):
        raise InvalidValueError("no tests: the text has neither an assert nor a call, and every program would pass it")


@lru_cache(maxsize=512)
def _check_checker(source: str) -> None:
    names: set[str] = set()
    for statement in _parsed(source, "the checker").body:
        if isinstance(statement, ast.FunctionDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            names.update(target.id for target in statement.targets if isinstance(target, ast.Name))
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name for alias in statement.names)
    if CHECK not in names:
        close = nearest(CHECK, names)
        hint = f"; did you mean {close!r} to be it?" if close else ""
        raise InvalidValueError(f"the checker does not define check(input, output, expected){hint}")


def _parsed(source: str, what: str) -> ast.Module:
    try:
        return parsed(source)
    except SyntaxError as error:
        line = f" (line {error.lineno}: {(error.text or '').strip()[:80]!r})" if error.lineno else ""
        raise InvalidValueError(f"{what} cannot be parsed: {error.msg}{line}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InvalidValueError(f"{what} cannot be parsed: {error or type(error).__name__}") from None


def _better(tests: object) -> str:
    """Return a hint for tests that look like another style's."""
    if not isinstance(tests, Mapping):
        return ""
    return f"; a mapping is of style {'function' if 'fn_name' in tests else 'stdio'!r}"
