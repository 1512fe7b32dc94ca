"""Houses in words: who may live in them, how a clue is said, and how claims and answers about them are read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from grpo_envs.logic.solvers.houses import Clue, Houses, houses_of
from grpo_envs.logic.solvers.statements import NAMES


class Category(NamedTuple):
    """An attribute: what it is called, for many and for one, its values, and how somebody with a value is called."""

    plural: str
    singular: str
    values: tuple[str, ...]
    noun: str


def _category(plural: str, singular: str, values: str, noun: str) -> Category:
    return Category(plural, singular, tuple(values.split()), noun)


PEOPLE = Category("Names", "name", NAMES, "{}")

CATEGORIES = (
    _category("Jobs", "job", "baker nurse pilot farmer singer painter lawyer tailor", "the {}"),
    _category("Drinks", "drink", "tea milk coffee juice cocoa water cider soda", "the {} drinker"),
    _category("Pets", "pet", "cat dog fish horse bird rabbit snake turtle", "the {} owner"),
    _category("Games", "game", "chess tennis golf hockey darts bridge poker rugby", "the {} player"),
    _category("Music", "kind of music", "jazz opera rock folk blues soul swing reggae", "the {} fan"),
    _category("Fruits", "fruit", "apple pear plum cherry lemon mango fig grape", "the {} picker"),
)

_SAID = {
    "is": "{} is {}",
    "not": "{} is not {}",
    "left": "{} lives directly left of {}",
    "next": "{} lives next to {}",
    "before": "{} lives somewhere left of {}",
    "apart": "there is exactly one house between {} and {}",
    "between": "{} lives somewhere between {} and {}",
    "either": "{} is either {} or {}",
}

_NOT = (
    r"(?:is not|isn't|not|(?:cannot|can't|can not|could not|couldn't|must not|mustn't|does not|doesn't|will not|won't|"
    r"is not able to|never|need not)(?= (?:be|live|lives|belong|go|sit|stay)\b)|is never|never)"
)
_BE = (
    r"(?:(?:must|has to|needs to|can only|would|will|may only) )?"
    r"(?:be|is|lives?|belongs?|goes|go|sits?|stays?|resides?)(?: only)?(?: (?:located|placed|found))?"
)
_LISTED = r"(\d(?:(?:/|,? or |,? and |, )(?:in )?(?:house )?\d)*)"
_PLACE = rf"(?:in|at|to|for|takes|occupies) (?:either )?(?:(?:houses?|positions?) )?(?:number )?#?{_LISTED}"
_IN = re.compile(rf"(.+?)(?: ({_NOT}))?(?: {_BE})?( not)? {_PLACE}", re.IGNORECASE)
_AT = re.compile(rf"(.+?)\s*(?::|=|->)\s*(not )?(?:in )?(?:(?:houses?|position) )?{_LISTED}", re.IGNORECASE)
_OWN = r"(?:has|have|owns?|keeps?|drinks?|plays?|likes?|loves?|listens? to|picks?|works as|contains?|holds?)"
_HOUSE = re.compile(
    r"(?:(?:the (?:person|one|resident|owner) (?:in|of) )?(?:house|position) #?(\d)"
    rf"(?:\s*[:=]| (?:is|{_OWN}|must be|must {_OWN})|"
    rf"( (?:is not|isn't|cannot be|can't be|(?:does not|doesn't|cannot|can't) {_OWN})))|(\d)\s*[:=])( not)? (.+)",
    re.IGNORECASE,
)
_IS = re.compile(
    rf"(.+?)(?: (?:is|{_OWN}|must be|must {_OWN}|has to be|can only be)( not)?|"
    rf"( (?:isn't|cannot be|can't be|can not be|must not be|(?:does not|doesn't|cannot|can't) {_OWN}|not)))"
    r" (?:the same (?:person )?as )?(.+)",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:the|an?) ")
_ORDINALS = {word: str(k) for k, word in enumerate(("first", "second", "third", "fourth", "fifth", "sixth"), 1)}
_ORDINAL = re.compile(rf"\bthe ({'|'.join(_ORDINALS)}) (house|position)\b", re.IGNORECASE)


class Vocabulary:
    """The words of one puzzle.

    Args:
        attributes: Plural and values of each attribute, as the problem's meta holds them.
    """

    def __init__(self, attributes: Sequence[Sequence[str]]) -> None:
        nouns = {category.plural: category.noun for category in (PEOPLE, *CATEGORIES)}
        self.n = len(attributes[0]) - 1
        self.values = [value for _, *values in attributes for value in values]
        self.nouns = [nouns[plural].format(value) for plural, *values in attributes for value in values]
        self.known = {
            spelling.casefold(): number
            for number, (value, noun) in enumerate(zip(self.values, self.nouns, strict=True))
            for spelling in (value, noun, noun.removeprefix("the "))
        }

    def sentence(self, clue: Clue) -> str:
        """Say a clue."""
        nouns = [self.nouns[value] for value in clue.values]
        said = self._place(nouns[0], clue.houses) if clue.kind == "in" else _SAID[clue.kind].format(*nouns)
        return f"{said[0].upper()}{said[1:]}."

    def _place(self, noun: str, houses: Houses) -> str:
        if self.n - houses.bit_count() == 1:
            return f"{noun} does not live in house {(houses ^ (1 << self.n) - 1).bit_length()}"
        return f"{noun} lives in house {listed(houses)}"

    def claim(self, text: str) -> Clue | None:
        """Read a claim such as "baker in house 1 or 2", "Ann is not the baker"; None for text that is none."""
        text = text.strip().rstrip(".")
        text = _ORDINAL.sub(lambda match: f"{match[2]} {_ORDINALS[match[1].lower()]}", text)
        if match := _IN.fullmatch(text):
            return self._in(match[1], match[4], bool(match[2]) != bool(match[3]))
        if match := _AT.fullmatch(text):
            return self._in(match[1], match[3], bool(match[2]))
        if match := _HOUSE.fullmatch(text):
            return self._in(match[5], match[1] or match[3], bool(match[2]) != bool(match[4]))
        if match := _IS.fullmatch(text):
            x, y = self.value(match[1]), self.value(match[4])
            if x is not None and y is not None and x // self.n != y // self.n:
                return Clue("not" if match[2] or match[3] else "is", (x, y))
        return None

    def value(self, text: str) -> int | None:
        """Return which value a word or phrase names."""
        said = text.strip().casefold()
        return self.known.get(said, self.known.get(_ARTICLE.sub("", said)))

    def _in(self, said: str, listed: str, denied: bool) -> Clue | None:
        value, places = self.value(said), [int(digit) for digit in re.findall(r"\d", listed)]
        if value is None or (" and " in listed and not denied) or not all(1 <= place <= self.n for place in places):
            return None
        houses = sum(1 << place - 1 for place in set(places))
        return Clue("in", (value,), (1 << self.n) - 1 - houses if denied else houses)


def listed(houses: Houses) -> str:
    """Write a set of houses: "1", "1 or 2", "1, 2 or 4"."""
    return joined([str(house + 1) for house in houses_of(houses)], "or")


def joined(words: Iterable[str], last: str) -> str:
    """Write a list in words: "a, b and c"."""
    *most, end = words
    return f"{', '.join(most)} {last} {end}" if most else end
