"""Instances of the prompt's classes, by value: both sides have those classes, so only the attributes cross.

Linked lists and trees are long chains of such instances, and graphs have cycles. So a message holds a flat table of
them, one row each, and a value refers to its row by number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from grpo_rewards.code.confined.channel import Malformed
from grpo_rewards.code.confined.codec import decode, encode
from grpo_rewards.code.confined.encoding import Hook, Inner, NotPlain

NODES = 200_000
"""Rows that one message may hold."""


class Packer:
    """Writes the values of one message.

    Args:
        classes: The prompt's classes by name.
        foreign: Writes what is neither plain nor an instance of them.
        known: Instances that have the first rows, since they came in the message that this one answers.
    """

    def __init__(self, classes: dict[str, type], foreign: Hook, known: Sequence[Any] = ()) -> None:
        self.names = {cls: name for name, cls in classes.items()}
        self.foreign = foreign
        self.objects = list(known)
        self.numbers = {id(item): number for number, item in enumerate(self.objects)}

    def pack(self, value: Any) -> Any:
        """Write one value of the message."""
        return encode(value, self._write)

    def rows(self) -> list[Any]:
        """The table; to be asked for last, since packing adds to it."""
        rows: list[Any] = []
        while len(rows) < len(self.objects):
            item = self.objects[len(rows)]
            rows.append([self.names[type(item)], self.pack(_attributes(item))])
        return rows

    def _write(self, value: Any, inner: Inner) -> Any:
        if type(value) not in self.names:
            return self.foreign(value, inner)
        number = self.numbers.setdefault(id(value), len(self.objects))
        if number == len(self.objects):
            if number == NODES:
                raise NotPlain("too large")
            self.objects.append(value)
        return {"o": {"k": "n", "n": number}}


class Unpacker:
    """Reads the values of one message.

    Args:
        rows: Its table.
        classes: The prompt's classes by name, as this side has them.
        foreign: Reads what the other side's hook wrote.
        reuse: Objects that take the first rows over; None makes new ones for all.
    """

    def __init__(self, rows: Any, classes: dict[str, type], foreign: Hook, reuse: Sequence[Any] | None = None) -> None:
        self.foreign = foreign
        if type(rows) is not list or len(rows) > NODES:
            raise Malformed("no table of nodes")
        names = [row[0] if type(row) is list and len(row) == 2 and type(row[0]) is str else "" for row in rows]
        if not set(names) <= classes.keys():
            raise Malformed("no class of the prompt")
        self.objects: list[Any] = [object.__new__(classes[name]) for name in names]
        for number, item in enumerate(reuse or ()):
            if number >= len(rows) or type(item) is not classes[names[number]]:
                raise Malformed("a node of another class")
            self.objects[number] = item
        for item, row in zip(self.objects, rows, strict=True):
            _set_attributes(item, self.unpack(row[1]))

    def unpack(self, tree: Any) -> Any:
        """Read one value of the message."""
        return decode(tree, self._read)

    def _read(self, body: Any, inner: Callable[[Any], Any]) -> Any:
        if type(body) is not dict:
            raise Malformed("no reference")
        if body.get("k") != "n":
            return self.foreign(body, inner)
        number = body.get("n")
        if type(number) is not int or not 0 <= number < len(self.objects):
            raise Malformed("a reference to no row")
        return self.objects[number]


def _slots(cls: type) -> list[str]:
    """Names of the attributes that instances of a class keep outside their table."""
    slots: list[str] = []
    for base in cls.__mro__:
        names = base.__dict__.get("__slots__", ())
        slots.extend([names] if isinstance(names, str) else names)
    return [name for name in slots if not name.startswith("__")]


def _attributes(item: Any) -> dict[str, Any]:
    found = dict(getattr(item, "__dict__", {}))
    for name in _slots(type(item)):
        if hasattr(item, name):
            found[name] = getattr(item, name)
    return found


def _set_attributes(item: Any, found: Any) -> None:
    """Give an instance its attributes; none may hide a method of its class and put the sender's in its place."""
    if type(found) is not dict:
        raise Malformed("no attributes")
    cls, slots = type(item), _slots(type(item))
    for name in found:
        if type(name) is not str or name.startswith("__"):
            raise Malformed("no name of an attribute")
        hidden = getattr(cls, name, None)
        if name not in slots and (isinstance(hidden, FunctionType | property) or callable(hidden)):
            raise Malformed("an attribute that hides a method")
    table = getattr(item, "__dict__", None)
    if table is not None:
        table.clear()
    for name, value in found.items():
        if name in slots:
            object.__setattr__(item, name, value)
        elif table is None:
            raise Malformed("an attribute that the class has no place for")
        else:
            table[name] = value
