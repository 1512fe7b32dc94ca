"""A pipeline on a text: ciphers with exceptions, orders and choices of words, runs of letters."""

from __future__ import annotations

from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_envs.code.steps import composed, drawn, omissions, program, slips, told
from grpo_envs.code.text_steps import ENDS, STEPS, STEPS_WITH_NUMBERS, coded
from grpo_gym.rng import Rng

_SYLLABLES = (
    "ba",
    "re",
    "to",
    "si",
    "un",
    "ma",
    "cc",
    "ell",
    "o",
    "a",
    "i",
    "st",
    "ee",
    "dag",
    "fin",
    "tor",
    "x",
    "gy",
)


def sentence(rng: Rng) -> list[Any]:
    """Draw a text of up to six words, some capital, some of them twice."""
    words: list[str] = []
    for _ in range(rng.integer(1, 6)):
        if words and rng.chance(1, 4):
            words.append(rng.choice(words))
            continue
        word = "".join(rng.choice(_SYLLABLES) for _ in range(rng.integer(1, 3)))
        words.append(word.capitalize() if rng.chance(1, 4) else word)
    return [" ".join(words)]


@coding("code.texts", tiers=range(4))
def texts(rng: Rng, tier: int) -> Draft:
    """A text goes through tier + 1 steps; what is returned is the text, a part of it or a number."""
    end = rng.below(3)
    steps = drawn(rng, STEPS if tier else STEPS_WITH_NUMBERS, tier + 1 + (end == 0))
    if end:
        steps.append((rng.choice(ENDS) if end == 1 else coded)(rng))
    kind = steps[-1].kind if end == 1 else "text"
    head = f"solve(s: str) -> {'int' if kind == 'number' else 'str'}"
    text = (
        "It takes a text of words of English letters, upper and lower case, with one space between two words; "
        "the text may be empty.",
        "Its argument is a text: words of English letters (upper and lower case) that are separated by single spaces. "
        "It may be empty.",
    )
    ending = () if end == 1 else ("Return the resulting text.",)
    return Draft(
        head=head,
        statement=[text, *told(steps), *ending],
        code=program(head, "s", steps),
        expected=composed([step.apply for step in steps]),
        inputs=sentence,
        edges=([""], ["a"], ["Zoo zoo zoo"], ["to be or not to be Oo"], ["bass Aabb ssab eel"]),
        mistakes=slips(steps),
        needed=omissions(steps),
        rules=len(steps),
    )
