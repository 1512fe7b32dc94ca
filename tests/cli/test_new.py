"""`new`: a task that runs as it is, in this repository and in a package of one's own, as CONTRIBUTING tells it."""

from __future__ import annotations

import ast
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import Procedural, Task
from grpo_gym.cli.scaffold import check_name, render
from grpo_gym.errors import InvalidValueError
from tests.cli.conftest import ROOT, Cli

LINES = 25
"""A generated task file has at most so many."""
KINDS = ("number", "word")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder in which there is nothing."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def repository(elsewhere: Path) -> Path:
    """A current folder deep in a repository that has our index."""
    index = elsewhere / "repo" / "envs" / "grpo_envs" / "index.py"
    (index.parent / "math").mkdir(parents=True)
    (index.parent / "math" / "__init__.py").write_text('"""Maths."""\n')
    shutil.copy(ROOT / "envs" / "grpo_envs" / "index.py", index)
    os.chdir(index.parent / "math")
    return elsewhere / "repo"


def tree(folder: Path) -> dict[str, str]:
    """Every file below a folder with its text."""
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def tasks_of_index(path: Path) -> dict[str, str]:
    """The TASKS of an index, read without importing it."""
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "TASKS":
            found: dict[str, str] = ast.literal_eval(statement.value)
            return found
    raise AssertionError(f"{path} has no TASKS")


def loaded(text: str, attribute: str) -> Task:
    """The task that a generated file makes."""
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, "generated.py", "exec"), names)
    made = names[attribute]
    assert isinstance(made, Task)
    return made


# --- the file


@pytest.mark.parametrize("kind", KINDS)
def test_a_generated_task_fits_a_screen_and_its_worked_solutions_are_right(kind: str) -> None:
    text = render(kind, label='"animals.legs",\n    namespace="zoo",', attribute="legs")
    made = loaded(text, "legs")
    problems = [made.problem(tier, "test", seed, 0) for tier in made.tiers for seed in range(30)]

    assert text.count("\n") <= LINES
    assert text.endswith(")\n")
    assert made.full_name == "zoo/animals.legs"
    for problem in problems:
        assert made.reward.score(problem.solution or "", problem)
        assert made.reward.score(made.answer(problem), problem)
        assert not made.reward.score(problem.prompt, problem)


@pytest.mark.parametrize("kind", KINDS)
def test_its_tiers_hold_2000_problems_and_get_harder(kind: str) -> None:
    made = loaded(render(kind, label='"a.b",', attribute="b"), "b")
    lengths = []
    for tier in made.tiers:
        problems = [made.problem(tier, "train", seed, 0) for seed in range(2_500)]
        lengths.append(sum(len(problem.solution or "") for problem in problems))
        assert len({problem.content for problem in problems}) >= 2_000
    assert lengths == sorted(set(lengths))


# --- in this repository


def test_in_the_repository_it_is_one_file_and_one_line_with_its_family(cli: Cli, repository: Path) -> None:
    index = repository / "envs" / "grpo_envs" / "index.py"
    before, lines = tasks_of_index(index), index.read_text().splitlines()
    said = cli("new", "math.doubling")
    added = '    "math.doubling": "grpo_envs.math.doubling:doubling",'
    after = index.read_text().splitlines()
    place = after.index(added)

    assert (said.code, said.err) == (0, "")
    assert tasks_of_index(index) == {**before, "math.doubling": "grpo_envs.math.doubling:doubling"}
    assert [line for line in after if line != added] == lines
    assert '"math.' in after[place - 1]
    assert '"math.' not in after[place + 1]
    text = (repository / "envs" / "grpo_envs" / "math" / "doubling.py").read_text()
    assert loaded(text, "doubling").env_id == "grpo/Math.Doubling-v0"
    assert "wrote doubling.py" in said.out
    assert f"added to {index}" in said.out
    for command in ("sample", "play", "check", "train --env"):
        assert f"grpo-gym {command} grpo/Math.Doubling-v0" in said.out
    assert "python -m tests.gym.golden" in said.out
    assert "no part of a mixture such as grpo/Math-v0" in said.out
    assert set(tree(repository)) == {
        *("envs/grpo_envs/index.py", "envs/grpo_envs/math/__init__.py", "envs/grpo_envs/math/doubling.py")
    }


def test_a_new_family_gets_its_package(cli: Cli, repository: Path) -> None:
    assert cli("new", "card_games.bridge", "--kind", "word").code == 0
    folder = repository / "envs" / "grpo_envs" / "card_games"

    assert (folder / "__init__.py").read_text() == '"""Tasks of the family card games, one file each."""\n'
    assert "ExactReward" in (folder / "bridge.py").read_text()
    assert list(tasks_of_index(folder.parent / "index.py"))[-1] == "card_games.bridge"


def test_a_package_can_be_made_inside_the_repository_too(cli: Cli, repository: Path) -> None:
    before = (repository / "envs" / "grpo_envs" / "index.py").read_text()
    assert cli("new", "zoo.legs", "--package", "zoo-tasks").code == 0

    assert (Path.cwd() / "zoo-tasks" / "zoo_tasks" / "zoo_legs.py").exists()
    assert (repository / "envs" / "grpo_envs" / "index.py").read_text() == before


@pytest.mark.parametrize(
    "text", ["TASKS = dict(a=1)\n", "TASKS = {}\n", "x = 1\n", "TASKS = {'a.b': 'c:d'}\n", "TASKS = ("]
)
def test_an_index_that_is_written_otherwise_is_left_alone(cli: Cli, repository: Path, text: str) -> None:
    index = repository / "envs" / "grpo_envs" / "index.py"
    index.write_text(text)
    said = cli("new", "math.doubling")

    assert said.code == 2
    assert "by hand, as CONTRIBUTING.md shows" in said.err
    assert index.read_text() == text
    assert not (index.parent / "math" / "doubling.py").exists()


# --- a package of one's own


def test_elsewhere_it_makes_a_package(cli: Cli, elsewhere: Path) -> None:
    said = cli("new", "animals.legs", "--package", "zoo-tasks")
    root = elsewhere / "zoo-tasks"
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]

    assert (said.code, said.err) == (0, "")
    assert set(tree(elsewhere)) == {
        *("zoo-tasks/pyproject.toml", "zoo-tasks/README.md", "zoo-tasks/tests/test_tasks.py"),
        *("zoo-tasks/zoo_tasks/__init__.py", "zoo-tasks/zoo_tasks/animals_legs.py"),
    }
    assert project["entry-points"]["grpo_gym.plugins"] == {"zoo_tasks": "zoo_tasks:register"}
    assert tasks_of_index(root / "zoo_tasks" / "__init__.py") == {"animals.legs": "zoo_tasks.animals_legs:legs"}
    text = (root / "zoo_tasks" / "animals_legs.py").read_text()
    assert loaded(text, "legs").env_id == "zoo_tasks/Animals.Legs-v0"
    assert "cd zoo-tasks" in said.out
    assert not any("$" in text for text in tree(elsewhere).values())


def test_without_a_name_the_package_is_called_after_the_family(cli: Cli, elsewhere: Path) -> None:
    assert cli("new", "card_games.bridge").code == 0

    assert (elsewhere / "card-games-tasks" / "card_games_tasks" / "card_games_bridge.py").exists()


def test_a_second_task_goes_into_the_package_around(cli: Cli, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("new", "animals.legs", "--package", "zoo-tasks")
    before = tree(elsewhere)
    monkeypatch.chdir(elsewhere / "zoo-tasks" / "tests")
    first = cli("new", "animals.names", "--kind", "word")
    monkeypatch.chdir(elsewhere)
    second = cli("new", "plants.leaves", "--package", "zoo-tasks")
    after = tree(elsewhere)

    assert (first.code, second.code) == (0, 0)
    assert "pip install" not in first.out
    assert list(tasks_of_index(elsewhere / "zoo-tasks" / "zoo_tasks" / "__init__.py").items()) == [
        ("animals.legs", "zoo_tasks.animals_legs:legs"),
        ("animals.names", "zoo_tasks.animals_names:names"),
        ("plants.leaves", "zoo_tasks.plants_leaves:leaves"),
    ]
    assert set(after) - set(before) == {f"zoo-tasks/zoo_tasks/{name}.py" for name in ("animals_names", "plants_leaves")}
    changed = {path for path in before if before[path] != after[path]}
    assert changed == {"zoo-tasks/zoo_tasks/__init__.py"}


def test_the_namespace_of_a_package_is_the_one_in_its_index(cli: Cli, elsewhere: Path) -> None:
    cli("new", "animals.legs", "--package", "zoo-tasks")
    index = elsewhere / "zoo-tasks" / "zoo_tasks" / "__init__.py"
    index.write_text(index.read_text().replace('NAMESPACE = "zoo_tasks"', 'NAMESPACE = "zoo"'))
    said = cli("new", "animals.names", "--package", "zoo-tasks")

    assert "grpo-gym check zoo/Animals.Names-v0" in said.out
    assert 'namespace="zoo"' in (index.parent / "animals_names.py").read_text()


# --- refusals


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("legs",), "task name 'legs': use family.task in lower case"),
        (("Animals.legs",), "task name 'Animals.legs': use family.task"),
        (("a.b.c",), "task name 'a.b.c': use family.task"),
        (("animals.1",), "task name 'animals.1': use family.task"),
        (("../x.y",), "task name '../x.y': use family.task"),
        (("animals.lambda",), "task name 'animals.lambda': 'lambda' is taken by Python"),
        (("class.legs",), "task name 'class.legs': 'class' is taken"),
        (("animals.task",), "task name 'animals.task': 'task' is taken"),
        (("animals.legs", "--package", "Zoo"), "package 'Zoo': use a name in lower case"),
        (("animals.legs", "--package", "../zoo"), "package '../zoo': use a name in lower case"),
        (("animals.legs", "--package", "json"), "package 'json': a module json exists already"),
        (("animals.legs", "--package", "numpy"), "package 'numpy': a module numpy exists already"),
        (("animals.legs", "--package", "grpo-envs"), "package 'grpo-envs': a module grpo_envs exists already"),
        (("animals.legs", "--package", "full"), "{}/full is there already and holds no tasks"),
        (("animals.legs", "--kind", "nubmer"), "unknown value of --kind 'nubmer'; did you mean 'number'?"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    cli: Cli, elsewhere: Path, words: tuple[str, ...], message: str
) -> None:
    (elsewhere / "full").mkdir()
    (elsewhere / "full" / "mine.txt").write_text("mine")
    said = cli("new", *words)

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: " + message.format(elsewhere))
    assert said.err.count("\n") == 1
    assert tree(elsewhere) == {"full/mine.txt": "mine"}


def test_an_id_that_is_registered_is_refused(cli: Cli, repository: Path) -> None:
    (repository / "envs" / "grpo_envs" / "index.py").write_text("TASKS = {\n    'a.b': 'c:d',\n}\n")
    said = cli("new", "math.gcd")

    assert said.err == "error: there is an environment grpo/Math.Gcd-v0 already: choose another name\n"


def test_a_file_that_is_there_is_never_overwritten(cli: Cli, repository: Path) -> None:
    file = repository / "envs" / "grpo_envs" / "math" / "doubling.py"
    file.write_text("mine")
    said = cli("new", "math.doubling")

    assert said.err == f"error: {file} is there already: choose another name, nothing is overwritten\n"
    assert file.read_text() == "mine"
    assert "doubling" not in (repository / "envs" / "grpo_envs" / "index.py").read_text()


def test_a_task_that_the_index_names_is_refused(cli: Cli, elsewhere: Path) -> None:
    cli("new", "animals.legs", "--package", "zoo-tasks")
    (elsewhere / "zoo-tasks" / "zoo_tasks" / "animals_legs.py").unlink()
    said = cli("new", "animals.legs", "--package", "zoo-tasks")

    assert said.code == 2
    assert "names a task animals.legs already" in said.err


def test_a_package_appears_whole_or_not_at_all(cli: Cli, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, text: str, **_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    said = cli("new", "animals.legs")

    assert said.code == 2
    assert "cannot write " in said.err
    assert "No space left on device" in said.err
    assert list(elsewhere.iterdir()) == []


@given(st.from_regex(r"[a-z0-9_.A-Z]{1,12}", fullmatch=True))
def test_every_name_it_takes_is_one_that_a_task_takes(name: str) -> None:
    try:
        family, task = check_name(name)
    except InvalidValueError:
        return
    assert Task(name, Procedural(lambda rng, tier: None), lambda response, problem: 0.0).name == f"{family}.{task}"  # type: ignore[arg-type,return-value]
