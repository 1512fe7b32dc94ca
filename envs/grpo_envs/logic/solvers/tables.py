"""Truth tables as integers: bit r of a table says what a formula is in row r, whose own bits are the variables' values.

One operation of Python decides a connective in all rows at once.
"""

from __future__ import annotations

from functools import cache


@cache
def columns(n: int) -> tuple[int, ...]:
    """Return the tables of n variables: bit r of the k-th one is bit k of r."""
    ones = everything(n)
    return tuple(ones // ((1 << (1 << k)) + 1) << (1 << k) for k in range(n))


@cache
def everything(n: int) -> int:
    """Return the table that is true in all rows of n variables."""
    return (1 << (1 << n)) - 1


def some_row(table: int) -> int:
    """Return the number of the first row in which a table is true."""
    return (table & -table).bit_length() - 1
