"""Is it the reward that teaches? True rewards beside rewards that say nothing about right and wrong.

    python -m benchmarks.controls

`random` tosses a fair coin per completion, `shuffled` permutes the true rewards over the batch, `format` pays for any
one answer that the task can read. Where those teach too, the gain of the true reward is no evidence of learning from
it: a control has to stay where it began.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks import tables
from benchmarks.arms import Options, Run
from benchmarks.false_rewards import TRUE
from benchmarks.paired import change
from benchmarks.picture import Panel
from benchmarks.publish import QUICK_PROBLEMS, QUICK_SEEDS, QUICK_STEPS, SEEDS, Page, Study, counted, main, publish
from benchmarks.rows import Report
from benchmarks.tables import Finding, Result, Table

ENV = "grpo/Arithmetic-v0"
STEPS, PROBLEMS, EVERY, SAMPLES = 24, 128, 8, 8
ARMS = (TRUE, "random", "shuffled", "format")
SHARED_OPTIONS: Options = (("prompts", 16), ("group_size", 8))
PASSES = ("pass@1", f"pass@{SAMPLES}")


def runs(quick: bool) -> list[Run]:
    """Return the runs: every reward with every seed."""
    steps, problems, seeds = (QUICK_STEPS, QUICK_PROBLEMS, QUICK_SEEDS) if quick else (STEPS, PROBLEMS, SEEDS)
    every = QUICK_STEPS // 2 if quick else EVERY
    return [
        Run(arm, seed, steps, problems, ENV, every=every, options=SHARED_OPTIONS, reward=arm, samples=SAMPLES)
        for seed in range(seeds)
        for arm in ARMS
    ]


def page(results: Sequence[Result], quick: bool) -> Page:
    """Make the page of the results."""
    arms = tables.by_arm(results, ARMS)
    findings: list[Finding] = []
    for passes in PASSES:
        findings += changes(arms, passes)
    findings += tables.compared(arms, [(TRUE, arm) for arm in ARMS[1:]], "last pass@1")
    ends = {arm: [tables.final(r) for r in of] for arm, of in arms.items()}
    starts = {arm: [float(r["before"]["pass@1"]) for r in of] for arm, of in arms.items()}
    wide = {arm: [float(r["after"][PASSES[1]]) for r in of] for arm, of in arms.items()}
    begun = {arm: [float(r["before"][PASSES[1]]) for r in of] for arm, of in arms.items()}
    return Page(
        title="Controls: rewards that must not teach",
        asked="Where a reward that says nothing about right and wrong raises the score, too, the gain of the true "
        "reward is no evidence that it was learned from. So each control has to stay where it began, or fall; the "
        "true reward has to end above its own start and above every control.",
        did=(
            f"{ENV}, {STEPS} steps of 16 prompts x 8 completions from the shipped policy; before and after, {SAMPLES} "
            f"completions of each of {PROBLEMS} test problems. pass@{SAMPLES} is the unbiased estimate of "
            f"arXiv 2107.03374. {counted(results)}",
            "`random` pays 1 or 0 by the toss of a fair coin per completion. `shuffled` permutes the true rewards over "
            "the batch. `format` pays 1 unless the task's own reader says no_answer, unparseable, hedged (several "
            "answers) or too_big, so for any one answer that it can read; the start gives such an answer nearly "
            "always, which leaves that reward little to teach.",
        ),
        findings=tuple(findings),
        tables=(
            pass_table(arms),
            tables.score_table("Every seed", arms),
            tables.cost_table("Stability and cost", arms),
        ),
        panels=(Panel("test pass@1", ends, starts), Panel(f"test pass@{SAMPLES}", wide, begun)),
    )


def changes(arms: tables.Arms, figure: str) -> list[Finding]:
    """Compare every arm with its own start in a figure."""
    findings = []
    for arm, results in arms.items():
        before = {int(r["seed"]): float(r["before"][figure]) for r in results}
        after = {int(r["seed"]): float(r["after"][figure]) for r in results}
        names = (f"{arm} after", f"{arm} before")
        findings.append(Finding("", figure, change(arm, before, after), names))
    return findings


def pass_table(arms: tables.Arms) -> Table:
    """Return pass@1 and pass@k of every arm, before and after."""
    rows = []
    for arm, results in arms.items():
        cells = []
        for figure in PASSES:
            cells.append(f"{statistics.fmean(float(r['before'][figure]) for r in results):.3f}")
            cells.append(tables.interval([float(r["after"][figure]) for r in results]))
        rows.append((arm, *cells))
    header = ("reward", *(f"{figure} {when}" for figure in PASSES for when in ("before", "after")))
    return Table("Before and after", header, tuple(rows))


STUDY = Study("controls", runs, page)


def run(quick: bool) -> Report:
    """Do what is missing, write the page, and report; the quick form writes nothing."""
    return publish(STUDY, quick)


if __name__ == "__main__":
    main(STUDY)
