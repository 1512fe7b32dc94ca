"""Rewrites a test text so that every assert is counted, wherever it stands.

`assert left == right, message` becomes

    try:
        _judge_left = left
        _judge_right = right
        _judge_ok = True if _judge_left == _judge_right else False
    except:
        if _judge_.raised(site, expected):
            raise
    else:
        if _judge_.asserted(site, _judge_ok, _judge_left, _judge_right):
            _judge_.tell(site, message)

`x is y` asks `_judge_.same(x, y)`, since two proxies may stand for one object, and a `with` around asserts notices when
its body was left early.
"""

from __future__ import annotations

import ast
from typing import Any

NAME = "_judge_"
"""The name under which the instrumented text finds its `Record`."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_CATCH_ALL = frozenset({"Exception", "BaseException", "AssertionError"})


class Instrumenter(ast.NodeTransformer):
    """One pass over a text.

    Args:
        defined: Names of the functions that the text defines.

    Attributes:
        sites: The assert statements, in the order of their numbers.
    """

    def __init__(self, defined: set[str]) -> None:
        self.defined = defined
        self.sites: list[ast.Assert] = []
        self.withs = 0
        self.expected = False

    def visit_Assert(self, node: ast.Assert) -> Any:
        """Rewrite an assert."""
        site = len(self.sites)
        self.sites.append(node)
        test, sides = node.test, []
        body: list[ast.stmt] = []
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            sides = [_load("left"), _load("right")]
            body = [_store("left", self.visit(test.left)), _store("right", self.visit(test.comparators[0]))]
            test = _compared(ast.Compare(sides[0], test.ops, [sides[1]]))
        else:
            test = self.visit(test)
        body.append(_store("ok", ast.IfExp(test, ast.Constant(True), ast.Constant(False))))
        raised = ast.If(_call("raised", ast.Constant(site), ast.Constant(self.expected)), [ast.Raise()], [])
        message = [] if node.msg is None else [self.visit(node.msg)]
        tell = ast.Expr(_call("tell", ast.Constant(site), *message))
        failed = ast.If(_call("asserted", ast.Constant(site), _load("ok"), *sides), [tell], [])
        done = ast.Try(body, [ast.ExceptHandler(None, None, [raised])], [failed], [])
        return _placed(done, node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Rewrite `is`."""
        self.generic_visit(node)
        return _placed(_compared(node), node)

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """Rewrite a `try`; one that names exceptions waits for them."""
        outer = self.expected
        self.expected = outer or any(_names_exceptions(handler.type) for handler in node.handlers)
        node.body = self._visited(node.body)
        self.expected = outer
        for part in (node.handlers, node.orelse, node.finalbody):
            part[:] = self._visited(part)
        return node

    def visit_With(self, node: ast.With) -> Any:
        """Rewrite a `with`."""
        return self._with(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> Any:
        """Rewrite an `async with`."""
        return self._with(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Rewrite a function; what stands around its definition does not stand around its calls."""
        return self._apart(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Rewrite a coroutine function."""
        return self._apart(node)

    def _apart(self, node: ast.AST) -> ast.AST:
        outer, self.expected = self.expected, False
        self.generic_visit(node)
        self.expected = outer
        return node

    def _with(self, node: Any) -> Any:
        watched = any(self._tests(statement) for statement in node.body)
        outer = self.expected
        self.expected = outer or any(_raises(item.context_expr) for item in node.items)
        self.generic_visit(node)
        self.expected = outer
        if not watched:
            return node
        self.withs += 1
        site = ast.Constant(self.withs)
        node.body.append(_placed(ast.Expr(_call("reached", site)), node))
        left = ast.Expr(_call("left", site, ast.Constant(node.lineno)))
        return [_placed(ast.Expr(_call("entered", site)), node), node, _placed(left, node)]

    def _tests(self, node: ast.AST) -> bool:
        """Whether a statement asserts something, itself or in a function of the text."""
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.defined:
            return True
        return not isinstance(node, _FUNCTIONS) and any(self._tests(child) for child in ast.iter_child_nodes(node))

    def _visited(self, nodes: list[Any]) -> list[Any]:
        found: list[Any] = []
        for node in nodes:
            new = self.visit(node)
            found.extend(new if isinstance(new, list) else [new])
        return found


def instrument(tree: ast.Module, *, every_test: bool) -> list[ast.Assert]:
    """Rewrite a test text in place.

    Args:
        tree: The parsed text.
        every_test: Whether a top-level statement that raises is followed by the next one.

    Returns:
        Its asserts, by the numbers that the rewritten text gives them.
    """
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    asserts = any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    rewriter = Instrumenter(defined)
    body: list[ast.stmt] = []
    for statement in tree.body:
        new = rewriter.visit(statement)
        statements = new if isinstance(new, list) else [new]
        if isinstance(statement, ast.Expr) and not asserts and not isinstance(statement.value, ast.Constant):
            begin, done = _call("begin"), _call("done", ast.Constant(statement.lineno))
            statements = [ast.Expr(begin), *statements, ast.Expr(done)]
        if every_test and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            outside = ast.If(_call("outside", ast.Constant(statement.lineno)), [ast.Raise()], [])
            statements = [ast.Try(statements, [ast.ExceptHandler(None, None, [outside])], [], [])]
        body.extend(_placed(node, statement) for node in statements)
    tree.body = body
    return rewriter.sites


def _load(name: str) -> ast.Name:
    return ast.Name(f"{NAME}{name}", ast.Load())


def _store(name: str, value: Any) -> ast.Assign:
    return ast.Assign([ast.Name(f"{NAME}{name}", ast.Store())], value)


def _call(method: str, *args: Any) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name(NAME, ast.Load()), method, ast.Load()), list(args), [])


def _compared(node: ast.Compare) -> ast.expr:
    """`x is y` as a question to the record; other comparisons as they are."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Is | ast.IsNot):
        return node
    asked = _call("same", node.left, node.comparators[0])
    return asked if isinstance(node.ops[0], ast.Is) else ast.UnaryOp(ast.Not(), asked)


def _placed(node: Any, at: Any) -> Any:
    """Give new nodes the place of the statement that they stand for; those of the text keep theirs."""
    new = [node]
    while new:
        part = new.pop()
        if "lineno" in part._attributes:
            if hasattr(part, "lineno"):
                continue
            part.lineno, part.col_offset = at.lineno, at.col_offset
            part.end_lineno, part.end_col_offset = at.end_lineno, at.end_col_offset
        new.extend(ast.iter_child_nodes(part))
    return node


def _names_exceptions(node: ast.expr | None) -> bool:
    """Whether a handler catches certain exceptions, and not just everything."""
    if node is None:
        return False
    names = node.elts if isinstance(node, ast.Tuple) else [node]
    return not any(isinstance(name, ast.Name) and name.id in _CATCH_ALL for name in names)


def _raises(node: ast.expr) -> bool:
    """Whether a context manager waits for an exception: `pytest.raises(...)`, `self.assertRaises(...)`."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("raises", "assertRaises", "assertRaisesRegex", "suppress")
