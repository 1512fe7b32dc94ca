"""A pipeline on a list of integers: filters, maps, orders, windows, and what comes out in the end."""

from __future__ import annotations

from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_envs.code.list_steps import ENDS, STEPS
from grpo_envs.code.steps import composed, drawn, omissions, program, slips, told
from grpo_gym.rng import Rng


def integers(rng: Rng, longest: int = 9) -> list[Any]:
    """Draw a list of small integers, repeats likely."""
    width = rng.choice((6, 12, 30))
    return [[rng.below(2 * width) - width // 2 for _ in range(rng.integer(2, longest))]]


@coding("code.lists", tiers=range(4))
def lists(rng: Rng, tier: int) -> Draft:
    """A list of integers goes through tier + 1 steps and, half of the time, comes to a number."""
    to_number = tier == 0 or rng.chance(1, 2)
    steps = drawn(rng, STEPS, tier + 2 - to_number)
    if to_number:
        steps.append(rng.choice(ENDS)(rng))
    head = "solve(xs: list[int]) -> " + ("int" if to_number else "list[int]")
    opening = (
        "It takes a list of integers, which may be empty.",
        "Its argument is a list of integers; the list may be empty.",
    )
    ending = () if to_number else ("Return the resulting list.",)
    return Draft(
        head=head,
        statement=[opening, *told(steps), *ending],
        code=program(head, "xs", steps),
        expected=composed([step.apply for step in steps]),
        inputs=integers,
        edges=([[]], [[3]], [[-4, -4]], [[7, -2, 7, 0, -2, 5, -9]], [[2, 1, 2, 1, 1, 3, 3]]),
        mistakes=slips(steps),
        needed=omissions(steps),
        rules=len(steps),
    )
