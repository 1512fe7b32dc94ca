"""Reads what people claim about knights and knaves: "Ada is a knave", "if Ben is a knight, then Cleo lies"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from grpo_envs.logic.solvers.statements import everything, knights

_TRUE, _FALSE = "knights?|truth-?tellers?|truthful|telling the truth|honest", "knaves?|liars?|lying|dishonest"
_IS = re.compile(rf"(\w+)(?: is| must be| has to be|:| =)( not)?(?: an?)? ?(?:({_TRUE})|({_FALSE}))", re.IGNORECASE)
_DOES = re.compile(r"(\w+) (?:(tells the truth|speaks the truth)|lies)", re.IGNORECASE)
_ARE = re.compile(rf"(?:both )?(\w+) and (\w+) are (?:both )?(?:({_TRUE})|({_FALSE}))", re.IGNORECASE)
_ALIKE = re.compile(r"(\w+) and (\w+) are (?:of )?(?:(the same)|different|opposite) (?:kinds?|types?)", re.IGNORECASE)
_COUNT = re.compile(r"exactly (\d) of ([\w, ]+?) (?:is|are)(?: an?)? knights?", re.IGNORECASE)
_NOT = re.compile(r"(?:it is )?not (?:true|the case) that (.+)", re.IGNORECASE)
_SAYS = re.compile(r"(\w+) would say that (.+)", re.IGNORECASE)
_IF = re.compile(r"if (.+?),? then (.+)", re.IGNORECASE)

Mask = int
Join = Callable[[Mask, Mask], Mask]


class StatementReader:
    """Reads claims as masks of worlds. "and" binds more tightly than "or"; brackets may stand around parts.

    Args:
        names: The people, in the order of their numbers.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.full = full = everything(len(names))
        self.masks = {name.casefold(): mask for name, mask in zip(names, knights(len(names)), strict=True)}
        self.joins: tuple[tuple[str, Join], ...] = (
            (" if and only if ", lambda a, b: full ^ a ^ b),
            (" or ", lambda a, b: a | b),
            (" and ", lambda a, b: a & b),
        )

    def read(self, text: str) -> Mask | None:
        """Return the worlds in which a claim is true, None for text that is no claim."""
        text = text.strip(' "')
        while text.startswith("(") and _closing(text) == len(text) - 1:
            text = text[1:-1].strip()
        for reader in (self._simple, self._prefixed, self._joined):
            mask = reader(text)
            if mask is not None:
                return mask
        return None

    def _simple(self, text: str) -> Mask | None:
        """Read a claim without parts."""
        if match := _IS.fullmatch(text):
            mask = self._somebody(match[1])
            return mask if mask is None or (match[2] is None) == (match[3] is not None) else self.full ^ mask
        if match := _DOES.fullmatch(text):
            mask = self._somebody(match[1])
            return mask if mask is None or match[2] else self.full ^ mask
        if match := _ARE.fullmatch(text) or _ALIKE.fullmatch(text):
            a, b = self._somebody(match[1]), self._somebody(match[2])
            if a is None or b is None:
                return None
            if match.re is _ALIKE:
                return self.full ^ a ^ b if match[3] else a ^ b
            return a & b if match[3] else self.full & ~(a | b)
        return self._count(text)

    def _somebody(self, name: str) -> Mask | None:
        return self.masks.get(name.casefold())

    def _count(self, text: str) -> Mask | None:
        """Read "exactly k of ... are knights": how many worlds of k knights there are among those named."""
        match = _COUNT.fullmatch(text)
        if match is None:
            return None
        if re.fullmatch(rf"(?:the )?{len(self.masks)} (?:of us|people)", match[2]):
            named: list[Mask | None] = list(self.masks.values())
        else:
            named = [self._somebody(name) for name in re.split(r", | and ", match[2])]
        by_count = [self.full]
        for mask in named:
            if mask is None:
                return None
            by_count = [
                (more & ~mask) | (fewer & mask) for more, fewer in zip([*by_count, 0], [0, *by_count], strict=True)
            ]
        count = int(match[1])
        return by_count[count] if count < len(by_count) else 0

    def _prefixed(self, text: str) -> Mask | None:
        """Read a claim that begins with "not", "if" or "X would say"."""
        if match := _NOT.fullmatch(text):
            inner = self.read(match[1])
            return None if inner is None else self.full ^ inner
        if match := _SAYS.fullmatch(text):
            who, inner = self._somebody(match[1]), self.read(match[2])
            return None if inner is None or who is None else self.full ^ inner ^ who
        if match := _IF.fullmatch(text):
            condition, then = self.read(match[1]), self.read(match[2])
            return None if condition is None or then is None else self.full ^ condition | then
        return None

    def _joined(self, text: str) -> Mask | None:
        """Read two claims or more that are joined by one word."""
        for sign, join in self.joins:
            parts = _cut(text.removesuffix(", or both"), sign)
            if len(parts) > 1:
                masks = [self.read(part) for part in parts]
                joined, *others = masks
                for mask in others:
                    joined = None if joined is None or mask is None else join(joined, mask)
                return joined
        return None


def _closing(text: str) -> int:
    """Return where the bracket closes that opens a text, or -1."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return place
    return -1


def _cut(text: str, sign: str) -> list[str]:
    """Cut a text at a word, but not inside brackets."""
    parts, start, depth = [], 0, 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and text.startswith(sign, place):
            parts.append(text[start:place])
            start = place + len(sign)
    return [*parts, text[start:]]
