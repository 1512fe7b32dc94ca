"""From names to environments: a light index of tasks by string, plugins that fill it, and the two entry points.

Nothing here imports a task until it is made. Installed packages add theirs through the entry point group
`grpo_gym.plugins` (`name = "module:function"`); the function calls `register_task` and `register_family`. Its module
imports grpo_gym inside the function: `import grpo_gym` runs it, also while that very module is being imported.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium

from grpo_gym.env import TextEnv
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.mixture import OWN_OPTIONS, Mixture, as_mixture
from grpo_gym.task import Task, env_id
from grpo_gym.vector import GroupVectorEnv

PLUGIN_GROUP = "grpo_gym.plugins"

DATA_OPTIONS = ("dataset", "columns", "preset", "subset")
"""Options of a family that takes its problems from a data set instead of its tasks; JSON values."""

MIX_OPTIONS = ("envs", "schedule")
"""Options of a mixture; JSON values."""


class _Entry(NamedTuple):
    where: str
    version: int


_tasks: dict[str, _Entry] = {}
"""Full task name, "grpo/math.linear" -> "module:attribute" and version."""

_families: dict[str, tuple[str, ...]] = {}
"""Full family name, "grpo/math" -> full names of its tasks."""

_mixtures: dict[str, dict[str, Any]] = {}
"""Full name of a mixture, "grpo/mix" -> the environments that it mixes when none are named."""

_readers: dict[str, str] = {}
"""Full family name -> "module:function" that makes tasks of a data set, for the families that take one."""

_loaded: dict[str, Task] = {}
"""Tasks that were imported or given."""


def register_task(name: str, entry: str | Task, *, namespace: str = "grpo", version: int = 0) -> str:
    """Register a task under a name and return its environment id. Doing it again changes nothing and warns of nothing.

    Args:
        name: Task name, "math.mini_sudoku".
        entry: "module:attribute" of a Task, imported when it is first made; or the Task itself, which other processes
            then cannot make by its id.
        namespace: "grpo" is ours; use your own.
        version: The task's version.

    Raises:
        InvalidValueError: The Task has another name, namespace or version.
    """
    full_name = f"{namespace}/{name}"
    new = _Entry("the Task given" if isinstance(entry, Task) else entry, version)
    if isinstance(entry, Task):
        _loaded[full_name] = _checked(entry, full_name, new)
    else:
        _loaded.pop(full_name, None)
    known, _tasks[full_name] = _tasks.get(full_name), new
    identifier = env_id(name, namespace, version)
    return identifier if known == new else _register(identifier, full_name)


def register_family(
    name: str, tasks: Sequence[str], *, namespace: str = "grpo", version: int = 0, dataset: str = ""
) -> str:
    """Register a mixture of tasks under a family name ("math" -> "grpo/Math-v0") and return its environment id.

    Args:
        name: Family name.
        tasks: Names of its tasks.
        namespace: "grpo" is ours; use your own.
        version: The family's version.
        dataset: "module:function" that makes tasks of a data set, `(dataset, columns, preset, subset) -> list of Task`,
            so that `gym.make(id, dataset=...)` works; empty for a family without.
    """
    full_name = f"{namespace}/{name}"
    if dataset:
        _readers[full_name] = dataset
    new = tuple(f"{namespace}/{task}" for task in tasks)
    known, _families[full_name] = _families.get(full_name), new
    identifier = env_id(name, namespace, version)
    return identifier if known == new else _register(identifier, full_name)


def register_mixture(name: str, envs: Mapping[str, Any], *, namespace: str = "grpo", version: int = 0) -> str:
    """Register a mixture of environments ("mix" -> "grpo/Mix-v0") and return its id.

    `gym.make(id, envs={"grpo/Math-v0": 2, ...}, schedule="exact")` mixes others; see `Mixture`.

    Args:
        name: Its name.
        envs: What is mixed when nothing is named: environment id -> weight, or a mapping as in `Mixture.of`.
        namespace: "grpo" is ours; use your own.
        version: The mixture's version.
    """
    full_name = f"{namespace}/{name}"
    known, _mixtures[full_name] = _mixtures.get(full_name), dict(envs)
    identifier = env_id(name, namespace, version)
    return identifier if known == envs else _register(identifier, full_name)


def registered_ids() -> list[str]:
    """Return the ids that this registry knows: families, mixtures, tasks."""
    known = {**_families, **_mixtures, **_tasks}
    specs = gymnasium.registry.values()
    ids = {spec.kwargs["name"]: spec.id for spec in specs if spec.kwargs.get("name") in known and _is_ours(spec)}
    return [ids[name] for name in known if name in ids]


def load_tasks(full_name: str) -> list[Task]:
    """Return the tasks behind the full name of a task, family or mixture, imported now. Raises UnknownNameError."""
    if full_name in _families:
        return [_load(name) for name in _families[full_name]]
    if full_name in _mixtures:
        return list(Mixture.of(_mixtures[full_name]).tasks.values())
    if full_name not in _tasks:
        raise UnknownNameError("task or family", full_name, [*_families, *_tasks])
    return [_load(full_name)]


def tasks_of(identifier: str, options: Mapping[str, Any] | None = None) -> list[Task]:
    """Return the tasks behind an environment id, e.g. "grpo/Math-v0".

    Args:
        identifier: The id.
        options: Those of `gym.make` that decide about tasks: a mixture's `envs`, what names a data set.

    Raises:
        UnknownNameError: An id or option that does not exist.
        InvalidValueError: An option that decides about something else.
    """
    name, options = _name_of(identifier), dict(options or {})
    _check_options(TextEnv.__init__, options, name)
    tasks = list(_chosen(name, options).tasks.values())
    for option in options:
        raise InvalidValueError(f"{option} does not change what tasks {identifier} has: leave it out")
    return tasks


def mixed_by(identifier: str) -> dict[str, Any]:
    """Return what an id mixes when nothing is named, environment id -> weight; empty for one that is no mixture."""
    return dict(_mixtures.get(_name_of(identifier), {}))


def tasks_with(identifier: str, options: dict[str, Any]) -> list[Task]:
    """Return the tasks that an id brings into a mixture.

    Args:
        identifier: A family's or a task's id.
        options: Those that name a data set.

    Raises:
        UnknownNameError: An id or option that does not exist.
        InvalidValueError: A mixture within a mixture, or options that do not fit.
    """
    name = _name_of(identifier)
    if name in _mixtures:
        raise InvalidValueError(f"{identifier} is a mixture itself: name the environments that are to be in it")
    offered = [*OWN_OPTIONS, *(DATA_OPTIONS if name in _readers else ())]
    for option in options:
        if option in _options_of(TextEnv.__init__):
            raise InvalidValueError(f"{option} holds for the whole mixture: give it beside envs, not for {identifier}")
        if option not in DATA_OPTIONS:
            raise UnknownNameError(f"option of {identifier} in envs", option, offered)
    _check_options(TextEnv.__init__, options, name)
    return list(_chosen(name, dict(options)).tasks.values())


def make_env(name: str, **options: Any) -> TextEnv:
    """Entry point of every registered id. Raises UnknownNameError for an option that does not exist."""
    _check_options(TextEnv.__init__, options, name)
    return TextEnv(_chosen(name, options), name=name, **options)


make_env.metadata = TextEnv.metadata  # type: ignore[attr-defined]  # gym.make looks here for render modes ("ansi_list")


def make_vector_env(name: str, num_envs: int = 1, **options: Any) -> GroupVectorEnv:
    """Vector entry point of every registered id. Raises UnknownNameError for an option that does not exist."""
    _check_options(GroupVectorEnv.__init__, options, name)
    return GroupVectorEnv(_chosen(name, options), name=name, num_envs=num_envs, **options)


def load_plugins() -> None:
    """Run the registration function of every installed plugin. One that fails is one warning, never a broken import."""
    for entry in importlib.metadata.entry_points(group=PLUGIN_GROUP):
        try:
            register: Callable[[], None] = entry.load()
            register()
        except Exception as error:
            circular = "partially initialized" in str(error)
            hint = "; import grpo_gym inside the function, not at the top of its module" if circular else ""
            warnings.warn(
                f"the grpo-gym plugin {entry.name!r} ({entry.value}) failed and is left out: "
                f"{type(error).__name__}: {error}{hint}",
                stacklevel=2,
            )


def _chosen(name: str, options: dict[str, Any]) -> Mixture:
    """Return what a name stands for, or the mixture or data set in the options, which are taken out."""
    if name in _mixtures:
        envs = options.pop("envs", None)
        return Mixture.of(_mixtures[name] if envs is None else envs, options.pop("schedule", "sampled"))
    given = {option: options.pop(option) for option in DATA_OPTIONS if option in options}
    if given.get("dataset") is None:
        if lonely := [option for option in given if given[option] is not None]:
            raise InvalidValueError(f"{lonely[0]} says how the rows of a data set are read: give dataset= as well")
        return as_mixture(load_tasks(name))
    module, _, function = _readers[name].partition(":")
    return as_mixture(getattr(importlib.import_module(module), function)(**given))


def _load(full_name: str) -> Task:
    if full_name not in _loaded:
        entry = _tasks[full_name]
        module, _, attribute = entry.where.partition(":")
        found = getattr(importlib.import_module(module), attribute, None)
        _loaded[full_name] = _checked(found, full_name, entry)
    return _loaded[full_name]


def _checked(found: object, full_name: str, entry: _Entry) -> Task:
    if not isinstance(found, Task):
        raise InvalidValueError(f"{entry.where} is registered as {full_name} but is no Task: {found!r:.80}")
    if found.full_name != full_name or found.version != entry.version:
        raise InvalidValueError(
            f"{entry.where} is registered as {full_name} version {entry.version} but is {found.full_name} version "
            f"{found.version}: register a Task under its own name, namespace and version"
        )
    return found


def _register(identifier: str, full_name: str) -> str:
    gymnasium.register(
        identifier,
        entry_point="grpo_gym.registration:make_env",
        vector_entry_point="grpo_gym.registration:make_vector_env",
        kwargs={"name": full_name},
    )
    return identifier


def _full_name(identifier: str) -> str:
    return str(gymnasium.spec(identifier).kwargs["name"])


def _name_of(identifier: str) -> str:
    """Return the full name behind an id of ours.

    Raises:
        UnknownNameError: An id that does not exist; names the nearest.
        InvalidValueError: An id of others, or one with a weight stuck to it.
    """
    ids = registered_ids()
    if identifier in ids:
        return _full_name(identifier)
    if identifier in gymnasium.registry:
        raise InvalidValueError(
            f"{identifier} is registered with Gymnasium, but not with grpo-gym: there are no tasks and tiers in it"
        )
    before, _, after = identifier.rpartition(":")
    if before in ids:
        raise InvalidValueError(
            f"{identifier!r} is no environment, {before!r} is: YAML wants a blank behind the colon, {before}: {after}"
        )
    raise UnknownNameError("environment", identifier, ids)


def _is_ours(spec: Any) -> bool:
    return bool(spec.entry_point == "grpo_gym.registration:make_env")


def _options_of(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "tasks", "name")]


def _check_options(function: Callable[..., Any], options: dict[str, Any], full_name: str) -> None:
    known = _options_of(function)
    known += DATA_OPTIONS if full_name in _readers else ()
    known += MIX_OPTIONS if full_name in _mixtures else ()
    for option in options:
        if option == "curriculum" and option not in known:
            raise InvalidValueError(
                "a single environment has no groups to learn from: wrap it, "
                "grpo_gym.curriculum.CurriculumWrapper(env, curriculum), or use gym.make_vec"
            )
        if option in DATA_OPTIONS and option not in known:
            takers = ", ".join(i for i in registered_ids() if _full_name(i) in _readers)
            raise InvalidValueError(
                f"{full_name} takes no {option}: data sets are read by {takers or 'no environment'}"
            )
        if option not in known:
            offered = [name for name in known if name not in ("num_envs", "group_size")]  # make_vec's and the trainer's
            raise UnknownNameError("environment option", option, offered)
