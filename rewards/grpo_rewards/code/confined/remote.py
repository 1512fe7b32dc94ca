"""Answers the tests: the process of the solution lends out its functions, classes and objects by number.

The tests' process asks for one thing at a time (call this, read that attribute, add these two) and gets plain data, or
the number of an object that stays here. While it works for an answer the solution may call back.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from grpo_rewards.code.confined import stubs
from grpo_rewards.code.confined.channel import LARGEST, Channel, TooLarge
from grpo_rewards.code.confined.descriptions import Describer
from grpo_rewards.code.confined.encoding import Inner, NotPlain
from grpo_rewards.code.confined.faults import describe
from grpo_rewards.code.confined.nodes import Packer, Unpacker
from grpo_rewards.code.confined.operators import OPERATIONS
from grpo_rewards.code.confined.program import flush
from grpo_rewards.code.confined.values import named

DECLARED = 10_000
"""Names that are declared."""


class TestsError(Exception):
    """An exception of a class of the tests, raised by their code while the solution called it."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


class Lender:
    """The solution's side of the calls channel.

    Args:
        module: The solution.
        classes: The prompt's classes.
        channel: To the tests.
    """

    def __init__(self, module: ModuleType, classes: dict[str, type], channel: Channel) -> None:
        self.module = module
        self.classes = classes
        self.channel = channel
        self.describer = Describer()
        self.loop: Any = None
        self.commands: dict[str, Callable[..., Any]] = {
            "names": self._names,
            "call": self._call,
            "method": self._method,
            "get": getattr,
            "set": setattr,
            "del": delattr,
            "op": lambda name, *args: OPERATIONS[name](*args),
            "special": lambda thing, name, *args: getattr(type(thing), name)(thing, *args),
            "data": self.describer.data,
            "await": self._wait,
            "next": _next,
            "anext": self._anext,
            "signature": _signature,
        }

    def serve(self) -> NoReturn:
        """Declare the names of the solution, then answer until the tests are gone."""
        names = [name for name in self.module.__dict__ if type(name) is str and not name.startswith("__")]
        self.channel.send({"names": names[:DECLARED]})
        while True:
            self.answer(self.channel.receive(LARGEST))

    def answer(self, request: dict[str, Any]) -> None:
        """Answer one question of the tests."""
        self.describer.forget(request.get("free", ()))
        packer = Packer(self.classes, self._write)
        try:
            reader = Unpacker(request.get("nodes", []), self.classes, self._read)
            packer = Packer(self.classes, self._write, reader.objects if request.get("back") else ())
            args, kwargs = reader.unpack(request["args"]), reader.unpack(request.get("kwargs", {"d": []}))
            value = self.commands[request["do"]](*args, **kwargs)
            reply = {"value": packer.pack(value)}
            if request.get("back"):
                reply["args"] = packer.pack(args)
                reply["kwargs"] = packer.pack(kwargs)
            reply["nodes"] = packer.rows()
        except NotPlain as error:
            reply = {"refused": str(error)}
        except BaseException as error:  # whatever the solution raises is told
            reply = {"error": self._told(error)}
        flush()
        try:
            self.channel.send(reply, limit_bytes=LARGEST)
        except TooLarge:
            self.channel.send({"refused": "too large"})

    def _told(self, error: BaseException) -> dict[str, Any]:
        if type(error) is TestsError:
            return {"ref": error.number}
        fault = describe(error)
        try:
            packer = Packer(self.classes, self._write)
            value = packer.pack(self.describer.exception(error))
        except BaseException:  # then its name and message must do
            return fault
        return fault if packer.objects else {**fault, "value": value}

    def _write(self, value: Any, inner: Inner) -> Any:
        return self.describer.write(value, inner)

    def _read(self, body: dict[str, Any], inner: Inner) -> Any:
        kind = body["k"]
        if kind == "r":
            return self.describer.things[body["h"]]
        if kind == "f":
            return (stubs.AsyncFunction if body["a"] else stubs.Function)(body["h"], self._ask)
        if kind == "i":
            return stubs.Iterator(body["h"], self._ask)
        if kind == "o":
            return stubs.stub_class(body["d"])(body["h"], self._ask)
        return named(body)

    def _ask(self, number: int, do: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call back: ask the tests for something of theirs, and serve what they ask for meanwhile."""
        packer = Packer(self.classes, self._write)
        request = {"cb": number, "do": do, "name": name, "args": packer.pack(list(args)), "kwargs": packer.pack(kwargs)}
        request["nodes"] = packer.rows()
        self.channel.send(request, limit_bytes=LARGEST)
        while True:
            reply = self.channel.receive(LARGEST)
            if "do" not in reply:
                break
            self.answer(reply)
        if "error" in reply:
            error = reply["error"]
            if "ref" in error:
                raise TestsError(error["message"], error["ref"])
            raise named({"k": "b", "n": error["type"]})(error["message"])
        return Unpacker(reply["nodes"], self.classes, self._read).unpack(reply["value"])

    def _names(self, *names: str) -> list[Any]:
        return [self.module.__dict__[name] for name in names]

    def _call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    def _method(self, thing: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(thing, name)(*args, **kwargs)

    def _anext(self, iterator: Any) -> tuple[bool, Any]:
        try:
            return False, self._wait(anext(iterator))
        except StopAsyncIteration:
            return True, None

    def _wait(self, awaitable: Any) -> Any:
        import asyncio  # large, and every run is forked from what is imported

        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(asyncio.ensure_future(awaitable, loop=self.loop))


def _next(iterator: Any) -> tuple[bool, Any]:
    """Whether an iterator is at its end, and its next item."""
    try:
        return False, next(iterator)
    except StopIteration:
        return True, None


def _signature(function: Any) -> list[tuple[str, int, bool, Any]]:
    """Name, kind, whether there is a default, and the default of each parameter."""
    import inspect

    return [
        (p.name, int(p.kind), p.default is not p.empty, None if p.default is p.empty else p.default)
        for p in inspect.signature(function).parameters.values()
    ]


def serve_calls(module: ModuleType, classes: dict[str, type], channel: Channel) -> NoReturn:
    """Answer the tests until they are gone."""
    Lender(module, classes, channel).serve()
