"""Yes-or-no questions about people with attributes: a small language, read and never evaluated as code.

A question is one condition, or up to four joined all by "and" or all by "or":

hat is red, pet is not cat      an attribute is a word, or is not
floor > 4, floor < 4            a number is more, less or equal
name in Ada, Ben                the name is one of up to eight
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MOST_CONDITIONS = 4
MOST_NAMES = 8
LONGEST = 200
"""Characters of a question."""

Person = Mapping[str, str | int]
"""Attribute -> word or number; "name" is one of them."""

_CONDITION = re.compile(r"([a-z]{1,20}) ?(is not|is|in|[<>]=?|=) ?(.{1,160})")
_NUMBER = re.compile(r"\d{1,4}", re.ASCII)


class NoQuestionError(Exception):
    """A text that is no question in this language; says why."""


@dataclass(frozen=True)
class Condition:
    """One condition.

    Attributes:
        attribute: What it is about.
        relation: "is", "is not", "in", or a comparison of numbers.
        values: The word, the number, or the names.
    """

    attribute: str
    relation: str
    values: tuple[str | int, ...]

    def holds(self, person: Person) -> bool:
        """Whether it is true of a person."""
        found, value = person[self.attribute], self.values[0]
        if isinstance(found, int) and isinstance(value, int):
            return {
                "is": found == value,
                "=": found == value,
                "is not": found != value,
                ">": found > value,
                "<": found < value,
                ">=": found >= value,
                "<=": found <= value,
            }[self.relation]
        return (found in self.values) != (self.relation == "is not")

    def __str__(self) -> str:
        return f"{self.attribute} {self.relation} {', '.join(map(str, self.values))}"


@dataclass(frozen=True)
class Question:
    """Conditions, all joined by the same word.

    Attributes:
        conditions: One to four.
        joint: "and" or "or".
    """

    conditions: tuple[Condition, ...]
    joint: str = "and"

    def holds(self, person: Person) -> bool:
        """Whether the answer is yes for a person."""
        truths = (condition.holds(person) for condition in self.conditions)
        return all(truths) if self.joint == "and" else any(truths)

    def __str__(self) -> str:
        return f" {self.joint} ".join(map(str, self.conditions))


def read_question(text: str, people: Sequence[Person]) -> Question:
    """Read a question about people. Raises NoQuestionError."""
    if len(text) > LONGEST:
        raise NoQuestionError(f"it is longer than {LONGEST} characters")
    text = " ".join(text.split())
    joints = {word.lower() for word in re.findall(r" (and|or) ", text, re.IGNORECASE)}
    if len(joints) > 1:
        raise NoQuestionError('join all conditions by "and", or all by "or"')
    pieces = re.split(r" (?:and|or) ", text, flags=re.IGNORECASE)
    if len(pieces) > MOST_CONDITIONS:
        raise NoQuestionError(f"{len(pieces)} conditions, at most {MOST_CONDITIONS} may be joined")
    return Question(tuple(_condition(piece, people) for piece in pieces), joints.pop() if joints else "and")


def _condition(text: str, people: Sequence[Person]) -> Condition:
    match = _CONDITION.fullmatch(text.strip().casefold())
    if match is None:
        raise NoQuestionError("a condition names an attribute, a relation and a value")
    attribute, relation, value = match.groups()
    if attribute not in people[0]:
        raise NoQuestionError(f"the attributes are {', '.join(people[0])}")
    if isinstance(people[0][attribute], int):
        if relation == "in" or not _NUMBER.fullmatch(value):
            raise NoQuestionError(f"{attribute} is a number, to be compared with one number")
        return Condition(attribute, relation, (int(value),))
    if relation not in ("is", "is not", "in") or (relation == "in") != (attribute == "name"):
        raise NoQuestionError('a word "is" or "is not" another; a name is "in" a list of names')
    known = {str(person[attribute]).casefold(): str(person[attribute]) for person in people}
    words = [word.strip() for word in value.split(",")] if relation == "in" else [value]
    if len(words) > MOST_NAMES:
        raise NoQuestionError(f"{len(words)} names, at most {MOST_NAMES} may be listed")
    if any(word not in known for word in words):
        raise NoQuestionError(f"nobody has that {attribute}")
    return Condition(attribute, relation, tuple(known[word] for word in words))


def best_question(people: Sequence[Person]) -> Question:
    """Return a question that halves people as nearly as any: of one condition, of two, or a list of names."""
    singles = list(_singles(people))
    masks = [sum(c.holds(person) << k for k, person in enumerate(people)) for c in singles]
    half, best, least = (len(people) + 1) // 2, Question(tuple(singles[:1])), len(people) + 1
    for conditions, joint, yes in _combined(singles, masks):
        larger = max(yes.bit_count(), len(people) - yes.bit_count())
        if larger < least:
            best, least = Question(conditions, joint), larger
            if larger == half:
                return best
    if len(people) <= 2 * MOST_NAMES:
        names = tuple(person["name"] for person in people[: len(people) // 2])
        return Question((Condition("name", "in", names),))
    return best


def _singles(people: Sequence[Person]) -> Iterator[Condition]:
    for attribute, example in people[0].items():
        values = sorted({person[attribute] for person in people})
        if isinstance(example, int):
            yield from (Condition(attribute, ">", (value,)) for value in values[:-1])
        elif attribute != "name":
            yield from (Condition(attribute, "is", (value,)) for value in values)


def _combined(singles: Sequence[Condition], masks: Sequence[int]) -> Iterator[tuple[tuple[Condition, ...], str, int]]:
    """Return conditions alone and in pairs, with the people for whom the answer is yes as bits."""
    for condition, mask in zip(singles, masks, strict=True):
        yield (condition,), "and", mask
    for k, (one, mask) in enumerate(zip(singles, masks, strict=True)):
        for other, more in zip(singles[:k], masks, strict=False):
            yield (other, one), "or", mask | more
            yield (other, one), "and", mask & more


def can_be_found(people: Sequence[Person], turns: int) -> bool:
    """Whether halving by `best_question` names any of the people within so many turns."""
    if len(people) > 2 ** (turns - 1):
        return False
    if len(people) <= 2 * MOST_NAMES:  # a list of names splits them as evenly as can be
        return True
    question = best_question(people)
    yes = [person for person in people if question.holds(person)]
    no = [person for person in people if not question.holds(person)]
    return can_be_found(yes, turns - 1) and can_be_found(no, turns - 1)
