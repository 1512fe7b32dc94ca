"""The special methods of proxies: which ones a class has, the solution says; what each does stands here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from grpo_rewards.code.confined import rules
from grpo_rewards.code.confined.basedata import IMMUTABLE
from grpo_rewards.code.confined.operators import ARITHMETIC, COMPARISONS, CONTEXTS, IN_PLACE, PLACES, UNARY
from grpo_rewards.code.confined.state import state_of

_TOLD = frozenset(
    {"__str__", "__repr__", "__format__", "__call__", "__enter__", "__exit__", "__copy__", "__deepcopy__"}
)
_KEEPING = frozenset({"__copy__", "__deepcopy__", "__neg__", "__pos__", "__invert__", "__abs__"})
_NUMBERS = frozenset(UNARY) & {
    "__abs__", "__bool__", "__ceil__", "__complex__", "__float__", "__floor__", "__index__", "__int__", "__invert__",
    "__len__", "__neg__", "__pos__", "__round__", "__trunc__",
}  # fmt: skip
_FROM_DATA = frozenset({*UNARY, *COMPARISONS, *PLACES}) - _TOLD


def methods_for(names: Iterable[str], base: str) -> dict[str, Callable[..., Any]]:
    """The special methods of a class.

    Args:
        names: What the solution's class defines, among those that cross.
        base: The built-in type that it extends, "" for none.
    """
    wanted = set(names) - {"__eq__", "__hash__"}
    if base in IMMUTABLE:  # the data is here, and what compares it too
        wanted -= _FROM_DATA
    return {name: _METHODS[name] for name in wanted if name in _METHODS}


def _unary(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        state = state_of(self)
        if name in _NUMBERS:
            rules.check_number(self, name)
        extra = args if name in ("__format__", "__round__") else ()
        return state.session.ask("op", [name, self, *extra], made=state.made and name in _KEEPING, mixed=state.mixed)

    return method


def _next(self: Any) -> Any:
    done, value = state_of(self).session.ask("next", [self])
    if done:
        raise StopIteration
    return value


def _order(name: str) -> Callable[..., Any]:
    return lambda self, other: rules.order(self, other, name)


def _arithmetic(name: str, reflected: bool) -> Callable[..., Any]:
    return lambda self, other, *modulus: rules.arithmetic(self, other, name, reflected=reflected)


def _place(name: str) -> Callable[..., Any]:
    return lambda self, *args: state_of(self).session.ask("op", [name, self, *args])


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    answer = state_of(self).session.ask("call", [self, *args], kwargs, back=True)
    return rules.check_answer(self, "__call__", bool(args or kwargs), answer)


def _enter(self: Any) -> Any:
    return state_of(self).session.ask("special", [self, "__enter__"], made=state_of(self).made)


def _exit(self: Any, kind: Any, error: Any, trace: Any) -> bool:
    """Leave a `with`; a solution that swallows an exception is noted, since asserts may stand behind it."""
    session = state_of(self).session
    swallowed = bool(session.ask("special", [self, "__exit__", kind, error, None])) and error is not None
    session.swallowed += swallowed
    return swallowed


_METHODS: dict[str, Callable[..., Any]] = {
    **{name: _unary(name) for name in UNARY},
    **{name: _order(name) for name in rules.ORDERS},
    **{f"__{name}__": _arithmetic(name, False) for name in ARITHMETIC},
    **{f"__r{name}__": _arithmetic(name, True) for name in ARITHMETIC},
    **{f"__{name}__": _arithmetic(name, False) for name in IN_PLACE},
    **{name: _place(name) for name in ("__getitem__", "__setitem__", "__delitem__")},
    "__next__": _next,
    "__contains__": rules.contains,
    "__call__": _call,
    CONTEXTS[0]: _enter,
    CONTEXTS[1]: _exit,
}
