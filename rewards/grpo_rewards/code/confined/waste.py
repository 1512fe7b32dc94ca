"""What a program could do without: statements never reached or without effect, names never used, repetition.

Statements are told apart as a compiler does that drops dead code. Those with an effect are live (calls, returns,
changes of objects); so are the conditions around live ones, and assignments to names that live ones read. All else is
waste, and a name that is read by waste alone is unused: else `(a, b, c)` on a line of its own would put three unused
names to use. Names are told apart by function, not by the flow of control.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_PURE = {
    "abs", "all", "any", "ascii", "bin", "bool", "bytes", "callable", "chr", "complex", "dict", "divmod", "enumerate",
    "float", "format", "frozenset", "hash", "hex", "id", "int", "isinstance", "issubclass", "len", "list", "locals",
    "max", "min", "object", "oct", "ord", "pow", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str",
    "sum", "tuple", "type", "zip",
}  # fmt: skip
"""Builtins whose call does nothing when its result is not kept."""

_EFFECTS = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_IMPORTS = (ast.Import, ast.ImportFrom)

LARGE = 10
"""Nodes of a statement from which its repetition counts."""

Scope = int
"""The id of an outermost function, 0 for the module."""


@dataclass(eq=False)
class Line:
    """One statement, with what decides whether it is live.

    Attributes:
        statement: The node; None for the module.
        around: The statement that it stands in, None at the top.
        owner: The function or class that it belongs to; the module's line at the top.
        loop: The loop that a break or continue in it would end.
        scope: Where its names belong.
        own: Its nodes without those of the statements in it.
        binds: The names that it makes, when it does nothing else.
        inner: The lines that belong to it, when it is a function, a class or the module.
    """

    statement: ast.stmt | None
    around: Line | None
    owner: Line | None
    loop: Line | None
    scope: Scope
    own: list[ast.AST]
    binds: frozenset[str] = frozenset()
    inner: list[Line] = field(default_factory=list)
    is_live: bool = False


def own_nodes(statement: ast.AST) -> list[ast.AST]:
    """Return the nodes of a statement without those of the statements inside it, in a fixed order."""
    found: list[ast.AST] = []
    stack = [statement]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))
    return found


class Waste:
    """The waste of one program, counted.

    Attributes:
        unreachable: Statements behind a jump, or under a condition that is a false constant.
        useless: Statements that do nothing. A lone `pass` is a placeholder, and counts with the statement around it.
        unused: Names that are assigned, imported or defined inside of a function, and read by nothing live.
        repeated: Large statements that are written again, word by word.
    """

    def __init__(self, tree: ast.Module, nodes: Sequence[ast.AST], docstrings: set[int]) -> None:
        self._unreached = {id(found) for node in nodes for found in _unreachable(node)}
        self._module = Line(None, None, None, None, 0, [])
        self._lines = [line for line in self._read(tree) if id(line.statement) not in docstrings]
        self._used: set[tuple[Scope, str]] = set()
        self._bound: dict[tuple[Scope, str], list[Line]] = defaultdict(list)
        self._jumps: dict[Line, list[Line]] = defaultdict(list)
        self._find_live()
        self.unreachable = len(self._unreached)
        self.useless = self._count_useless(nodes)
        self.unused = sum(key not in self._used for key in self._bound) - self._count_shared(nodes)
        self.repeated = self._count_repeated()

    def _read(self, tree: ast.Module) -> Iterator[Line]:
        stack: list[tuple[ast.AST, Line | None, Line, Line | None, Scope]] = [(tree, None, self._module, None, 0)]
        while stack:
            node, around, owner, loop, scope = stack.pop()
            if isinstance(node, ast.stmt):
                line = Line(node, around, owner, loop, scope, own_nodes(node), _binds(node, owner))
                owner.inner.append(line)
                yield line
                around = line
                if isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
                    owner, loop, around = line, None, None
                    scope = scope or (0 if isinstance(node, ast.ClassDef) else id(node))
                elif isinstance(node, _LOOPS):
                    loop = line
            stack.extend((child, around, owner, loop, scope) for child in _statements_below(node))

    def _find_live(self) -> None:
        for line in self._lines:
            if isinstance(line.statement, (ast.Break, ast.Continue)) and line.loop is not None:
                self._jumps[line.loop].append(line)
            for name in line.binds:
                self._bound[line.scope, name].append(line)
        waiting = [self._module]
        while waiting:
            line = waiting.pop()
            if line.is_live or id(line.statement) in self._unreached or not (line.owner is None or line.owner.is_live):
                continue
            line.is_live = True
            waiting += [line.around] if line.around is not None else []
            waiting += self._jumps.get(line, [])
            waiting += [inner for inner in line.inner if _is_root(inner) or self._is_read(inner)]
            for name in _loads(line.own):
                for key in {(line.scope, name), (0, name)} - self._used:
                    self._used.add(key)
                    waiting += self._bound.get(key, [])

    def _is_read(self, line: Line) -> bool:
        return any((line.scope, name) in self._used for name in line.binds)

    def _count_useless(self, nodes: Sequence[ast.AST]) -> int:
        alone = {id(block[0]) for node in nodes for block in _blocks(node) if len(block) == 1}
        placeholders = {
            id(line.statement) for line in self._lines if id(line.statement) in alone and _is_placeholder(line)
        }
        exempt = placeholders | self._unreached
        count = 0
        for line in self._lines:
            statement = line.statement
            if line.is_live or line.binds or id(statement) in exempt:
                continue
            if isinstance(statement, (ast.Expr, ast.Pass, ast.Assert, *_ASSIGNMENTS)):
                count += 1
            elif not isinstance(statement, (ast.ClassDef, *_FUNCTIONS)):
                below = list(_statements_below(statement)) if statement is not None else []
                count += bool(below) and all(id(inner) in placeholders for inner in below)
        return count

    def _count_shared(self, nodes: Sequence[ast.AST]) -> int:
        """Count the unused names that belong to an outer scope: whoever is there may use them."""
        shared = {name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
        return sum(key not in self._used and key[1] in shared for key in self._bound)

    def _count_repeated(self) -> int:
        seen: set[tuple[str, ...]] = set()
        count = 0
        for line in self._lines:
            if len(line.own) >= LARGE:
                written = tuple(map(_written, line.own))
                count += written in seen
                seen.add(written)
        return count


def _binds(statement: ast.stmt, owner: Line) -> frozenset[str]:
    """Return the names that a statement makes when that is all it does; those of a class are its attributes."""
    names: set[str] = set()
    if isinstance(owner.statement, ast.ClassDef):
        return frozenset()
    if isinstance(statement, _ASSIGNMENTS):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if all(isinstance(target, ast.Name) for target in targets) and not _is_to_itself(statement):
            names = {target.id for target in targets if isinstance(target, ast.Name)}
    elif isinstance(statement, _IMPORTS) and getattr(statement, "module", "") != "__future__":
        names = {alias.asname or alias.name.split(".")[0] for alias in statement.names} - {"*"}
    elif isinstance(statement, (ast.ClassDef, *_FUNCTIONS)) and owner.statement is not None:
        names = {statement.name}
    return frozenset(name for name in names if not (name.startswith("__") and name.endswith("__")) and name != "_")


def _is_root(line: Line) -> bool:
    """Whether a statement is live as soon as the function or class that it belongs to is."""
    statement = line.statement
    assert line.owner is not None
    if isinstance(line.owner.statement, ast.ClassDef):
        return not isinstance(statement, (ast.Expr, ast.Pass))
    if isinstance(statement, (ast.ClassDef, *_FUNCTIONS)):
        return line.owner.statement is None
    if isinstance(statement, (ast.Return, ast.Raise, ast.Delete)):
        return True
    if isinstance(statement, ast.Assert) and not isinstance(statement.test, ast.Constant):
        return True
    if isinstance(statement, _ASSIGNMENTS) and not line.binds and not _is_to_nothing(statement):
        return True
    return any(map(_has_effect, line.own))


def _has_effect(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and node.func.id in _PURE)
    return isinstance(node, _EFFECTS)


def _is_to_itself(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Name):
        return False
    return all(isinstance(target, ast.Name) and target.id == statement.value.id for target in statement.targets)


def _is_to_nothing(statement: ast.stmt) -> bool:
    """Whether an assignment changes nothing: of a name to itself, or to `_`."""
    if not isinstance(statement, ast.Assign):
        return False
    return _is_to_itself(statement) or all(getattr(target, "id", "") == "_" for target in statement.targets)


def _is_placeholder(line: Line) -> bool:
    statement = line.statement
    is_dots = isinstance(statement, ast.Expr) and getattr(statement.value, "value", None) is ...
    return isinstance(statement, ast.Pass) or is_dots


def _unreachable(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements below a node that are never reached because of it."""
    dead: list[ast.stmt] = []
    for block in _blocks(node):
        end = next((place for place, statement in enumerate(block) if isinstance(statement, _ENDS)), len(block))
        dead += block[end + 1 :]
    if isinstance(node, (ast.If, ast.While)) and isinstance(node.test, ast.Constant):
        dead += node.body if not node.test.value else node.orelse if isinstance(node, ast.If) else []
    for statement in dead:
        yield from (inner for inner in ast.walk(statement) if isinstance(inner, ast.stmt))


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements that a node holds itself."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block


def _statements_below(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements in the blocks of a node and of its handlers and cases."""
    for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        for block in _blocks(part):
            yield from block


def _loads(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that are read or deleted."""
    return {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}


def _written(node: ast.AST) -> str:
    """Return a node's kind and words, without what is below it."""
    words = (value for _, value in ast.iter_fields(node) if not isinstance(value, (ast.AST, list)))
    return f"{type(node).__name__}{tuple(map(_word, words))}"


def _word(value: object) -> str:
    return hex(value) if type(value) is int else repr(value)  # decimal digits of a long number may be refused
