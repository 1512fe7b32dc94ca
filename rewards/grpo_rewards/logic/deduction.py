r"""Deductions in a response: finds them, and checks that each follows from what it cites and what came before.

The language, one deduction per line or sentence, in any mixture with other text:

    From 2: Bob is a knave.          By clues 1 and 4, the milk is in house 2.     2, 4 => Bob is a knave.
    Bob is a knave (from 2).         So Bob is a knave.                            Bob is a knave.
    Suppose Ann is a knight.  ...  From 3: contradiction, so Ann is a knave.       By elimination: tea in house 3.

A deduction that cites premises must follow from them together with everything established before it; one "by
elimination", from what is established alone; one that cites nothing, from all premises. "Suppose" opens a supposition,
and what is said until its "contradiction" is checked inside it and forgotten behind it; the conclusion, "so ...", must
follow from what was refuted. Text that is no claim is left alone, a claim that follows from everything (because what
it rests on is contradictory) is neither sound nor unsound, and what a solver cannot decide within its bound counts as
not checked. Unsound are:

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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from grpo_rewards.logic.reading import items
from grpo_rewards.logic.sentences import Sentence, sentences
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
    for number, sentence in enumerate(_stated(response, theory)):
        fault = f"more than {MAX_DEDUCTIONS} deductions" if number == MAX_DEDUCTIONS else argument.take(*sentence)
        if fault:
            return Chain(argument.checked + 1, (fault,))
    fault = argument.resting_on()
    return Chain(argument.checked + bool(fault), (fault,) if fault else ())


def _stated(response: str, theory: Theory[C]) -> Iterator[tuple[Sentence, list[C]]]:
    """Yield the sentences that the theory can read, with their claims; a contradiction has none."""
    known: set[tuple[str, str, tuple[str, ...] | None]] = set()
    for sentence in sentences(response):
        if sentence.kind == "contradiction":
            known.clear()
            yield sentence, []
            continue
        claims = _claims(sentence.said, theory)
        place = sentence.kind, sentence.said, sentence.cited
        if claims and place not in known:
            known.add(place)
            yield sentence, claims


def _claims(said: str, theory: Theory[C]) -> list[C]:
    """Read a claim, or several that are joined by "and"; nothing where one of them is no claim."""
    whole = theory.read(said)
    if whole is not None:
        return [whole]
    claims = [theory.read(part) for part in items(said)]
    return [claim for claim in claims if claim is not None] if len(claims) > 1 and None not in claims else []


@dataclass
class _Scope(Generic[C]):
    """What holds inside a supposition; the outermost has none."""

    supposed: list[C] = field(default_factory=list)
    written: str = ""
    established: list[C] = field(default_factory=list)


class _Argument(Generic[C]):
    """An argument so far: what is supposed, what is established, how much was checked, what was refuted just now."""

    def __init__(self, theory: Theory[C]) -> None:
        self.theory = theory
        self.scopes: list[_Scope[C]] = [_Scope()]
        self.checked = 0
        self.refuted = False

    def take(self, sentence: Sentence, claims: list[C]) -> str:
        """Take one sentence; return it when it does not follow, else nothing."""
        unknown = [label for label in sentence.cited or () if label not in self.theory.premises]
        if unknown:
            return f"{sentence.written} (there is no {unknown[0]})"
        if sentence.kind == "supposition":
            self.scopes.append(_Scope(claims, sentence.written))
            return ""
        if sentence.kind == "contradiction":
            return self._contradiction(sentence)
        sound = all(self._follows(claim, self._given(sentence)) for claim in claims)
        return "" if sound else sentence.written

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
        """Establish a claim that follows, and not from a contradiction; False for one that does not follow."""
        follows = self.theory.entails(given, claim)
        if follows and self.theory.consistent(given):
            self.checked += 1
            self.scopes[-1].established.append(claim)
        return follows is not False

    def _contradiction(self, sentence: Sentence) -> str:
        """Give up the innermost supposition; without one, the word is no deduction."""
        self.refuted = False
        if len(self.scopes) == 1:
            return ""
        possible = self.theory.consistent(self._given(sentence))
        supposed = self.scopes.pop().supposed
        if possible:
            return sentence.written
        if possible is False:
            self.checked += 1
            if len(supposed) == 1:
                self.refuted = True
                self.scopes[-1].established.append(self.theory.negation(supposed[0]))
        return ""
