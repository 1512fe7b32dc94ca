"""Demonstrations: whole episodes as they should be played, from what an environment shows of its answers.

`expose_answer=True` puts `solution` and `answer` into the reset's info; where an episode goes on, every step's info
holds the next `solution`. So an episode is played to its end, turn by turn, by someone who knows the way. Environments
of others that do the same are played the same.

A share of the episodes may be hasty: the answer alone, mostly wrong, as from someone who skipped the working. In every
turn that is what the task's weak solver says (`guess`), else the answer with a near miss of its last number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from grpo_agents.config import SFTConfig
from grpo_agents.environments import (
    EnvChoice,
    ask,
    check_text,
    reset_rows,
    seeds_for,
    takes_turns,
    wants_resets,
)
from grpo_agents.policy import Policy
from grpo_agents.rollout import Completion, Trajectory
from grpo_gym.errors import InvalidValueError
from grpo_gym.infos import row_info
from grpo_gym.rng import Rng

NEAR_MISS = 6
"""A hasty answer's last number is off by at most this much; one time in thirteen it is right by luck."""
MOST_TURNS = 256
"""An episode that has not ended by then is left out: an environment need not have an end."""


@dataclass(frozen=True)
class Demonstration:
    """An episode as it should be played.

    Attributes:
        prompt: The first observation.
        responses: What is answered, one text per turn.
        replies: What the environment says between them, one fewer.
    """

    prompt: str
    responses: tuple[str, ...]
    replies: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All that is said, in order, a line break between two messages."""
        later = (f"\n{reply}\n{response}" for reply, response in zip(self.replies, self.responses[1:], strict=True))
        return "".join((f"{self.prompt}\n{self.responses[0]}", *later))


def demonstrations(config: SFTConfig) -> Iterator[list[Demonstration]]:
    """Yield `steps` batches of demonstrations from the train split.

    A batch has `config.batch` of them, fewer where an environment did not show the way to the end of an episode.

    Raises:
        InvalidValueError: The environment shows no solutions, or not one episode of a batch could be played.
        EnvironmentRaisedError: The environment raised.
    """
    choice = EnvChoice.of(config)
    choice.check()
    if choice.ours:
        choice.args["expose_answer"] = True
    env = choice.vector(config.batch)
    rng = Rng("hasty", config.seed)
    try:
        for step in range(config.steps):
            yield _played(env, seeds_for("sft", config.seed, step, config.batch), config, rng)
    finally:
        env.close()


def hasty_answer(answer: str, rng: Rng) -> str:
    """Return the answer with its last number off by up to NEAR_MISS, as from someone who skipped the working."""
    numbers = list(re.finditer(r"\d+", answer))
    if not numbers:
        return answer
    last = numbers[-1]
    changed = abs(int(last.group()) + rng.integer(-NEAR_MISS, NEAR_MISS))
    return answer[: last.start()] + str(changed) + answer[last.end() :]


def trajectory(policy: Policy, demonstration: Demonstration) -> Trajectory:
    """Return a demonstration as tokens: what `collect` records of a policy that says exactly this.

    Only the responses, each with its end token, are marked as the policy's own. Log-probs are 0.0: nothing was drawn.
    """
    played = Trajectory(policy.render([{"role": "user", "content": demonstration.prompt}]))
    for turn, response in enumerate(demonstration.responses):
        if turn:
            played.add_message(policy.render_reply(demonstration.replies[turn - 1]))
        ids = policy.tokenizer(response, add_special_tokens=False)["input_ids"] + [end_id(policy)]
        played.add_turn(Completion(ids, [0.0] * len(ids), ended=True))
    return played


def end_id(policy: Policy) -> int:
    """Return the token that a turn ends with: the tokenizer's own end token where the model stops at it."""
    own = policy.tokenizer.eos_token_id
    return int(own) if own in policy.eos_ids else min(policy.eos_ids)


@dataclass
class _Row:
    """An episode under way.

    Attributes:
        prompt: The first observation.
        hasty: Whether the hasty way is played.
        answer: The final answer, where the environment has shown one.
        responses: What was answered so far.
        replies: What the environment said to it.
        lost: Whether the way to the end was not shown.
    """

    prompt: str
    hasty: bool
    answer: str | None = None
    responses: list[str] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    lost: bool = False

    def act(self, info: dict[str, Any], rng: Rng) -> None:
        """Take a turn by what the info shows; without that the row is lost."""
        self.answer = str(info["answer"]) if "answer" in info else self.answer
        if not self.hasty and "solution" in info:
            self.responses.append(str(info["solution"]))
        elif self.hasty and "guess" in info:
            self.responses.append(str(info["guess"]))
        elif self.hasty and self.answer is not None:
            self.responses.append(hasty_answer(self.answer, rng))
        else:
            self.lost = True


def _played(env: VectorEnv[Any, Any, Any], seeds: list[int], config: SFTConfig, rng: Rng) -> list[Demonstration]:
    """Return one demonstration per seed, without those that could not be played to their end."""
    prompts, infos = reset_rows(env, seeds)
    shown = [row_info(infos, row) for row in range(len(seeds))]
    if not any("solution" in info for info in shown):
        raise InvalidValueError(f"{config.env} shows no solutions (no `solution` in info with expose_answer=True)")
    rows = []
    for prompt, info in zip(prompts, shown, strict=True):
        row = _Row(check_text(prompt), hasty=rng.below(10_000) >= config.careful * 10_000 and config.careful < 1)
        row.act(info, rng)
        if row.hasty and row.lost:
            raise InvalidValueError(f"{config.env} shows no short answers (`answer` in info): hasty ones need them")
        rows.append(row)
    _play_on(env, rows, [takes_turns(env, info) for info in shown], rng)
    played = [Demonstration(r.prompt, tuple(r.responses), tuple(r.replies)) for r in rows if not r.lost]
    if not played:
        raise InvalidValueError(
            f"none of {len(rows)} episodes of {config.env} could be played to its end: the info of a step in which an "
            f"episode goes on must hold the next `solution`, and an episode at most {MOST_TURNS} turns"
        )
    return played


def _play_on(env: VectorEnv[Any, Any, Any], rows: list[_Row], several: list[bool], rng: Rng) -> None:
    """Play the rows that may take several turns to their ends; a row of one turn has all it needs, and is not judged.

    Args:
        env: The environment, after its reset.
        rows: Each with its first response, unless it is lost.
        several: Which of them may take several turns.
        rng: Draws near misses.
    """
    live = np.array([more and not row.lost for more, row in zip(several, rows, strict=True)])
    turns = 1
    while live.any():
        actions = [row.responses[-1] if more and row.responses else "" for more, row in zip(several, rows, strict=True)]
        messages, _, terminated, truncated, infos = ask(env.step, tuple(actions))
        done = np.asarray(terminated, dtype=np.bool_) | np.asarray(truncated, dtype=np.bool_)
        live &= ~done
        for row in np.flatnonzero(live):
            rows[row].replies.append(check_text(messages[row]))
            rows[row].act(row_info(infos, int(row)), rng)
            rows[row].lost |= turns == MOST_TURNS
            live[row] = not rows[row].lost
        turns += 1
        if live.any() and done.any() and wants_resets(env):
            ask(env.reset, options={"reset_mask": done})
