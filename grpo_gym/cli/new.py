"""`grpo-gym new family.task`: the first lines of a task that runs as it is, and what to do with it next."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from grpo_gym.cli.live import program
from grpo_gym.cli.options import parse
from grpo_gym.cli.scaffold import Home, find_home, texts
from grpo_gym.cli.terminal import plain, terminal
from grpo_gym.task import env_id


@dataclass(frozen=True)
class Options:
    """Write a new task: into this repository, into a package of your own, or into a package that is made for it."""

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FAMILY.TASK")]
    """Its name in lower case, for instance math.doubling."""
    kind: Literal["number", "word"] = "number"
    """What an answer is: a number (compared exactly, 1/2 is 0.5), or a word."""
    package: str = ""
    """Package of your own in the current folder, made if need be; empty: the nearest home above, else FAMILY-tasks."""


def run(arguments: list[str]) -> int:
    """Write the files and say what comes next."""
    options = parse(Options, "new", arguments)
    folder = Path(os.path.abspath(os.curdir))
    home = find_home(options.name, options.package, folder)
    written = texts(home, options.name, options.kind)
    old = {path for path in written if path.exists()}
    _write(home, written)
    screen = terminal()
    for path in written:
        screen.print(plain(f"{'added to' if path in old else 'wrote'} {_near(path, folder)}"))
    for line in _next(home, options.name, folder):
        screen.print(plain(line))
    return 0


def _write(home: Home, written: Mapping[Path, str]) -> None:
    """Write a package as a whole, or a task's files and then the index that names it."""
    from grpo_agents.atomic import new_folder
    from grpo_agents.files import write_text, writing

    if home.package:
        with writing(home.root), new_folder(home.root) as fresh:
            for path, text in written.items():
                place = fresh / path.relative_to(home.root)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
        return
    for path, text in written.items():  # the index is the last
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)


def _next(home: Home, name: str, folder: Path) -> list[str]:
    """Return what to do now, line by line."""
    identifier, start = env_id(name, home.namespace), program()
    lines = [
        f"{start} sample {identifier} -n 3 --answers",
        f"{start} play {identifier}",
        f"{start} check {identifier}",
    ]
    if home.is_repository:
        lines += ["python -m tests.gym.golden", "make test"]
    else:
        if home.package:
            where = shlex.quote(str(home.root.relative_to(folder)))
            lines = [f"cd {where}", "pip install -e '.[test]'", *lines]
        lines.append("pytest")
    lines.append(f"{start} train --env {identifier} --steps 10")
    told = [f"it runs as it is: edit {_near(home.file, folder)}, then", *(f"  {line}" for line in lines)]
    if home.is_repository:
        told.append(_alone(name))
    return told


def _alone(name: str) -> str:
    family = env_id(name.partition(".")[0])
    return (
        f"The task is an id of its own and no part of a mixture such as {family}: "
        "a mixture with one more task has other problems, which is a new version."
    )


def _near(path: Path, folder: Path) -> Path:
    """Return a path as seen from a folder, where it lies below it."""
    return path.relative_to(folder) if path.is_relative_to(folder) else path
