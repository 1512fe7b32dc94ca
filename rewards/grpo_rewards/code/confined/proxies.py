"""What stands among the tests for functions, classes and objects of the solution.

The solution's process describes a thing once; here a real class is made for each of its classes, with the special
methods that it has, so that `isinstance`, `except`, `with` and operators work. A description is hostile: names are
checked, and methods come only from this module. What an operator may decide stands in `rules.py`.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from types import FunctionType
from typing import TYPE_CHECKING, Any

from grpo_rewards.code.confined import rules
from grpo_rewards.code.confined.basedata import BASES, IMMUTABLE
from grpo_rewards.code.confined.channel import Malformed
from grpo_rewards.code.confined.encoding import Inner
from grpo_rewards.code.confined.operators import CROSSING
from grpo_rewards.code.confined.raising import safe_base
from grpo_rewards.code.confined.special import methods_for
from grpo_rewards.code.confined.state import RemoteBase, State, data_of, state_of

if TYPE_CHECKING:
    from grpo_rewards.code.confined.session import Session

_READABLE = frozenset(
    f"__{name}__"
    for name in [
        "name",
        "qualname",
        "doc",
        "annotations",
        "dict",
        "defaults",
        "kwdefaults",
        "wrapped",
        "members",
        "module",
        "slots",
        "notes",
    ]
)
_BASES = {base.__name__: base for base, _ in BASES}


class RemoteMeta(type):
    """The class of classes of the solution: calling one constructs an object over there."""

    _judge_session: Session
    _judge_handle: int
    _judge_special: frozenset[str]
    _judge_methods: frozenset[str]
    _judge_base: str
    _judge_built: tuple[tuple[Any, ...], dict[str, Any]] | None
    _judge_used: bool

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Construct an object of the solution; an exception is made here."""
        session: Session = cls._judge_session
        if issubclass(cls, BaseException):
            return type.__call__(cls, *args, **kwargs)
        if "_judge_handle" not in cls.__dict__:
            raise TypeError("the tests cannot extend a class of the solution")
        found = session.ask("call", [cls, *args], kwargs, made=True, back=True)
        if type(found) is cls:
            type.__setattr__(cls, "_judge_built", (args, kwargs))
        return found

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_judge_") or (name.startswith("__") and name not in _READABLE):
            raise AttributeError(name)
        return cls._judge_session.ask("get", [cls, name])

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._judge_session.ask("set", [cls, name, value])

    def __delattr__(cls, name: str) -> None:
        cls._judge_session.ask("del", [cls, name])

    def __iter__(cls) -> Iterator[Any]:
        found: Iterator[Any] = iter(cls._judge_session.ask("op", ["__iter__", cls]))
        return found

    def __len__(cls) -> int:
        return int(cls._judge_session.ask("op", ["__len__", cls]))

    def __bool__(cls) -> bool:
        return True

    def __contains__(cls, item: Any) -> bool:
        return any(member is item for member in cls)

    def __getitem__(cls, key: Any) -> Any:
        found = cls._judge_session.ask("op", ["__getitem__", cls, key])
        return found if isinstance(found, cls) else cls  # a member of an enumeration, or `Stack[int]`


class Remote(RemoteBase):
    """An object of the solution."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_judge_") or (name.startswith("__") and name not in _READABLE):
            raise AttributeError(name)
        if name in type(self)._judge_methods:
            rules.note_use(self, name)
            return Method(self, name)
        found = state_of(self).session.ask("get", [self, name])
        rules.note_use(self, name)
        if isinstance(found, Function) or (callable(found) and name in rules.QUESTIONS):
            return Method(self, name)
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        state_of(self).session.ask("set", [self, name, value])

    def __delattr__(self, name: str) -> None:
        state_of(self).session.ask("del", [self, name])

    def __eq__(self, other: object) -> Any:
        return rules.equal(self, other)

    def __hash__(self) -> int:
        state = state_of(self)
        if rules.is_kin(self) and "__hash__" in type(self)._judge_special:
            return int(state.session.ask("op", ["__hash__", self]))
        if "__eq__" in type(self)._judge_special and rules.is_kin(self):
            raise TypeError(f"unhashable type: {type(self).__name__!r}")
        return hash(("object of the solution", state.handle))

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("an object of the solution cannot be copied")


class Handle:
    """Names a thing of the solution in a question."""

    def __init__(self, state: State) -> None:
        self._judge_state = state


class Method:
    """A method of an object of the solution."""

    def __init__(self, owner: Remote, name: str) -> None:
        self.__self__ = owner
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it over there."""
        session = state_of(self.__self__).session
        answer = session.ask("method", [self.__self__, self.__name__, *args], kwargs, back=True)
        return rules.check_answer(self.__self__, self.__name__, bool(args or kwargs), answer)


class Function:
    """A function of the solution, or anything else there that is called like one."""

    def __init__(self, session: Session, handle: int, name: str) -> None:
        object.__setattr__(self, "_judge_state", State(session, handle))
        object.__setattr__(self, "__name__", name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it over there."""
        return state_of(self).session.ask("call", [self, *args], kwargs, back=True)

    def __getattr__(self, name: str) -> Any:
        if name == "__signature__":
            return signature(state_of(self).session.ask("signature", [self]))
        if name.startswith("__") and name not in _READABLE:
            raise AttributeError(name)
        return state_of(self).session.ask("get", [self, name])

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self.__getattr__("__doc__")

    def __setattr__(self, name: str, value: Any) -> None:
        state_of(self).session.ask("set", [self, name, value])

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"

    def __deepcopy__(self, memo: Any) -> Function:
        return self


def signature(rows: Any) -> Any:
    """The signature that the solution says a function has."""
    import inspect

    parameters = []
    for name, kind, has_default, default in rows:
        shown = default if has_default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, inspect._ParameterKind(kind), default=shown))
    return inspect.Signature(parameters)


def handle_of(value: Any) -> int | None:
    """The number of what a proxy stands for; None for other values."""
    kind = type(value)
    if kind is RemoteMeta:
        handle: int | None = value.__dict__.get("_judge_handle")
        return handle
    if kind is Function or kind is Handle or type(kind) is RemoteMeta:
        try:
            return state_of(value).handle
        except AttributeError:  # an exception that the tests made themselves
            return None
    state = value.__dict__.get("_judge_state") if kind is FunctionType else None
    return state.handle if type(state) is State else None


class Proxies:
    """Makes the proxies of one session; one thing has one proxy, or two where it was made by the tests too."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.classes: dict[int, RemoteMeta] = {}
        self.alive: weakref.WeakValueDictionary[tuple[int, bool, bool], Any] = weakref.WeakValueDictionary()

    def read(self, body: dict[str, Any], inner: Inner) -> Any:
        """Make the proxy that a description asks for.

        Raises:
            Malformed: It describes nothing.
        """
        kind, handle = body.get("k"), body.get("h")
        if type(handle) is not int:
            raise Malformed("no number of an object")
        if kind == "c":
            return self._class(body, handle)
        if kind == "f":
            return self._function(body, handle)
        if kind == "i":
            return self._items(State(self.session, handle))
        if kind == "a":
            return self._async_items(State(self.session, handle))
        if kind == "w":
            return self._awaited(State(self.session, handle))
        if kind != "o" or type(body.get("c")) is not dict:
            raise Malformed("no object")
        cls = self._class(body["c"], body["c"].get("h"))
        data = inner(body["d"]) if "d" in body else None
        return self._object(cls, handle, data)

    def as_made(self, thing: Any, mixed: bool = False) -> Any:
        """The proxy for something that the tests made."""
        if not isinstance(thing, Remote) or state_of(thing).made:
            return thing
        data = data_of(thing) if type(thing)._judge_base in IMMUTABLE else None
        return self._object(type(thing), state_of(thing).handle, data, made=True, mixed=mixed)

    def _object(self, cls: Any, handle: int, data: Any, *, made: bool = False, mixed: bool = False) -> Any:
        found = self.alive.get((handle, made, mixed))
        if found is not None:
            return found
        if issubclass(cls, BaseException):
            thing = cls.__new__(cls)
            thing.args = tuple(data) if type(data) is list else ()
        elif cls._judge_base in IMMUTABLE:
            base = _BASES[cls._judge_base]
            if type(data) is not base:
                raise Malformed("no data of the built-in type")
            thing = base.__new__(cls, data)
        else:
            thing = object.__new__(cls)
        object.__setattr__(thing, "_judge_state", State(self.session, handle, made, mixed))
        with suppress(TypeError):  # not every built-in type allows weak references
            self.alive[handle, made, mixed] = thing
        return thing

    def _function(self, body: dict[str, Any], handle: int) -> Any:
        found = self.alive.get((handle, False, False))
        if found is not None:
            return found
        name = body.get("n")
        name = name if type(name) is str else "function"
        function: Any = Function(self.session, handle, name)
        if body.get("a") is True:
            function = _coroutine_function(self.session, handle, name)
        self.alive[handle, False, False] = function
        return function

    def _class(self, body: dict[str, Any], handle: Any) -> Any:
        if body.get("k") == "b":
            return self.session._read(body, lambda tree: tree)
        if type(handle) is not int or body.get("k") != "c":
            raise Malformed("no class")
        if handle not in self.classes:
            self.classes[handle] = self._new_class(body, handle)
        return self.classes[handle]

    def _new_class(self, body: dict[str, Any], handle: int) -> RemoteMeta:
        name, base, special, methods, parents = (body.get(key) for key in "nbdmp")
        if type(name) is not str or not name.isidentifier() or type(base) is not str or type(parents) is not list:
            raise Malformed("no description of a class")
        if type(special) is not list or type(methods) is not list or (base and base not in _BASES):
            raise Malformed("no description of a class")
        exception = body.get("e")
        space: dict[str, Any] = {
            "_judge_session": self.session,
            "_judge_handle": handle,
            "_judge_special": frozenset(special) & CROSSING,
            "_judge_methods": frozenset(methods),
            "_judge_base": base,
            "_judge_built": None,
            "_judge_used": False,
            "__module__": "solution",
            "__qualname__": name,
            "__doc__": body["doc"] if type(body.get("doc")) is str else None,
        }
        if exception:
            return self._exception_class(name, exception, parents, space)
        space.update(methods_for(space["_judge_special"], base))
        mixed = [self._class(parent, parent.get("h")) for parent in parents if type(parent) is dict]
        mixed = [parent for parent in mixed if isinstance(parent, RemoteMeta)]
        kinds = (_BASES[base], Remote) if base in IMMUTABLE else (Remote,)
        try:
            return RemoteMeta(name, (*mixed, *kinds), space)
        except TypeError:  # bases that cannot stand together here
            return RemoteMeta(name, kinds, space)

    def _exception_class(self, name: str, base: Any, parents: list[Any], space: dict[str, Any]) -> RemoteMeta:
        found = safe_base(base)
        mixed = [self._class(parent, parent.get("h")) for parent in parents if type(parent) is dict]
        mixed = [parent for parent in mixed if isinstance(parent, RemoteMeta) and issubclass(parent, BaseException)]
        space["__getattr__"] = _exception_attribute
        try:
            return RemoteMeta(name, (*mixed, found), space)
        except TypeError:
            return RemoteMeta(name, (found,), space)

    def _items(self, state: State) -> Iterator[Any]:
        """Take the items of an iterator over there, one by one, as they are wanted."""
        while not (pair := self._next("next", state))[0]:
            yield pair[1]

    async def _async_items(self, state: State) -> AsyncIterator[Any]:
        while not (pair := self._next("anext", state))[0]:
            yield pair[1]

    def _next(self, command: str, state: State) -> tuple[Any, Any]:
        """Ask whether an iterator is at its end, and for its next item."""
        pair = self.session.ask(command, [Handle(state)])
        if type(pair) is not tuple or len(pair) != 2:
            raise TypeError("no item of an iterator")
        return pair

    async def _awaited(self, state: State) -> Any:
        return self.session.ask("await", [Handle(state)])


def _exception_attribute(self: Any, name: str) -> Any:
    """Read what an exception of the solution holds; one that the tests made themselves holds nothing."""
    if name.startswith("_") or handle_of(self) is None:
        raise AttributeError(name)
    return state_of(self).session.ask("get", [self, name])


def _coroutine_function(session: Session, handle: int, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    state = State(session, handle)

    async def function(*args: Any, **kwargs: Any) -> Any:
        return await session.ask("call", [function, *args], kwargs, back=True)

    function.__name__ = name
    function._judge_state = state  # type: ignore[attr-defined]
    return function
