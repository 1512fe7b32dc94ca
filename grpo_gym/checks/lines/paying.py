"""What the questions about pay for nothing share: judging kinds of wrong answers, and finding the best strategy."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from grpo_gym.checks.exam import TOLERANCE, Exam
from grpo_gym.checks.question import Finding, failed, judged, passed, percent, shown, skipped
from grpo_gym.checks.specimen import Specimen

FLOOR = 0.1
"""Share of the maximum that a blind strategy may earn on average where a task declares nothing."""

ERRORS = 2.0
"""Standard errors by which a mean must lie above the limit: less is chance."""

SCREENED = 24
"""Problems that all strategies are tried on."""

FINALISTS = 5
"""Strategies that are measured on other problems."""

MULTI_TURN = "an episode in turns has no single final answer"


class Row(NamedTuple):
    """A text that deserves nothing.

    Attributes:
        kind: What was done to get it.
        specimen: The problem it answers.
        text: The text.
        partly_right: Whether only full reward for it is a fault.
        instead: A part of it that may be paid as what it is.
    """

    kind: str
    specimen: Specimen
    text: str
    partly_right: bool = False
    instead: str = ""


class Strategy(NamedTuple):
    """A way to answer without solving anything.

    Attributes:
        name: What it does, in words.
        find: What it takes for the answer to a problem.
        dressed: Whether that is then written in the asked format.
    """

    name: str
    find: Callable[[Specimen], str]
    dressed: bool = False


def unpaid(exam: Exam, line: str, rows: Sequence[Row], more: Sequence[str] = ()) -> Finding:
    """Judge answers that must earn no more than the declared level on average of their kind.

    Args:
        exam: The examination.
        line: Key under which a level is declared.
        rows: The answers; one that happens to be right is left out.
        more: Faults that were found otherwise.
    """
    rows = exam.thinned([row for row in rows if not exam.is_right(row.specimen, row.text)])
    if not rows and not more:
        return skipped("no such answer can be written")
    level = exam.floor(line, exam.nothing)
    kinds: dict[str, list[float]] = defaultdict(list)
    example: dict[str, str] = {}
    for row, value in zip(rows, _excess(exam, rows), strict=True):
        kinds[row.kind].append(value)
        if value > level + TOLERANCE:
            example.setdefault(row.kind, row.text)
    means = {kind: sum(values) / len(values) for kind, values in kinds.items()}
    exam.levels[line] = max(means.values(), default=exam.nothing)
    exam.paid_kinds |= {kind for kind, mean in means.items() if mean > level + TOLERANCE}
    paid = [
        f"{kind} earns {mean:.3g} on average, e.g. {shown(example[kind])}"
        for kind, mean in means.items()
        if mean > level + TOLERANCE
    ]
    return judged([*more, *paid], f"{len(rows)} answers of {len(kinds)} kinds earn at most {level:g}")


def _excess(exam: Exam, rows: Sequence[Row]) -> list[float]:
    """Return what each row earns that it should not; a penalty for some makes up for no reward of others."""
    instead = {(row.specimen.key, row.instead): row for row in rows if row.instead}
    scores = exam.score([(row.specimen, row.instead) for row in instead.values()])
    due = {key: scored.number for key, scored in zip(instead, scores, strict=True)}
    excess = []
    for row, earned in zip(rows, exam.beyond_looks([(row.specimen, row.text) for row in rows]), strict=True):
        excused = row.partly_right and earned < exam.top - TOLERANCE
        excused = excused or earned <= due.get((row.specimen.key, row.instead), exam.nothing) + TOLERANCE
        excess.append(exam.nothing if excused else earned)
    return excess


def best(exam: Exam, line: str, strategies: Sequence[Strategy], known: Sequence[str] = ()) -> Finding:
    """Find the best strategy on the sample, and measure it on problems that it was not chosen by.

    Args:
        exam: The examination.
        line: Key under which a level is declared.
        strategies: What is tried.
        known: Earlier questions: what their best strategies earn is no news.
    """
    few, others = untold(exam, exam.sample)[:SCREENED], untold(exam, exam.held_out)
    if not few or not others:
        return skipped("no problem could be made whose prompt does not hold its answer")
    trials = [(strategy, specimen) for strategy in strategies for specimen in few]
    sums: dict[Strategy, float] = defaultdict(float)
    for (strategy, _), value in _played(exam, exam.thinned(trials)):
        sums[strategy] += value
    finalists = sorted(sums, key=lambda strategy: -sums[strategy])[:FINALISTS]
    others = exam.thinned(others, 5.0)
    means = {
        strategy: sum(value for _, value in _played(exam, [(strategy, specimen) for specimen in others])) / len(others)
        for strategy in finalists
    }
    winner = max(means, key=lambda strategy: means[strategy])
    mean = exam.levels[line] = means[winner]
    default = exam.nothing + FLOOR * (exam.top - exam.nothing)
    limit = max([exam.floor(line, default), *(exam.levels[key] for key in known if key in exam.levels)])
    share = min(1.0, max(0.0, exam.share(limit)))
    chance = ERRORS * math.sqrt(share * (1 - share) / len(others))
    earned = f"earns {percent(exam.share(mean))} on {len(others)} other problems"
    text = f"the best of {len(strategies)}, {winner.name}, {earned}"
    if exam.share(mean) <= exam.share(limit) + chance + TOLERANCE:
        return passed(text)
    return failed(f"{text} (limit {percent(exam.share(limit))})")


def written(exam: Exam, rows: Sequence[tuple[Specimen, object]]) -> list[tuple[Specimen, str]]:
    """Write references as final answers and leave out what cannot be written."""
    texts = exam.write(rows)
    return [(s, text) for (s, _), text in zip(rows, texts, strict=True) if text is not None]


def _played(exam: Exam, trials: Sequence[tuple[Strategy, Specimen]]) -> list[tuple[tuple[Strategy, Specimen], float]]:
    """Return what strategies earn on problems."""
    found = [strategy.find(specimen) for strategy, specimen in trials]
    dressed = [k for k, (strategy, _) in enumerate(trials) if strategy.dressed]
    for k, text in zip(dressed, exam.write([(trials[k][1], found[k]) for k in dressed]), strict=True):
        found[k] = text or ""
    values = exam.beyond_looks([(specimen, text) for (_, specimen), text in zip(trials, found, strict=True)])
    return list(zip(trials, values, strict=True))


def untold(exam: Exam, specimens: Sequence[Specimen]) -> list[Specimen]:
    """Return the problems whose prompt does not hold the answer, once it is known that some do."""
    return [s for s in specimens if not s.told] if "leaks" in exam.failed else list(specimens)
