"""Do strata make small groups usable? A simulation of gradients, and training with 2 completions a prompt.

    python -m benchmarks.strata

A group of 2 has one other completion for its baseline. The prompts of the same stratum (here: task and tier) can lend
theirs: `stratum` subtracts the mean of the stratum's other prompts, `shrinkage` weighs that and the group's own by how
sure each is.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import tables
from benchmarks.arms import Options, Run
from benchmarks.gradient_noise import DRAWS, LEAVE_ONE_OUT, OF_STRATA, ORACLE, Noise, simulate
from benchmarks.picture import Panel
from benchmarks.publish import QUICK_PROBLEMS, QUICK_SEEDS, QUICK_STEPS, SEEDS, Page, Study, counted, main, publish
from benchmarks.rows import Report, Row
from benchmarks.tables import Result, Table

ENV, TIER = "grpo/Arithmetic-v0", (0, 2)
STEPS, PROBLEMS, EVERY = 12, 256, 2
QUICK_DRAWS = 50
GAIN = 0.25
"""Rise of pass@1 that completions are counted until."""

PAIRS_OF_TWO: Options = (("prompts", 64), ("group_size", 2), ("objective.scale", "none"))
BY: Options = (("strata.by", ("task", "tier")),)
LARGE = "leave_one_out, G = 8"
ARMS: dict[str, Options] = {
    "leave_one_out": (*PAIRS_OF_TWO, ("objective.baseline", "leave_one_out")),
    "stratum": (*PAIRS_OF_TWO, ("objective.baseline", "stratum"), *BY),
    "shrinkage": (*PAIRS_OF_TWO, ("objective.baseline", "shrinkage"), *BY),
    LARGE: (("prompts", 16), ("group_size", 8), ("objective.scale", "none"), ("objective.baseline", "leave_one_out")),
}
PAIRS = (("stratum", "leave_one_out"), ("shrinkage", "leave_one_out"), ("shrinkage", LARGE))


def runs(quick: bool) -> list[Run]:
    """Return the runs: every arm with every seed."""
    steps, problems, seeds = (QUICK_STEPS, QUICK_PROBLEMS, QUICK_SEEDS) if quick else (STEPS, PROBLEMS, SEEDS)
    every = QUICK_STEPS // 2 if quick else EVERY
    return [
        Run(arm, seed, steps, problems, ENV, TIER, every=every, options=options)
        for seed in range(seeds)
        for arm, options in ARMS.items()
    ]


def page(results: Sequence[Result], quick: bool) -> Page:
    """Make the page of the results and of a simulation that is run now."""
    noise = simulate(QUICK_DRAWS if quick else DRAWS)
    arms = tables.by_arm(results, ARMS)
    findings = tables.compared(arms, PAIRS, "last pass@1") + tables.compared_speed(arms, PAIRS, GAIN)
    return Page(
        title="Strata: baselines for small groups",
        asked="A group of 2 has one other completion for its baseline. The prompts of the same stratum can lend "
        "theirs: `stratum` subtracts the mean of the stratum's other prompts, `shrinkage` weighs that and the group's "
        "own by how sure each is. How much noise does that take off the gradient, and is it seen in training?",
        did=(
            f"Training: {ENV}, tiers {TIER[0]} to {TIER[1]}, from the shipped policy; {STEPS} steps of 128 completions "
            f"on {PROBLEMS} test problems. Arms with 2 completions a prompt take 64 prompts a step, the last arm 16 "
            f"prompts of 8. Strata are task and tier; nothing divides the advantages. {counted(results)}",
            "Noise: 48 prompts of 100 answers share 32 parameters, so that the true gradient is known. Noise over "
            "signal is the variance of a batch's gradient over the squared length of the true one; the baselines are "
            f"the library's own. {DRAWS:,} batches each. `python -m benchmarks.gradient_noise` prints it alone.",
        ),
        findings=tuple(findings),
        tables=(
            noise_table(noise),
            tables.score_table("Training: where every run ended", arms),
            tables.speed_table("Training: completions until a gain", arms, GAIN),
            tables.cost_table("Training: what it cost", arms),
        ),
        panels=(
            Panel("noise / signal of the gradient, exact strata", _panel(noise), share=False),
            Panel(
                "test pass@1",
                {arm: [tables.final(r) for r in of] for arm, of in arms.items()},
                {arm: [float(r["before"]["pass@1"]) for r in of] for arm, of in arms.items()},
            ),
        ),
        rows=tuple(noise_rows(noise)),
    )


def noise_table(noise: Sequence[Noise]) -> Table:
    """Return noise over signal: a line per baseline, a column per group size, the saving against leave-one-out."""
    sizes = sorted({found.group_size for found in noise})
    plain = {found.group_size: found.ratio for found in noise if found.baseline == LEAVE_ONE_OUT}
    rows = []
    for case in dict.fromkeys((found.baseline, found.past_error) for found in noise):
        of = {found.group_size: found for found in noise if (found.baseline, found.past_error) == case}
        cells = [f"{of[size].ratio:.3f} ± {1.96 * of[size].error:.3f}, {_saving(of[size], plain)}" for size in sizes]
        equal = ", ".join(f"{of[size].at_equal_completions:.3f}" for size in sizes)
        cosine = min(found.cosine for found in of.values())
        rows.append((label(*case), *cells, equal, f"{cosine:.4f}"))
    header = ("baseline", *(f"G = {size}" for size in sizes), "at 384 completions each", "least cosine to the truth")
    note = (
        "Per cell: noise over signal with the 95 % error of the simulation, and the change against leave-one-out. All "
        "baselines of a column cost the same. The column before the last spends 384 completions on the more prompts "
        "the smaller the groups are."
    )
    return Table("Noise over signal of the policy gradient", header, tuple(rows), note)


def noise_rows(noise: Sequence[Noise]) -> list[Row]:
    """Return the simulation as rows of the one table."""
    rows = []
    for found in noise:
        half = 1.96 * found.error
        subject = f"{label(found.baseline, found.past_error)}, G = {found.group_size}"
        ends = (found.ratio - half, found.ratio + half)
        rows.append(Row("strata", subject, "noise / signal", found.ratio, "", *ends))
    return rows


def label(baseline: str, past_error: float) -> str:
    """Return what a baseline is called on the page."""
    if baseline == ORACLE:
        return "true pass rate (no training knows it)"
    if baseline not in OF_STRATA:
        return baseline
    return f"{baseline}, strata " + (f"by pass rates with an error of {past_error:g}" if past_error else "exact")


def _saving(found: Noise, plain: dict[int, float]) -> str:
    return f"{found.ratio / plain[found.group_size] - 1:+.0%}"


def _panel(noise: Sequence[Noise]) -> dict[str, list[float]]:
    short = {LEAVE_ONE_OUT: "loo", ORACLE: "oracle"}
    return {
        f"{short.get(found.baseline, found.baseline)} {found.group_size}": [found.ratio]
        for found in noise
        if not found.past_error
    }


STUDY = Study("strata", runs, page)


def run(quick: bool) -> Report:
    """Do what is missing, write the page, and report; the quick form writes nothing."""
    return publish(STUDY, quick)


if __name__ == "__main__":
    main(STUDY)
