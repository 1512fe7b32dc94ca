"""The tests' side of the calls channel: asks the solution's process, and turns what comes back into data or proxies.

Everything that arrives is hostile. It becomes plain data, a proxy made here, one of the tests' own objects, or an
exception made here; a message that is none of these ends the session.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

from grpo_rewards.code.confined.channel import LARGEST, Channel, ChannelError, Closed, Malformed
from grpo_rewards.code.confined.encoding import Inner, NotPlain
from grpo_rewards.code.confined.lent import Lent
from grpo_rewards.code.confined.merging import merge
from grpo_rewards.code.confined.nodes import Packer, Unpacker
from grpo_rewards.code.confined.proxies import Proxies, handle_of
from grpo_rewards.code.confined.raising import exception_from
from grpo_rewards.code.confined.values import builtin_type

_UNIMPORTED = frozenset({"antigravity", "idlelib", "this", "turtle", "turtledemo"})


class Lost(BaseException):
    """The solution's process is gone or broke the protocol; no test can go on.

    Attributes:
        gone: Whether it is gone; otherwise it sent something that is no answer.
    """

    def __init__(self, message: str, *, gone: bool) -> None:
        super().__init__(message)
        self.gone = gone


class Session:
    """Questions to the solution.

    Args:
        channel: To its process.
        classes: The prompt's classes, as the tests have them.
        in_place: Whether the tests see what a call does to its arguments.

    Attributes:
        consulted: Questions asked so far.
        swallowed: Exceptions that a context manager of the solution has kept from the tests.
        held: How many proxies stand for each thing over there.
        freed: Things that lost their last proxy since the last question.
        lost: Why the session ended, None while it lasts.
    """

    def __init__(self, channel: Channel, classes: dict[str, type], *, in_place: bool = False) -> None:
        self.channel = channel
        self.classes = classes
        self.in_place = in_place
        self.lent = Lent(may_change=in_place)
        self.proxies = Proxies(self)
        self.consulted = 0
        self.swallowed = 0
        self.held: dict[int, int] = {}
        self.freed: list[int] = []
        self.lost: Lost | None = None

    def declared(self) -> list[str]:
        """The names that the solution says it defines."""
        names = self._receive().get("names")
        if type(names) is not list or any(type(name) is not str for name in names):
            self._end("no declaration", gone=False)
        return [name for name in names if name.isidentifier()]

    def fetch(self, names: Sequence[str]) -> dict[str, Any]:
        """What some names are bound to in the solution."""
        values = self.ask("names", list(names))
        if type(values) is not list or len(values) != len(names):
            self._end("no values of names", gone=False)
        self.consulted -= 1
        return dict(zip(names, values, strict=True))

    def ask(
        self,
        do: str,
        args: list[Any],
        kwargs: dict[str, Any] | None = None,
        *,
        made: bool = False,
        mixed: bool = False,
        back: bool = False,
    ) -> Any:
        """Ask for one thing and wait for what comes of it.

        Args:
            do: What to do; the first argument is mostly a proxy.
            args: Arguments; they go as copies.
            kwargs: Arguments by name.
            made: Whether an object that comes back was made by the tests.
            mixed: Whether it came of an operator with plain data.
            back: Whether changes to the arguments are taken over, in a task that is marked so.

        Raises:
            Exception: What the solution raised, as an exception of the tests' process.
            TypeError: The answer is neither plain data nor an object that could be lent.
            Lost: The process is gone or broke the protocol.
        """
        packer = Packer(self.classes, self._write)
        back = back and self.in_place
        message: dict[str, Any] = {"do": do}
        try:
            message["args"] = packer.pack(args)
            if kwargs:
                message["kwargs"] = packer.pack(kwargs)
            rows = packer.rows()
        except NotPlain as error:
            raise TypeError(f"an argument cannot be passed to the solution: {error}") from None
        if rows:
            message["nodes"] = rows
        if back:
            message["back"] = True
        if self.freed:
            message["free"] = self._released()
        self.consulted += 1
        reply = self._exchange(message)
        if "error" in reply or "refused" in reply:
            raise self._failure(reply)
        try:
            reader = Unpacker(reply.get("nodes", []), self.classes, self._read, packer.objects if back else None)
            if back:
                merge(args, reader.unpack(reply["args"]))
                merge(kwargs or {}, reader.unpack(reply["kwargs"]))
            value = reader.unpack(reply["value"])
        except (Malformed, KeyError) as error:
            self._end(f"no answer: {error}", gone=False)
        return self.proxies.as_made(value, mixed) if made else value

    def _released(self) -> list[int]:
        """Things over there that nobody here needs any longer."""
        gone, self.freed = self.freed, []
        released = [handle for handle in set(gone) if not self.held[handle]]
        for handle in released:
            del self.held[handle]
        return released

    def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        self._send(message)
        while True:
            reply = self._receive()
            if "cb" not in reply:
                return reply
            self._send(self._called_back(reply))

    def _called_back(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what the solution asks for while it works, and write the answer."""
        try:
            reader = Unpacker(request["nodes"], self.classes, self._read)
            args, kwargs = reader.unpack(request["args"]), reader.unpack(request["kwargs"])
            if type(args) is not list or type(kwargs) is not dict or any(type(key) is not str for key in kwargs):
                raise Malformed("no arguments")
        except (Malformed, KeyError) as error:
            self._end(f"no request: {error}", gone=False)
        packer = Packer(self.classes, self._write)
        try:
            value = self.lent.do(request, args, kwargs)
            return {"value": packer.pack(value), "nodes": packer.rows()}
        except (Malformed, KeyError) as error:
            if type(error) is Malformed:
                self._end(f"no request: {error}", gone=False)
            return {"error": self.lent.fault(error)}
        except Lost:
            raise
        except BaseException as error:  # the tests' own code raised it, and the solution may catch it
            return {"error": self.lent.fault(error)}

    def _failure(self, reply: dict[str, Any]) -> BaseException:
        """The exception that stands for a reply which is no value."""
        if "refused" in reply:
            return TypeError(f"the solution's answer cannot be read: {str(reply['refused'])[:100]}")
        fault = reply["error"]
        try:
            if type(fault) is dict and "ref" in fault:
                return exception_from({}, None, self.lent.raised(fault["ref"]))
            value = None
            if "value" in fault:
                value = Unpacker([], self.classes, self._read).unpack(fault["value"])
            return exception_from(fault, value, None)
        except (Malformed, TypeError, KeyError) as error:
            self._end(f"no exception: {error}", gone=False)

    def _write(self, value: Any, inner: Inner) -> Any:
        handle = handle_of(value)
        if handle is not None:
            return {"o": {"k": "r", "h": handle}}
        return {"o": self.lent.lend(value)}

    def _read(self, body: dict[str, Any], inner: Inner) -> Any:
        kind = body.get("k")
        if kind == "t":
            return self.lent.returned(body.get("h"))
        if kind == "b":
            found = builtin_type(body.get("n"))
            if found is None:
                raise Malformed("no type of data")
            return found
        if kind == "m":
            return library_module(body.get("n"))
        return self.proxies.read(body, inner)

    def _send(self, message: dict[str, Any]) -> None:
        if self.lost is not None:
            raise self.lost
        try:
            self.channel.send(message)
        except ChannelError as error:
            self._end(str(error), gone=True)

    def _receive(self) -> dict[str, Any]:
        if self.lost is not None:
            raise self.lost
        try:
            reply = self.channel.receive(LARGEST)
        except ChannelError as error:
            self._end(str(error), gone=isinstance(error, Closed))
        if type(reply) is not dict:
            self._end("no message", gone=False)
        return reply

    def _end(self, message: str, *, gone: bool) -> NoReturn:
        self.lost = Lost(message, gone=gone)
        raise self.lost


def library_module(name: Any) -> ModuleType:
    """Import a module of the standard library, or numpy; the solution only says which.

    Raises:
        Malformed: It is no such module.
    """
    root = name.partition(".")[0] if type(name) is str else ""
    if root in _UNIMPORTED or not (root in sys.stdlib_module_names or root == "numpy"):
        raise Malformed("no module of the library")
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Malformed("no module of the library") from None
