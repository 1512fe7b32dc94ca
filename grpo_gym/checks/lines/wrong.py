"""Wrong answers that a careless comparison takes for right: near misses, and several answers at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from grpo_gym.checks.exam import TOLERANCE, Exam
from grpo_gym.checks.lines.paying import MULTI_TURN, Row, unpaid, written
from grpo_gym.checks.perturb import wrong_references, wrong_sequences
from grpo_gym.checks.question import Finding, question, shown, skipped
from grpo_gym.checks.specimen import Specimen

SCALAR = (str, int, float)

BEHIND = frozenset(("a range", "an expression", "a unit that nobody asked for", "a number more", "another word behind"))
BEFORE = frozenset(("an expression that ends with it", "the word denied", "a number before"))
"""Near misses that hold the right answer with something behind or before it: where they pay, a second answer in that
place is no other fault."""


class Hedge(NamedTuple):
    """A way to give the right answer, {0}, and a wrong one, {1}.

    Attributes:
        pattern: How both are written.
        like: The near misses that it is no news after.
        inside: Whether both stand where one answer belongs.
    """

    pattern: str
    like: frozenset[str]
    inside: bool = False


HEDGES = {
    "right or wrong": Hedge("{0} or {1}", BEHIND),
    "wrong or right": Hedge("{1} or {0}", BEFORE),
    "either, or": Hedge("Either {0} or {1}.", BEHIND),
    "right in the thoughts, wrong as the answer": Hedge("<think>{0}</think>\n{1}", BEHIND),
    "right or wrong, as one answer": Hedge("{0} or {1}", BEHIND, inside=True),
    "wrong or right, as one answer": Hedge("{1} or {0}", BEFORE, inside=True),
    "right, wrong, as one answer": Hedge("{0}, {1}", BEHIND, inside=True),
    "right; wrong, as one answer": Hedge("{0}; {1}", BEHIND, inside=True),
}


@question("near miss", "compare exactly: no prefix, no substring, no rounding, no closeness that pays")
def near_miss(exam: Exam) -> Finding:
    """The right answer with a digit, sign, unit or letter changed earns nothing; with one item changed, less."""
    if exam.facts.interactive:
        return skipped(MULTI_TURN)
    few = [s for s in exam.finals[:16] if str(s.reference) in str(s.final)]
    rows = _changed(exam, few, wrong_references)
    rows += [row._replace(partly_right=True) for row in _changed(exam, few, wrong_sequences)]
    if not rows:
        return skipped("the answers are neither numbers nor single words")
    return unpaid(exam, "near miss", rows)


@question("hedge", "refuse several different answers side by side, or a policy learns to offer all of them")
def hedge(exam: Exam) -> Finding:
    """Two answers, all candidates in a list, or a right answer in the thoughts alone earn nothing."""
    if exam.facts.interactive:
        return skipped(MULTI_TURN)
    pairs = [(s, other) for s in exam.finals[:12] if (other := _another(exam, s)) is not None]
    if not pairs:
        return skipped("no two problems with different answers that are paid")
    rows: list[Row] = []
    for kind, pattern in HEDGES.items():
        computed = pattern.inside and "executes answers" in exam.failed  # "12 or 15" is a program, too
        if not computed and not exam.paid_kinds & pattern.like:
            rows += _hedged(exam, kind, pattern, pairs)
    if exam.paid_kinds & BEHIND and exam.paid_kinds & BEFORE:
        return unpaid(exam, "hedge", rows)
    candidates = list(dict.fromkeys(str(s.final) for s in exam.finals))[:20]
    if len(candidates) > 3:
        rows += [Row("all candidates in a list", s, ", ".join(_around(str(s.final), candidates))) for s, _ in pairs]
    return unpaid(exam, "hedge", rows, _either(exam, pairs))


def _hedged(exam: Exam, kind: str, hedge: Hedge, pairs: list[tuple[Specimen, Specimen]]) -> list[Row]:
    """Return hedges of a kind; what the wrong answer alone would earn, they may earn too."""
    wrong = {s.key: str(other.final) for s, other in pairs}
    if not hedge.inside:
        return [Row(kind, s, hedge.pattern.format(s.final, o.final), instead=wrong[s.key]) for s, o in pairs]
    plain = [(s, o) for s, o in pairs if isinstance(s.reference, SCALAR) and isinstance(o.reference, SCALAR)]
    texts = written(exam, [(s, hedge.pattern.format(s.reference, o.reference)) for s, o in plain])
    return [Row(kind, s, text, instead=wrong[s.key]) for s, text in texts]


def _either(exam: Exam, pairs: list[tuple[Specimen, Specimen]]) -> list[str]:
    """Return where two different answers on two lines are paid in full whichever comes last.

    Two problems in different words may be the same, and then an answer to one is right for the other.
    """
    alone = exam.beyond_looks([(s, str(o.final)) for s, o in pairs])
    pairs = [pair for pair, value in zip(pairs, alone, strict=True) if value < exam.top - TOLERANCE]
    first = exam.beyond_looks([(s, f"{s.final}\n{o.final}") for s, o in pairs])
    last = exam.beyond_looks([(s, f"{o.final}\n{s.final}") for s, o in pairs])
    return [
        f"{shown(str(s.final))} and {shown(str(o.final))} on two lines earn full reward in either order"
        for (s, o), a, b in zip(pairs, first, last, strict=True)
        if min(a, b) >= exam.top - TOLERANCE
    ]


def _changed(exam: Exam, specimens: list[Specimen], change: Callable[[object], dict[str, object]]) -> list[Row]:
    """Write changed references as final answers, without those that the subject calls right."""
    right = {s.key: {*(o.told("equivalents") or ()), *(o.told("solutions") or ())} for s, o in exam.others}
    wrong = [(what, s, reference) for s in specimens for what, reference in change(s.reference).items()]
    texts = exam.write([(s, reference) for _, s, reference in wrong])
    return [
        Row(what, s, text)
        for (what, s, _), text in zip(wrong, texts, strict=True)
        if text is not None and text not in right.get(s.key, ())
    ]


def _another(exam: Exam, specimen: Specimen) -> Specimen | None:
    """Return a specimen of the same task whose answer differs from this one's, neither of the two within the other.

    What another task takes for an answer need be none here: a proof with a number in a box behind it is still a proof.
    A mixture of many tasks has hardly two problems of one in a small sample; then there are the held-out ones.
    """
    mine = str(specimen.reference).casefold()
    others = list(exam.finals)
    if len({one.problem["task"] for one in exam.sample}) > 1:
        others += exam.held_out
    for other in others:
        theirs = str(other.reference).casefold()
        same_task = other.problem["task"] == specimen.problem["task"]
        if same_task and other.final is not None and mine not in theirs and theirs not in mine:
            return other
    return None


def _around(right: str, candidates: list[str]) -> list[str]:
    """Return the candidates with the right one in the middle."""
    others = [text for text in candidates if text != right]
    return [*others[: len(others) // 2], right, *others[len(others) // 2 :]]
