"""What `grpo-gym new` writes, and where. The texts stand beside this file as templates; nothing is ever overwritten.

A task goes to the nearest home above the current folder: this repository (found by its index of tasks), or a package of
one's own (found by its entry point for plugins). Where there is none, a package is made. Each home has an index, a
module whose TASKS name every task by a string; a new task is one new file and one new line there.
"""

from __future__ import annotations

import ast
import importlib.util
import keyword
import re
import sys
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from grpo_gym import __version__
from grpo_gym.errors import InvalidValueError
from grpo_gym.registration import PLUGIN_GROUP, registered_ids
from grpo_gym.task import env_id

REPOSITORY_INDEX = Path("envs/grpo_envs/index.py")
_WORD = "[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*"
_TAKEN = {"task", "tests", "grpo_gym", "grpo_rewards", "grpo_envs", "grpo_agents"}
"""Names that a generated file uses itself, or that are packages already."""


@dataclass(frozen=True)
class Home:
    """Where a task goes.

    Attributes:
        root: Folder of the repository or package.
        index: The file whose TASKS name the tasks.
        file: The task's file.
        module: The task's module, dotted.
        namespace: Of its environment id.
        package: Import name of a package that has to be made first; "" for what is there already.
    """

    root: Path
    index: Path
    file: Path
    module: str
    namespace: str
    package: str = ""

    @property
    def is_repository(self) -> bool:
        """Whether this is grpo-gym's own repository."""
        return self.index == self.root / REPOSITORY_INDEX


@dataclass(frozen=True)
class Index:
    """A module that names tasks: its text, its TASKS, and where they stand in it."""

    path: Path
    text: str
    tasks: dict[str, str]
    namespace: str
    node: ast.Dict

    @classmethod
    def read(cls, path: Path) -> Index:
        """Read an index. Raises InvalidValueError for a file without a plain TASKS dictionary."""
        text = path.read_text(encoding="utf-8")
        try:
            values = _assigned(text)
            node = values["TASKS"]
            tasks = ast.literal_eval(node)
            namespace = ast.literal_eval(values["NAMESPACE"]) if "NAMESPACE" in values else "grpo"
        except (SyntaxError, ValueError, KeyError) as error:
            raise InvalidValueError(f"{path} has no plain TASKS dictionary ({error}): {_BY_HAND}") from error
        if not isinstance(node, ast.Dict) or not node.keys or not isinstance(namespace, str):
            raise InvalidValueError(f"{path} has no plain TASKS dictionary with a task in it: {_BY_HAND}")
        return cls(path, text, tasks, namespace, node)

    def with_task(self, name: str, entry: str) -> str:
        """Return the text with one more task, behind those of its family. Raises InvalidValueError."""
        family = name.partition(".")[0]
        ends = [(known, value.end_lineno or 0) for known, value in zip(self.tasks, self.node.values, strict=True)]
        relatives = [end for known, end in ends if known.partition(".")[0] == family]
        lines = self.text.splitlines(keepends=True)
        lines.insert(max(relatives or [end for _, end in ends]), f'    "{name}": "{entry}",\n')
        text = "".join(lines)
        try:
            whole = ast.literal_eval(_assigned(text)["TASKS"]) == {**self.tasks, name: entry}
        except (SyntaxError, ValueError):
            whole = False
        if not whole:
            raise InvalidValueError(f"the TASKS of {self.path} are written in an unusual way: {_BY_HAND}")
        return text


_BY_HAND = "write the task's file and its line by hand, as CONTRIBUTING.md shows"


def _assigned(text: str) -> dict[str, Any]:
    """Return what a module assigns to names at its top, as nodes."""
    values: dict[str, Any] = {}
    for statement in ast.parse(text).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        values |= {target.id: getattr(statement, "value", None) for target in targets if isinstance(target, ast.Name)}
    return values


def check_name(name: str) -> tuple[str, str]:
    """Return family and task of a name. Raises InvalidValueError for one that makes no id or no Python."""
    if not re.fullmatch(rf"{_WORD}\.{_WORD}", name):
        raise InvalidValueError(f"task name {name!r}: use family.task in lower case, e.g. 'math.mini_sudoku'")
    family, _, task = name.partition(".")
    for part in (family, task):
        if keyword.iskeyword(part) or part in _TAKEN:
            raise InvalidValueError(f"task name {name!r}: {part!r} is taken by Python or grpo-gym, choose another word")
    return family, task


def find_home(name: str, package: str, folder: Path) -> Home:
    """Return where a task goes.

    Args:
        name: Task name, family.task.
        package: Name of a package of one's own in `folder`; "" for the nearest home above it.
        folder: Where the search begins.

    Raises:
        InvalidValueError: A bad name, or a home that cannot take the task.
    """
    family, task = check_name(name)
    if package:
        return _package_home(folder, package, family, task)
    for above in (folder, *folder.parents):
        if (above / REPOSITORY_INDEX).is_file():
            file = above / REPOSITORY_INDEX.parent / family / f"{task}.py"
            return Home(above, above / REPOSITORY_INDEX, file, f"grpo_envs.{family}.{task}", "grpo")
        if index := _plugin_index(above):
            return _plugin_home(above, index, family, task)
    return _package_home(folder, f"{family}-tasks".replace("_", "-"), family, task)


def _package_home(folder: Path, distribution: str, family: str, task: str) -> Home:
    """Return a named package in a folder: the one that is there, or one to be made."""
    if not re.fullmatch(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*", distribution):
        raise InvalidValueError(f"package {distribution!r}: use a name in lower case, e.g. 'my-tasks', and no path")
    root, package = folder / distribution, distribution.replace("-", "_")
    if index := _plugin_index(root):
        return _plugin_home(root, index, family, task)
    if root.exists():
        raise InvalidValueError(f"{root} is there already and holds no tasks: choose another name (--package)")
    if keyword.iskeyword(package) or package in {*sys.stdlib_module_names, *_TAKEN} or _is_installed(package):
        raise InvalidValueError(
            f"package {distribution!r}: a module {package} exists already, choose another name (--package)"
        )
    module = f"{family}_{task}"
    return Home(
        root, root / package / "__init__.py", root / package / f"{module}.py", f"{package}.{module}", package, package
    )


def _plugin_home(root: Path, index: Path, family: str, task: str) -> Home:
    file = index.parent / f"{family}_{task}.py"
    module = ".".join(file.relative_to(root).with_suffix("").parts)
    return Home(root, index, file, module, Index.read(index).namespace)


def _plugin_index(folder: Path) -> Path | None:
    """Return the module that a package's entry point for plugins names, None where there is no such package."""
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        (entry,) = project["entry-points"][PLUGIN_GROUP].values()
        path = folder.joinpath(*entry.partition(":")[0].split("."))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def texts(home: Home, name: str, kind: str) -> dict[Path, str]:
    """Return every file to write with its text; only the index may be there already.

    Raises:
        InvalidValueError: The task or its file is there already, or the index cannot take it.
    """
    task = name.partition(".")[2]
    identifier = env_id(name, home.namespace)
    if identifier in registered_ids():
        raise InvalidValueError(f"there is an environment {identifier} already: choose another name")
    if home.file.exists():
        raise InvalidValueError(f"{home.file} is there already: choose another name, nothing is overwritten")
    entry = f"{home.module}:{task}"
    label = f'"{name}",' + ("" if home.is_repository else f'\n    namespace="{home.namespace}",')
    written = {home.file: render(kind, label=label, attribute=task)}
    if home.package:
        return written | _package_texts(home, name, entry, identifier)
    if home.is_repository and not (home.file.parent / "__init__.py").exists():
        family = name.partition(".")[0].replace("_", " ")
        written[home.file.parent / "__init__.py"] = f'"""Tasks of the family {family}, one file each."""\n'
    return written | {home.index: _more(home.index, name, entry)}


def _more(path: Path, name: str, entry: str) -> str:
    index = Index.read(path)
    if name in index.tasks:
        raise InvalidValueError(f"{path} names a task {name} already: choose another name")
    return index.with_task(name, entry)


def _package_texts(home: Home, name: str, entry: str, identifier: str) -> dict[Path, str]:
    values = {
        "distribution": home.root.name,
        "package": home.package,
        "name": name,
        "entry": entry,
        "identifier": identifier,
        "version": __version__,
    }
    places = {
        "init": home.index,
        "pyproject": home.root / "pyproject.toml",
        "readme": home.root / "README.md",
        "test_tasks": home.root / "tests" / "test_tasks.py",
    }
    return {path: render(template, **values) for template, path in places.items()}


def render(template: str, **values: str) -> str:
    """Return a template with its values filled in."""
    text = files("grpo_gym.cli.scaffold").joinpath(f"{template}.txt").read_text(encoding="utf-8")
    return Template(text).substitute(values)
