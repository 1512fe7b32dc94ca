"""Assert texts that are nothing but calls compared with literals: they need no process of their own.

`assert f([1, 2]) == 3` asks for a call with plain arguments and for a comparison with a plain value; both can be done
from the caller, as for tests of style "function". Most texts of MBPP are of this kind. Anything else in a text (a
variable, a loop, a name that is not called) and the whole text is run as it stands, beside the solution.

The comparison is Python's own, on values of exactly built-in types: a list is no tuple, 1 == 1.0 == True.
"""

from __future__ import annotations

import ast
import builtins
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from grpo_rewards.code.syntax import parsed

LONGEST = 100_000
"""Characters of a text that is looked at."""

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


class PlainAssert(NamedTuple):
    """One assert.

    Attributes:
        source: Its text.
        name: The function that is called.
        args: The arguments.
        holds: Whether a value that the call returned satisfies it.
        expected: What it is compared with, for people; "" where it is only to be true or false.
        line: Its line in the text.
        only: The value that it asks for, as a tuple of one; empty when others satisfy it too.
    """

    source: str
    name: str
    args: tuple[Any, ...]
    holds: Callable[[Any], bool]
    expected: str
    line: int
    only: tuple[Any, ...] = ()


@functools.lru_cache(maxsize=512)
def plain_asserts(source: str, given: str = "", entry_point: str | None = None) -> tuple[PlainAssert, ...] | None:
    """Return the asserts of a text, or None when it is more than asserts of this kind.

    Args:
        source: The text.
        given: Code of the prompt: names that it defines are not the solution's.
        entry_point: The solution's function; only it may have the name of a built-in one.
    """
    if len(source) > LONGEST or (not source.isascii() and "\x00" in source):
        return None
    try:
        tree = parsed(source)
        statements, called_as = _unwrapped(tree.body)
        found = [_read(statement, source, called_as) for statement in statements]
        defined = _names(given)
        rebound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    asserts = [one for one in found if one is not None]
    if rebound & {*called_as, *(one.name for one in asserts)}:
        return None
    foreign = any(one.name in defined or (hasattr(builtins, one.name) and one.name != entry_point) for one in asserts)
    return None if not asserts or len(asserts) < len(found) or foreign else tuple(asserts)


def _unwrapped(body: list[ast.stmt]) -> tuple[list[ast.stmt], dict[str, str]]:
    """Return the statements that test, and what names in them stand for.

    HumanEval's texts define `check(candidate)` and call it with the solution's function; what else stands there
    (literals under a name, docstrings, `assert True`) tests nothing.
    """
    called_as: dict[str, str] = {}
    match body:
        case [
            *before,
            ast.FunctionDef(args=ast.arguments(args=[ast.arg(arg=parameter)]), decorator_list=[]) as check,
            ast.Expr(value=ast.Call(func=ast.Name(id=called), args=[ast.Name(id=function)], keywords=[])),
        ] if called == check.name and all(map(_is_idle, before)):
            body, called_as = check.body, {parameter: function}
    return [statement for statement in body if not _is_idle(statement)], called_as


def _is_idle(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.Assert(test=ast.Constant(value=True)):
            return True
        case ast.Assign(targets=[ast.Name()], value=value):
            ast.literal_eval(value)
            return True
    return False


def _read(statement: ast.stmt, source: str, called_as: Mapping[str, str]) -> PlainAssert | None:
    """Return one statement as an assert, or None. Raises ValueError for an argument that is no literal."""
    if not isinstance(statement, ast.Assert) or not isinstance(statement.msg, ast.Constant | None):
        return None
    test, expected = statement.test, ""
    only: tuple[Any, ...] = ()
    holds: Callable[[Any], bool] = bool
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, operator.not_
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _COMPARISONS:
        compare = _COMPARISONS[type(test.ops[0])]
        value = ast.literal_eval(test.comparators[0])
        if compare in (operator.is_, operator.is_not) and not (value is None or isinstance(value, bool)):
            return None
        expected = ast.unparse(test.comparators[0])
        only = (value,) if compare in (operator.eq, operator.is_) else ()
        test, holds = test.left, functools.partial(compare, value)
    if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Name) or test.keywords:
        return None
    args = tuple(ast.literal_eval(argument) for argument in test.args)
    text = ast.get_source_segment(source, statement) or ast.unparse(statement)
    return PlainAssert(text, called_as.get(test.func.id, test.func.id), args, holds, expected, statement.lineno, only)


def _names(code: str) -> Mapping[str, None]:
    """Return every name that a code might define at its top level, or anywhere else."""
    names: dict[str, None] = {}
    for node in ast.walk(parsed(code)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names[node.name] = None
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names[node.id] = None
        elif isinstance(node, ast.alias):
            names[(node.asname or node.name).partition(".")[0]] = None
    return names


@functools.lru_cache(maxsize=512)
def implied_entry_point(source: str, given: str = "") -> str | None:
    """Return the built-in function that a text must mean as the solution's, when it names no other name of it.

    `assert sum(10, 15) == 6` is about the solution's `sum`. Where a text names anything else that nobody defines, its
    built-in functions are Python's own: else a solution could bring an `abs` of its own to `assert abs(f(2) - 5) < 1`.
    """
    try:
        tree = parsed(source)
        defined = {**_names(source), **_names(given)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if any(name not in defined and not hasattr(builtins, name) for name in read):
        return None
    called = [
        node.func.id
        for statement in tree.body
        if isinstance(statement, ast.Assert)
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in defined
    ]
    return called[0] if len(set(called)) == 1 else None
