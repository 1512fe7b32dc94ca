"""Reads what people claim about knights and knaves: "Ada is a knave", "if Ben is a knight, then Cleo lies"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_

from grpo_envs.logic.solvers.statements import everything, knights

_TRUE, _FALSE = "knights?|truth-?tellers?|truthful|telling the truth|honest", "knaves?|liars?|lying|dishonest"
_KIND = rf"(?:({_TRUE})|({_FALSE}))"
_MUST = r"must|has to|have to|needs to|need to|can only|would"
_NEVER = r"does not|doesn't|do not|don't|cannot|can't|can not|could not|couldn't|must not|mustn't|will not|won't|never"
_IS = re.compile(
    rf"(\w+)(?: (?:is|(?:{_MUST}) be)( not)?|( (?:isn't|is never|not|(?:{_NEVER}) be))|\s*(?::|=|->))"
    rf"(?: an?| the)? ?{_KIND}",
    re.IGNORECASE,
)
_DOES = re.compile(
    rf"(\w+)\s*(?:(?:{_MUST})|({_NEVER})|[:=]|->)?\s*\b(?:((?:tell|speak)s? the truth)|lies?)", re.IGNORECASE
)
_STATES = re.compile(
    r"(?:(?:the )?(?:statement|claim) of (\w+)|(\w+)'s (?:statement|claim)|what (\w+) says) (?:is|must be|has to be)"
    r"( not)? (?:(true)|false)",
    re.IGNORECASE,
)
_ANSWERS = re.compile(r"(\w+)\s*(?::|=|->)\s*truth", re.IGNORECASE)
_ARE = re.compile(
    rf"(?:both |all of )?([\w, ]+?)(?: are| (?:{_MUST})(?: both| all)? be)(?: both| all| each)?(?: an?)? {_KIND}",
    re.IGNORECASE,
)
_DO = re.compile(
    rf"(?:both )?(\w[\w, ]* and \w+)(?: both| all)?(?: (?:{_MUST}))?(?: both| all)? "
    r"(?:((?:tell|speak) the truth)|lie)",
    re.IGNORECASE,
)
_EVERYBODY = re.compile(
    rf"(?:they are )?(?:(both)|all|everybody|everyone)(?: of (?:them|us)| here)?(?: are| is)?(?: an?)? {_KIND}",
    re.IGNORECASE,
)
_NEITHER = re.compile(rf"neither (\w+) nor (\w+) is(?: an?)? {_KIND}", re.IGNORECASE)
_ALIKE = re.compile(
    r"(\w+) and (\w+) are( not)? (?:of )?(?:(the same)|different|opposite)(?: (?:kinds?|types?))?"
    r"|(\w+) is( not)? (?:of )?(?:(the same)|a different|the opposite) (?:kind|type) (?:as|from|of|to) (\w+)",
    re.IGNORECASE,
)
_COUNT = re.compile(r"exactly (\d) of ([\w, ]+?) (?:is|are)(?: an?)? knights?", re.IGNORECASE)
_NOT = re.compile(r"(?:it is )?not (?:true|the case) that (.+)", re.IGNORECASE)
_SAYS = re.compile(r"(\w+) would say that (.+)", re.IGNORECASE)
_IF = re.compile(r"if (.+?),? then (.+)", re.IGNORECASE)

_LIST = re.compile(r",? and |, ", re.IGNORECASE)

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
            return self._honest(match[1], bool(match[2] or match[3]) != bool(match[4]))
        if match := _DOES.fullmatch(text):
            return self._honest(match[1], bool(match[2]) != bool(match[3]))
        if match := _STATES.fullmatch(text):
            return self._honest(match[1] or match[2] or match[3], bool(match[4]) != bool(match[5]))
        if match := _ANSWERS.fullmatch(text):
            return self._honest(match[1], True)
        if match := _ALIKE.fullmatch(text):
            a, b = self._somebody(match[1] or match[5]), self._somebody(match[2] or match[8])
            alike = bool(match[3] or match[6]) != bool(match[4] or match[7])
            return None if a is None or b is None else self.full ^ a ^ b if alike else a ^ b
        return self._together(text)

    def _together(self, text: str) -> Mask | None:
        """Read what several people are, each of them, or how many of them are knights."""
        if match := _ARE.fullmatch(text) or _DO.fullmatch(text):
            return self._all(_LIST.split(match[1]), bool(match[2]))
        if (match := _EVERYBODY.fullmatch(text)) and (not match[1] or len(self.masks) == 2):
            return self._all(list(self.masks), bool(match[2]))
        if match := _NEITHER.fullmatch(text):
            return self._all([match[1], match[2]], not match[3])
        return self._count(text)

    def _honest(self, name: str, honest: bool) -> Mask | None:
        """Return the worlds in which somebody is a knight, or a knave."""
        mask = self._somebody(name)
        return mask if mask is None or honest else self.full ^ mask

    def _all(self, names: Sequence[str], honest: bool) -> Mask | None:
        """Return the worlds in which everybody of several is a knight, or a knave."""
        masks = [self._honest(name, honest) for name in names]
        return None if len(masks) < 2 or None in masks else reduce(and_, [mask for mask in masks if mask is not None])

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
            named = [self._somebody(name) for name in _LIST.split(match[2])]
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
