"""From what a caller names to the thing under check: an id, a Task, `module:attribute`, a reward of others.

A `Subject` is a picklable description; it is opened in the child process, so that no foreign code is imported here.
"""

from __future__ import annotations

import importlib
import pickle
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium

from grpo_gym.checks.target import Target, TaskTarget
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.importing import see_current_folder
from grpo_gym.registration import registered_ids, tasks_of
from grpo_gym.task import Task

_ENV_ID = re.compile(r"(?:[\w.-]+/)?[\w.-]+-v\d+")


@dataclass(frozen=True)
class Subject:
    """What to check.

    Attributes:
        spec: An environment id, "module:id", "module:attribute", or "reasoning_gym:name".
        task: A pickled Task, when one was given.
        style: How a function of others is called: auto, plain, trl or verl.
        cases: A file of problems and references for such a function.
        args: Options of `gym.make` that decide about the tasks of a registered id.
    """

    spec: str
    task: bytes | None = None
    style: str = "auto"
    cases: Path | None = None
    args: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        subject: str | Task,
        style: str = "auto",
        cases: str | Path | None = None,
        args: Mapping[str, Any] | None = None,
    ) -> Subject:
        """Return the description of what a caller named.

        Raises:
            InvalidValueError: A Task that no child can load, or options for something that is no registered id.
        """
        if args and (isinstance(subject, Task) or subject not in registered_ids()):
            raise InvalidValueError(f"options of gym.make are for registered ids, and {subject!r:.80} is none")
        if isinstance(subject, Task):
            try:
                packed = pickle.dumps(subject)
            except Exception as error:
                raise InvalidValueError(
                    f"the task {subject.name} cannot be sent to the process that checks it ({error}): "
                    "define its functions at the top of a module"
                ) from error
            return cls(subject.env_id, packed)
        return cls(subject, style=style, cases=None if cases is None else Path(cases).resolve(), args=args or {})

    def open(self) -> Target:
        """Return the thing under check, imported now. Raises GrpoGymError when there is none."""
        return self.find()[1]()

    def find(self) -> tuple[bool, Callable[[], Target]]:
        """Return whether its code comes from outside the registry, and what opens it, which may call that code.

        Raises:
            GrpoGymError: There is no such thing.
        """
        if self.task is not None:
            given = pickle.loads(self.task)
            return False, lambda: TaskTarget(self.spec, [given])
        module, _, name = self.spec.rpartition(":")
        if module == "reasoning_gym":
            from grpo_gym.checks.foreign.reasoning_gym import target_of_dataset

            return True, lambda: target_of_dataset(name)
        if module:
            see_current_folder()
            found = _import(module, self.spec)
            if not _ENV_ID.fullmatch(name):
                return self._attribute(found, name)
        return self._environment(name)

    def _environment(self, identifier: str) -> tuple[bool, Callable[[], Target]]:
        ours = registered_ids()
        if identifier in ours:
            return False, lambda: TaskTarget(identifier, tasks_of(identifier, self.args))
        if identifier not in gymnasium.registry:
            raise UnknownNameError("environment", identifier, ours)
        from grpo_gym.checks.foreign.environments import EnvTarget

        return True, lambda: EnvTarget(identifier)

    def _attribute(self, module: Any, name: str) -> tuple[bool, Callable[[], Target]]:
        if not hasattr(module, name):
            raise UnknownNameError(f"attribute of {module.__name__}", name, [n for n in vars(module) if n[0] != "_"])
        found = getattr(module, name)
        if isinstance(found, Task):
            return False, lambda: TaskTarget(found.env_id, [found])
        from grpo_gym.checks.foreign.functions import target_of_function

        return True, lambda: target_of_function(self.spec, self.style, self.cases)


def _import(module: str, spec: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InvalidValueError(f"cannot import the module of {spec!r}: {error}") from error
