"""Config records from and to plain values: what YAML files and the command line hold.

Unknown fields are refused with the nearest right name, and nothing is bent to fit but what YAML itself bends.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from grpo_gym.errors import InvalidValueError, UnknownNameError

C = TypeVar("C")

AMBIGUOUS = {
    "beta": "two things are called beta: the distance to a reference policy is objective.kl_coef, the evenness of the "
    "strata is strata.balance_coef"
}
"""Field names that are no typing mistake but a question."""


def to_dict(config: Any) -> dict[str, Any]:
    """Return a config as plain nested values, for YAML and JSON."""
    record = dataclasses.asdict(config)
    plain: dict[str, Any] = _plain(record)
    return plain


def _plain(value: Any) -> Any:
    """Return a value without tuples, which YAML has not."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def from_dict(cls: type[C], record: dict[str, Any], where: str = "") -> C:
    """Build a config record from nested plain values.

    Raises:
        UnknownNameError: A field that does not exist, with the nearest right name.
        InvalidValueError: A value of the wrong type or out of bounds.
    """
    hints = typing.get_type_hints(cls)
    values = {}
    for name, value in record.items():
        if name in AMBIGUOUS and name not in hints:
            raise InvalidValueError(f"{where}{name}: {AMBIGUOUS[name]}")
        if name not in hints:
            raise UnknownNameError("config field", f"{where}{name}", [where + known for known in hints])
        values[name] = _convert(hints[name], value, where + name)
    return cls(**values)


def read_yaml(cls: type[C], path: str | Path) -> C:
    """Read a config file. Raises InvalidValueError when it is missing, not a mapping, or holds a wrong value."""
    return from_dict(cls, yaml_record(path))


def overlaid(base: C, record: dict[str, Any]) -> C:
    """Return a config with the fields of a nested record in place of its own. Raises as `from_dict`."""
    return from_dict(type(base), _laid_over(base, record))


def with_options(base: C, options: Mapping[str, Any]) -> C:
    """Return a config with options by their dotted names, {"objective.loss": "gspo"}, in place of its own.

    Raises:
        UnknownNameError, InvalidValueError: As `from_dict`.
    """
    record: dict[str, Any] = {}
    for option, value in options.items():
        *path, last = option.split(".")
        place = record
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return overlaid(base, record)


def yaml_record(path: str | Path) -> dict[str, Any]:
    """Return the fields that a config file names. Raises InvalidValueError when it is missing or not a mapping."""
    import yaml

    try:
        record = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValueError(f"cannot read the config {path}: {getattr(error, 'strerror', 'not UTF-8')}") from error
    except yaml.YAMLError as error:
        raise InvalidValueError(f"{path} is not YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(record, dict):
        raise InvalidValueError(f"{path} must hold a mapping of config fields, got {type(record).__name__}")
    record.pop("policy", None)  # a run's own config.yaml also says what was found about its policy
    return record


def _laid_over(base: Any, record: dict[str, Any]) -> dict[str, Any]:
    """Return a config's plain values with others over them, record by record; tables of the user's own as a whole."""
    merged = to_dict(base)
    for name, value in record.items():
        below = getattr(base, str(name), None)
        nested = dataclasses.is_dataclass(below) and isinstance(value, dict)
        merged[name] = _laid_over(below, value) if nested else value
    return merged


def _convert(hint: Any, value: Any, where: str) -> Any:
    """Return the value as the field's type; int passes as float, a list as tuple, nothing else is bent."""
    origin = typing.get_origin(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, dict):
            raise InvalidValueError(f"{where} must be a mapping, got {value!r:.60}")
        return from_dict(hint, value, where + ".")
    if origin is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            raise UnknownNameError(f"value of {where}", value, map(str, choices))
        return value
    if origin is tuple:
        return _items(typing.get_args(hint), value, where)
    if origin is dict and typing.get_args(hint)[1] is not Any:
        if not isinstance(value, dict):
            raise InvalidValueError(f"{where} must be dict, got {value!r:.60}")
        return {str(name): _convert(typing.get_args(hint)[1], item, f"{where}.{name}") for name, item in value.items()}
    if hint is float:
        return _number(value, where)
    expected = origin if isinstance(origin, type) else hint
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise InvalidValueError(f"{where} must be {expected.__name__}, got {value!r:.60}")
    return value


def _items(hints: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    """Return a tuple of one type and any length (hints `T, ...`), or of one value per hint; one value is a list."""
    items = value if isinstance(value, (list, tuple)) else [value]
    if hints[-1] is Ellipsis:
        if hints[0] is int:
            return _whole_numbers(items, value, where)
        return tuple(_convert(hints[0], item, where) for item in items)
    if len(items) != len(hints):
        raise InvalidValueError(f"{where} must hold {len(hints)} values, got {value!r:.60}")
    return tuple(_convert(hint, item, where) for hint, item in zip(hints, items, strict=True))


def _whole_numbers(items: typing.Iterable[Any], value: Any, where: str) -> tuple[int, ...]:
    if not all(isinstance(item, int) and not isinstance(item, bool) for item in items):
        raise InvalidValueError(f"{where} must be whole numbers, got {value!r:.60}")
    return tuple(items)


def _number(value: Any, where: str) -> float:
    """Return a float; a text too, for YAML 1.1 reads 3e-4 as one."""
    try:
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            return float(value)
    except ValueError:
        pass
    raise InvalidValueError(f"{where} must be a number, got {value!r:.60}")
