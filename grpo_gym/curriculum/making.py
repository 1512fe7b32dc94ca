"""From a name or a JSON object to a curriculum, so that ids, config files and the command line can ask for one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from grpo_gym.curriculum.arms import Curriculum, Offered
from grpo_gym.curriculum.fixed import Fixed
from grpo_gym.curriculum.learnability import Learnability
from grpo_gym.curriculum.linear import Linear
from grpo_gym.curriculum.record import Recorded
from grpo_gym.curriculum.thompson import ThompsonSampling
from grpo_gym.curriculum.threshold import Threshold
from grpo_gym.errors import InvalidValueError, UnknownNameError

KINDS: dict[str, type[Recorded]] = {
    "fixed": Fixed,
    "linear": Linear,
    "threshold": Threshold,
    "learnability": Learnability,
    "thompson": ThompsonSampling,
}
"""The curricula that a name can ask for."""

Wanted = Curriculum | Mapping[str, Any] | str
"""A curriculum, its kind, or {"kind": ..., and its options}."""


def make_curriculum(wanted: Wanted, arms: Offered) -> Curriculum:
    """Return the curriculum that is asked for, over these arms.

    Raises:
        UnknownNameError: A kind or option that does not exist; names the nearest.
        InvalidValueError: Something that asks for none, or an option out of bounds.
    """
    if isinstance(wanted, Curriculum):
        return wanted
    options = {"kind": wanted} if isinstance(wanted, str) else wanted
    if not isinstance(options, Mapping) or "kind" not in options:
        raise InvalidValueError(
            f'curriculum is {wanted!r:.80}: give one of {list(KINDS)}, or a mapping such as {{"kind": "threshold"}}'
        )
    kind = options["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise UnknownNameError("curriculum", kind, KINDS)
    own = {name: value for name, value in options.items() if name != "kind"}
    known = [name for name in inspect.signature(KINDS[kind]).parameters if name != "arms"]
    for name, value in own.items():
        if name not in known:
            raise UnknownNameError(f"option of the curriculum {kind}", name, known)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InvalidValueError(f"{name} of the curriculum {kind} is {value!r:.80}: give a number")
    return KINDS[kind](arms, **own)
