"""Trees to values; the rules stand in `codec.py`. Every line here reads what a hostile process may have written."""

from __future__ import annotations

import sys
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from datetime import date, datetime, timedelta
from datetime import time as day_time
from decimal import Decimal
from fractions import Fraction
from math import prod
from typing import Any

from grpo_rewards.code.confined.channel import Malformed
from grpo_rewards.code.confined.encoding import BITS, DEPTH, EXPONENT, FRACTION_BITS, ITEMS, NUMPY_KINDS, Hook

_FLAT = frozenset({bool, str, type(None), int, float})
_HASHED_FREELY, _PIECE = 32, 256
_HASH_SECONDS, _HASH_SECONDS_PER_ITEM = 0.25, 5e-6
_ARRAY_BYTES = 1 << 26
_ELEMENTS = frozenset({bool, int, float, complex, str, bytes})


def decode(tree: Any, foreign: Hook | None = None, *, arrays: bool = True) -> Any:
    """Read a tree that `encode` wrote; the tree may be hostile.

    Args:
        tree: What a message held.
        foreign: Reads what the other side's hook wrote; it may raise `Malformed`.
        arrays: Whether arrays of numpy come back as such (where numpy is loaded) or as lists and numbers.

    Raises:
        Malformed: The tree is none of `encode`, too deep, or made to be slow.
    """
    try:
        return _Reader(foreign, arrays).read(tree)
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError, RecursionError, MemoryError) as error:
        raise Malformed(f"no plain data: {type(error).__name__}") from None


class _Reader:
    """One pass over a tree; keeps an account of the time that tables take."""

    def __init__(self, foreign: Hook | None, arrays: bool) -> None:
        self.foreign = foreign
        self.arrays = arrays
        self.depth = 0
        self.hashing = 0.0
        self.hashed = 0

    def read(self, tree: Any) -> Any:
        """Read one value at the present depth."""
        kind = type(tree)
        if kind in _FLAT:
            return tree
        self.depth += 1
        if self.depth > DEPTH:
            raise Malformed("too deep")
        if kind is list:
            value = self.read_all(tree)
        else:
            ((tag, body),) = tree.items()
            read = _READERS.get(tag)
            if read is None:
                raise Malformed(f"unknown tag {tag[:20]!r}")
            value = read(self, body)
        self.depth -= 1
        return value

    def read_all(self, items: list[Any]) -> list[Any]:
        """Read the items of a container."""
        if type(items) is not list:
            raise Malformed("no list of items")
        if _FLAT.issuperset(map(type, items)):
            return items
        return [self.read(item) for item in items]

    def read_set(self, items: list[Any]) -> set[Any]:
        """Build a set."""
        values = self.read_all(items)
        result: set[Any] = set()
        self.fill(len(values), lambda start, end: result.update(values[start:end]))
        return result

    def read_dict(self, items: list[Any], empty: type[dict[Any, Any]] = dict) -> dict[Any, Any]:
        """Build a table from keys and values in turn."""
        parts = self.read_all(items)
        keys, values = parts[::2], parts[1::2]
        if len(keys) != len(values):
            raise Malformed("a key without a value")
        result: dict[Any, Any] = {}
        self.fill(len(keys), lambda start, end: result.update(zip(keys[start:end], values[start:end], strict=True)))
        return result if empty is dict else empty(result)

    def fill(self, size: int, put: Callable[[int, int], None]) -> None:
        """Fill a table piece by piece, and stop where its keys are made to collide: that takes quadratic time."""
        if size <= _HASHED_FREELY:
            put(0, size)
            return
        self.hashed += size
        start = time.thread_time() - self.hashing
        for piece in range(0, size, _PIECE):
            put(piece, piece + _PIECE)
            self.hashing = time.thread_time() - start
            if self.hashing > _HASH_SECONDS + _HASH_SECONDS_PER_ITEM * self.hashed:
                raise Malformed("keys that are slow to hash")


def _read_foreign(reader: _Reader, body: Any) -> Any:
    if reader.foreign is None:
        raise Malformed("no plain data")
    depth = reader.depth
    value = reader.foreign(body, reader.read)
    reader.depth = depth
    return value


def _read_float(reader: _Reader, body: str) -> float:
    if body not in ("nan", "inf", "-inf"):
        raise Malformed("no float")
    return float(body)


def _read_int(reader: _Reader, body: str) -> int:
    if len(body) > BITS // 4 + 8:
        raise Malformed("an integer that is too large")
    return int(body, 16)


def _read_decimal(reader: _Reader, body: str) -> Decimal:
    if len(body) > EXPONENT + 20:
        raise Malformed("a Decimal that is too large")
    value = Decimal(body)
    if value.is_finite() and abs(value.adjusted()) > EXPONENT:
        raise Malformed("a Decimal that is too large")
    return value


def _read_deque(reader: _Reader, body: list[Any]) -> deque[Any]:
    longest, *items = body
    if longest is not None and type(longest) is not int:
        raise Malformed("no deque")
    return deque(reader.read_all(items), longest)


def _read_ints(reader: _Reader, body: list[Any], count: int) -> list[int]:
    numbers = reader.read_all(body)
    if len(numbers) != count or any(type(number) is not int for number in numbers):
        raise Malformed("no integers")
    return numbers


def _read_complex(reader: _Reader, body: list[Any]) -> complex:
    real, imag = reader.read_all(body)
    if type(real) is not float or type(imag) is not float:
        raise Malformed("no complex number")
    return complex(real, imag)


def _read_slice(reader: _Reader, body: list[Any]) -> slice:
    start, stop, step = reader.read_all(body)
    return slice(start, stop, step)


def _read_fraction(reader: _Reader, body: list[Any]) -> Fraction:
    numbers = _read_ints(reader, body, 2)
    if max(number.bit_length() for number in numbers) > FRACTION_BITS:
        raise Malformed("a Fraction that is too large")
    return Fraction(*numbers)


def _read_array(reader: _Reader, body: list[Any]) -> Any:
    code, shape, data = body
    values = reader.read_all(data)
    dims = [] if shape is None else _read_ints(reader, shape, len(shape))
    if type(code) is not str or code[1:2] not in NUMPY_KINDS or not code[2:].isdecimal() or len(code) > 8:
        raise Malformed("no type of an array")
    if len(dims) > 32 or min(dims, default=0) < 0 or prod(dims) != len(values) or prod(d or 1 for d in dims) > ITEMS:
        raise Malformed("no shape of an array")
    if any(type(value) not in _ELEMENTS for value in values):
        raise Malformed("no elements of an array")
    numpy = sys.modules.get("numpy") if reader.arrays else None
    if numpy is None:
        return _nested(values, dims)
    dtype = numpy.dtype(code)
    if dtype.itemsize * len(values) > _ARRAY_BYTES:
        raise Malformed("an array that is too large")
    array = numpy.array(values, dtype=dtype).reshape(dims)
    return array if shape is not None else array[()]


def _nested(values: list[Any], dims: list[int]) -> Any:
    """The lists that an array of this shape would give."""
    if not dims:
        return values[0]
    for level in range(len(dims) - 1, 0, -1):
        dim = dims[level]
        values = [values[row * dim : row * dim + dim] for row in range(prod(dims[:level]))]
    return values


def _read_hex(reader: _Reader, body: str) -> bytes:
    return bytes.fromhex(body)


_READERS: dict[str, Callable[[_Reader, Any], Any]] = {
    "t": lambda r, b: tuple(r.read_all(b)),
    "s": lambda r, b: r.read_set(b),
    "fs": lambda r, b: frozenset(r.read_set(b)),
    "d": lambda r, b: r.read_dict(b),
    "od": lambda r, b: r.read_dict(b, OrderedDict),
    "c": lambda r, b: r.read_dict(b, Counter),
    "q": _read_deque,
    "f": _read_float,
    "i": _read_int,
    "z": _read_complex,
    "b": _read_hex,
    "ba": lambda r, b: bytearray(_read_hex(r, b)),
    "u": lambda r, b: _read_hex(r, b).decode("utf-8", "surrogatepass"),
    "r": lambda r, b: range(*_read_ints(r, b, 3)),
    "sl": _read_slice,
    "F": _read_fraction,
    "D": _read_decimal,
    "dt": lambda r, b: datetime.fromisoformat(b),
    "tm": lambda r, b: day_time.fromisoformat(b),
    "da": lambda r, b: date.fromisoformat(b),
    "td": lambda r, b: timedelta(*_read_ints(r, b, 3)),
    "dk": lambda r, b: r.read_dict(b).keys(),
    "dv": lambda r, b: r.read_dict(b).values(),
    "di": lambda r, b: r.read_dict(b).items(),
    "a": _read_array,
    "o": _read_foreign,
}
