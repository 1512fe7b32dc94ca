"""The same answer to the same problem is worth the same, whenever, wherever and beside whatever it is scored."""

from __future__ import annotations

from collections.abc import Sequence

from grpo_gym.checks.child import Item, Key, Record, Right
from grpo_gym.checks.exam import Exam
from grpo_gym.checks.laboratory import Scored
from grpo_gym.checks.question import Finding, failed, judged, passed, question, shown
from grpo_gym.checks.watch import global_state
from grpo_gym.rng import Rng

THREADS = 4
IN_THREADS = 0.25
"""Seconds of work that the threads are given."""

MOST_ROUNDS = 20
MIXED = 12
"""Problems whose right, wrong and senseless answers are scored twice."""


@question("repeatable", "no randomness, clock or counter in a generator or a reward: draw from `rng` alone")
def repeatable(exam: Exam) -> Finding:
    """A second call makes the same problems and gives the same scores."""
    again = exam.lab.ask("make", exam.keys)
    changed = _other_problems(exam.keys, exam.made, again)
    items = exam.mixed(MIXED)
    return _same(changed, items, exam.lab.score(items), exam.lab.score(items), "at the second call")


@question(
    "hash seeds", "sort a set or dictionary before you draw from it or compare by its order", after=("repeatable",)
)
def hash_seeds(exam: Exam) -> Finding:
    """A process under another PYTHONHASHSEED makes the same problems and gives the same scores."""
    items = exam.mixed(MIXED)
    lab = exam.elsewhere.lab
    changed = _other_problems(exam.keys, exam.made, lab.ask("make", exam.keys))
    there = [] if changed else lab.score(items)
    here = exam.lab.score(items) if there else []
    return _same(changed, items if there else [], here, there, "under another hash seed")


@question(
    "threads",
    "no state shared between calls, and no signal.alarm, which works in the main thread only",
    after=("repeatable",),
)
def threads(exam: Exam) -> Finding:
    """Several threads at once, in another order, give the scores that one thread gives."""
    items = exam.mixed(MIXED)
    alone = exam.lab.score(items)
    rounds = int(IN_THREADS / max(1e-6, sum(scored.seconds for scored in alone)))
    order = list(range(len(items))) * min(MOST_ROUNDS, max(2, rounds))  # one thread disturbs another once in a while
    Rng("threads", exam.facts.name).shuffle(order)
    together = exam.lab.ask("score_in_threads", [items[k] for k in order], THREADS)
    scored = [
        Scored(**{name: r[name] for name in ("value", "reason", "components", "error", "fate") if name in r})
        for r in together
    ]
    return _same([], [items[k] for k in order], [alone[k] for k in order], scored, f"in {THREADS} threads")


@question("global state", "put back what you change, or do not change what belongs to the whole process")
def state(exam: Exam) -> Finding:
    """Making problems and scoring leave the process as it was."""
    changes = exam.elsewhere.state
    if "fate" in changes:
        return failed(f"making and scoring again, in another process, ended it: {changes['fate']}")
    changed = [f"{how} changes {name}" for how in ("generation", "scoring") for name in changes[f"by {how}"]]
    return judged(changed, f"{len(global_state())} parts of the process's state stay as they were")


@question(
    "files", "read and write no file and ask no address while scoring: rewards run offline, in many processes at once"
)
def files(exam: Exam) -> Finding:
    """Making problems and scoring write no file and open no connection."""
    scores = [scored for _, _, scored in exam.answered] + [row.scored for row in exam.junk]
    scores += exam.lab.score(exam.mixed(4))
    rows = [s.touched for s in exam.sample] + [scored.touched for scored in scores]
    return judged([touched for row in rows for touched in row], f"{len(rows)} calls touch none")


def _other_problems(keys: Sequence[Key], one: Sequence[Record], two: Sequence[Record]) -> list[str]:
    return [
        f"another problem at place {key.place}"
        for key, a, b in zip(keys, one, two, strict=True)
        if (a.get("problem"), a.get("right")) != (b.get("problem"), b.get("right"))
    ]


def _same(
    changed: list[str], items: Sequence[Item], one: Sequence[Scored], two: Sequence[Scored], where: str
) -> Finding:
    for (_, text), a, b in zip(items, one, two, strict=True):
        if a.outcome != b.outcome:
            name = "an episode" if isinstance(text, Right) else shown(text)
            changed = [*changed, f"{name} earns {a.number:.4g}, then {b.number:.4g} ({b.error or b.fate or b.reason})"]
    if changed:
        return failed(f"{len(changed)} differ {where}: {'; '.join(dict.fromkeys(changed[:3]))}")
    return passed(f"problems and {len(items)} scores are the same {where}")
