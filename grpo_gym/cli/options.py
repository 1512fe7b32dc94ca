"""Reading a command's options: a dataclass in, its filled form out. tyro names the nearest option after a typo."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
import typing
from typing import Annotated, Any, Literal, TypeVar

import tyro

from grpo_gym.errors import InvalidValueError, MissingExtraError, UnknownNameError
from grpo_gym.mixture import TierChoice
from grpo_gym.stream import as_tier

O = TypeVar("O")  # noqa: E741  # the options of a command

EnvId = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ID")]
"""The environment a command is about."""

EnvArgs = Annotated[tuple[str, ...], tyro.conf.arg(metavar="KEY=VALUE")]
"""Further keyword arguments of `gym.make`, values in YAML: `--env-args dataset=openai/gsm8k`."""

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
    _check_choices(options, arguments)
    settings: dict[str, Any] = {} if default is None else {"default": default}
    single = (tyro.conf.FlagCreatePairsOff,)  # --answers, without a --no-answers beside it
    read: O = tyro.cli(options, prog=f"grpo-gym {command}", args=arguments, config=single, **settings)
    return read


def _check_choices(options: type, arguments: list[str]) -> None:
    """Raise UnknownNameError, naming the nearest, for a value that is none of an option's choices."""
    choices = _choices(options)
    for place, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        option = name.replace("_", "-")
        if option in choices and (equals or place + 1 < len(arguments)):
            given = value if equals else arguments[place + 1]
            if given not in choices[option] and not given.startswith("-"):
                raise UnknownNameError(f"value of {option}", given, choices[option])


def _choices(options: type, prefix: str = "--") -> dict[str, list[str]]:
    """Return the values that each option of a dataclass with choices can take, nested ones too."""
    found: dict[str, list[str]] = {}
    for name, hint in typing.get_type_hints(options, include_extras=True).items():
        unnamed = any(getattr(mark, "name", None) == "" for mark in getattr(hint, "__metadata__", ()))
        kind = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
        option = prefix + name.replace("_", "-")
        if typing.get_origin(kind) is Literal:
            found[option] = [str(value) for value in typing.get_args(kind)]
        elif dataclasses.is_dataclass(kind) and isinstance(kind, type):
            found |= _choices(kind, prefix if unnamed else f"{option}.")
    return found


def tier_choice(tier: tuple[int, ...]) -> TierChoice:
    """Return a --tier option as environments take it: one tier, lowest and highest, or None for the default."""
    if len(tier) > 2:
        raise InvalidValueError(f"--tier is {' '.join(map(str, tier))}: give one tier, or the lowest and the highest")
    return as_tier(tier)


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
