"""Measures of a program's form, taken from its syntax tree; nothing is executed. Counts, from which `style.py` scores.

Everything here is a count of faults or a maximum, never a share: a share gets better with whatever is added, a count
does not. Comments and blank lines are not in the tree, docstrings count as no statement, and dead code is a fault. The
text is hostile: each pass takes time in proportion to the tree, and none of them recurses.

`statements` counts all of them, `longest_function` those of the longest function with the functions inside it, or those
outside of functions. `most_complex` is McCabe's number and `deepest_nesting` the levels of control flow, both the worst
of all functions. `largest_expression` counts the operations and names of one statement.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from grpo_rewards.code.confined.faults import FILE, describe
from grpo_rewards.code.confined.program import LoadError, compiled
from grpo_rewards.code.confined.waste import Waste, own_nodes

Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_NESTING = (ast.If, *_LOOPS, ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.Match)
_BRANCHES = (ast.If, *_LOOPS, ast.IfExp, ast.ExceptHandler, ast.comprehension, ast.match_case)
_OPERATIONS = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.IfExp, ast.Lambda, ast.Subscript, ast.Attribute,
    ast.NamedExpr, ast.comprehension, ast.Name, ast.Await, ast.Yield, ast.YieldFrom,
)  # fmt: skip
_RUNS_TEXT = ("exec", "eval", "compile", "__builtins__")

_SNAKE = re.compile(r"_{0,2}[a-z][a-z0-9]*(?:_[a-z0-9]+)*_{0,2}")
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_CAPWORDS = re.compile(r"_?(?:[A-Z][a-z0-9]*)+")
_WORD = re.compile(r"[^\W\d_]{2,}")

LONGEST_NAME = 40
"""Characters of a name beyond which it is a sentence."""

FEWEST_WORDS = 3
"""Different words of a docstring, beyond those of the function's name; with less it says nothing."""


def measure(code: str) -> dict[str, Any]:
    """Measure a program, or tell why it is none.

    Returns:
        {"ok": True, "metrics": counts by name}, or {"ok": False, "error": what is wrong, as `describe` tells it}.
    """
    try:
        compiled(code)  # finds what the parser lets pass, e.g. a return outside of a function
        return {"ok": True, "metrics": _metrics(ast.parse(code.removeprefix("\ufeff"), FILE))}
    except LoadError as error:
        return {"ok": False, "error": error.fault}
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return {"ok": False, "error": describe(error, "syntax")}


def _metrics(tree: ast.Module) -> dict[str, int]:
    nodes = list(ast.walk(tree))
    names = _Names(nodes)
    docstrings = _docstrings(nodes)
    waste = Waste(tree, nodes, docstrings)
    return {
        **_sizes(tree, docstrings),
        "largest_expression": max((_operations(node) for node in nodes if isinstance(node, ast.stmt)), default=0),
        "misnamed": sum(not _is_well_named(*named) for named in names.bound),
        "one_letter_names": len(names.one_letter),
        "overlong_names": sum(len(name) > LONGEST_NAME for name, _ in names.bound),
        "undocumented": _undocumented(nodes),
        "bare_excepts": sum(isinstance(node, ast.ExceptHandler) and node.type is None for node in nodes),
        "mutable_defaults": sum(map(_mutable_defaults, nodes)),
        "unreachable": waste.unreachable,
        "useless": waste.useless,
        "unused": waste.unused,
        "repeated": waste.repeated,
        "text_run_as_code": sum(map(_runs_text, nodes)),
    }


class _Unit:
    """A function, or the code outside of functions, while it is measured."""

    def __init__(self, outer: _Unit | None) -> None:
        self.outer = outer
        self.statements = 0
        self.complexity = 1
        self.nesting = 0

    def count_statement(self) -> None:
        """Count a statement here and in the functions around; the module only counts its own."""
        unit: _Unit | None = self
        while unit is not None and (unit is self or unit.outer is not None):
            unit.statements += 1
            unit = unit.outer


def _sizes(tree: ast.Module, docstrings: set[int]) -> dict[str, int]:
    module = _Unit(None)
    units = [module]
    statements = 0
    stack: list[tuple[ast.AST, _Unit, int]] = [(tree, module, 0)]
    while stack:
        node, unit, depth = stack.pop()
        if isinstance(node, ast.stmt) and id(node) not in docstrings:
            statements += 1
            unit.count_statement()
        unit.complexity += isinstance(node, _BRANCHES)
        if isinstance(node, ast.BoolOp):
            unit.complexity += len(node.values) - 1
        if isinstance(node, ast.comprehension):
            unit.complexity += len(node.ifs)
        if isinstance(node, _FUNCTIONS):
            unit, depth = _Unit(unit), 0
            units.append(unit)
        below = depth + isinstance(node, _NESTING)
        unit.nesting = max(unit.nesting, below)
        for field, child in _children(node):
            stack.append((child, unit, depth if _is_elif(node, field, child) else below))
    return {
        "statements": statements,
        "functions": len(units) - 1,
        "longest_function": max(unit.statements for unit in units),
        "most_complex": max(unit.complexity for unit in units),
        "deepest_nesting": max(unit.nesting for unit in units),
    }


def _is_elif(node: ast.AST, field: str, child: ast.AST) -> bool:
    return isinstance(node, ast.If) and field == "orelse" and isinstance(child, ast.If) and len(node.orelse) == 1


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield field, child


def _operations(statement: ast.stmt) -> int:
    return sum(isinstance(node, _OPERATIONS) for node in own_nodes(statement))


class _Names:
    """The names that a program binds.

    Attributes:
        bound: Different (name, kind) pairs; the kind is "class", "function" or "variable".
        one_letter: Names of one letter. Those of parameters and of loops, handlers and comprehensions are left out:
            the first are often asked for, the others live for a few lines.
    """

    def __init__(self, nodes: list[ast.AST]) -> None:
        short_lived: set[int] = set()
        self.bound: set[tuple[str, str]] = set()
        self.one_letter: set[str] = set()
        for node in nodes:
            if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                short_lived.update(id(inner) for inner in ast.walk(node.target))
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                short_lived.update(id(inner) for inner in ast.walk(node.optional_vars))
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                self.bound.add((node.name, "class"))
            elif isinstance(node, _FUNCTIONS):
                self._add(node.name, "function")
            elif isinstance(node, ast.arg):
                self.bound.add((node.arg, "variable"))
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._add(node.id, "variable", short_lived=id(node) in short_lived)

    def _add(self, name: str, kind: str, short_lived: bool = False) -> None:
        self.bound.add((name, kind))
        if len(name) == 1 and name != "_" and not short_lived:
            self.one_letter.add(name)


def _is_well_named(name: str, kind: str) -> bool:
    if kind == "class":
        return _CAPWORDS.fullmatch(name) is not None
    if _SNAKE.fullmatch(name) or not name.strip("_"):
        return True
    is_constant_or_type = _CONSTANT.fullmatch(name) or _CAPWORDS.fullmatch(name)
    return kind == "variable" and is_constant_or_type is not None


def _docstrings(nodes: list[ast.AST]) -> set[int]:
    """Return the ids of the statements that are docstrings."""
    owners = (node for node in nodes if isinstance(node, (ast.Module, ast.ClassDef, *_FUNCTIONS)))
    return {id(owner.body[0]) for owner in owners if _docstring(owner) is not None}


def _docstring(node: ast.Module | ast.ClassDef | Function) -> str | None:
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.value.value
    return None


def _undocumented(nodes: list[ast.AST]) -> int:
    """Count public functions and classes without a docstring that says something; one that is repeated says nothing."""
    said: set[frozenset[str]] = set()
    count = 0
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            count += 1  # a function without a place for one
        if not isinstance(node, (ast.ClassDef, *_FUNCTIONS)) or node.name.startswith("_"):
            continue
        words = frozenset(_WORD.findall((_docstring(node) or "").lower()))
        if len(words - set(node.name.lower().split("_"))) < FEWEST_WORDS or words in said:
            count += 1
        said.add(words)
    return count


def _mutable_defaults(node: ast.AST) -> int:
    if not isinstance(node, ast.arguments):
        return 0
    makers = ("list", "dict", "set", "bytearray", "defaultdict", "deque", "Counter")
    displays = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    return sum(
        isinstance(default, displays)
        or (isinstance(default, ast.Call) and isinstance(default.func, ast.Name) and default.func.id in makers)
        for default in [*node.defaults, *node.kw_defaults]
    )


def _runs_text(node: ast.AST) -> bool:
    """Whether this is a name by which a program runs text, where no syntax tree shows what it does."""
    if isinstance(node, ast.Name):
        return node.id in _RUNS_TEXT
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] in ("builtins", "marshal") for alias in node.names)
    return isinstance(node, ast.ImportFrom) and node.module in ("builtins", "marshal")
