"""The limits: what is looked at before anything is evaluated, so that no answer can cost much time or memory.

A limit that is hit raises `TooBigError`, which verdicts report as `too_big`. It never says "wrong" of something that
may be right: an answer that equals the reference term by term is accepted before any of these limits on evaluation.
"""

from __future__ import annotations

MAX_RESPONSE = 1_000_000
"""Characters of a response that are read."""

MAX_ANSWER = 40_000
"""Characters of an extracted answer that are parsed; one that equals the reference as text may be longer."""

MAX_DIGITS = 10_000
"""Digits of one numeral: beyond, conversion to a number costs more than a verdict may."""

MAX_TOKENS = 12_000
"""Symbols of an answer."""

MAX_DEPTH = 50
"""Brackets in brackets, or exponents on exponents; keeps recursion far below Python's limit."""

MAX_NODES = 4_000
"""Nodes of a tree that is evaluated."""

MAX_CELLS = 2_500
"""Cells of a matrix that is compared cell by cell."""

MAX_ITEMS = 400
"""Members of a list, tuple or set that are compared one by one."""

MAX_BITS = 120_000
"""Bits of an exact number."""

MAX_SPAN = 12_000
"""Binary orders of magnitude between the values inside an expression that is evaluated numerically."""

MAX_WORK = 2_000_000
"""Values that are computed at one sample point, each counted with its bits."""

MAX_TERMS = 2_000
"""Terms of a sum or product that is added up."""

MAX_EXPONENT_BITS = 48
"""Bits of a power's binary logarithm: beyond, not even its size is computed."""


class TooBigError(ValueError):
    """Something about an answer is larger than the limits here."""


class UnreadableError(ValueError):
    """A text that is no mathematical expression we know."""


class UndecidedError(ValueError):
    """Equality cannot be decided in this process: it takes calculus, or no sample point is in the domain."""


def check(size: int, limit: int, what: str) -> None:
    """Raise TooBigError when a size is beyond its limit."""
    if size > limit:
        raise TooBigError(f"more than {limit} {what}")


def check_power(base_bits: int, exponent: int) -> None:
    """Raise TooBigError when base ** exponent, for a base of this many bits, has more than MAX_BITS bits."""
    check(base_bits * abs(exponent), MAX_BITS, "bits in a power")
