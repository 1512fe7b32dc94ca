"""A task: where problems come from, what decides, and how an answer is asked for. One decorator makes one.

    @task("math.doubling", reward=exact, answer_format="Answer with a number.")
    def doubling(rng: Rng, tier: int) -> Problem:
        n = rng.integer(1, 10 ** (tier + 1))
        return Problem(f"What is twice {n}?", reference=str(2 * n))

Task name `math.mini_sudoku` and environment id `grpo/Math.MiniSudoku-v0` are two spellings of one thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from grpo_gym.errors import GeneratorError, InvalidValueError
from grpo_gym.problem import Problem, Split
from grpo_gym.reward import PlainReward, Reward, as_reward
from grpo_gym.rng import Rng
from grpo_gym.sources import Generator, Key, Procedural, Source
from grpo_gym.verdict import Verdict

TIERS = range(6)

_WORDS = "[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*"
"""Words that each begin with a letter: else two names would share an id ("a_1" and "a1" are both "A1")."""

Transcript = Sequence[tuple[str, str]]
"""An episode so far as (role, text) pairs; role is "environment" or "policy"."""

Oracle = Callable[[Problem, Transcript], str]


@dataclass(frozen=True)
class Turn:
    """What an interactive task says to one action.

    Attributes:
        message: The environment's next message.
        verdict: The final judgement; None while the episode goes on.
        reward: A reward for this turn alone, added to the verdict's value at the end.
    """

    message: str = ""
    verdict: Verdict | None = None
    reward: float = 0.0


class Dialogue(Protocol):
    """One interactive episode. A fresh object per episode holds its state."""

    def reply(self, action: str) -> Turn:
        """React to the policy's action."""

    def give_up(self) -> Verdict:
        """Judge the episode when the turns are used up."""


def _plain_answer(problem: Problem) -> str:
    return str(problem.reference)


@dataclass(frozen=True)
class Task:
    """Everything an environment needs to know about one kind of problem.

    Attributes:
        name: Dotted lower-case name, family first: "math.mini_sudoku".
        source: Where problems come from.
        reward: Judges a single-turn answer (an interactive task's dialogue judges itself).
        answer_format: One line that says how to answer; shown under the prompt.
        tiers: The tiers that exist; default: what the source says, else 0 to 5.
        default_tiers: The tiers used when none is asked for.
        answer: Writes a reference as a final answer in the asked format.
        oracle: Answers right; default: the worked solution, else the answer in the asked format.
        dialogue: Starts an interactive episode; None for a single-turn task.
        max_turns: Turns an interactive episode may take.
        floors: Line of `check_reward` -> what the task declares for it, e.g. {"constant answer": 0.5}.
        forms: Spellings of a right answer that must keep its reward (names in `checks.forms`); None: all that apply.
        equivalents: Writes other right answers: permutations of a set, for instance.
        solver: A second, independent solver: every right answer that it finds.
        effort: How much work a problem is, in a unit of the task's own; must not fall from tier to tier.
        guess: A weak solver: what somebody answers, in the asked format, who does little of the work. Its success must
            not rise from tier to tier; in a warm start it is the hasty way to answer.
        small_tiers: Tiers with fewer than 2,000 distinct problems, left out of held-out claims.
        version: Grows when problems or verdicts change.
        namespace: "grpo" is ours; third parties use their own.
    """

    name: str
    source: Source
    reward: Reward
    answer_format: str = ""
    tiers: tuple[int, ...] = ()
    default_tiers: tuple[int, ...] = ()
    answer: Callable[[Problem], str] = _plain_answer
    oracle: Oracle | None = None
    dialogue: Callable[[Problem], Dialogue] | None = None
    max_turns: int = 1
    floors: Mapping[str, float] = field(default_factory=dict)
    forms: tuple[str, ...] | None = None
    equivalents: Callable[[Problem], Iterable[str]] | None = None
    solver: Callable[[Problem], Iterable[str]] | None = None
    effort: Callable[[Problem], float] | None = None
    guess: Callable[[Problem, Rng], str] | None = None
    small_tiers: tuple[int, ...] = ()
    version: int = 0
    namespace: str = "grpo"

    def __post_init__(self) -> None:
        if not re.fullmatch(rf"{_WORDS}(\.{_WORDS})+", self.name):
            raise InvalidValueError(f"task name {self.name!r}: use family.task in lower case, e.g. 'math.mini_sudoku'")
        if not self.tiers:
            object.__setattr__(self, "tiers", tuple(getattr(self.source, "tiers", TIERS)))
        outside = [tier for tier in (*self.tiers, *self.default_tiers) if tier not in TIERS]
        if outside:
            raise InvalidValueError(f"task {self.name}: tiers are among {list(TIERS)}, got {list(self.tiers)}")
        if not set(self.default_tiers) <= set(self.tiers):
            raise InvalidValueError(f"task {self.name}: default_tiers {self.default_tiers} are not among its tiers")
        object.__setattr__(self, "reward", as_reward(self.reward))
        if not self.default_tiers:
            object.__setattr__(self, "default_tiers", self.tiers)
        if self.max_turns < 1:
            raise InvalidValueError(f"task {self.name}: max_turns is {self.max_turns}, must be at least 1")

    @property
    def full_name(self) -> str:
        """The name with its namespace: what seeds are hashed with."""
        return f"{self.namespace}/{self.name}"

    @property
    def env_id(self) -> str:
        """The Gymnasium id, e.g. "grpo/Math.MiniSudoku-v0"."""
        return env_id(self.name, self.namespace, self.version)

    def problem(self, tier: int, split: Split, seed: int, index: int) -> Problem:
        """Return the problem at a key: a pure function of (task, version, tier, split, seed, index)."""
        key = Key(self.full_name, self.version, tier, split, seed, index)
        problem = self.source.problem(key)
        if not isinstance(problem, Problem):
            raise GeneratorError(f"task {self.name} made {type(problem).__name__}, not a Problem")
        return problem

    def right_answer(self, problem: Problem, transcript: Transcript = ()) -> str:
        """Return an action that should earn the maximum."""
        if self.oracle is not None:
            return self.oracle(problem, transcript)
        return problem.solution if problem.solution is not None else self.answer(problem)

    def hasty_answer(self, problem: Problem, turn: int = 0) -> str | None:
        """Return the weak solver's answer, a function of problem and turn; None where the task has no weak solver."""
        if self.guess is None:
            return None
        later = (turn,) if turn else ()
        return self.guess(problem, Rng("guess", problem.problem_id, *later))


def task(
    name: str,
    *,
    reward: Reward | PlainReward,
    tiers: Iterable[int] = TIERS,
    default_tiers: Iterable[int] = (),
    **fields: Any,
) -> Callable[[Generator], Task]:
    """Turn a generator `(rng, tier) -> Problem` into a Task. The other keywords are Task's fields."""

    def decorate(generate: Generator) -> Task:
        return Task(
            name=name,
            source=Procedural(generate),
            reward=as_reward(reward),
            tiers=tuple(tiers),
            default_tiers=tuple(default_tiers),
            **fields,
        )

    return decorate


def env_id(name: str, namespace: str = "grpo", version: int = 0) -> str:
    """Return the environment id of a task name: "math.mini_sudoku" -> "grpo/Math.MiniSudoku-v0"."""
    spelled = ".".join("".join(word.capitalize() for word in part.split("_")) for part in name.split("."))
    return f"{namespace}/{spelled}-v{version}"


def task_name(identifier: str) -> str:
    """Return the task or family name of an environment id: "grpo/Math.MiniSudoku-v0" -> "math.mini_sudoku"."""
    match = re.fullmatch(r"(?:[^/:]+/)?([A-Za-z0-9_.]+?)(?:-v\d+)?", identifier)
    if match is None:
        raise InvalidValueError(f"environment id {identifier!r}: expected namespace/Family.Task-vN")
    return ".".join(re.sub(r"(?<!^)(?=[A-Z])", "_", part).lower() for part in match.group(1).split("."))


def fingerprints(tasks: Iterable[Task]) -> dict[str, Any]:
    """Return the fingerprint of each task's data set by the task's name; generators have none."""
    return {
        task.name: cast(Any, task.source).fingerprint for task in tasks if hasattr(type(task.source), "fingerprint")
    }


def replacement(reward: Reward | PlainReward | None, tasks: Collection[Task]) -> Reward | None:
    """Return the reward that replaces the tasks' own, None for none.

    Raises:
        InvalidValueError: No reward, or one that nothing would ever ask: every task is interactive and judges itself.
    """
    if reward is None:
        return None
    interactive = [task.name for task in tasks if task.dialogue is not None]
    if len(interactive) == len(tasks):
        raise InvalidValueError(
            f"{', '.join(interactive)}: an interactive task judges itself, so another reward would have no effect "
            "here; leave reward out, or change the task's dialogue"
        )
    return as_reward(reward)
