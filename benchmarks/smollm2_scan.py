"""Where a real model starts: pass@1 of SmolLM2-135M-Instruct on tasks of every kind, as they ask and with examples.

A run needs a task that the model solves sometimes: groups that are all wrong teach nothing, nor do groups that are all
right. Training problems are looked at, so that nothing is chosen by the test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.arms import add_line, kept
from benchmarks.smollm2_weights import fetch

PROBLEMS = 24
EXAMPLES = 3
FIRST_SEED = 1000
"""Seeds from here on are asked; examples have those from 1 on."""
LEAD = "You answer in the form that you are shown."


@dataclass(frozen=True)
class Place:
    """A task to look at, in its lowest tier.

    Attributes:
        env: Environment id.
        chance: What a blind guess gives: the answer that is the commonest among 600 problems, written with the
            problem's own names; any number of the interval in each of ten turns for GuessNumber.
        shown: "" for the task as it asks; "answer" or "solution" for examples in the system message that end so.
        max_tokens: Tokens per turn.
    """

    env: str
    chance: float
    shown: str = ""
    max_tokens: int = 48

    @property
    def key(self) -> str:
        """Its name among what is kept."""
        return f"scan {self.env} {self.shown}".strip()


PLACES = (
    Place("grpo/Math.Chain-v0", 0.04),
    Place("grpo/Math.Chain-v0", 0.04, "answer", 12),
    Place("grpo/Math.Chain-v0", 0.04, "solution", 40),
    Place("grpo/Math.Powers-v0", 0.05, "answer", 12),
    Place("grpo/Math.Logs-v0", 0.04, "answer", 12),
    Place("grpo/Math.Derivative-v0", 0.01, "answer", 20),
    Place("grpo/Math.Gcd-v0", 0.09, "answer", 12),
    Place("grpo/Math.Remainder-v0", 0.17, "answer", 12),
    Place("grpo/Math.Trigonometry-v0", 0.04, "answer", 20),
    Place("grpo/Logic.Knights-v0", 0.28),
    Place("grpo/Logic.Knights-v0", 0.28, "answer", 24),
    Place("grpo/Logic.TruthChain-v0", 0.28),
    Place("grpo/Logic.TruthChain-v0", 0.28, "answer", 24),
    Place("grpo/Logic.Propositional-v0", 0.07),
    Place("grpo/Logic.Syllogism-v0", 0.05),
    Place("grpo/Logic.Sequence-v0", 0.01),
    Place("grpo/Logic.Sequence-v0", 0.01, "answer", 16),
    Place("grpo/Diagnosis.NoisyOr-v0", 0.04),
    Place("grpo/Logic.GuessNumber-v0", 0.94, "", 24),
    Place("grpo/Code.Lists-v0", 0.0, "", 96),
)


def scan(keep: Path, places: Sequence[Place] = PLACES) -> None:
    """Look at the tasks that are not kept yet, and add a line for each."""
    from grpo_agents.policy import Policy

    policy: Policy | None = None
    for place in places:
        if place.key not in kept(keep):
            policy = policy or _policy()
            add_line(keep, looked_at(policy, place))


def looked_at(policy: Any, place: Place) -> dict[str, Any]:
    """Return sampled and greedy pass@1 of a task."""
    from grpo_agents.config import Sampling
    from grpo_agents.environments import EnvChoice
    from grpo_agents.evaluate import evaluate
    from grpo_agents.prompting import Prompting

    system = examples(place) if place.shown else None
    policy.prompting = Prompting(policy.tokenizer, policy.eos_ids, "chat", system)
    choice = EnvChoice(place.env, {"tier": 0})
    seeds = range(FIRST_SEED, FIRST_SEED + PROBLEMS)
    settings = Sampling(max_tokens=place.max_tokens)
    sampled, greedy = (evaluate(policy, choice, "train", seeds, settings, greedy=how) for how in (False, True))
    figures = {"n": sampled.n, "sampled": sampled.pass_at_1, "greedy": greedy.pass_at_1, "length": sampled.length}
    print(f"{place.key}: {figures['sampled']:.2f} sampled, {figures['greedy']:.2f} greedy", flush=True)
    return {
        "key": place.key,
        "env": place.env,
        "shown": place.shown,
        "split": "train",
        "chance": place.chance,
        **figures,
    }


def examples(place: Place) -> str:
    """Return a system message with training problems and how they are answered."""
    import gymnasium as gym

    env = gym.make(place.env, tier=0, expose_answer=True)
    turns = []
    for seed in range(1, EXAMPLES + 1):
        question, info = env.reset(seed=seed, options={"split": "train"})
        turns += [("user", question), ("assistant", info[place.shown])]
    env.close()
    return as_turns(LEAD, turns)


def as_turns(lead: str, turns: Sequence[tuple[str, str]]) -> str:
    """Return a system message behind which turns follow, in the marks of the model's own template.

    The template puts a system message between its marks as it is, so examples can stand as the turns they are. It works
    far better with this model than the same examples told in one message.
    """
    return "<|im_end|>\n<|im_start|>".join([lead, *(f"{role}\n{text}" for role, text in turns)])


def _policy() -> Any:
    """Return the model in bfloat16 on one CPU thread."""
    import torch

    from grpo_agents.policy import Policy

    torch.set_num_threads(1)
    return Policy.load(fetch(), device="cpu", dtype=torch.bfloat16)
