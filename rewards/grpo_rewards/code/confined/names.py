"""Which names of the solution a test text gets to see.

Only those that it reads and nobody else defines: a solution that defines `sorted`, `len` or a helper of the tests does
not replace theirs.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import symtable
import sys
from types import ModuleType
from typing import Any

from grpo_rewards.code.confined.channel import Malformed
from grpo_rewards.code.confined.session import Session, library_module

_LIBRARY = (
    "math", "collections", "itertools", "functools", "copy", "operator", "decimal", "fractions", "datetime", "re",
    "heapq", "bisect", "random", "statistics",
)  # fmt: skip

_FORGOTTEN = frozenset(
    {"Counter", "Decimal", "Fraction", "OrderedDict", "deepcopy", "defaultdict", "deque", "isclose", "namedtuple"}
)
"""What texts use that forgot to import it: the solution's own thing of that name could answer every comparison."""


def free_names(text: str) -> set[str]:
    """Global names that a text reads and never binds."""
    top = symtable.symtable(text, "tests.py", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    read: set[str] = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables.extend(table.get_children())
        for symbol in table.get_symbols():
            if table is top or symbol.is_global():
                if symbol.is_referenced():
                    read.add(symbol.get_name())
                if symbol.is_assigned() and symbol.is_global():
                    bound.add(symbol.get_name())
    return read - bound


def bind(
    namespace: dict[str, Any], session: Session, declared: list[str], job: dict[str, Any], tree: ast.Module
) -> None:
    """Bind the names of the solution that the tests read.

    Args:
        namespace: The tests' namespace, with what the prompt's code defined.
        session: To the solution.
        declared: What it says it defines.
        job: "tests", "given" and "entry_point".
        tree: The parsed tests.
    """
    entry = job.get("entry_point")
    visible = {name for name in declared if _may_see(name, namespace, entry)}
    read = free_names(job["tests"]) | free_names(job.get("given", ""))
    wanted = visible & (read if entry is None else read | {entry})
    sys.modules["solution"] = SolutionModule(session, visible)
    if not wanted:
        return
    bases = _only_bases(tree)
    for name, value in session.fetch(sorted(wanted)).items():
        own = _library_object(name, value, entry, name in bases, bool(wanted - _FORGOTTEN))
        namespace[name] = value if own is None else own
        if own is None and not hasattr(value, "_judge_state") and not isinstance(value, ModuleType | type):
            session.consulted += 1  # a constant: reading it is all that a test can ask


def _may_see(name: str, namespace: dict[str, Any], entry: str | None) -> bool:
    return name == entry or not (name in namespace or hasattr(builtins, name) or name.startswith("_judge_"))


def _only_bases(tree: ast.Module) -> set[str]:
    """Names that are only used as `name.attribute`, as modules are."""
    bases: set[str] = set()
    others: set[str] = set()
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            bases.add(node.value.id)
            continue
        if isinstance(node, ast.Name):
            others.add(node.id)
        stack.extend(ast.iter_child_nodes(node))
    return bases - others


def _library_object(name: str, value: Any, entry: str | None, base: bool, others: bool) -> Any:
    """The library's own object where the tests mean that, None where they mean the solution's.

    `Counter(f(3)) == Counter([9])` without an import means the library's: where the solution's function is known, or
    the tests read other names of the solution (`others`), it brings no `Counter` of its own.
    """
    if name == entry:
        return None
    if isinstance(value, ModuleType) or (base and name in sys.stdlib_module_names):
        if name not in sys.stdlib_module_names:
            return value
        try:
            module = library_module(name)
        except Malformed:
            return None
        return module if isinstance(value, ModuleType) else getattr(module, name, module)
    if entry is not None or (others and name in _FORGOTTEN):
        for module_name in _LIBRARY:
            found = getattr(importlib.import_module(module_name), name, None)
            if found is not None:
                return found
    return None


class SolutionModule(ModuleType):
    """What `import solution` gives the tests."""

    def __init__(self, session: Session, visible: set[str]) -> None:
        super().__init__("solution")
        self.__dict__.update(_session=session, __all__=sorted(visible))

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dict__["__all__"]:
            raise AttributeError(f"the solution defines no {name!r}")
        value = self.__dict__["_session"].fetch([name])[name]
        self.__dict__[name] = value
        return value
