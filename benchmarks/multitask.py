"""Maths, code and logic together against each alone, at equal completions.

    python -m benchmarks.multitask

Together, a third of the completions goes to each task. Does a task learn less for it than when it has all of them, and
what do the others get from a task that is trained alone?
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks import tables
from benchmarks.arms import Exam, Options, Run
from benchmarks.logic_learning import warm_start_from
from benchmarks.paired import change
from benchmarks.picture import Panel
from benchmarks.publish import QUICK_PROBLEMS, QUICK_SEEDS, QUICK_STEPS, SEEDS, Page, Study, counted, main, publish
from benchmarks.rows import Report
from benchmarks.tables import Finding, Result, Table

STEPS, PROBLEMS = 9, 96
MIXTURE = "grpo/Mix-v0"
EXAMS = (
    Exam("maths", "grpo/Arithmetic-v0"),
    Exam("code", "grpo/Code.Lists-v0", (0,)),
    Exam("logic", "grpo/Logic.Countdown-v0", (0,)),
)
TOGETHER = "together"
ARMS = (TOGETHER, *(exam.name for exam in EXAMS))

ENVS: dict[str, Any] = {
    "grpo/Arithmetic-v0": 1,
    "grpo/Logic.Countdown-v0": {"weight": 1, "tier": 0},
    "grpo/Code.Lists-v0": {"weight": 1, "tier": 0},
}
CODE_WEIGHT = 2
"""Of code in the first phase of the warm start: programs take longer to learn than sums."""


def env_options(code_weight: int) -> tuple[str, ...]:
    """Return what `grpo-gym sft` is told about the mixture."""
    envs = {name: {"weight": code_weight, "tier": 0} if "Code" in name else entry for name, entry in ENVS.items()}
    return ("--env", MIXTURE, "--env-args", "envs=" + json.dumps(envs))


CAREFUL_STEPS, MIXTURE_STEPS = 1200, 100
WARM_START = ("multi", env_options(CODE_WEIGHT), "embedded", CAREFUL_STEPS, MIXTURE_STEPS, env_options(1))
"""The start that knows a little of all three, in the order of `warm_start_from`."""

SHARED_OPTIONS: Options = (("prompts", 12), ("group_size", 8))


def runs(quick: bool) -> list[Run]:
    """Return the runs: together and each alone, with every seed. The quick form takes the shipped policy."""
    steps, problems, seeds = (QUICK_STEPS, QUICK_PROBLEMS, QUICK_SEEDS) if quick else (STEPS, PROBLEMS, SEEDS)
    model = "embedded" if quick else str(warm_start_from(*WARM_START)[0])
    mixed: Options = (*SHARED_OPTIONS, ("env_args", {"envs": ENVS, "schedule": "exact"}))
    wanted = []
    for seed in range(seeds):
        wanted.append(Run(TOGETHER, seed, steps, problems, MIXTURE, (), model, options=mixed, exams=EXAMS))
        wanted += [
            Run(e.name, seed, steps, problems, e.env, e.tier, model, options=SHARED_OPTIONS, exams=EXAMS) for e in EXAMS
        ]
    return wanted


def page(results: Sequence[Result], quick: bool) -> Page:
    """Make the page of the results."""
    arms = tables.by_arm(results, ARMS)
    findings = found_by_task(arms)
    findings += tables.compared(arms, [(TOGETHER, exam.name) for exam in EXAMS], "mean pass@1 of the three tasks")
    panels = []
    for exam in EXAMS:
        ends = {arm: [task_score(r, exam.name) for r in of] for arm, of in arms.items()}
        starts = {arm: [task_score(r, exam.name, "before") for r in of] for arm, of in arms.items()}
        panels.append(Panel(f"pass@1 of {exam.name}", ends, starts))
    return Page(
        title="Several tasks together, and each alone",
        asked="Together, a third of the completions goes to each of maths, code and logic. Does a task learn less for "
        "it than when it has all of them, and what do the others get from a task that is trained alone?",
        did=(
            f"Four arms from one warm start, {STEPS} steps of 12 prompts x 8 completions each. The tasks are "
            "grpo/Arithmetic-v0, grpo/Code.Lists-v0 and grpo/Logic.Countdown-v0 (tier 0); together they are "
            f"grpo/Mix-v0 with exact shares. Every arm is scored on {PROBLEMS} test problems of each. "
            f"{counted(results)}",
            f"The warm start: `grpo-gym sft` from the shipped policy on all three, {CAREFUL_STEPS:,} steps of worked "
            f"solutions with code twice, then {MIXTURE_STEPS} steps of a mixture with 70 % hasty answers.",
        ),
        findings=tuple(findings),
        tables=(grid(arms), *_by_task(arms), tables.cost_table("Stability and cost", arms)),
        panels=tuple(panels),
    )


def task_score(result: Result, task: str, when: str = "after") -> float:
    """Return a run's pass@1 on one of the tasks, before or after training."""
    return float(result[when]["exams"][task])


def found_by_task(arms: tables.Arms) -> list[Finding]:
    """Compare on each task: together with it alone, and each arm that did not train it alone with its own start."""
    findings = []
    for exam in EXAMS:
        task = exam.name
        end = {arm: {int(r["seed"]): task_score(r, task) for r in of} for arm, of in arms.items()}
        start = {arm: {int(r["seed"]): task_score(r, task, "before") for r in of} for arm, of in arms.items()}
        findings += tables.compared(arms, [(TOGETHER, task)], "last pass@1", partial(task_score, task=task), task)
        for arm in ARMS:
            if arm != task:
                names = (f"{arm} after", f"{arm} before")
                findings.append(Finding(task, "pass@1", change(arm, start[arm], end[arm]), names))
    return findings


def grid(arms: tables.Arms) -> Table:
    """Return every arm's end on every task with its interval."""
    rows = [
        (arm, *(tables.interval([task_score(r, exam.name) for r in of]) for exam in EXAMS)) for arm, of in arms.items()
    ]
    first = [r for of in arms.values() for r in of]
    start = ("start", *(f"{sum(task_score(r, e.name, 'before') for r in first) / len(first):.3f}" for e in EXAMS))
    return Table("Last pass@1 by task", ("trained on", *(exam.name for exam in EXAMS)), (start, *rows))


def _by_task(arms: tables.Arms) -> list[Table]:
    parts = []
    for exam in EXAMS:
        rows = [(arm, " ".join(f"{task_score(r, exam.name):.3f}" for r in of)) for arm, of in arms.items()]
        parts.append(Table(f"Every seed on {exam.name}", ("trained on", "last pass@1 of every seed"), tuple(rows)))
    return parts


STUDY = Study("multitask", runs, page)


def run(quick: bool) -> Report:
    """Do what is missing, write the page, and report; the quick form writes nothing."""
    return publish(STUDY, quick)


if __name__ == "__main__":
    main(STUDY)
