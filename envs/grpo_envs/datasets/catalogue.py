"""Presets by name: their short names and hub ids, where case, "-" and "_" make no difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from grpo_gym.errors import UnknownNameError


class Named(Protocol):
    """A preset, as far as its names go."""

    @property
    def names(self) -> tuple[str, ...]:
        """Short names; the first is the one that is shown."""


P = TypeVar("P", bound=Named)


class Catalogue(Generic[P]):
    """Finds presets.

    Args:
        presets: The presets; of two with one hub id, the first is found by it.
        hubs: Returns the hub ids of a preset.
    """

    def __init__(self, presets: Sequence[P], hubs: Callable[[P], Iterable[str]]) -> None:
        self._presets = presets
        self._by_name = {
            _folded(name): preset for preset in reversed(presets) for name in (*preset.names, *hubs(preset))
        }

    def find(self, name: str) -> P | None:
        """Return the preset of a short name or hub id, None when there is none."""
        return self._by_name.get(_folded(name))

    def named(self, name: str) -> P:
        """Return the preset of a short name or hub id. Raises UnknownNameError, naming the nearest."""
        preset = self.find(name) if isinstance(name, str) else None
        if preset is None:
            raise UnknownNameError("preset", name, self.known_names())
        return preset

    def known_names(self) -> list[str]:
        """Return the short names, the first of each preset first."""
        first = [preset.names[0] for preset in self._presets]
        return first + [name for preset in self._presets for name in preset.names[1:]]


def _folded(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
