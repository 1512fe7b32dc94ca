"""Runs programs that this package wrote itself, or broke itself, on small inputs, with an end to every loop.

Not for anybody else's programs: nothing here confines them. Standard input and output are plain names of the program
(`input`, `print`), so that nothing of the process is touched and several threads may run programs at once.
"""

from __future__ import annotations

import ast
import marshal
from collections.abc import Callable
from typing import Any

from grpo_rewards.code.syntax import parsed

STEPS = 10_000
"""Rounds of loops and calls that one call may take; references take a few hundred on small inputs."""

FAULTS = (ArithmeticError, AttributeError, EOFError, LookupError, NameError, RecursionError, TypeError, ValueError)
"""What a program that is wrong may raise."""

TICK = "__tick"
"""The name of what counts the rounds."""


class EndlessError(RuntimeError):
    """A program that does not come to an end."""


class Program:
    """A function or a program, as a callable.

    Args:
        code: The text, or a tree that `counted` made of it.
        name: The function to call; "" for a program that reads standard input.
        steps: Rounds of loops and calls that one call may take.

    Raises:
        Any of FAULTS, EndlessError: As soon as it is called; what the text does when it is defined included.
    """

    def __init__(self, code: str | ast.Module, name: str = "", steps: int = STEPS) -> None:
        tree = counted(code) if isinstance(code, str) else code
        self._compiled = compile(tree, "<program>", "exec")
        self._name = name
        self._left = 0
        self._given: dict[str, Any] = {TICK: self._tick, "__name__": "__main__"}
        self.steps = steps
        self._function: Callable[..., Any] | None = None

    def define(self, name: str, value: Any) -> None:
        """Give the program a name from now on; what it computes when it is defined is computed again."""
        self._given[name] = value
        self._function = None

    @property
    def taken(self) -> int:
        """How many steps the last call took."""
        return self.steps - self._left

    def __call__(self, *args: Any) -> Any:
        """Return the function's value, or the output of the program on its input."""
        self._left = self.steps
        if not self._name:
            return self._output(args[0])
        if self._function is None:
            names = dict(self._given)
            exec(self._compiled, names)
            self._function = names[self._name]
        return self._function(*marshal.loads(marshal.dumps(args)))  # a copy, and a faster one than deepcopy's

    def _output(self, text: str) -> str:
        given, printed = iter(text.splitlines()), list[str]()

        def read() -> str:
            try:
                return next(given)
            except StopIteration:
                raise EOFError("no more input") from None

        def write(*values: Any) -> None:
            printed.append(" ".join(map(str, values)))

        exec(self._compiled, {**self._given, "input": read, "print": write})
        return "\n".join(printed)

    def _tick(self) -> bool:
        self._left -= 1
        if self._left < 0:
            raise EndlessError(f"more than {self.steps} steps")
        return True


def counted(code: str) -> ast.Module:
    """Return the tree of a text, with a tick in every loop, function and comprehension."""
    tree: ast.Module = ast.fix_missing_locations(_Counting().visit(parsed(code)))
    return tree


class _Counting(ast.NodeTransformer):
    """Puts a tick into every loop, function and comprehension."""

    def _counted(self, node: Any) -> Any:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_call()))
        return node

    visit_For = visit_While = visit_FunctionDef = _counted

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        """Count the rounds of a comprehension."""
        self.generic_visit(node)
        node.ifs.insert(0, _call())
        return node


def _call() -> ast.Call:
    return ast.Call(ast.Name(TICK, ast.Load()), [], [])
