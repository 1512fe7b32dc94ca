"""`grpo-gym sample ID`: what an environment asks, on paper or as JSON lines."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any, Literal

from grpo_gym.cli.environments import make, problems_in, start
from grpo_gym.cli.options import Count, EnvArgs, EnvId, key_values, parse, tier_choice
from grpo_gym.cli.terminal import plain, terminal
from grpo_gym.errors import InvalidValueError


@dataclass(frozen=True)
class Options:
    """Print problems of an environment, the same ones for the same seed; of a data set, no row a second time."""

    id: EnvId
    """Environment id; "module:id" imports the module first."""
    n: Count = 5
    """How many problems."""
    tier: tuple[int, ...] = ()
    """One tier, or the lowest and highest; empty for the environment's default."""
    seed: int = 0
    """Names the stream of problems."""
    split: Literal["train", "val", "test"] = "train"
    """Which problems."""
    env_args: EnvArgs = ()
    """Further keyword arguments of `gym.make`, e.g. dataset=openai/gsm8k."""
    answers: bool = False
    """Also the right answer and the worked solution."""
    jsonl: bool = False
    """One JSON object per line."""


def run(arguments: list[str]) -> int:
    """Print the problems."""
    options = parse(Options, "sample", arguments)
    if options.n < 1:
        raise InvalidValueError(f"-n is {options.n}, must be at least 1")
    args = key_values(options.env_args, "--env-args")
    env = make(options.id, tier_choice(options.tier), options.split, args)
    try:
        there = problems_in(env)
        for place in range(options.n if there is None else min(options.n, there)):
            prompt, info = start(env, options.seed if place == 0 else None)
            if not options.answers:
                info = {key: value for key, value in info.items() if key not in ("answer", "solution")}
            if options.jsonl:
                sys.stdout.write(json.dumps({"prompt": prompt, **info}, default=str) + "\n")
            else:
                _show(place + 1, prompt, info)
    finally:
        env.close()
    return 0


def _show(number: int, prompt: str, info: dict[str, Any]) -> None:
    screen = terminal()
    labels = [str(info[key]) for key in ("task", "problem_id") if info.get(key)]
    if "tier" in info:
        labels.insert(1, f"tier {info['tier']}")
    screen.print(plain(f"{number}  {', '.join(labels)}", "bold"))
    screen.print(plain(prompt))
    if "answer" in info:
        screen.print(plain("answer: ", "green").append_text(plain(info["answer"])))
    if "solution" in info and info["solution"] != info["answer"]:
        screen.print(plain("solution:", "green"))
        screen.print(plain(info["solution"]))
    screen.print()
