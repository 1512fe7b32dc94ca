r"""Deductions in a response: finds them, and checks that each follows from what it cites and what came before.

The language, one deduction per line or sentence, in any mixture with other text:

    From 2: Bob is a knave.          By clues 1 and 4, the milk is in house 2.     2, 4 => Bob is a knave.
    Bob is a knave (from 2).         So Bob is a knave.                            Bob is a knave.
    Suppose Ann is a knight.  ...  From 3: contradiction, so Ann is a knave.       By elimination: tea in house 3.

A deduction that cites premises must follow from them together with everything established before it; one "by
elimination", from what is established alone; one that cites nothing, from all premises. "Suppose" opens a supposition,
and what is said until its "contradiction" is checked inside it and forgotten behind it; the conclusion, "so ...", must
follow from what was refuted. A supposition that excludes the one before it is the next case: that one is left without a
conclusion, as is the last one by "in both cases ...". "If A, then B" and "A => B" are checked with A supposed. Text
that is no claim is left alone, a claim that follows from everything (because what it rests on is contradictory) holds
where it stands but counts nothing, and what a solver cannot decide within its bound counts as not checked, with all
that follows from that alone. Unsound are:

* a claim that does not follow from what it cites, or that cites a premise that does not exist;
* a contradiction that is none;
* a supposition that is never given up and does not follow from the premises: the answer rests on it.

A chain is as strong as its weakest link: with one unsound deduction the share that is sound is 0, else 1. A share that
counted lines could be bought with lines: true ones, trivial ones, as many as it takes. Here more lines change nothing.

A puzzle supplies a `Theory`. Claims are whatever it likes; where the worlds can be listed, they are bit masks:

    theory = Worlds(everything=0b1111, premises={"1": 0b0110, "2": 0b1100}, reader=my_reader)
    check_deductions("From 1: Bob is a knave.", theory)         # -> Soundness

    PuzzleReward(read, check, soundness=lambda response, problem: check_deductions(response, theory_of(problem)))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from grpo_rewards.logic.reading import items
from grpo_rewards.logic.sentences import Sentence, halves, sentences
from grpo_rewards.soundness import Soundness

C = TypeVar("C")


class Theory(Protocol[C]):
    """What a puzzle knows about its deductions. C is its type of claims."""

    @property
    def premises(self) -> Mapping[str, C]:
        """The premises by the names under which they are cited: "1", "2" ..."""

    def read(self, text: str) -> C | None:
        """Read one claim, the whole text or nothing: "Bob is a knave"; None for anything else."""

    def negation(self, claim: C) -> C:
        """Return what is true exactly where the claim is false."""

    def entails(self, given: Sequence[C], claim: C) -> bool | None:
        """Whether a claim is true wherever all given ones are; None where that is not decided within the bound."""

    def consistent(self, given: Sequence[C]) -> bool | None:
        """Whether all given claims can be true together; None where that is not decided within the bound."""


@dataclass(frozen=True)
class Worlds:
    """A theory whose worlds can be listed: a claim is the mask of those in which it is true.

    Attributes:
        everything: The mask of all worlds.
        premises: The premises by the names under which they are cited.
        reader: Reads one claim; None for text that is none.
    """

    everything: int
    premises: Mapping[str, int]
    reader: Callable[[str], int | None]

    def read(self, text: str) -> int | None:
        """Read one claim."""
        return self.reader(text)

    def negation(self, claim: int) -> int:
        """Return the other worlds."""
        return self.everything & ~claim

    def entails(self, given: Sequence[int], claim: int) -> bool:
        """Whether no world that is left lies outside the claim."""
        return not self._left(given) & ~claim

    def consistent(self, given: Sequence[int]) -> bool:
        """Whether a world is left."""
        return bool(self._left(given))

    def _left(self, given: Sequence[int]) -> int:
        left = self.everything
        for mask in given:
            left &= mask
        return left


MAX_DEDUCTIONS = 400
"""Deductions of one response that are checked. A response with more is unsound: else false ones would hide behind."""

MAX_CASES = 8
"""Open suppositions, from the innermost, among which the one is looked for that a new one replaces."""


@dataclass(frozen=True)
class Chain(Soundness):
    """Deductions that rest on one another: one that does not follow, and nothing is proved."""

    @property
    def share(self) -> float:
        """1 when nothing is unsound, else 0."""
        return 0.0 if self.unsound else 1.0


def check_deductions(response: str, theory: Theory[C]) -> Chain:
    """Check the deductions of a response up to the first that does not follow. Never raises because of the text."""
    argument = _Argument(theory)
    for number, step in enumerate(_steps(response, theory)):
        fault = f"more than {MAX_DEDUCTIONS} deductions" if number == MAX_DEDUCTIONS else argument.take(step)
        if fault:
            return Chain(argument.checked + 1, (fault,))
    fault = argument.resting_on()
    return Chain(argument.checked + bool(fault), (fault,) if fault else ())


@dataclass(frozen=True)
class _Step(Generic[C]):
    """A sentence that the theory can read: its claims, and what they are said to rest on."""

    sentence: Sentence
    claims: list[C] = field(default_factory=list)
    ground: list[C] = field(default_factory=list)


def _steps(response: str, theory: Theory[C]) -> Iterator[_Step[C]]:
    """Yield what the theory can read. What was said already is left out, as long as the suppositions are the same."""
    known: set[tuple[str, str, tuple[str, ...] | None]] = set()
    said_twice = False
    for sentence in sentences(response):
        if sentence.kind == "contradiction":
            known.clear()
            if not said_twice:
                yield _Step(sentence)
            said_twice = True
            continue
        if sentence.common:
            known.clear()
        place = sentence.kind, f"{sentence.under}|{sentence.label}|{sentence.said}", sentence.cited
        for step in _read(sentence, theory) if place not in known else ():
            if sentence.kind == "supposition":
                known.clear()
            said_twice = False
            known.add(place)
            yield step


def _read(sentence: Sentence, theory: Theory[C]) -> Iterator[_Step[C]]:
    """Read a sentence as it stands, with the number before it, or as a claim that rests on another one."""
    claims = _claims(sentence.said, theory)
    if not claims and sentence.label:
        claims = _claims(f"{sentence.label} {sentence.said}", theory)
    condition = _claims(sentence.under, theory) if sentence.under else []
    if claims and bool(condition) == bool(sentence.under):
        yield _Step(sentence, claims, condition)
    if claims or sentence.under:
        return
    parts = halves(sentence.said) if sentence.kind == "claim" else None
    ground = _claims(parts.ground, theory) if parts else []
    then = [_claims(part, theory) for part in parts.claims] if parts and ground else []
    if parts and then and all(then):
        if parts.asserted:
            yield _Step(replace(sentence, cited=None), ground)
        yield _Step(sentence, [claim for part in then for claim in part], [] if parts.asserted else ground)


_BESIDES = re.compile(r",? (?:while|whereas|but|as well as) ", re.IGNORECASE)
_SHARED = re.compile(r"(.{1,30}?(?::| has| contains))\s+(?!not\b)(.+)")


def _claims(said: str, theory: Theory[C]) -> list[C]:
    """Read a claim, or several: joined by "and", or listed behind what they share; nothing where one is no claim."""
    whole = theory.read(said)
    if whole is not None:
        return [whole]
    shared = _SHARED.fullmatch(said)
    for parts in (
        items(_BESIDES.sub(", ", said)),
        [f"{shared[1]} {part}" for part in items(shared[2])] if shared else [],
    ):
        claims = [theory.read(part) for part in parts]
        if len(claims) > 1 and None not in claims:
            return [claim for claim in claims if claim is not None]
    return []


@dataclass
class _Scope(Generic[C]):
    """What holds inside a supposition; the outermost has none."""

    supposed: list[C] = field(default_factory=list)
    written: str = ""
    established: list[C] = field(default_factory=list)
    undecided: list[C] = field(default_factory=list)
    follows_another: bool = False


class _Argument(Generic[C]):
    """An argument so far: what is supposed, what is established, how much was checked, what was refuted just now."""

    def __init__(self, theory: Theory[C]) -> None:
        self.theory = theory
        self.scopes: list[_Scope[C]] = [_Scope()]
        self.checked = 0
        self.refuted = False

    def take(self, step: _Step[C]) -> str:
        """Take one sentence; return it when it does not follow, else nothing."""
        sentence = step.sentence
        unknown = [label for label in sentence.cited or () if label not in self.theory.premises]
        if unknown:
            return f"{sentence.written} (there is no {unknown[0]})"
        if sentence.kind == "supposition":
            next_case = self._leave_case(step.claims)
            self.scopes.append(_Scope(step.claims, sentence.written, follows_another=next_case))
            return ""
        if sentence.kind == "contradiction":
            return self._contradiction(sentence)
        if sentence.common:
            self._leave_cases()
        if step.ground:
            self.scopes.append(_Scope(step.ground))
        sound = all(self._follows(claim, self._given(sentence)) for claim in step.claims)
        if step.ground:
            self._leave_condition()
        return "" if sound else sentence.written

    def _leave_case(self, supposed: list[C]) -> bool:
        """Leave the innermost supposition that the next one excludes, without a conclusion; whether there is one."""
        for place in range(len(self.scopes) - 1, max(0, len(self.scopes) - 1 - MAX_CASES), -1):
            if self.theory.consistent([*self.scopes[place].supposed, *supposed]) is False:
                del self.scopes[place:]
                return True
        return False

    def _leave_cases(self) -> None:
        """Leave the innermost supposition that is the last of several cases: what is said now is said of all."""
        last = [place for place, scope in enumerate(self.scopes) if scope.follows_another]
        if last:
            del self.scopes[last[-1] :]

    def _leave_condition(self) -> None:
        """Leave the condition of one sentence; what was found under it is kept where the condition itself holds."""
        inside = self.scopes.pop()
        known = [claim for scope in self.scopes for claim in scope.supposed + scope.established]
        if all(self.theory.entails(known, claim) for claim in inside.supposed):
            self.scopes[-1].established += inside.established

    def resting_on(self) -> str:
        """Return the first supposition that was never given up and does not follow; else nothing."""
        given = list(self.theory.premises.values())
        for scope in self.scopes[1:]:
            if any(self.theory.entails(given, claim) is False for claim in scope.supposed):
                return f"{scope.written} (never given up)"
        return ""

    def _given(self, sentence: Sentence) -> list[C]:
        """Return what a sentence may use: what it cites, or all premises, and all that holds where it stands."""
        premises = self.theory.premises
        cited = premises if sentence.cited is None else sentence.cited
        if sentence.concludes and self.refuted:
            cited = ()  # the conclusion of a contradiction has to follow from what was refuted
        given = [premises[label] for label in cited]
        for scope in self.scopes:
            given += scope.supposed + scope.established
        return given

    def _follows(self, claim: C, given: list[C]) -> bool:
        """Establish a claim that follows; False for one that does not, even with what could not be decided before.

        What follows from a contradiction holds where it stands, and may be used until the supposition is given up.
        """
        follows = self.theory.entails(given, claim)
        if follows:
            self.checked += bool(self.theory.consistent(given))
            self.scopes[-1].established.append(claim)
            return True
        undecided = self._undecided()
        if follows is False and not (undecided and self.theory.entails([*given, *undecided], claim) is not False):
            return False
        self.scopes[-1].undecided.append(claim)
        return True

    def _undecided(self) -> list[C]:
        return [claim for scope in self.scopes for claim in scope.undecided]

    def _contradiction(self, sentence: Sentence) -> str:
        """Give up the innermost supposition; without one, the word is no deduction."""
        self.refuted = False
        if len(self.scopes) == 1:
            return ""
        given, undecided = self._given(sentence), self._undecided()
        possible = self.theory.consistent(given)
        if possible and undecided and not self.theory.consistent([*given, *undecided]):
            possible = None
        supposed = self.scopes.pop().supposed
        if possible:
            return sentence.written
        if possible is False:
            self.checked += 1
            if len(supposed) == 1:
                self.refuted = True
                self.scopes[-1].established.append(self.theory.negation(supposed[0]))
        return ""
