"""Episodes of several turns: does GRPO improve the guessing game, and the repair of programs?

    python -m benchmarks.turns

Each from a warm start of its own, made by two commands as a user would: `grpo-gym sft` on whole episodes played well,
then on a mixture in which seven of ten episodes are played hastily. Beside it, imitation of that mixture goes on for as
many steps: what the start would have become without rewards.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from benchmarks import tables
from benchmarks.arms import Options, Run
from benchmarks.logic_learning import warm_start_from
from benchmarks.paired import change
from benchmarks.picture import Panel
from benchmarks.publish import QUICK_PROBLEMS, QUICK_SEEDS, QUICK_STEPS, Page, Study, counted, main, publish
from benchmarks.rows import Report
from benchmarks.tables import Finding, Result, Table

SEEDS = 3
GRPO, SFT = "grpo", "sft mixture"


@dataclass(frozen=True)
class Game:
    """An environment of several turns with its warm start and its training.

    Attributes:
        name: What it is called on the page.
        env: Environment id.
        tier: The tier that is taught and trained on.
        start: What it is taught from, "embedded" or "new", and what `grpo-gym sft` is told about a new policy.
        careful_steps: Steps on episodes played well.
        mixture_steps: Steps on the mixture.
        batch: Episodes per step of the warm start.
        steps: Steps of every arm.
        problems: Test problems.
        options: Options of the training config that all arms share.
        arms: Options by arm.
    """

    name: str
    env: str
    tier: int
    start: tuple[str, ...]
    careful_steps: int
    mixture_steps: int
    batch: int
    steps: int
    problems: int
    options: Options
    arms: Mapping[str, Options] = field(default_factory=lambda: {GRPO: (), SFT: ()})

    def warm_start(self) -> str:
        """Return the folder of the warm start, made now if it is not there."""
        model, *fresh = self.start
        scored = ["--val-problems", "128", "--max-tokens", str(dict(self.options)["sampling.max_tokens"])]
        about = ["--env", self.env, "--tier", str(self.tier), *scored]
        phases = model, self.careful_steps, self.mixture_steps
        return str(warm_start_from(self.name, [*about, *fresh], *phases, about, self.batch)[0])


GUESSING = Game(
    name="guessing game",
    env="grpo/Logic.GuessNumber-v0",
    tier=3,
    start=("embedded",),
    careful_steps=450,
    mixture_steps=60,
    batch=32,
    steps=20,
    problems=192,
    options=(("prompts", 8), ("group_size", 8), ("sampling.max_tokens", 16)),
)
REPAIR = Game(
    name="code repair",
    env="grpo/CodeRepair.Functions-v0",
    tier=0,
    start=("new", "--context", "1024", "--vocabulary", "1024"),
    careful_steps=1000,
    mixture_steps=60,
    batch=16,
    steps=12,
    problems=96,
    options=(("prompts", 6), ("group_size", 8), ("sampling.max_tokens", 160)),
)
GAMES = (GUESSING, REPAIR)


def runs(quick: bool) -> list[Run]:
    """Return the runs: every arm of every game with every seed. The quick form takes the shipped policy to one game."""
    if quick:
        return [run_of(GUESSING, GRPO, seed, "embedded", QUICK_STEPS, QUICK_PROBLEMS) for seed in range(QUICK_SEEDS)]
    wanted = []
    for game in GAMES:
        model = game.warm_start()
        for seed in range(SEEDS):
            wanted += [run_of(game, arm, seed, model, game.steps, game.problems) for arm in game.arms]
    return wanted


def run_of(game: Game, arm: str, seed: int, model: str, steps: int, problems: int) -> Run:
    """Return one run."""
    return Run(arm, seed, steps, problems, game.env, (game.tier,), model, options=game.options + game.arms[arm])


def page(results: Sequence[Result], quick: bool) -> Page:
    """Make the page of the results."""
    played = {game: tables.by_arm(results, game.arms, env=game.env) for game in GAMES}
    played = {game: {arm: of for arm, of in arms.items() if of} for game, arms in played.items()}
    findings: list[Finding] = []
    panels: list[Panel] = []
    shown: list[Table] = []
    for game, arms in played.items():
        if not arms:
            continue
        findings += found(game, arms)
        shown += [
            tables.score_table(f"Solved: {game.name}", arms),
            turn_table(f"Mean turns: {game.name}", arms),
            tables.cost_table(f"Stability and cost: {game.name}", {a: of for a, of in arms.items() if a != SFT}),
        ]
        for figure, share in (("pass@1", True), ("turns", False)):
            ends = {arm: [float(r["after"][figure]) for r in of] for arm, of in arms.items()}
            starts = {arm: [float(r["before"][figure]) for r in of] for arm, of in arms.items()}
            title = f"{game.name}: {'solved' if share else 'mean turns'}"
            panels.append(Panel(title, ends, starts, share))
    trained = [result for result in results if result["arm"] != SFT]
    return Page(
        title="Episodes of several turns",
        asked="A policy that acts, hears what came of it and acts again: does GRPO improve it, when nothing is paid "
        "but the end of the episode? Pass@1 is the share of episodes that were won within the turns allowed.",
        did=(*(described(game) for game in GAMES), f"Of GRPO: {counted(trained)}"),
        findings=tuple(findings),
        tables=tuple(shown),
        panels=tuple(panels),
    )


def found(game: Game, arms: tables.Arms) -> list[Finding]:
    """Compare every arm with its own start in wins and turns, and GRPO with imitation that goes on."""
    findings = []
    for figure, words in (("pass@1", "pass@1"), ("turns", "mean turns")):
        for arm, of in arms.items():
            start, end = (tables.per_seed(of, partial(of_score, figure=figure, when=w)) for w in ("before", "after"))
            findings.append(Finding(game.name, words, change(arm, start, end), (f"{arm} after", f"{arm} before")))
    others = [(GRPO, arm) for arm in arms if arm != GRPO]
    return findings + tables.compared(arms, others, "last pass@1", subject=game.name)


def of_score(result: Result, figure: str, when: str) -> float:
    """Return a figure of a run's score before or after training."""
    return float(result[when][figure])


def turn_table(caption: str, arms: tables.Arms) -> Table:
    """Return the mean number of turns of every arm before and after, the end of every seed by itself."""
    rows = []
    for arm, of in arms.items():
        start = statistics.fmean(of_score(result, "turns", "before") for result in of)
        ends = [of_score(result, "turns", "after") for result in of]
        rows.append((arm, f"{start:.2f}", tables.interval(ends), " ".join(f"{turns:.2f}" for turns in ends)))
    return Table(caption, ("arm", "first mean turns", "last mean turns", "every seed"), tuple(rows))


def described(game: Game) -> str:
    """Return what was done in a game, a paragraph."""
    options = dict(game.options)
    return (
        f"The {game.name} is {game.env}, tier {game.tier}. Its warm start: `grpo-gym sft` from "
        f"{'the shipped policy' if game.start[0] == 'embedded' else 'a new policy'}, {game.careful_steps:,} steps of "
        f"{game.batch} whole episodes as the task's oracle plays them, then {game.mixture_steps} steps of a mixture "
        f"with 70 % hasty ones. Then {game.steps} steps of {options['prompts']} prompts x {options['group_size']} "
        f"episodes, scored on {game.problems} test problems."
    )


STUDY = Study("turns", runs, page)


def run(quick: bool) -> Report:
    """Do what is missing, write the page, and report; the quick form writes nothing."""
    return publish(STUDY, quick)


if __name__ == "__main__":
    main(STUDY)
