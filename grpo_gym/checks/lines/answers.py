"""The right answer is paid, in every spelling and wherever it is scored."""

from __future__ import annotations

import re

from grpo_gym.checks.child import Right
from grpo_gym.checks.exam import TOLERANCE, Exam
from grpo_gym.checks.forms import BLANK_FORMS, DEFAULT_FORMS, FORMS
from grpo_gym.checks.laboratory import Laboratory, Scored
from grpo_gym.checks.question import NO_RIGHT_ANSWER, Finding, judged, question, shown, skipped
from grpo_gym.checks.specimen import Specimen

TURN_FORMS = ("blanks around", "line break before", "line ends of Windows", "full stop")
"""Spellings that are asked of every action of an episode."""

_NUMBER = re.compile(r"[+-]?\d+", re.ASCII)


@question("generator", "make the generator return a Problem of JSON values for every seed; a rare crash ends a run")
def generator(exam: Exam) -> Finding:
    """Every problem of the sample can be made, is JSON, and has an answer that can be written."""
    made = zip(exam.keys, exam.made, strict=True)
    broken = [f"at place {key.place}: {r.get('error') or r.get('fate')}" for key, r in made if not r.get("problem")]
    return judged(broken, f"{len(exam.made)} problems made")


@question("oracle", "let the reward pay its maximum for the worked solution and for the answer in the asked format")
def oracle(exam: Exam) -> Finding:
    """The reference answer, and the worked solution, earn the maximum."""
    if not exam.answered:
        return skipped("no right answer is known") if exam.sample else skipped("no problem could be made")
    unpaid = [f"{_name(text)} earns {_worth(scored)}" for _, text, scored in exam.answered if not exam.is_full(scored)]
    return judged(unpaid, f"{len(exam.answered)} right answers earn {exam.top:g}")


@question("round trip", "keep reference and meta JSON values: tuples come back as lists, integer keys as text")
def round_trip(exam: Exam) -> Finding:
    """A problem that went through JSON pays its right answer as before."""
    if not exam.paid:
        return skipped(NO_RIGHT_ANSWER)
    return _elsewhere(exam, exam.lab, "after a round trip through JSON")


@question("fresh process", "let a verdict depend on the answer and the problem alone, not on what the process has made")
def fresh_process(exam: Exam) -> Finding:
    """A process that has made no problem pays right answers to problems that it is told."""
    here = exam.lab.score([(s.problem, text) for s, text, _ in exam.paid])
    there = exam.elsewhere.fresh
    kept = [k for k, scored in enumerate(here) if exam.is_full(scored)]
    if not kept:
        return skipped("no right answer survives the round trip through JSON")
    rows = [exam.paid[k] for k in kept if not exam.is_full(there[k])]
    if rows:  # that process has another hash seed, too: which of the two it is, one of the same hash seed tells
        with Laboratory(exam.subject, exam.lab.hash_seed) as lab:
            again = lab.score([(s.problem, text) for s, text, _ in rows])
        rows = [row for row, scored in zip(rows, again, strict=True) if not exam.is_full(scored)]
    lost = [f"{_name(text)} earns nothing there" for _, text, _ in rows]
    return judged(lost, f"{len(kept)} right answers earn {exam.top:g} in a process that made no problem")


@question("spellings", "read the answer, not its looks; or declare the spellings that hold in the task's `forms`")
def spellings(exam: Exam) -> Finding:
    """Blanks, a box, an answer line, a full stop, a code fence and thousands separators change nothing."""
    if exam.facts.interactive:
        return _spelled_in_turns(exam)
    if not exam.finals:
        return skipped("no final answer written in the asked format earns the maximum")
    rows = [
        (name, specimen, FORMS[name].spell(specimen.final))
        for specimen in exam.finals[:12]
        for name in _forms(exam)
        if specimen.final is not None and FORMS[name].fits(specimen.final) and _may_have(name, specimen)
    ]
    scores = exam.score([(specimen, text) for _, specimen, text in rows])
    lost = [
        f"{name}: {shown(text)} earns {_worth(scored)}"
        for (name, _, text), scored in zip(rows, scores, strict=True)
        if not exam.is_full(scored)
    ]
    return judged(lost, f"{len({name for name, _, _ in rows})} spellings of {len(exam.finals[:12])} right answers")


@question(
    "equivalents", "compare what answers mean: every answer in the task's `equivalents` is as right as the reference"
)
def equivalents(exam: Exam) -> Finding:
    """Answers that the task declares equal earn the same."""
    return _all_paid(exam, "equivalents", "the task declares no `equivalents`")


@question("second solver", "check the rules and not the stored solution, or make the solution unique")
def second_solver(exam: Exam) -> Finding:
    """Every solution that an independent solver finds earns the maximum."""
    return _all_paid(exam, "solutions", "the task declares no `solver`")


def _all_paid(exam: Exam, kind: str, absent: str) -> Finding:
    declared = [(s, texts) for s, record in exam.others if (texts := record.told(kind)) is not None]
    errors = [error for _, record in exam.others if (error := record.error(kind))]
    if not declared and not errors:
        return skipped(absent)
    rows = [(s, text) for s, texts in declared for text in texts]
    empty = [f"none is found for {shown(s.text)}" for s, texts in declared if not texts and kind == "solutions"]
    unpaid = [
        f"{shown(text)} earns {_worth(scored)}"
        for (_, text), scored in zip(rows, exam.score(rows), strict=True)
        if not exam.is_full(scored)
    ]
    unique = sum(len(set(texts)) == 1 for _, texts in declared)
    tail = f", {unique} of {len(declared)} problems have one solution" if kind == "solutions" else ""
    return judged([*errors, *empty, *unpaid], f"{len(rows)} answers earn {exam.top:g}{tail}")


def _elsewhere(exam: Exam, lab: Laboratory, where: str) -> Finding:
    scores = lab.score([(s.problem, text) for s, text, _ in exam.paid])
    lost = [
        f"{_name(text)} earns {_worth(scored)} {where}"
        for (_, text, before), scored in zip(exam.paid, scores, strict=True)
        if abs(scored.number - before.number) > TOLERANCE or scored.error
    ]
    return judged(lost, f"{len(exam.paid)} right answers earn {exam.top:g} {where}")


def _spelled_in_turns(exam: Exam) -> Finding:
    if not exam.paid:
        return skipped(NO_RIGHT_ANSWER)
    few = [s for s, _, _ in exam.paid[:8]]
    forms = [name for name in TURN_FORMS if exam.facts.forms is None or name in exam.facts.forms]
    rows = [(name, s) for name in forms for s in few]
    scores = exam.score([(s, Right(name)) for name, s in rows])
    lost = [
        f"{name}: the episode earns {_worth(scored)}"
        for (name, _), scored in zip(rows, scores, strict=True)
        if not exam.is_full(scored)
    ]
    return judged(lost, f"{len(forms)} spellings of every action of {len(few)} episodes")


def _forms(exam: Exam) -> tuple[str, ...]:
    """Return the spellings to ask for: of code from outside, which declares none, blanks alone."""
    if exam.facts.forms is not None:
        return exam.facts.forms
    return BLANK_FORMS if exam.facts.foreign else DEFAULT_FORMS


def _may_have(name: str, specimen: Specimen) -> bool:
    """Whether a spelling leaves the answer's meaning alone.

    Separators belong into numbers only, and structured answers stand alone, as does one that nothing marks as such.
    """
    if isinstance(specimen.reference, (dict, list)):
        return name in BLANK_FORMS  # JSON or a grid: what stands around it is no part of it
    if name == "thousands":
        return _NUMBER.fullmatch(str(specimen.reference)) is not None
    final = str(specimen.final).strip()
    marked = final != str(specimen.reference).strip()
    return marked or (name != "reasoning before" and (name != "code fence" or "\n" in final))


def _name(answer: str | Right) -> str:
    return "the oracle's episode" if isinstance(answer, Right) else shown(answer)


def _worth(scored: Scored) -> str:
    if scored.fate or scored.error:
        return f"nothing ({scored.fate or scored.error})"
    if scored.value is None:
        return "nothing (it abstains)"
    return f"{scored.value:.4g}" if isinstance(scored.value, (int, float)) else scored.value
