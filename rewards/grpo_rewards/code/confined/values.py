"""Objects that both processes have anyway cross by name: built-in types and functions, and those of the library.

From the tests to the solution any of them may go. The other way only types of plain data and exceptions: a process
that must not believe the solution takes no function from it.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from grpo_rewards.code.confined.faults import class_name

DATA_TYPES: tuple[type, ...] = (
    bool, int, float, complex, str, bytes, bytearray, list, tuple, set, frozenset, dict, range, slice, type(None)
)  # fmt: skip
"""Types whose names are believed when the solution says them."""

_PICKLED = 1 << 20


def builtin_name(value: Any) -> str | None:
    """The name of a built-in type of data or exception; None for anything else."""
    if not isinstance(value, type):
        return None
    if value is type(None):
        return "NoneType"
    cls: type = value
    name = class_name(cls)
    known = builtins.__dict__.get(name) is cls
    return name if known and (cls in DATA_TYPES or issubclass(cls, BaseException)) else None


def builtin_type(name: Any) -> type | None:
    """The type that `builtin_name` named; None when there is none."""
    if name == "NoneType":
        return type(None)
    found = builtins.__dict__.get(name) if type(name) is str else None
    return found if isinstance(found, type) and builtin_name(found) == name else None


def by_name(value: Any) -> dict[str, Any] | None:
    """How the tests name an object that the solution's process has too; None when it has not."""
    if isinstance(value, ModuleType):
        name = value.__name__
        return {"k": "m", "n": name} if name.partition(".")[0] in sys.stdlib_module_names else None
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        if type(module) is str and module.partition(".")[0] in sys.stdlib_module_names and module != "__main__":
            found: Any = sys.modules.get(module)
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is value:
                return {"k": "q", "m": module, "n": name}
        return None
    root = type(value).__module__.partition(".")[0]
    library = root in sys.stdlib_module_names and root not in ("builtins", "types", "__main__")
    if builtin_name(type(value)) or (library and not callable(value)):
        import pickle

        try:
            data = pickle.dumps(value)
        except Exception:  # many things cannot be copied, in many ways
            return None
        return {"k": "p", "d": data.hex()} if len(data) <= _PICKLED else None
    return None


def named(body: dict[str, Any]) -> Any:
    """The object that `by_name` named. For the solution's process only, which believes the tests."""
    kind = body["k"]
    if kind == "b":
        return builtin_type(body["n"]) or Exception
    if kind == "m":
        return importlib.import_module(body["n"])
    if kind == "p":
        import pickle

        return pickle.loads(bytes.fromhex(body["d"]))
    found: Any = importlib.import_module(body["m"])
    for part in body["n"].split("."):
        found = getattr(found, part)
    return found
