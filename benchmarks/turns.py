"""Episodes of several turns: does GRPO improve the guessing game, and the repair of programs?

    python -m benchmarks.turns

Each from a warm start of its own, made by two commands as a user would: `grpo-gym sft` on whole episodes as the task's
oracle plays them, then on a mixture in which some are played hastily, so that rewards have something left to teach.
Beside GRPO, the same steps paid by the toss of a coin.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from benchmarks import small_repairs, tables
from benchmarks.arms import Options, Run, reward_of
from benchmarks.logic_learning import warm_start_from
from benchmarks.paired import change
from benchmarks.picture import Panel
from benchmarks.publish import QUICK_PROBLEMS, QUICK_SEEDS, QUICK_STEPS, Page, Study, counted, main, publish
from benchmarks.rows import Report
from benchmarks.tables import Finding, Result, Table

SEEDS = 3
GRPO, RANDOM = "grpo", "random"


@dataclass(frozen=True)
class Game:
    """An environment of several turns with its warm start and its training.

    Attributes:
        name: What it is called on the page.
        env: Environment id.
        env_args: Keyword arguments of the environment.
        tier: The tier that is taught, trained on and scored.
        start: What the warm start begins from: "embedded" or "new".
        careful_steps: Its steps on episodes played well.
        mixture_steps: Its steps on the mixture.
        careful: Share of the mixture that is played well.
        batch: Its episodes per step.
        steps: Steps of every arm.
        problems: Test problems.
        options: Options of the training config that all arms share.
        arms: Options by arm.
    """

    name: str
    env: str
    tier: int
    start: str
    careful_steps: int
    mixture_steps: int
    careful: float
    batch: int
    steps: int
    problems: int
    options: Options
    env_args: tuple[tuple[str, str], ...] = ()
    arms: Mapping[str, Options] = field(default_factory=lambda: {GRPO: (), RANDOM: ()})

    def warm_start(self) -> str:
        """Return the folder of the warm start, made now if it is not there."""
        about = ["--env", self.env, "--tier", str(self.tier), "--val-problems", "128"]
        about += ["--max-tokens", str(dict(self.options)["sampling.max_tokens"])]
        if self.env_args:
            about += ["--env-args", *(f"{name}={value}" for name, value in self.env_args)]
        phases = about, self.start, self.careful_steps, self.mixture_steps, [*about, "--warmup-steps", "5"]
        return str(warm_start_from(self.name, *phases, batch=self.batch, careful_share=self.careful)[0])

    def recipe(self) -> str:
        """Return in words how the warm start is made."""
        begins = {"embedded": "the shipped policy", "new": "a new policy"}[self.start]
        return (
            f"`grpo-gym sft` from {begins}, {self.careful_steps} steps of {self.batch} whole episodes played well, "
            f"then {self.mixture_steps} of a mixture with {1 - self.careful:.0%} hasty ones"
        )


GUESSING = Game(
    name="guessing game",
    env="grpo/Logic.GuessNumber-v0",
    tier=3,
    start="embedded",
    careful_steps=450,
    mixture_steps=14,
    careful=0.9,
    batch=32,
    steps=20,
    problems=128,
    options=(("prompts", 8), ("group_size", 8), ("sampling.max_tokens", 16)),
)
REPAIR = Game(
    name="code repair",
    env="grpo/CodeRepair-v0",
    tier=0,
    start="new",
    careful_steps=500,
    mixture_steps=40,
    careful=0.1,
    batch=16,
    steps=12,
    problems=128,
    options=(("prompts", 6), ("group_size", 8), ("sampling.max_tokens", 48)),
    env_args=(("dataset", str(small_repairs.FILE)),),
)
GAMES = (GUESSING, REPAIR)
TRIED = (
    "What was tried before and is not in the tables. The guessing game from a mixture with 20 % hasty episodes over 60 "
    "steps, which had forgotten most of bisecting (0.15 solved): of two seeds one rose to 0.63 and one fell to 0.10 "
    "within 24 steps. From episodes of tier 3 played well and no hasty ones, trained on tiers 0 and 1 (0.54 solved): "
    "two seeds gained 0.05 and 0.02, for a policy that always says the same finds nothing else to say. "
    "grpo/CodeRepair.Functions-v0 (tier 0), whose problems are several times as long: a new policy was taught 300 "
    "steps of 16 episodes and still lost 0.17 nats per token, too much for a whole program; it was given up there.",
)
"""What did not work, as far as it was taken: a paragraph of the page."""


def runs(quick: bool) -> list[Run]:
    """Return the runs: every arm of every game with every seed. The quick form takes the shipped policy to one game."""
    if quick:
        size = "embedded", QUICK_STEPS, QUICK_PROBLEMS
        return [run_of(GUESSING, arm, seed, *size) for seed in range(QUICK_SEEDS) for arm in GUESSING.arms]
    small_repairs.write()
    wanted = []
    for game in GAMES:
        model = game.warm_start()
        for seed in range(SEEDS):
            wanted += [run_of(game, arm, seed, model, game.steps, game.problems) for arm in game.arms]
    return wanted


def run_of(game: Game, arm: str, seed: int, model: str, steps: int, problems: int) -> Run:
    """Return one run."""
    args: Options = (("env_args", dict(game.env_args)),) if game.env_args else ()
    options = game.options + args + game.arms[arm]
    return Run(arm, seed, steps, problems, game.env, (game.tier,), model, options=options, reward=reward_of(arm))


def page(results: Sequence[Result], quick: bool) -> Page:
    """Make the page of the results."""
    games = (GUESSING,) if quick else GAMES
    findings: list[Finding] = []
    panels: list[Panel] = []
    shown: list[Table] = []
    for game in games:
        arms = tables.by_arm(results, game.arms, env=game.env)
        findings += found(game, arms)
        shown += [
            tables.score_table(f"Solved: {game.name}", arms),
            turn_table(f"Mean turns: {game.name}", arms),
            tables.cost_table(f"Stability and cost: {game.name}", arms),
        ]
        for figure, title in (("pass@1", "solved"), ("turns", "mean turns")):
            ends, starts = (
                {arm: [of_score(result, figure, when) for result in of] for arm, of in arms.items()}
                for when in ("after", "before")
            )
            panels.append(Panel(f"{game.name}: {title}", ends, starts, share=figure == "pass@1"))
    return Page(
        title="Episodes of several turns",
        asked="A policy that acts, hears what came of it and acts again: does GRPO improve it, when nothing is paid "
        "but the end of the episode? Pass@1 is the share of episodes that were won within the turns allowed.",
        did=(
            *(described(game) for game in games),
            "`random` pays 1 or 0 at the end of an episode by the toss of a fair coin, whatever was said in it. "
            f"{counted(results)}",
            *TRIED,
        ),
        findings=tuple(findings),
        tables=tuple(shown),
        panels=tuple(panels),
    )


def found(game: Game, arms: tables.Arms) -> list[Finding]:
    """Compare every arm with its own start in wins and turns, and GRPO with the others."""
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
    which = "the rows of `benchmarks/small_repairs.py`" if game.env_args else f"tier {game.tier}"
    return (
        f"{game.name.capitalize()}: {game.env}, {which}. Its warm start: {game.recipe()}. Then {game.steps} steps of "
        f"{options['prompts']} prompts x {options['group_size']} episodes, {game.problems} test problems."
    )


STUDY = Study("turns", runs, page)


def run(quick: bool) -> Report:
    """Do what is missing, write the page, and report; the quick form writes nothing."""
    return publish(STUDY, quick)


if __name__ == "__main__":
    main(STUDY)
