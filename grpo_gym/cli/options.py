"""Reading a command's options: a dataclass in, its filled form out. tyro names the nearest option after a typo."""

from __future__ import annotations

import importlib.util
import sys
from typing import Annotated, Any, TypeVar

import tyro

from grpo_gym.errors import InvalidValueError, MissingExtraError

O = TypeVar("O")  # noqa: E741  # the options of a command

EnvId = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ID")]
"""The environment a command is about."""

Count = Annotated[int, tyro.conf.arg(name="n", aliases=["-n"])]
"""How many problems."""


def parse(options: type[O], command: str, arguments: list[str], default: O | None = None) -> O:
    """Return the options of a command. A mistake is shown with the nearest right name and ends with exit code 2.

    Args:
        options: A dataclass; its docstring and those of its fields are the help.
        command: The command's name.
        arguments: The words after it.
        default: Values that hold where no argument says otherwise.
    """
    settings: dict[str, Any] = {} if default is None else {"default": default}
    single = (tyro.conf.FlagCreatePairsOff,)  # --answers, without a --no-answers beside it
    read: O = tyro.cli(options, prog=f"grpo-gym {command}", args=arguments, config=single, **settings)
    return read


def tier_choice(tier: tuple[int, ...]) -> int | list[int] | None:
    """Return a --tier option as environments take it: one tier, lowest and highest, or None for the default."""
    if len(tier) > 2:
        raise InvalidValueError(f"--tier is {' '.join(map(str, tier))}: give one tier, or the lowest and the highest")
    return None if not tier else tier[0] if len(tier) == 1 else list(tier)


def key_values(pairs: tuple[str, ...], option: str) -> dict[str, Any]:
    """Return KEY=VALUE words as a dictionary, values read as YAML (3 is a number, false a truth value)."""
    import yaml

    values = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise InvalidValueError(f"{option} takes KEY=VALUE, got {pair!r}")
        try:
            values[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise InvalidValueError(f"{option}: the value of {pair!r} is not YAML") from error
    return values


def need_agents(command: str) -> None:
    """Raise MissingExtraError unless the libraries that agents are made of are installed; imports none of them."""
    for module in ("torch", "transformers", "tokenizers", "safetensors"):
        try:
            found = module in sys.modules or importlib.util.find_spec(module) is not None
        except ImportError:
            found = False
        if not found:
            raise MissingExtraError(f"grpo-gym {command}", "agent")
