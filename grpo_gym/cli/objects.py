"""Code of one's own on the command line: "module:attribute", installed or in the current folder."""

from __future__ import annotations

import importlib
import inspect
from operator import attrgetter
from typing import Any

from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.importing import see_current_folder
from grpo_gym.reward import Reward, as_reward


def load_object(name: str) -> Any:
    """Return what "module:attribute" names.

    Raises:
        InvalidValueError: The name has another form, or its module cannot be imported.
        UnknownNameError: The module has no such attribute; names the nearest.
    """
    module_name, _, attribute = name.partition(":")
    if not (module_name and attribute):
        raise InvalidValueError(f"{name!r} names no code: give module:attribute, for instance my_rewards:strict")
    see_current_folder()
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the code of others raises while it is imported
        raise InvalidValueError(f"cannot import the module of {name!r}: {type(error).__name__}: {error}") from error
    try:
        return attrgetter(attribute)(module)
    except AttributeError:
        public = [known for known in vars(module) if not known.startswith("_")]
        raise UnknownNameError(f"attribute of {module_name}", attribute, public) from None


def load_reward(name: str) -> Reward:
    """Return the reward that "module:attribute" names: a Reward, a function `(response, problem)`, or what makes one.

    A class or function that can be called without arguments is called, and has to return one of the first two.

    Raises:
        InvalidValueError: It is none of them.
        UnknownNameError: It does not exist.
    """
    found = load_object(name)
    if isinstance(found, Reward) or not _makes_one(found):
        return as_reward(found)
    try:
        made = found()
    except Exception as error:
        raise InvalidValueError(f"{name} raised {type(error).__name__}: {error}") from error
    if not isinstance(made, Reward) and not callable(made):
        raise InvalidValueError(
            f"{name}() returned {made!r:.60}, no Reward; a reward function takes (response, problem)"
        )
    return as_reward(made)


def _makes_one(found: Any) -> bool:
    """Whether this is called to get a reward, and not with an answer."""
    if isinstance(found, type):
        return True
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):  # not callable, or a function of C that does not tell
        return False
    needed = (p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD)
    return not any(needed)  # *args count as needed: they take an answer
