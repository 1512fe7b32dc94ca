"""Broken programs: a reference program with one small change, as people make them by mistake.

A change is a wrong bound, a comparison that is strict or not where it should be the other, a sign, a forgotten case,
two values swapped. Whether it breaks anything is for the tests to say (`running.py`). What counts the rounds of a
program is never changed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from grpo_envs.code.running import TICK
from grpo_rewards.code.syntax import parsed

Change = tuple[Any, str, Any]
"""Object, attribute, new value."""

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "append": "appendleft", "popleft": "pop"}


def changes(tree: ast.AST) -> list[Change]:
    """Return the small changes of a program, in the order of its text."""
    return [change for node in ast.walk(tree) for change in _of(node)]


def mutants(code: str) -> Iterator[str]:
    """Yield every program that one small change makes of another."""
    tree = parsed(code)
    for change in changes(tree):
        yield changed(tree, change)


def changed(tree: ast.AST, change: Change) -> str:
    """Return the text of a program with a change; the tree is afterwards as it was."""
    target, attribute, new = change
    old = getattr(target, attribute)
    setattr(target, attribute, new)
    try:
        return ast.unparse(tree)
    finally:
        setattr(target, attribute, old)


def _of(node: ast.AST) -> Iterator[Change]:  # noqa: C901  # a table of what there is to change
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in _COMPARISONS.get(type(operator), ()):
                yield node, "ops", [*node.ops[:place], other(), *node.ops[place + 1 :]]
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _OPERATIONS:
        yield node, "op", _OPERATIONS[type(node.op)]()
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield node, "value", node.value + 1
        yield node, "value", node.value - 1
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield node, "value", not node.value
    elif isinstance(node, ast.BoolOp):
        yield node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And()
        for place in range(len(node.values)):
            yield node, "values", [value for other, value in enumerate(node.values) if other != place]
    elif isinstance(node, ast.IfExp):
        yield node, "test", _not(node.test)
    elif isinstance(node, ast.Name) and node.id in _NAMES:
        yield node, "id", _NAMES[node.id]
    elif isinstance(node, ast.comprehension) and (conditions := [part for part in node.ifs if not _is_tick(part)]):
        yield node, "ifs", [part for part in node.ifs if part is not conditions[0]]
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) == 2:
        yield node, "elts", node.elts[::-1]
    yield from _of_statements(node)


def _of_statements(node: ast.AST) -> Iterator[Change]:
    """Yield the changes that leave a statement out, or a branch."""
    for name in ("body", "orelse"):
        body = getattr(node, name, None)
        if not isinstance(body, list):
            continue
        for place, statement in enumerate(body):
            if isinstance(statement, ast.Expr) and _is_tick(statement.value):
                continue
            if isinstance(statement, (ast.AugAssign, ast.Expr, ast.Continue, ast.Break)):
                yield node, name, _without(body, place)
            elif isinstance(statement, ast.If):
                yield statement, "test", _not(statement.test)
                yield node, name, _without(body, place, statement.orelse)


def _not(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _is_tick(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == TICK


def _without(body: Sequence[ast.stmt], place: int, instead: Sequence[ast.stmt] = ()) -> list[ast.stmt]:
    kept = [*body[:place], *instead, *body[place + 1 :]]
    return kept or [ast.copy_location(ast.Pass(), body[place])]
