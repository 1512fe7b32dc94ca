"""Texts that deserve nothing get nothing, raise nothing, cost little and are never executed."""

from __future__ import annotations

import statistics
from functools import partial

from grpo_gym.checks.exam import TOLERANCE, Exam
from grpo_gym.checks.question import Finding, failed, judged, passed, question, skipped
from grpo_gym.checks.specimen import Hostile

WORST_RATIO = 20.0
"""How many times the cost of a right answer a senseless one of 100 kB may cost, when that is more than SLACK."""

SLACK = 0.1
"""CPU seconds that any answer may cost."""

PROBED = 8
"""Problems that a reward's own probes are tried on."""

NO_PROBLEM = "no problem could be made"
NOT_ISOLATED = "this machine offers no isolation for code from outside, so texts that are programs were not tried"


@question(
    "junk raises",
    "catch what malformed answers cause, and return 0 with a reason: a policy will find them",
    after=("executes answers",),
)
def junk_raises(exam: Exam) -> Finding:
    """No text makes the scorer raise, nor abstain where it judges right answers."""
    if not exam.sample:
        return skipped(NO_PROBLEM)
    rows = exam.hostile
    raised = [f"{row.name} -> {row.scored.error}" for row in rows if row.scored.error]
    if exam.paid:
        raised += [f"{row.name} -> it abstains ({row.scored.reason})" for row in rows if row.scored.abstains]
    return judged(raised, f"{len(rows)} hostile texts raise nothing")


@question(
    "junk kills",
    "bound recursion and memory before you read an answer; run code in a process of its own",
    after=("executes answers",),
)
def junk_kills(exam: Exam) -> Finding:
    """No text ends the process."""
    if not exam.sample:
        return skipped(NO_PROBLEM)
    died = [f"{row.name} -> {row.scored.fate}" for row in exam.hostile if _died(row)]
    return judged(died, f"{len(exam.hostile)} hostile texts leave the process alive")


@question(
    "junk in time",
    "refuse what is too long before you parse it; no quadratic search, no huge power",
    after=("executes answers",),
)
def junk_in_time(exam: Exam) -> Finding:
    """Every text is judged before the deadline."""
    if not exam.sample:
        return skipped(NO_PROBLEM)
    late = [f"{row.name} -> {row.scored.fate}" for row in exam.hostile if row.scored.fate and not _died(row)]
    return judged(late, f"each of {len(exam.hostile)} hostile texts within {exam.lab.cpu_limit:g} s")


@question("junk pays", "pay nothing for what is no answer; a level that must be paid belongs into the task's `floors`")
def junk_pays(exam: Exam) -> Finding:
    """Nonsense earns nothing."""
    if not exam.sample:
        return skipped(NO_PROBLEM)
    level = exam.floor("junk pays", exam.nothing)
    paid = [f"{row.name} earns {row.scored.number:.3g}" for row in exam.junk if row.scored.number > level + TOLERANCE]
    return judged(paid, f"{len(exam.junk)} senseless texts earn at most {level:g}")


@question("own probes", "the reward names this answer as one that it must refuse")
def own_probes(exam: Exam) -> Finding:
    """The reward's own hostile answers earn no more than it says."""
    rows = [(s, *probe) for s, others in exam.others[:PROBED] for probe in others.told("probes") or ()]
    errors = [error for _, others in exam.others if (error := others.error("probes"))]
    if not rows and not errors:
        return skipped("the reward brings no probes of its own")
    scores = exam.score([(s, text) for s, _, text, _ in rows])
    paid = [
        f"{name} {scored.error or scored.fate or f'earns {scored.number:.3g}'}"
        for (_, name, _, most), scored in zip(rows, scores, strict=True)
        if scored.number > most + TOLERANCE or scored.error or scored.fate
    ]
    return judged([*errors, *paid], f"{len(rows)} answers of {len({name for _, name, _, _ in rows})} kinds")


@question("executes answers", "never hand the text of an answer to eval, exec, sympify, parse_expr or a shell")
def executes_answers(exam: Exam) -> Finding:
    """No text of an answer runs as code, and none is paid for being code."""
    if not exam.hostile_rows:
        return skipped(NOT_ISOLATED)
    if not exam.sample:
        return skipped(NO_PROBLEM)
    ran = [f"{row.name} was executed" for row in exam.code if row.scored.executed]
    if exam.marker.exists():
        ran.append("a program in an answer wrote a file")
    return judged(ran, f"{len(exam.code)} texts that are programs stayed texts")


@question(
    "cost of junk",
    "make the cost of judging grow no faster than the answer's length",
    after=("executes answers", "junk in time"),
)
def cost_of_junk(exam: Exam) -> Finding:
    """A senseless answer costs little, and no large multiple of a right one."""
    if exam.facts.cost == "slow":
        return skipped(f"a slow reward has its deadline of {exam.facts.time_limit:g} s per answer")
    rows = [row for row in exam.hostile if not row.scored.fate]
    if not rows:
        return skipped("no hostile text was judged")
    usual = statistics.median([scored.cpu for _, _, scored in exam.answered] or [0.0])
    limit = exam.floor("cost of junk", max(SLACK, WORST_RATIO * usual))
    dear = sorted((row for row in rows if row.scored.cpu > limit), key=lambda row: -row.scored.cpu)[:3]
    costs = {row.scored.cpu: row for row in rows}
    if dear:  # a slow or busy machine may have made it look dear
        costs = {exam.steady(partial(_cost, exam, row)): row for row in dear}
    worst = max(costs)
    text = f"the dearest, {costs[worst].name}, takes {1000 * worst:.1f} ms of CPU; a right answer {1000 * usual:.2f} ms"
    return passed(text) if worst <= limit else failed(f"{text} (limit {1000 * limit:g} ms)")


def _cost(exam: Exam, row: Hostile) -> float:
    """Return the CPU seconds that a text takes."""
    [scored] = exam.score([(row.specimen, row.text)])
    return float("inf") if scored.fate else scored.cpu


def _died(row: Hostile) -> bool:
    """Whether the process ended by itself, not at a limit of time."""
    return "process" in row.scored.fate
