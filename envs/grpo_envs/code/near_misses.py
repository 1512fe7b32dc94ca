"""All mutants of a program in one: every place that can be changed asks which change is on.

One text is compiled instead of fifty, which makes it cheap to ask of every problem that its tests kill them.
"""

from __future__ import annotations

import ast
import copy
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from grpo_envs.code.mutants import Change, changes
from grpo_envs.code.running import FAULTS, STEPS, EndlessError, Program, counted

WHICH = "__which"
"""The name of the number of the change that is on; 0 is none."""

SLOWER = 3
"""A mutant that takes so many times the steps of the program is one that does not come to an end."""


_PLACE: dict[str, Any] = {"lineno": 1, "col_offset": 0}
_WHICH = ast.Name(WHICH, ast.Load(), **_PLACE)


class NearMisses:
    """The mutants of a program, numbered from 1 on; `spent` is how many steps they have taken.

    Args:
        code: The text of a program that is right.
        name: The function to call; "" for a program that reads standard input.
        most: How many mutants there may be; of more, an even choice is taken.
    """

    def __init__(self, code: str, name: str, most: int | None = None) -> None:
        tree = counted(code)
        found = changes(tree)
        if most is not None:
            found = found[:: -(-len(found) // most) or 1]
        self.numbers = range(1, len(found) + 1)
        self.spent = 0
        self._program = Program(_Switched(found).module(tree), name)

    def steps(self, args: Sequence[Any]) -> int:
        """Return how many steps the program takes on a call."""
        self._program.steps = STEPS
        self._program.define(WHICH, 0)
        self._program(*args)
        return self._program.taken

    def left(self, numbers: Sequence[int], args: Sequence[Any], output: Any) -> list[int]:
        """Return the mutants, of some, that are not seen to be wrong on a call."""
        self._program.steps = SLOWER * (self.steps(args) + 5)
        return [number for number in numbers if self._is_right(number, args, output)]

    def _is_right(self, number: int, args: Sequence[Any], output: Any) -> bool:
        self._program.define(WHICH, number)
        try:
            return bool(self._program(*args) == output)
        except (*FAULTS, EndlessError):
            return False
        finally:
            self.spent += self._program.taken


class _Switched:
    """Builds the tree that holds all changes; parts that are the same in several of them are shared."""

    def __init__(self, found: Sequence[Change]) -> None:
        self._changes: dict[tuple[int, str], list[tuple[int, Any]]] = defaultdict(list)
        for number, (target, attribute, new) in enumerate(found, 1):
            self._changes[id(target), attribute].append((number, new))

    def module(self, tree: ast.Module) -> ast.Module:
        """Return the tree."""
        module: ast.Module = self._node(tree)
        return module

    def _node(self, node: Any) -> Any:
        made = copy.copy(node)
        others: list[tuple[int, Any]] = []
        for name in node._fields:
            value = getattr(node, name, None)
            found = self._changes.get((id(node), name), ())
            if isinstance(value, ast.AST):
                setattr(made, name, self._node(value))
            elif isinstance(value, list):
                parts = [self._node(part) if isinstance(part, ast.AST) else part for part in value]
                if isinstance(node, ast.comprehension):
                    parts = _optional(value, parts, found)
                elif name in ("body", "orelse"):
                    parts = _replaced(value, parts, found)
                setattr(made, name, parts)
            if isinstance(node, ast.expr) or name in ("op", "test"):
                others += [(number, _changed(node, name, new)) for number, new in found]
        for number, other in others:
            made = (
                ast.IfExp(_is_on(number), other, made, **_PLACE)
                if isinstance(node, ast.expr)
                else ast.If(_is_on(number), [other], [made], **_PLACE)
            )
        return made


def _changed(node: ast.AST, name: str, new: Any) -> Any:
    if isinstance(node, ast.BoolOp) and name == "values" and len(new) == 1:
        return new[0]
    other = copy.copy(node)
    setattr(other, name, new)
    return other


def _optional(old: Sequence[ast.expr], parts: list[Any], found: Sequence[tuple[int, list[ast.expr]]]) -> list[Any]:
    """Make the condition of a comprehension that is left out one that holds where the change is on."""
    for number, new in found:
        place = next(place for place, part in enumerate(old) if not any(part is kept for kept in new))
        parts[place] = ast.BoolOp(ast.Or(), [_is_on(number), parts[place]], **_PLACE)
    return parts


def _replaced(old: Sequence[ast.stmt], parts: list[Any], found: Sequence[tuple[int, list[ast.stmt]]]) -> list[Any]:
    """Put what a change puts in place of a statement beside it."""
    for number, new in found:
        place = next(place for place, part in enumerate(old) if place >= len(new) or new[place] is not part)
        instead = new[place : len(new) - (len(old) - place - 1)]
        parts[place] = ast.If(_is_on(number), instead or [ast.Pass(**_PLACE)], [parts[place]], **_PLACE)
    return parts


def _is_on(number: int) -> ast.Compare:
    return ast.Compare(_WHICH, [ast.Eq()], [ast.Constant(number, **_PLACE)], **_PLACE)
