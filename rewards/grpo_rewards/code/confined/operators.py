"""The special methods that cross between the processes, by the operation that they stand for.

Each entry is what the side that owns the object calls. `UNARY` ask for something of one object, `BINARY` combine two,
`PLACES` read or change a part, and `CONTEXTS` are the two ends of a `with`.
"""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable
from typing import Any

UNARY: dict[str, Callable[..., Any]] = {
    "__len__": len,
    "__iter__": iter,
    "__next__": next,
    "__reversed__": reversed,
    "__str__": str,
    "__repr__": repr,
    "__format__": format,
    "__bool__": bool,
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__index__": operator.index,
    "__bytes__": bytes,
    "__hash__": hash,
    "__abs__": abs,
    "__neg__": operator.neg,
    "__pos__": operator.pos,
    "__invert__": operator.invert,
    "__round__": round,
    "__trunc__": math.trunc,
    "__floor__": math.floor,
    "__ceil__": math.ceil,
    "__copy__": copy.copy,
    "__deepcopy__": copy.deepcopy,
}

ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "matmul": operator.matmul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "divmod": divmod,
    "pow": pow,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "and": operator.and_,
    "xor": operator.xor,
    "or": operator.or_,
}

IN_PLACE: dict[str, Callable[..., Any]] = {
    "iadd": operator.iadd,
    "isub": operator.isub,
    "imul": operator.imul,
    "imatmul": operator.imatmul,
    "itruediv": operator.itruediv,
    "ifloordiv": operator.ifloordiv,
    "imod": operator.imod,
    "ipow": operator.ipow,
    "ilshift": operator.ilshift,
    "irshift": operator.irshift,
    "iand": operator.iand,
    "ixor": operator.ixor,
    "ior": operator.ior,
}

COMPARISONS: dict[str, Callable[..., Any]] = {
    "__eq__": operator.eq,
    "__lt__": operator.lt,
    "__le__": operator.le,
    "__gt__": operator.gt,
    "__ge__": operator.ge,
}

PLACES: dict[str, Callable[..., Any]] = {
    "__contains__": operator.contains,
    "__getitem__": operator.getitem,
    "__setitem__": operator.setitem,
    "__delitem__": operator.delitem,
}

CONTEXTS = ("__enter__", "__exit__")

OPERATIONS: dict[str, Callable[..., Any]] = {**UNARY, **ARITHMETIC, **IN_PLACE, **COMPARISONS, **PLACES}
"""What the owner of the object calls, by the name that crosses."""

CROSSING = frozenset(
    {*UNARY, *COMPARISONS, *PLACES, *CONTEXTS, "__call__"}
    | {f"__{name}__" for name in (*ARITHMETIC, *IN_PLACE)}
    | {f"__r{name}__" for name in ARITHMETIC}
)
"""Names of special methods that a class on the other side may have."""

_HEAP_TYPE = 1 << 9


def special_methods(cls: type, *, own: bool = False) -> list[str]:
    """Names of the special methods that a class or one of its bases defines, beyond what every object has.

    Args:
        cls: The class.
        own: Leave out what a built-in type defines.
    """
    names = {"__copy__", "__deepcopy__"}
    for base in type.__dict__["__mro__"].__get__(cls)[:-1]:
        if not own or base.__flags__ & _HEAP_TYPE:
            names.update(name for name, method in base.__dict__.items() if name in CROSSING and method is not None)
    if cls.__hash__ is None:
        names.discard("__hash__")
    return sorted(names)
