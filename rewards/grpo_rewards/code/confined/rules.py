"""What decides an assertion must be decided among the tests: the rules for operators on the solution's objects.

An object of the solution answers from its own process, and a hostile one answers yes. Three kinds are told apart:

* **made**: what an expression of the tests constructs, `Vector(1, 2)`, and what an operator makes of such, as
  `Vector(1, 2) * 3`. The tests chose its class, so its operators are part of what they test.
* **kin**: any other object of a class that the tests construct: a result of a method, an attribute.
* **foreign**: everything else, above all what a function returned where the tests expect plain data.

A class could also pose as the function that is asked for, and `f(2)` would be made. So what is made is **in use** only
when the tests have read an attribute or called a method of an object of its class under a name that plain data does
not have.

Reading (attributes, items, `len`, `str`, iteration, `abs`, ...) is allowed on all: it gives data, which is then
compared here. What is asked with an operand differs:

| | made, in use | made | kin | foreign |
|---|---|---|---|---|
| `==` with an object | asked, when one is made and both are made or kin | the same | the same | identity |
| `<` and its like with an object | the same | the same | the same | TypeError |
| `==` with plain data | False | False | False | False |
| `<` and its like with plain data | TypeError | TypeError | TypeError | TypeError |
| arithmetic with an object | asked, when both are made or kin | the same | the same | TypeError |
| arithmetic with plain data | asked | gives an object, and no number comes of it | TypeError | TypeError |
| `x in object` | asked | searched here | searched here | searched here |
| a method that plain data has, called with arguments | asked | gives None | gives None | gives None |
| another method, or the object, called with arguments | asked | asked | asked | no bool |

An equality that the solution confirms is tried on: on an object that equals nothing, and on objects made from other
arguments. One that holds between anything is none. The same goes for an order that holds both ways.

Objects whose class extends a built-in type of data compare by that data, read by the built-in type's own methods.
"""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Iterable
from typing import Any

from grpo_rewards.code.confined.operators import COMPARISONS, OPERATIONS
from grpo_rewards.code.confined.state import RemoteBase, Stranger, data_of, has_data, state_of
from grpo_rewards.code.confined.variants import variants

QUESTIONS = frozenset(
    name for kind in (str, bytes, tuple, frozenset, int, float) for name in dir(kind) if not name.startswith("_")
)
"""Methods of built-in data; asked with arguments they compare, and the tests may expect the data itself."""

_ARRAYS = "T all any argmax argmin astype dtype flat flatten max mean min ndim ravel reshape shape size std sum tolist"

DATA_NAMES = frozenset(_ARRAYS.split()).union(
    *(
        dir(kind)
        for kind in (
            str,
            bytes,
            bytearray,
            tuple,
            list,
            set,
            frozenset,
            dict,
            int,
            float,
            complex,
            range,
            deque,
            Counter,
        )
    )
)
"""Names that plain data has too, arrays of numpy among it: reading them says nothing about a class."""

ORDERS = ("__lt__", "__le__", "__gt__", "__ge__")


def is_kin(thing: Any) -> bool:
    """Whether the tests construct objects of its class, or this very one."""
    return isinstance(thing, RemoteBase) and (state_of(thing).made or type(thing)._judge_built is not None)


def note_use(thing: RemoteBase, name: str) -> None:
    """Note that the tests have read an attribute; a name that is not data's says that they mean an object."""
    if state_of(thing).made and not name.startswith("_") and name not in DATA_NAMES:
        type.__setattr__(type(thing), "_judge_used", True)


def equal(left: RemoteBase, right: Any) -> Any:
    """`left == right`."""
    mine = state_of(left)
    if has_data(left):
        return data_of(left) == data_of(right)
    if not isinstance(right, RemoteBase):
        return _unequal(right)
    if mine.handle == state_of(right).handle:
        return True
    if "__eq__" not in type(left)._judge_special and "__eq__" not in type(right)._judge_special:
        return False
    if not (mine.made or state_of(right).made) or not is_kin(left) or not is_kin(right):
        return False
    return _said(left, "__eq__", right) and _tells_apart(left) and _tells_apart(right)


def _unequal(right: Any) -> Any:
    """No, unless the tests' own class on the other side says otherwise (`pytest.approx`, `mock.ANY`)."""
    return False if type(right).__module__ == "builtins" else NotImplemented


def _tells_apart(thing: RemoteBase) -> bool:
    """Whether the equality of an object's class fails where it should."""
    if _said(thing, "__eq__", Stranger()):
        return False
    cls = type(thing)
    if cls._judge_built is None:
        return True
    args, kwargs = cls._judge_built
    tried = 0
    for other_args in _changed(args):
        tried += 1
        try:
            other = state_of(thing).session.ask("call", [cls, *other_args], kwargs)
        except Exception:  # a constructor may refuse these arguments, which tells them apart too
            return True
        if not isinstance(other, RemoteBase) or not _said(thing, "__eq__", other):
            return True
    return tried == 0


def _changed(args: tuple[Any, ...]) -> list[list[Any]]:
    """The arguments, each time with another one of them changed."""
    changed: list[list[Any]] = []
    for place, value in enumerate(args[:4]):
        changed.extend([*args[:place], other, *args[place + 1 :]] for other in variants(value, 1))
    return changed


def _said(left: Any, name: str, right: Any) -> bool:
    """What the solution says to a comparison; an exception is no yes."""
    session = state_of(left).session
    try:
        answer = session.ask("op", [name, left, right])
    except Exception:  # no answer
        return False
    return answer is True


def order(left: RemoteBase, right: Any, name: str) -> Any:
    """`left < right` and its like."""
    if has_data(left) and not state_of(left).made:
        return COMPARISONS[name](data_of(left), data_of(right))
    if not isinstance(right, RemoteBase):
        raise TypeError(f"an object of the solution cannot decide {name} with {type(right).__name__}")
    if not (state_of(left).made or state_of(right).made) or not is_kin(left) or not is_kin(right):
        raise TypeError(f"an object of the solution cannot decide {name} on its own")
    answer = state_of(left).session.ask("op", [name, left, right])
    if type(answer) is not bool:
        raise TypeError(f"{name} gave no bool")
    if answer and name in ("__lt__", "__gt__") and _said(right, name, left):
        raise TypeError(f"{name} holds both ways")
    return answer


def arithmetic(left: RemoteBase, right: Any, name: str, *, reflected: bool = False) -> Any:
    """`left + right`, `left += right` and their like; `reflected` when the tests wrote them the other way round."""
    operands = [right, left] if reflected else [left, right]
    plain = not isinstance(right, RemoteBase)
    state, used = state_of(left), type(left)._judge_used
    if has_data(left) and not (state.made and (used or not plain)):
        return OPERATIONS[name](*map(data_of, operands))
    if not (state.made if plain else is_kin(left) and is_kin(right)):
        raise TypeError(f"{name}: an object of the solution where the tests calculate")
    mixed = not used and (plain or state.mixed or state_of(right).mixed)
    made = state.made and (plain or state_of(right).made)
    answer = state.session.ask("op", [name, *operands], made=made, mixed=mixed)
    if mixed and (has_data(answer) or not isinstance(answer, RemoteBase)):
        raise TypeError(f"{name}: an object of the solution gives a number where the tests calculate")
    return answer


def check_number(thing: RemoteBase, name: str) -> None:
    """Refuse a number that comes of an object and of what the tests expect of it: `abs(f(x) - 5)`.

    Raises:
        TypeError: It would.
    """
    if state_of(thing).mixed and not type(thing)._judge_used:
        raise TypeError(f"{name}: an object of the solution where the tests calculate")


def contains(thing: RemoteBase, item: Any) -> bool:
    """`item in thing`."""
    if state_of(thing).made and type(thing)._judge_used:
        return bool(state_of(thing).session.ask("op", ["__contains__", thing, item]))
    if "__iter__" not in type(thing)._judge_special:
        raise TypeError("an object of the solution cannot decide what is in it")
    parts: Iterable[Any] = thing  # type: ignore[assignment]
    return any(part is item or part == item for part in parts)


def check_answer(owner: Any, name: str, asked: bool, answer: Any) -> Any:
    """Let the answer of a method pass, or refuse it where it would decide what the tests should.

    Args:
        owner: The object.
        name: The method.
        asked: Whether it had arguments.
        answer: What it gave.

    Raises:
        TypeError: The tests would believe the solution.
    """
    if not asked or not isinstance(owner, RemoteBase) or answer is None:
        return answer
    if state_of(owner).made and (type(owner)._judge_used or name not in QUESTIONS):
        return answer
    if name in QUESTIONS:
        raise TypeError(f"{name} is asked of an object of the solution where data is expected")
    if not is_kin(owner) and type(answer) is bool:
        raise TypeError(f"{name} of an object of the solution answers yes or no")
    return answer


def same(left: Any, right: Any) -> bool:
    """`left is right`, where two proxies may stand for one object."""
    if isinstance(left, RemoteBase) and isinstance(right, RemoteBase):
        return state_of(left).handle == state_of(right).handle
    return operator.is_(left, right)
