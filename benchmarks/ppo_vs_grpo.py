"""PPO beside GRPO: the same rollouts, loss and optimiser; only where the advantage comes from differs.

    python -m benchmarks.ppo_vs_grpo

GRPO compares the completions of one prompt. PPO learns a value function: a head on the policy's own last hidden state
(shared), or on a copy of its trunk (separate). Which needs fewer completions, ends higher, fails less, costs less?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import tables
from benchmarks.arms import Options, Run
from benchmarks.logic_learning import LESSONS, warm_start
from benchmarks.picture import Panel
from benchmarks.publish import QUICK_PROBLEMS, QUICK_SEEDS, QUICK_STEPS, SEEDS, Page, Study, counted, main, publish
from benchmarks.rows import Report
from benchmarks.tables import Finding, Result, Table

STEPS, PROBLEMS, EVERY = 14, 192, 2
GAIN = 0.25
"""Rise of pass@1 that completions are counted until."""

SHARED_OPTIONS: Options = (("prompts", 16), ("group_size", 8))
ARMS: dict[str, Options] = {
    "grpo": SHARED_OPTIONS,
    "ppo shared": (*SHARED_OPTIONS, ("algo", "ppo"), ("critic.kind", "shared")),
    "ppo separate": (*SHARED_OPTIONS, ("algo", "ppo"), ("critic.kind", "separate")),
}
PAIRS = (("ppo shared", "grpo"), ("ppo separate", "grpo"), ("ppo separate", "ppo shared"))


@dataclass(frozen=True)
class Place:
    """An environment that is trained on.

    Attributes:
        env: Environment id.
        tier: Its tiers; empty for its defaults.
        lesson: Which warm start of `logic_learning` it takes; "" for the shipped policy.
    """

    env: str
    tier: tuple[int, ...] = ()
    lesson: str = ""


PLACES = {
    "arithmetic": Place("grpo/Arithmetic-v0"),
    "countdown": Place("grpo/Logic.Countdown-v0", (0,), "countdown"),
    "knights": Place("grpo/Logic.Knights-v0", (0,), "knights"),
}


def runs(quick: bool) -> list[Run]:
    """Return the runs: every arm and seed on each environment. The quick form needs no warm start: arithmetic only."""
    steps, problems, seeds = (QUICK_STEPS, QUICK_PROBLEMS, QUICK_SEEDS) if quick else (STEPS, PROBLEMS, SEEDS)
    every = QUICK_STEPS // 2 if quick else EVERY
    wanted = []
    for name in list(PLACES)[:1] if quick else PLACES:
        place = PLACES[name]
        model = str(warm_start(place.lesson, LESSONS[place.lesson])[0]) if place.lesson else "embedded"
        wanted += [
            Run(arm, seed, steps, problems, place.env, place.tier, model, every, options)
            for seed in range(seeds)
            for arm, options in ARMS.items()
        ]
    return wanted


def page(results: Sequence[Result], quick: bool) -> Page:
    """Make the page of the results."""
    findings: list[Finding] = []
    parts: list[Table] = []
    panels: list[Panel] = []
    for name, place in PLACES.items():
        arms = tables.by_arm(results, ARMS, env=place.env)
        if not any(arms.values()):
            continue
        findings += tables.compared(arms, PAIRS, "last pass@1", subject=name)
        findings += tables.compared_speed(arms, PAIRS, GAIN, name)
        parts += [
            tables.score_table(f"{name}: where every run ended", arms),
            tables.speed_table(f"{name}: completions until a gain", arms, GAIN),
            tables.cost_table(f"{name}: stability and cost", arms),
        ]
        ends = {arm: [tables.final(r) for r in of] for arm, of in arms.items()}
        panels.append(Panel(name, ends, {arm: [float(r["before"]["pass@1"]) for r in of] for arm, of in arms.items()}))
    return Page(
        title="PPO and GRPO side by side",
        asked="GRPO compares the completions of one prompt. PPO learns a value function: a head on the policy's own "
        "last hidden state (shared), or on a copy of its trunk (separate). Which needs fewer completions, ends higher, "
        "fails less, costs less?",
        did=(
            f"Three environments, {STEPS} steps of 16 prompts x 8 completions in every arm, scored on {PROBLEMS} test "
            f"problems every {EVERY} steps. Arithmetic starts from the shipped policy; countdown and knights (tier 0) "
            "from the warm starts of `benchmarks/logic_learning.py`. All options are the defaults, which nobody tuned "
            f"for this page. {counted(results)}",
        ),
        findings=tuple(findings),
        tables=tuple(parts),
        panels=tuple(panels),
    )


STUDY = Study("ppo_vs_grpo", runs, page)


def run(quick: bool) -> Report:
    """Do what is missing, write the page, and report; the quick form writes nothing."""
    return publish(STUDY, quick)


if __name__ == "__main__":
    main(STUDY)
