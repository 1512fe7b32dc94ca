"""How well players do at the interactive puzzles: optimal play, and play at random, turn by turn.

python -m tests.envs.interactive_play        prints the tables of docs/interactive-puzzles.md
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from grpo_envs.logic.guess_number import bisect, guess_number
from grpo_envs.logic.mastermind import SIZES, any_code, first_left, mastermind, sift
from grpo_envs.logic.solvers.codes import all_codes, best_guess, opening, worst_turns
from grpo_envs.logic.twenty_questions import FLOORS, HATS, PETS, anybody, halve, still_possible, twenty_questions
from grpo_gym import Problem, Rng, Task
from grpo_gym.episode import Episode
from grpo_gym.stream import Drawn
from grpo_gym.task import Transcript

Player = Callable[[Problem, Transcript, Rng], str]


@dataclass(frozen=True)
class Result:
    """How a player did: share of episodes won, and the mean and the most turns of those."""

    won: float
    mean: float
    most: int

    def __str__(self) -> str:
        return f"{100 * self.won:.0f} %" + (f", {self.mean:.1f}, {self.most}" if self.won else "")


def play(of: Task, problem: Problem, player: Player, rng: Rng) -> tuple[float, int]:
    """Play one episode; return its reward and its turns."""
    episode = Episode(Drawn(of, problem))
    total = 0.0
    while not episode.done:
        total += episode.converse(player(problem, episode.transcript, rng)).reward
    return total, episode.turns


def measured(of: Task, player: Player, problems: Iterable[Problem]) -> Result:
    """Play all problems."""
    rng = Rng("play", of.name)
    played = [play(of, problem, player, rng) for problem in problems]
    turns = [taken for reward, taken in played if reward == 1]
    assert all(reward in (0, 1) for reward, _ in played)
    return Result(len(turns) / len(played), statistics.fmean(turns or [0]), max(turns, default=0))


def some(of: Task, tier: int, many: int) -> list[Problem]:
    """Problems of a tier."""
    return [of.problem(tier, "test", 77, k) for k in range(many)]


def optimal(oracle: Callable[[Problem, Transcript], str]) -> Player:
    """An oracle as a player."""
    return lambda problem, transcript, rng: oracle(problem, transcript)


def any_number(problem: Problem, transcript: Transcript, rng: Rng) -> str:
    """Any number of the interval that the prompt names."""
    return str(rng.integer(problem.meta["low"], problem.meta["high"]))


def any_question(problem: Problem, transcript: Transcript, rng: Rng) -> str:
    """Any question of one condition, until one person is left or the last turn has come."""
    left = still_possible(problem, transcript)
    if len(left) == 1 or sum(role == "policy" for role, _ in transcript) == problem.meta["turns"] - 1:
        return f"name: {rng.choice(left)['name']}"
    words = [f"hat is {hat}" for hat in HATS] + [f"pet is {pet}" for pet in PETS]
    known = {person[kind] for person in problem.meta["people"] for kind in ("hat", "pet")}
    words = [text for text in words if text.split()[-1] in known]
    return f"ask: {rng.choice([*words, *(f'floor > {n}' for n in range(1, FLOORS))])}"


PLAYERS: dict[str, tuple[Task, dict[str, Player]]] = {
    "guess_number": (guess_number, {"halving": optimal(bisect), "any number": any_number}),
    "mastermind": (
        mastermind,
        {
            "fewest left": optimal(sift),
            "first that fits": optimal(first_left),
            "any code": lambda problem, transcript, rng: any_code(problem, rng),
        },
    ),
    "twenty_questions": (
        twenty_questions,
        {
            "halving": optimal(halve),
            "any question": any_question,
            "anybody": lambda problem, transcript, rng: anybody(problem, rng),
        },
    ),
}
"""Game -> players by name; the first one plays best."""


def main() -> None:
    """Print a table per game."""
    for name, (of, players) in PLAYERS.items():
        print(f"\n{name}\n| tier | {' | '.join(players)} |")
        for tier in of.tiers:
            problems = some(of, tier, 300)
            results = [str(measured(of, player, problems)) for player in players.values()]
            print(f"| {tier} | {' | '.join(results)} |")
    for tier, size in enumerate(SIZES):
        codes = all_codes("abcdefgh"[: size.letters], size.places)
        most, total = worst_turns(codes, opening("abcdefgh"[: size.letters], size.places))
        assert best_guess(codes) in codes
        print(f"mastermind {tier}: all {len(codes)} codes, mean {total / len(codes):.2f}, most {most}")


if __name__ == "__main__":
    main()
