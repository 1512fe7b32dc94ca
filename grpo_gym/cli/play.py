"""`grpo-gym play ID`: a person in the policy's place. The same prompts, the same verdicts, the answer afterwards."""

from __future__ import annotations

import contextlib
import importlib
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium

from grpo_gym.cli.environments import make, start
from grpo_gym.cli.options import Count, EnvArgs, EnvId, key_values, parse, tier_choice
from grpo_gym.cli.terminal import plain, terminal
from grpo_gym.errors import InvalidValueError

LAST_LINE = "."


@dataclass(frozen=True)
class Options:
    """Answer problems in the terminal. Ctrl-D or Ctrl-C ends the game."""

    id: EnvId
    """Environment id; "module:id" imports the module first."""
    n: Count = 5
    """How many problems."""
    tier: tuple[int, ...] = ()
    """One tier, or the lowest and highest; empty for the environment's default."""
    seed: int | None = None
    """Names the stream of problems; none: other ones each time."""
    split: Literal["train", "val", "test"] = "train"
    """Which problems."""
    env_args: EnvArgs = ()
    """Further keyword arguments of `gym.make`, e.g. dataset=openai/gsm8k."""
    multiline: bool = False
    """Answers of several lines; a line with a single dot ends one."""


class EndOfGame(Exception):
    """The person has left."""


def run(arguments: list[str]) -> int:
    """Play until all problems are answered or the person leaves, then tell the score."""
    options = parse(Options, "play", arguments)
    if options.n < 1:
        raise InvalidValueError(f"-n is {options.n}, must be at least 1")
    args = key_values(options.env_args, "--env-args")
    env = make(options.id, tier_choice(options.tier), options.split, args)
    with contextlib.suppress(ImportError):
        importlib.import_module("readline")  # arrow keys in input()
    screen = terminal()
    right = answered = 0
    try:
        for place in range(options.n):
            prompt, info = start(env, options.seed if place == 0 else None)
            screen.print(plain(f"{place + 1} of {options.n}", "bold"))
            verdict = _episode(env, prompt, options.multiline)
            _reveal(verdict, info)
            answered += not verdict["abstain"]
            right += verdict["reward"] >= 1.0
    except (EndOfGame, KeyboardInterrupt):
        screen.print()
    finally:
        env.close()
    screen.print(plain(f"{right} of {answered} right", "bold"))
    return 0


def _episode(env: gymnasium.Env[str, str], prompt: str, multiline: bool) -> dict[str, Any]:
    """Play one episode and return its reward, reason, feedback and whether the scorer abstained."""
    screen = terminal()
    screen.print(plain(prompt))
    total, turns = 0.0, 0
    while True:
        message, reward, terminated, truncated, info = env.step(_answer(multiline))
        total += float(reward)
        turns += 1
        if message:
            screen.print(plain(message))
        if terminated or truncated:
            return {
                "reward": total,
                "reason": str(info.get("reason", "")) + (f", out of turns after {turns}" if truncated else ""),
                "feedback": str(info.get("feedback", "")),
                "abstain": float(info.get("abstain", 0.0)) > 0,
            }


def _reveal(verdict: dict[str, Any], info: dict[str, Any]) -> None:
    screen = terminal()
    style = "yellow" if verdict["abstain"] else "green" if verdict["reward"] >= 1.0 else "red"
    score = "not judged" if verdict["abstain"] else f"reward {verdict['reward']:g}"
    screen.print(plain(", ".join(filter(None, (verdict["reason"], score))), style))
    if verdict["feedback"]:
        screen.print(plain(verdict["feedback"]))
    if "answer" in info:
        screen.print(plain("answer: ", "dim").append_text(plain(info["answer"])))
    if "solution" in info and info["solution"] != info["answer"] and verdict["reward"] < 1.0:
        screen.print(plain(info["solution"], "dim"))
    screen.print()


def _answer(multiline: bool) -> str:
    """Return one answer from the keyboard: a line (empty is an empty answer), or lines up to a single dot.

    Raises:
        EndOfGame: Nothing more comes; in several lines, what was typed before counts as the answer.
    """
    lines: list[str] = []
    while True:
        try:
            line = input("> " if not lines else ". ")
        except EOFError:
            if not lines:
                raise EndOfGame from None
            return "\n".join(lines)
        if not multiline:
            return line
        if line.strip() == LAST_LINE:
            return "\n".join(lines)
        lines.append(line)
