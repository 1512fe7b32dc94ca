"""Sums and products in letters, column by column from the right: search for all digits, working, a hasty solver.

A puzzle is three words: the first plus, or times, the second is the third. A difference is a sum in another order. The
second word of a product is one letter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grpo_gym.rng import Rng

_FREE = [[[d for d in range(least, 10) if not used >> d & 1] for used in range(1024)] for least in (0, 1)]
"""Digits that are left, beside those that are used, as bits; behind [1] those that a number may begin with."""

PLACES = ("ones", "tens", "hundreds", "thousands", "ten thousands", "hundred thousands")


class Columns:
    """The columns of a sum or a product.

    Args:
        words: The two that are combined, and the result.
        times: Whether it is a product.

    Attributes:
        letters: All letters, in alphabetical order.
        columns: The letters of every column from the right, "" where a word has none.
    """

    def __init__(self, words: Sequence[str], times: bool) -> None:
        self.times = times
        self.letters = sorted(set("".join(words)))
        self.leading = {word[0] for word in words}
        first, second, result = (word[::-1] for word in words)
        second = second * len(result) if times else second
        self.columns = [(first[k : k + 1], second[k : k + 1], result[k]) for k in range(len(result))]

    def total(self, one: int, two: int, carry: int) -> int:
        """Return what a column makes of its digits."""
        return (one * two if self.times else one + two) + carry

    def fits(self, digits: Mapping[str, int]) -> bool:
        """Whether digits for all letters solve it, whatever else is asked of them."""
        carry = 0
        for one, two, result in self.columns:
            total = self.total(digits.get(one, 0), digits.get(two, 0), carry)
            if total % 10 != digits[result]:
                return False
            carry = total // 10
        return carry == 0


class Solver:
    """Search for all digits, column by column from the right.

    Args:
        columns: The puzzle.
        given: Letters whose digits are known.
        most: How many solutions are looked for; with 2, one solution means that it is the only one.

    Attributes:
        found: The solutions.
        tried: How many combinations of digits were tried in a column.
    """

    def __init__(self, columns: Columns, given: Mapping[str, int], most: int = 2) -> None:
        self.found: list[dict[str, int]] = []
        self.tried = 0
        self._columns, self._most = columns, most
        self._digits = dict(given)
        self._used = sum(1 << digit for digit in given.values())
        self._go(0, 0)

    def _options(self, letter: str) -> Sequence[int]:
        if not letter:
            return (0,)
        if letter in self._digits:
            return (self._digits[letter],)
        return _FREE[letter in self._columns.leading][self._used]

    def _narrowed(self, options: Sequence[int], result: str, rest: int | None) -> Sequence[int]:
        """Return the one option that makes a sum's known digit, where all else in the column is known."""
        if len(options) == 1 or rest is None or self._columns.times or result not in self._digits:
            return options
        digit = (self._digits[result] - rest) % 10
        return (digit,) if digit in options else ()

    def _go(self, place: int, carry: int) -> None:
        if place == len(self._columns.columns):
            if carry == 0:
                self.found.append(dict(self._digits))
            return
        one, two, result = self._columns.columns[place]
        second = self._digits.get(two) if two else 0
        for a in self._narrowed(self._options(one), result, None if second is None else carry + second):
            put_one = self._put(one, a)
            for b in self._narrowed(self._options(two), result, carry + a):
                put_two = self._put(two, b)
                self.tried += 1
                self._close(place, result, self._columns.total(a, b, carry))
                if put_two:
                    self._take(two)
                if len(self.found) >= self._most:
                    break
            if put_one:
                self._take(one)
            if len(self.found) >= self._most:
                return

    def _close(self, place: int, result: str, total: int) -> None:
        """Go on to the next column, if the result of this one may have the last digit of a total."""
        digit = total % 10
        known = self._digits.get(result)
        if known == digit:
            self._go(place + 1, total // 10)
        elif known is None and not self._used >> digit & 1 and (digit or result not in self._columns.leading):
            self._put(result, digit)
            self._go(place + 1, total // 10)
            self._take(result)

    def _put(self, letter: str, digit: int) -> bool:
        """Give a letter a digit, unless it has one. Return whether it had none."""
        if not letter or letter in self._digits:
            return False
        self._digits[letter] = digit
        self._used |= 1 << digit
        return True

    def _take(self, letter: str) -> None:
        self._used ^= 1 << self._digits.pop(letter)


def one_a_column(columns: Columns, rng: Rng) -> list[str]:
    """Return letters of a sum that need no try: one in each column whose others are known or stand further right."""
    asked: list[str] = []
    seen: set[str] = set()
    for column in columns.columns:
        new = sorted({letter for letter in column if letter} - seen)
        once = [letter for letter in new if column.count(letter) == 1]
        if once:
            asked.append(rng.choice(once))
        seen.update(new)
    return asked


def working(columns: Columns, given: Mapping[str, int], digits: Mapping[str, int]) -> list[str]:
    """Write the columns from the right: what is tried where two digits are open, what follows, what is carried."""
    known, carry, lines = dict(given), 0, []
    for place, (one, two, result) in zip(PLACES, columns.columns, strict=False):
        new = list(dict.fromkeys(letter for letter in (one, two, result) if letter and letter not in known))
        follows = new[-1:] if result in new or len(new) == 1 else []
        tried = [letter for letter in new if letter not in follows]
        known.update({letter: digits[letter] for letter in new})
        terms = (" * " if columns.times and one else " + ").join(
            str(known[letter]) for letter in ((one, two) if one or not columns.times else ()) if letter
        )
        total = columns.total(known.get(one, 0), known.get(two, 0), carry)
        carried = f"{terms} + {carry}" if terms and carry else terms or str(carry)
        said = f"try {', '.join(f'{letter} = {known[letter]}' for letter in tried)}: " if tried else ""
        said += f"{carried} = {total}"
        said += "".join(f", so {letter} = {known[letter]}" for letter in follows)
        carry = total // 10
        lines.append(f"{place}: {said}, carry {carry}")
    return lines


def without_carries(columns: Columns, given: Mapping[str, int], rng: Rng) -> dict[str, int]:
    """Fill the columns from the right and forget what is carried: a weak solver. Where a digit is open it draws one."""
    known = dict(given)

    def value(letter: str) -> int:
        if letter and letter not in known:
            left = [digit for digit in range(1, 10) if digit not in known.values()]
            known[letter] = rng.choice(left or list(range(1, 10)))
        return known.get(letter, 0)

    for one, two, result in columns.columns:
        for asked, other in ((one, two), (two, one)):
            if asked and asked not in known and asked != other and result in known and not columns.times:
                known[asked] = (known[result] - value(other)) % 10
        total = columns.total(value(one), value(two), 0)
        known.setdefault(result, total % 10 or 1)
    return known
