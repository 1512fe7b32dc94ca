"""What does an episode of a logic puzzle cost? Beside reasoning-gym where that is installed.

Alternating rounds in one process: in each round ours and the peer's play for a moment, every second answer right, and
the ratio is taken within the round, so that a busy machine slows both. Ours is played as a user plays it, `gym.make`,
seeded `reset`, `step`; the peer's as its documentation says, an item of a data set and its `score_answer`. CPU time.

Ours alone: making a problem without an environment around it, the tail of that in every tier, and what wrong answers
cost beside right ones.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import gymnasium as gym

import grpo_gym
from benchmarks.rows import OURS, Report, Row, median_and_range
from benchmarks.tiers import drawn, percentile
from benchmarks.weak_solver import near_miss
from grpo_gym import Problem, Rng, Task
from grpo_gym.env import TextEnv
from grpo_gym.registration import tasks_of

PEER = "reasoning-gym"
WRONG = "\\boxed{-987654}"

Episode = Callable[[int], None]
"""Plays the episode of a seed; with even seeds the answer is right."""


@dataclass(frozen=True)
class Pair:
    """A puzzle of ours and the peer's puzzle of the same kind and size.

    Attributes:
        identifier: Our environment.
        peer: The peer's data set.
        bar_ms: What an episode of ours may cost, in CPU milliseconds; None where nothing was promised.
        tier: Our tier; None for the default.
        config: Arguments of the peer's data set.
        size: What both are, where it is not the default.
    """

    identifier: str
    peer: str
    bar_ms: float | None = None
    tier: int | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    size: str = ""

    @property
    def subject(self) -> str:
        """How the pair is called in the table."""
        return f"{self.identifier} {self.size}".strip()


PAIRS = (
    Pair("grpo/Logic.Zebra-v0", "zebra_puzzles", 1.5),
    Pair(
        "grpo/Logic.Zebra-v0", "zebra_puzzles", 20.0, 4, {"num_people": 5, "num_characteristics": 5}, size="5x5, tier 4"
    ),
    Pair("grpo/Logic.Sudoku-v0", "sudoku", 1.0),
    Pair("grpo/Logic.MiniSudoku-v0", "mini_sudoku", 0.1),
    Pair("grpo/Logic.Knights-v0", "knights_knaves", 0.12),
    Pair("grpo/Logic.Propositional-v0", "propositional_logic", 0.09),
    Pair("grpo/Logic.Countdown-v0", "countdown", 0.5),
    Pair("grpo/Logic.Syllogism-v0", "syllogism"),
    Pair("grpo/Logic.Circuit-v0", "circuit_logic"),
    Pair("grpo/Logic.Game24-v0", "puzzle24"),
    Pair("grpo/Logic.Queens-v0", "n_queens"),
    Pair("grpo/Logic.Coloring-v0", "graph_color"),
    Pair("grpo/Logic.Cryptarithm-v0", "cryptarithm"),
    Pair("grpo/Logic.Paths-v0", "shortest_path"),
    Pair("grpo/Logic.Sequence-v0", "number_sequence"),
)

KINDS: Mapping[str, Callable[[Task, Problem], str | None]] = {
    "a number": lambda task, problem: WRONG,
    "a near miss": lambda task, problem: near_miss(task.answer(problem), Rng("wrong", problem.problem_id)),
    "a weak solver's": Task.hasty_answer,
    "the question": lambda task, problem: problem.prompt,
}
"""Wrong answers whose cost is compared with that of the right one."""


def run(quick: bool) -> Report:
    """Measure all pairs whose environments are registered, and every logic task alone."""
    rounds, seconds = (3, 0.05) if quick else (9, 0.4)
    report = Report()
    registered = set(grpo_gym.registered_ids())
    for pair in PAIRS:
        if pair.identifier in registered:
            report.rows += beside_peer(pair, rounds, seconds)
    for task in logic_tasks():
        report.rows += alone(task, 25 if quick else 200, report.details)
    return report


def logic_tasks() -> list[Task]:
    """Return the registered tasks of the family."""
    return [
        task
        for identifier in grpo_gym.registered_ids()
        if identifier.startswith("grpo/Logic.")
        for task in tasks_of(identifier)
    ]


# --- beside the peer


def beside_peer(pair: Pair, rounds: int, seconds: float) -> list[Row]:
    """Return what an episode costs here and there, and how many times more there."""
    ways = {OURS: ours(pair)}
    if importlib.util.find_spec("reasoning_gym") is not None:
        ways[f"{PEER} {importlib.metadata.version(PEER)}"] = theirs(pair)
    seeds = {who: count() for who in ways}
    costs: dict[str, list[float]] = {who: [] for who in ways}
    for _ in range(rounds):
        for who, episode in ways.items():
            costs[who].append(1000 * cpu_per_episode(episode, seeds[who], seconds))
    note = "no peer here" if len(ways) == 1 else ""
    if pair.bar_ms is not None:
        note = "; ".join(filter(None, [f"at most {pair.bar_ms} ms", note]))
    rows = []
    for who, found in costs.items():
        middle, low, high = median_and_range(found)
        mine = note if who == OURS else pair.peer
        rows.append(Row("logic", pair.subject, "CPU per episode", middle, "ms", low, high, who, mine))
        if who != OURS:
            ratio, low, high = median_and_range([a / b for a, b in zip(found, costs[OURS], strict=True)])
            rows.append(Row("logic", pair.subject, f"times less than {PEER}", ratio, "x", low, high))
    return rows


def cpu_per_episode(episode: Episode, seeds: Iterator[int], seconds: float) -> float:
    """Play for about so many CPU seconds, two episodes at least, and return the CPU seconds of one."""
    began = now = time.process_time()
    played = 0
    while played < 2 or now - began < seconds:
        episode(next(seeds))
        episode(next(seeds))
        played += 2
        now = time.process_time()
    return (now - began) / played


def ours(pair: Pair) -> Episode:
    """Return episodes of ours, played as a user plays them."""
    env = gym.make(pair.identifier, tier=pair.tier)
    inner = env.unwrapped
    assert isinstance(inner, TextEnv)
    task = tasks_of(pair.identifier)[0]

    def play(seed: int) -> None:
        env.reset(seed=seed)
        answer = WRONG if seed % 2 else task.answer(inner.problem)
        _, reward, *_ = env.step(answer)
        assert reward == (0.0 if seed % 2 else 1.0), (pair.identifier, seed, answer, reward)

    play(0)
    return play


def theirs(pair: Pair) -> Episode:
    """Return episodes of the peer."""
    items = importlib.import_module("reasoning_gym").create_dataset(pair.peer, size=10**6, seed=7, **pair.config)

    def play(seed: int) -> None:
        item = items[seed]
        items.score_answer("0" if seed % 2 else item["answer"], item)

    play(0)
    return play


# --- ours alone


def alone(task: Task, draws: int, details: dict[str, Any]) -> list[Row]:
    """Return the bare generator's cost in default tiers, its longest tail, and the dearest wrong answers."""
    medians, tails, wrong = dict[int, float](), dict[int, float](), dict[str, float]()
    for tier in task.tiers:
        problems, seconds = drawn(task, tier, draws)
        medians[tier] = 1000 * statistics.median(seconds)
        tails[tier] = 1000 * percentile(seconds, 0.95) / medians[tier]
        if task.dialogue is None:
            for kind, ratio in costs_of_wrong(task, problems[: draws // 2]).items():
                wrong[f"{kind} in tier {tier}"] = ratio
    details[task.name] = {"median_ms": medians, "p95_over_median": tails, "wrong_over_right": wrong}
    usual = [medians[tier] for tier in task.default_tiers]
    longest = max(tails, key=lambda tier: tails[tier])
    rows = [
        Row("logic", task.env_id, "making a problem", statistics.fmean(usual), "ms", note="default tiers, median"),
        Row("logic", task.env_id, "p95 / median, making one", tails[longest], "x", note=f"at most 10; tier {longest}"),
    ]
    if wrong:
        dearest = max(wrong, key=lambda kind: wrong[kind])
        note = f"at most 2; {dearest}"
        rows.append(Row("logic", task.env_id, "wrong answer / right one", wrong[dearest], "x", note=note))
    return rows


def costs_of_wrong(task: Task, problems: list[Problem]) -> dict[str, float]:
    """Return what a step with each kind of wrong answer costs, in steps with the right answer."""
    env = TextEnv(task)

    def step(answer: Callable[[Task, Problem], str | None]) -> float | None:
        """Return the CPU seconds of a step: the sum over the problems of the least of three tries."""
        total = 0.0
        for problem in problems:
            text = answer(task, problem)
            if text is None:
                return None
            total += min(_timed(env, problem, text) for _ in range(3))
        return total

    right = step(lambda task, problem: task.answer(problem))
    assert right is not None
    found = {kind: step(answer) for kind, answer in KINDS.items()}
    return {kind: seconds / right for kind, seconds in found.items() if seconds is not None}


def _timed(env: TextEnv, problem: Problem, text: str) -> float:
    env.reset(options={"problem": problem})
    began = time.process_time()
    env.step(text)
    return time.process_time() - began
