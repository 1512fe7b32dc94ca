"""The space of texts: any Unicode string up to a length.

Gymnasium's own `spaces.Text` admits only letters and digits unless a charset is given, and a charset of all Unicode
makes it 46 MB to pickle. A subclass of it would take Gymnasium's Text code paths, which lose every observation in
shared memory. So this is a `Space` of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.spaces.utils import flatdim, flatten, flatten_space
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array

from grpo_gym.errors import InvalidValueError

SAMPLE_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 +-*/=.,?(){}\\"
SAMPLE_LENGTH = 24


class TextSpace(gymnasium.Space[str]):
    """All strings of at most `max_length` characters.

    Args:
        max_length: Longest text that belongs to the space, in characters.
        seed: Seed for `sample`, which draws short ASCII texts (a sample is a stand-in, not a uniform draw).
    """

    def __init__(self, max_length: int = 1_000_000, seed: int | None = None) -> None:
        if max_length < 1:
            raise InvalidValueError(f"max_length is {max_length}, must be at least 1")
        self.max_length = max_length
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """A text has no fixed-size array form."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return a short random ASCII text. Masks are refused: a text has no fixed set of choices."""
        if mask is not None or probability is not None:
            raise InvalidValueError("TextSpace.sample takes no mask and no probability")
        length = int(self.np_random.integers(0, min(self.max_length, SAMPLE_LENGTH) + 1))
        return "".join(SAMPLE_ALPHABET[i] for i in self.np_random.integers(0, len(SAMPLE_ALPHABET), size=length))

    def contains(self, x: Any) -> bool:
        """Whether x is a string of at most `max_length` characters."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSpace) and self.max_length == other.max_length

    def __hash__(self) -> int:
        return hash((TextSpace, self.max_length))

    def __repr__(self) -> str:
        return f"TextSpace(max_length={self.max_length})"


def _batch_space(space: TextSpace, n: int = 1) -> gymnasium.spaces.Tuple[Any]:
    """One shared space n times: a deep copy per row would cost 0.2 s at 512 rows."""
    return gymnasium.spaces.Tuple((space,) * n)


def _concatenate(space: TextSpace, items: Any, out: Any) -> tuple[str, ...]:
    return tuple(items)


def _create_empty_array(space: TextSpace, n: int = 1, fn: Any = None) -> tuple[str, ...]:
    return ("",) * n


def _refuse(*_: Any, **__: Any) -> Any:
    raise InvalidValueError(
        "a text cannot be flattened into numbers; wrappers that need arrays (FlattenObservation, FrameStack, ...) "
        "do not apply to text environments"
    )


_OPERATIONS: tuple[tuple[Any, Callable[..., Any]], ...] = (
    (batch_space, _batch_space),
    (concatenate, _concatenate),
    (create_empty_array, _create_empty_array),
    (flatdim, _refuse),
    (flatten, _refuse),
    (flatten_space, _refuse),
)
# `iterate` stays unregistered: Gymnasium then iterates over the texts of a batch; with one of ours it would zip over
# their characters.
for _operation, _implementation in _OPERATIONS:
    _operation.register(TextSpace, _implementation)
