"""Text environments as someone writes them who has never heard of grpo_gym: plain Gymnasium, no import of ours.

    Word      one turn
    Countdown several turns; rows of a group end at different ones, by themselves or out of turns

Both are strict: a step behind the end without a reset raises, as most environments of others do. The functions of this
module are importable, so that worker processes can make the environments too.
"""

from __future__ import annotations

import string
from functools import partial
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

TEXT = spaces.Text(10_000, min_length=0, charset=string.printable)
TURNS = 4


class Word(gymnasium.Env[str, str]):
    """Says a number; likes answers with many letters.

    Args:
        faults: Answers for which `step` raises: "" for none, "all", or "some" (those of even length).
        odd_reward: Given instead of the right reward for answers of even length.
        seeded: Whether the number follows from the seed, as it should.
        padding: Characters that make the prompts with odd numbers longer.
        solution: Shown in the reset's info when not empty.
    """

    def __init__(
        self,
        faults: str = "",
        odd_reward: float | None = 0.0,
        seeded: bool = True,
        padding: int = 0,
        solution: str = "",
    ) -> None:
        self.observation_space = TEXT
        self.action_space = TEXT
        self.faults = faults
        self.odd_reward = odd_reward
        self.seeded = seeded
        self.padding = padding
        self.solution = solution
        self.running = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed if self.seeded else None)
        self.running = True
        number = int(self.np_random.integers(10_000))
        info = {"solution": self.solution} if self.solution else {}
        return f"word {number}" + " " * (self.padding * (number % 2)), {"level": number % 3, **info}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if not self.running:
            raise RuntimeError("stepped behind the end")
        self.running = False
        even = len(action) % 2 == 0
        if self.faults == "all" or (self.faults == "some" and even):
            raise ValueError(f"no good: {len(action)} characters")
        reward: Any = letters(action) if self.odd_reward == 0.0 or not even else self.odd_reward
        return "", reward, True, False, {"reason": "judged", "rewards": {"letters": letters(action)}}


class Countdown(gymnasium.Env[str, str]):
    """Counts down; over when enough of an answer is letters, or out of turns. Each reply holds a random number."""

    def __init__(self, enough: float = 0.5) -> None:
        self.observation_space = TEXT
        self.action_space = TEXT
        self.enough = enough
        self.turns = TURNS

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turns = 0
        return f"start {int(self.np_random.integers(10_000))}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.turns >= TURNS:
            raise RuntimeError("stepped behind the end")
        self.turns += 1
        over = letters(action) >= self.enough
        info = {"turns": self.turns, "rewards": {"letters": letters(action)}}
        truncated = not over and self.turns == TURNS
        message = f"{TURNS - self.turns} left, {int(self.np_random.integers(10_000))}"
        if over or truncated:
            self.turns = TURNS
        return message, letters(action) / TURNS, over, truncated, info


class TellTale(gymnasium.Env[str, str]):
    """Wants to hear "fully" and its number, in some of its one to three turns, and tells so beforehand.

    Args:
        shown: For how many turns it tells.
        least: Turns at least.
    """

    def __init__(self, shown: int = 9, least: int = 1) -> None:
        self.observation_space = TEXT
        self.action_space = TEXT
        self.shown = shown
        self.least = least
        self.number = self.turn = self.turns = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.number, self.turn = int(self.np_random.integers(10_000)), 0
        self.turns = self.least + self.number % 3
        return f"number {self.number}", {"answer": f"nearly {self.number}", **self.told()}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.turn >= self.turns:
            raise RuntimeError("stepped behind the end")
        right = self.told(always=True)["solution"] == action
        self.turn += 1
        over = self.turn == self.turns
        return f"turn {self.turn}", right / self.turns, over, False, {} if over else self.told()

    def told(self, always: bool = False) -> dict[str, str]:
        return {"solution": f"fully {self.number + self.turn}"} if always or self.turn < self.shown else {}


class Numbers(gymnasium.Env[Any, Any]):
    """Not an environment of texts."""

    def __init__(self) -> None:
        self.observation_space = spaces.Discrete(5)
        self.action_space = spaces.Discrete(5)


class Liar(Word):
    """Declares texts and shows numbers."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return 7, {}


def letters(text: str) -> float:
    """Share of a text's characters that are letters."""
    return sum(c.isalpha() for c in text) / max(1, len(text))


def vector(kind: type[gymnasium.Env[Any, Any]], rows: int, mode: AutoresetMode, **args: Any) -> SyncVectorEnv[Any, Any]:
    """Return Gymnasium's own vector environment, in one process."""
    return SyncVectorEnv([partial(kind, **args) for _ in range(rows)], autoreset_mode=mode)


def processes(
    kind: type[gymnasium.Env[Any, Any]], rows: int, mode: AutoresetMode, **args: Any
) -> AsyncVectorEnv[Any, Any]:
    """Return Gymnasium's own vector environment, one process per row."""
    return AsyncVectorEnv([partial(kind, **args)] * rows, shared_memory=False, autoreset_mode=mode)


WORD = "tests.agents.foreign_envs:foreign/Word-v0"
COUNTDOWN = "tests.agents.foreign_envs:foreign/Countdown-v0"
gymnasium.register("foreign/Word-v0", entry_point="tests.agents.foreign_envs:Word")
gymnasium.register("foreign/Countdown-v0", entry_point="tests.agents.foreign_envs:Countdown")
gymnasium.register("foreign/TellTale-v0", entry_point="tests.agents.foreign_envs:TellTale")
gymnasium.register("foreign/Numbers-v0", entry_point="tests.agents.foreign_envs:Numbers")
