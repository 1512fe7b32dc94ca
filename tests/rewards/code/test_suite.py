"""Tests of a job: what is wrong with them is said at once, with the value and the way out."""

from __future__ import annotations

from typing import Any

import pytest

from grpo_gym.errors import GrpoGymError, InvalidValueError, UnknownNameError
from grpo_rewards.code.suite import AssertSuite, FunctionSuite, StdioSuite, read_suite


def function(**changes: Any) -> dict[str, Any]:
    return {"fn_name": "f", "inputs": [[1]], "outputs": [2], **changes}


def stdio(**changes: Any) -> dict[str, Any]:
    return {"inputs": ["1\n"], "outputs": ["2\n"], **changes}


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def test_a_row_of_json_becomes_a_suite():
    assert read_suite("assert f(1) == 2", "asserts") == AssertSuite("assert f(1) == 2")
    assert read_suite(function(), "function") == FunctionSuite("f", ((1,),), (2,))
    assert read_suite(function(fn_name="Solution.solve", tolerance=1e-6), "function") == FunctionSuite(
        "Solution.solve", ((1,),), (2,), 1e-6
    )
    assert read_suite(stdio(tolerance=0), "stdio") == StdioSuite(("1\n",), ("2\n",), 0)
    assert read_suite(stdio(), "stdio") == StdioSuite(("1\n",), ("2\n",))


def test_python_values_are_allowed_where_json_has_none():
    suite = read_suite(function(inputs=[({1, 2}, (3, 4))], outputs=[{(1, 2): frozenset({3})}]), "function")
    assert isinstance(suite, FunctionSuite)
    assert suite.inputs == (({1, 2}, (3, 4)),)
    assert suite.outputs == ({(1, 2): frozenset({3})},)


@pytest.mark.parametrize("tests", [function(), stdio()])
def test_a_checker_may_do_without_expected_outputs(tests):
    style = "function" if "fn_name" in tests else "stdio"
    del tests["outputs"]
    with pytest.raises(InvalidValueError, match="tests have no 'outputs'"):
        read_suite(tests, style)
    suite = read_suite({**tests, "checker": "def check(input, output, expected): return True"}, style)
    assert not isinstance(suite, AssertSuite)
    assert suite.outputs == ((None,) if style == "function" else ("",))


@pytest.mark.parametrize(
    "checker",
    [
        "def check(input, output, expected):\n    return True",
        "import math\ncheck = lambda i, o, e: math.isclose(o, e)",
        "from checkers import same as check",
        lambda i, o, e: True,
    ],
)
def test_a_checker_is_a_function_or_a_text_that_defines_one(checker):
    suite = read_suite(function(checker=checker), "function")
    assert isinstance(suite, FunctionSuite)
    assert suite.checker is checker


def test_a_suite_is_taken_as_it_is():
    suite = FunctionSuite("f", ((1,),), (2,))
    assert read_suite(suite, "function") is suite
    with pytest.raises(InvalidValueError, match="the tests are a FunctionSuite, but the style is 'stdio'"):
        read_suite(suite, "stdio")


@pytest.mark.parametrize(
    "text",
    [
        "assert f(1) == 2",
        "f(1)",
        "def test_f():\n    assert f(1) == 2",
        "def check(c):\n  assert c(1)\ncheck(f)",
        "f('\\d')",
    ],
)
def test_text_that_tests_something(text):
    assert read_suite(text, "asserts") == AssertSuite(text)


@pytest.mark.parametrize(
    ("tests", "style", "message"),
    [
        ("", "asserts", "no tests: the text has neither an assert nor a call"),
        ("x = 1  # assert f(1)", "asserts", "no tests"),
        ("assert f(1) = 2", "asserts", r"the tests cannot be parsed: .*\(line 1: 'assert f\(1\) = 2'\)"),
        ("assert\0 f(1)", "asserts", "the tests cannot be parsed: "),
        ("assert " + "(" * 5_000, "asserts", "the tests cannot be parsed: "),
        (["assert f(1)"], "asserts", r"are Python text, got \['assert f\(1\)'\]"),
        (function(), "asserts", "a mapping is of style 'function'"),
        (stdio(), "asserts", "a mapping is of style 'stdio'"),
        ("assert f(1)", "function", "for Python text the style is 'asserts'"),
        (None, "stdio", "a mapping with 'inputs' and 'outputs'"),
        ({}, "stdio", "tests have no 'inputs', only nothing at all"),
        (stdio(), "function", "tests have no 'fn_name', only 'inputs', 'outputs'"),
        (function(fn_name="f g"), "function", "fn_name is 'f g', must be a function's name, or 'Class.method'"),
        (function(fn_name="a.b.c"), "function", "fn_name is"),
        (function(fn_name="lambda"), "function", "fn_name is"),
        (function(fn_name=None), "function", "fn_name is None"),
        (function(inputs=[]), "function", "no tests: 'inputs' is empty"),
        (function(inputs=[5]), "function", r"inputs\[0\] is 5, must be the list of the call's arguments, e.g. \[5\]"),
        (function(inputs="ab"), "function", "'inputs' of tests is 'ab', must be a list"),
        (function(outputs=[2, 3]), "function", "1 inputs but 2 outputs"),
        (function(outputs=[object()]), "function", r"outputs\[0\] holds a object, which is no plain data"),
        (function(outputs=[[{"a": len}]]), "function", r"outputs\[0\] holds a builtin_function_or_method"),
        (function(outputs=[nested(300)]), "function", r"outputs\[0\] nested more than 200 levels deep"),
        (function(tolerance=-1), "function", "tolerance is -1, must be a finite number >= 0"),
        (function(tolerance=float("nan")), "function", "tolerance is nan"),
        (function(tolerance=True), "function", "tolerance is True"),
        (function(tolerance="1e-6"), "function", "tolerance is '1e-6'"),
        (function(checker="def chek(i, o, e): return True"), "function", "did you mean 'chek' to be it"),
        (function(checker="def check(:"), "function", "the checker cannot be parsed"),
        (function(checker=3), "function", "checker is 3"),
        (stdio(inputs=[1]), "stdio", r"inputs\[0\] is 1, must be a text"),
        (stdio(outputs=[["2"]]), "stdio", r"outputs\[0\] is \['2'\], must be a text"),
        (stdio(outputs=[]), "stdio", "1 inputs but 0 outputs"),
    ],
)
def test_what_is_wrong_is_said(tests, style, message):
    with pytest.raises(InvalidValueError, match=message):
        read_suite(tests, style)


@pytest.mark.parametrize(
    ("tests", "style", "message"),
    [
        (function(output=[2]), "function", "unknown key of tests 'output'; did you mean 'outputs'"),
        (stdio(fn_name="f"), "stdio", "unknown key of tests 'fn_name'"),
        (stdio(tolerence=0.1), "stdio", "did you mean 'tolerance'"),
        ("assert f(1)", "assert", "unknown style of tests 'assert'; did you mean 'asserts'"),
    ],
)
def test_unknown_names_come_with_the_nearest_right_one(tests, style, message):
    with pytest.raises(UnknownNameError, match=message):
        read_suite(tests, style)


def test_messages_stay_short_whatever_the_tests_hold():
    for tests in (
        function(outputs=["x" * 10_000] * 2),
        function(fn_name="f" * 10_000 + " "),
        stdio(inputs=[[1] * 10_000]),
    ):
        with pytest.raises(GrpoGymError) as caught:
            read_suite(tests, "function" if "fn_name" in tests else "stdio")
        assert len(str(caught.value)) < 400
