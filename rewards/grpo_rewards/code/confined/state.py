"""What a proxy for an object of the solution knows, apart from everything that the object itself may claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpo_rewards.code.confined.basedata import IMMUTABLE, base_of

if TYPE_CHECKING:
    from grpo_rewards.code.confined.session import Session


class State:
    """What a proxy stands for.

    Args:
        session: Where to ask.
        handle: The number of the thing over there; it may go when no state holds it any longer.
        made: Whether the tests made the object, see `rules.py`.
        mixed: Whether it came of an operator with plain data, before its class was in use.
    """

    __slots__ = ("handle", "made", "mixed", "session")

    def __init__(self, session: Session, handle: int, made: bool = False, mixed: bool = False) -> None:
        self.session = session
        self.handle = handle
        self.made = made
        self.mixed = mixed
        session.held[handle] = session.held.get(handle, 0) + 1

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a proxy cannot be copied: with it would go the tests")

    def __del__(self) -> None:
        self.session.held[self.handle] -= 1
        if not self.session.held[self.handle]:
            self.session.freed.append(self.handle)


class RemoteBase:
    """What proxies of objects have in common: the description of their class."""

    _judge_state: State
    _judge_special: frozenset[str] = frozenset()
    _judge_methods: frozenset[str] = frozenset()
    _judge_base: str = ""
    _judge_built: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    _judge_used: bool = False


class Stranger:
    """Equals nothing; the solution sees it as an object of the tests without attributes."""


def state_of(thing: Any) -> State:
    """What a proxy knows, past all attributes of the solution."""
    state: State = object.__getattribute__(thing, "_judge_state")
    return state


def has_data(thing: Any) -> bool:
    """Whether a value is an object of the solution whose class extends a built-in type of data."""
    return isinstance(thing, RemoteBase) and bool(type(thing)._judge_base)


def data_of(thing: Any) -> Any:
    """The plain data of such an object; any other value is returned as it is."""
    if not has_data(thing):
        return thing
    if type(thing)._judge_base in IMMUTABLE:
        found = base_of(thing)
        assert found is not None
        return found[1]
    return state_of(thing).session.ask("data", [thing])
