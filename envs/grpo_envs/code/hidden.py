"""The hidden tests of a rule: edge cases, random inputs, and one more for every mistake that these let pass.

Mistakes are those that a task names, and all programs that one small change makes of the reference program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from grpo_envs.code.near_misses import NearMisses
from grpo_gym.rng import Rng

if TYPE_CHECKING:
    from grpo_envs.code.draft import Draft

Arguments = Sequence[Any]
"""The arguments of one call; JSON values."""

Call = tuple[Arguments, Any]
"""Arguments and output."""

TESTS = 18
"""Hidden tests, before those that single mistakes ask for."""

SAME = 3
"""At most one in so many hidden tests expects the same output."""

TRIES = 20
"""Inputs that are drawn for one that has to be special, e.g. show a mistake."""

MORE = 8
"""Hidden tests that near misses of the program may ask for."""


MUTANTS = 40
"""Near misses that are tried: an even choice of them, since a test that kills one kills others."""
WORK = 6_000
"""Steps that near misses may take on inputs that are no tests yet."""


class Hidden:
    """Chooses the hidden tests of a draft.

    Args:
        draft: The rule.
        large: Calls that are hidden tests already.
    """

    def __init__(self, draft: Draft, large: Sequence[Call]) -> None:
        self._draft = draft
        self._large = len(large)
        self._rng = Rng("code tests", draft.code)
        self._shown = {repr(args) for args, _ in draft.examples}
        edges = [(args, draft.expected(*args)) for args in draft.edges if repr(args) not in self._shown]
        self._tests = {repr(args): (args, output) for args, output in [*large, *edges]}
        self._counts = Counter(repr(output) for _, output in self._tests.values())
        self._pool: list[Call] = []

    def calls(self) -> list[Call]:
        """Return the tests, without the large ones."""
        while len(self._tests) < TESTS and self._add(self._drawn(lambda output: self._counts[output] < TESTS // SAME)):
            pass
        for mistake in self._draft.mistakes:
            if not any(differs(mistake, *call) for call in self._small()):
                tries = self._drawn(lambda output: True, TRIES // 2)
                self._add(call for call in tries if differs(mistake, *call))
        self._even_out()
        self._kill()
        return self._small()

    def _small(self) -> list[Call]:
        return list(self._tests.values())[self._large :]

    def _drawn(self, accept: Callable[[str], bool], tries: int = TRIES) -> Iterator[Call]:
        """Yield new calls whose output is wanted: those that were drawn and not taken before, then new ones."""
        for place in range(len(self._tests) + tries):
            if place == len(self._pool):
                args = self._draft.inputs(self._rng)
                self._pool.append((args, self._draft.expected(*args)))
            args, output = self._pool[place]
            if (key := repr(args)) not in self._shown and key not in self._tests and accept(repr(output)):
                yield args, output

    def _add(self, calls: Iterable[Call]) -> bool:
        """Add the first of several calls; return whether there is one."""
        for args, output in calls:
            self._tests[repr(args)] = (args, output)
            self._counts[repr(output)] += 1
            return True
        return False

    def _even_out(self) -> None:
        """Add tests with other outputs, or drop some, until no output is too frequent."""
        while self._counts and (most := max(self._counts.values())) * SAME > len(self._tests):
            if not self._add(self._drawn(lambda output, most=most: self._counts[output] < most - 1)):  # type: ignore[misc]
                output = max(self._counts, key=lambda output: self._counts[output])
                del self._tests[next(key for key in reversed(self._tests) if repr(self._tests[key][1]) == output)]
                self._counts[output] -= 1

    def _kill(self) -> None:
        """Add tests that kill mutants of the program which all tests so far let pass."""
        draft = self._draft
        misses = NearMisses(draft.code, "" if draft.render else draft.name, MUTANTS)
        alive: Sequence[int] = misses.numbers
        calls = [(draft.given(args), output) for args, output in self._small()]
        for args, output in sorted(calls, key=lambda call: misses.steps(call[0])):  # cheap ones first
            alive = misses.left(alive, args, output)
        added, most = 0, misses.spent + WORK
        for args, output in self._drawn(lambda output: (self._counts[output] + 1) * SAME <= len(self._tests) + 1):
            if not alive or added == MORE or misses.spent > most:
                return
            left = misses.left(alive, draft.given(args), output)
            if len(left) < len(alive):
                alive = left
                added += self._add([(args, output)])


def differs(wrong: Callable[..., Any], args: Arguments, output: Any) -> bool:
    """Whether a wrong function is seen to be wrong on a call; raising is."""
    try:
        return bool(wrong(*args) != output)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return True
