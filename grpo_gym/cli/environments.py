"""Single environments for people to look at: found by id, ours or anyone's, with the answer where they show it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import gymnasium

from grpo_gym.env import TextEnv
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.importing import see_current_folder
from grpo_gym.mixture import TierChoice
from grpo_gym.registration import registered_ids


def find(identifier: str) -> bool:
    """See that an environment exists, and return whether it is one of grpo-gym's.

    "module:id" imports the module first; modules in the current folder are found, behind all installed ones.

    Raises:
        InvalidValueError: The module cannot be imported.
        UnknownNameError: No environment is so called; names the nearest.
    """
    module, _, name = identifier.rpartition(":")
    if module:
        see_current_folder()
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise InvalidValueError(f"cannot import the module of {identifier!r}: {error}") from error
    ours = registered_ids()
    if name not in ours and name not in gymnasium.registry:
        raise UnknownNameError("environment", name, ours)
    return name in ours


def make(identifier: str, tier: TierChoice, split: str, args: Mapping[str, Any]) -> gymnasium.Env[str, str]:
    """Return an environment whose infos carry the answer.

    Args:
        identifier: Environment id.
        tier: Tiers, for environments of ours.
        split: Split, for environments of ours.
        args: Further keyword arguments of `gym.make`; they win.

    Raises:
        InvalidValueError: A tier or split is asked of an environment that has none.
    """
    options: dict[str, Any] = dict(args)
    if find(identifier):
        options = {"tier": tier, "split": split, "expose_answer": True, **args}
    elif tier is not None or split != "train":
        raise InvalidValueError(f"{identifier} is not one of grpo-gym's environments: it has no tiers and splits")
    try:
        env: gymnasium.Env[Any, Any] = gymnasium.make(identifier, disable_env_checker=True, **options).unwrapped
    except (gymnasium.error.Error, TypeError) as error:
        raise InvalidValueError(f"cannot make {identifier}: {error}") from error
    return env


def problems_in(env: gymnasium.Env[str, str]) -> int | None:
    """Return how many problems an environment has: the rows of a data set; None where nobody can tell."""
    return env.stream.size() if isinstance(env, TextEnv) else None


def start(env: gymnasium.Env[str, str], seed: int | None) -> tuple[str, dict[str, Any]]:
    """Reset an environment and return its first text and info. Raises InvalidValueError when it is no text."""
    text, info = env.reset(seed=seed)
    if not isinstance(text, str):
        raise InvalidValueError(f"the environment shows {type(text).__name__}, not text")
    return text, info
