"""Runs the tests that a text defines and never calls: functions and classes by their names, and unittest's cases."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import GeneratorType
from typing import Any

from grpo_rewards.code.confined.coroutines import finished, is_coroutine
from grpo_rewards.code.confined.record import Record, told
from grpo_rewards.code.confined.session import Lost


def run_defined(tree: ast.Module, called: set[str], namespace: dict[str, Any], record: Record) -> None:
    """Run what a text defines as tests and never calls itself.

    Args:
        tree: The text.
        called: Names that it reads.
        namespace: Where it ran.
        record: Where results go.
    """
    case = getattr(sys.modules.get("unittest"), "TestCase", None)
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        found = namespace.get(node.name)
        if case is not None and isinstance(found, type) and issubclass(found, case):
            _run_case(found, node.lineno, record)
        elif node.name in called:
            continue
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test") and isinstance(found, type):
            for name in [n for n in vars(found) if n.startswith("test")]:
                thing = found()
                if hasattr(thing, "setup_method"):
                    _run(thing.setup_method, node.lineno, namespace, record)
                _run(getattr(thing, name), node.lineno, namespace, record)
        elif node.name.startswith("test") and callable(found):
            _run(found, node.lineno, namespace, record)
        if record.failed and not record.every_test:
            return


def _run(function: Callable[..., Any], line: int, namespace: dict[str, Any], record: Record) -> None:
    for case in getattr(function, "judge_cases", [{}]):
        noted = record.passed + record.failed
        asked = record.session.consulted
        try:
            arguments = {**_fixtures(function, case, namespace), **case}
            value = function(**arguments)
            if is_coroutine(value):
                finished(value)
        except Lost:
            raise
        except BaseException as error:  # the tests' own code, or what the solution raised in it
            record.outside(line, error)
        else:
            if record.passed + record.failed == noted and record.session.consulted > asked:
                record.note(line, f"{function.__name__}()", ok=True)
        if record.failed and not record.every_test:
            return


def _fixtures(function: Callable[..., Any], case: dict[str, Any], namespace: dict[str, Any]) -> dict[str, Any]:
    """The values of a test's parameters that are names of fixtures."""
    import inspect

    values = {}
    for name, parameter in inspect.signature(function).parameters.items():
        maker: Any = namespace.get(name)
        if name not in case and parameter.default is parameter.empty and hasattr(maker, "judge_fixture"):
            value = maker(**_fixtures(maker, {}, namespace))
            values[name] = next(value) if isinstance(value, GeneratorType) else value
    return values


def _run_case(cls: Any, line: int, record: Record) -> None:
    """Run the methods of a test case; each counts as a test."""
    import unittest

    for test in unittest.defaultTestLoader.loadTestsFromTestCase(cls):
        noted = record.failed
        result = _new_result()
        test.run(result)
        if isinstance(result.error, Lost):
            raise result.error
        name = f"{cls.__name__}.{getattr(test, '_testMethodName', '')}"
        if result.error is not None and result.error is not record.told:
            record.note(line, name, ok=False, **told(result.error))
        elif result.error is None and record.failed == noted:
            record.note(line, name, ok=True)
        if record.failed and not record.every_test:
            return


def _new_result() -> Any:
    import unittest

    class Result(unittest.TestResult):
        """Keeps the first exception of one test."""

        error: BaseException | None = None

        def _keep(self, error: Any) -> None:
            self.error = self.error or error[1]

        def addError(self, test: Any, err: Any) -> None:
            """Keep an exception."""
            self._keep(err)

        def addFailure(self, test: Any, err: Any) -> None:
            """Keep a failure."""
            self._keep(err)

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
            """Keep what a part of a test raised."""
            if err is not None:
                self._keep(err)

        def addUnexpectedSuccess(self, test: Any) -> None:
            """A test that should have failed."""
            self.error = self.error or AssertionError("unexpected success")

    return Result()
