"""Names and ids: the light index says what the modules hold, plugins cannot break an import, users add their own."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import subprocess
import sys
import warnings
from types import SimpleNamespace
from typing import Any

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grpo_envs
from grpo_envs.index import FAMILIES, MIX, TASKS, register
from grpo_gym import Problem, Rng, Task, register_family, register_task, registered_ids, task
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.registration import load_plugins, load_tasks, tasks_of
from grpo_gym.task import env_id, task_name
from tests.shared import product_ids

pytestmark = pytest.mark.usefixtures("own_names")


def doubling(**fields: Any) -> Task:
    @task("demo.doubling", reward=lambda response, problem: response == problem.reference, **fields)
    def made(rng: Rng, tier: int) -> Problem:
        n = rng.integer(1, 10**6)
        return Problem(f"What is twice {n}?", str(2 * n))

    return made


# --- ours


def test_the_index_names_exactly_the_tasks_that_the_modules_hold():
    found = {}
    for module_info in pkgutil.walk_packages(grpo_envs.__path__, "grpo_envs."):
        module = importlib.import_module(module_info.name)
        for attribute, value in vars(module).items():
            if isinstance(value, Task):
                found[value.name] = f"{module.__name__}:{attribute}"
    assert found == TASKS


def test_a_family_is_made_of_its_own_tasks():
    for names in FAMILIES.values():
        assert len(set(names)) == len(names)
        assert all(name in TASKS for name in names)
        assert len({name.split(".")[0] for name in names}) == 1


def test_every_registered_id_makes_the_task_of_its_name():
    families = {**FAMILIES, "mix": [name for identifier in MIX for name in FAMILIES[task_name(identifier)]]}
    assert set(registered_ids()) >= {env_id(name) for name in (*FAMILIES, *TASKS, "mix")}
    for identifier in product_ids():
        env = gymnasium.make(identifier)
        assert env.spec is not None
        assert env.spec.id == identifier
        name = task_name(identifier)
        tasks = tasks_of(identifier)
        assert [t.name for t in tasks] == families.get(name, [name])


def test_every_task_says_how_to_answer_and_what_it_is():
    for name in TASKS:
        loaded = load_tasks(f"grpo/{name}")[0]
        assert loaded.answer_format
        assert "\n" not in loaded.answer_format


# --- plugins


def test_a_plugin_that_fails_is_one_warning_and_the_others_load(monkeypatch):
    ran = []

    def fail() -> None:
        raise RuntimeError("no licence file")

    plugins = [
        SimpleNamespace(name="absent", value="nowhere:register", load=lambda: importlib.import_module("nowhere")),
        SimpleNamespace(name="failing", value="theirs:register", load=lambda: fail),
        SimpleNamespace(name="good", value="good:register", load=lambda: lambda: ran.append("good")),
    ]
    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda group: plugins if group == "grpo_gym.plugins" else []
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_plugins()
    assert [str(warning.message) for warning in caught] == [
        "the grpo-gym plugin 'absent' (nowhere:register) failed and is left out: ModuleNotFoundError: "
        "No module named 'nowhere'",
        "the grpo-gym plugin 'failing' (theirs:register) failed and is left out: RuntimeError: no licence file",
    ]
    assert ran == ["good"]


@pytest.mark.parametrize("first", ["grpo_envs.index", "grpo_envs.math.chain", "grpo_rewards.math", "grpo_envs"])
def test_the_plugin_loads_whatever_is_imported_first(first):
    program = f"import {first}, gymnasium, grpo_gym; print(gymnasium.make('grpo/Math-v0').reset(seed=1)[1]['split'])"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("train", "")


def test_a_plugin_that_imports_us_too_early_is_told_what_to_do(monkeypatch):
    def partial() -> None:
        raise AttributeError("partially initialized module 'theirs' has no attribute 'register'")

    plugin = SimpleNamespace(name="theirs", value="theirs:register", load=partial)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [plugin])
    with pytest.warns(UserWarning, match="import grpo_gym inside the function, not at the top of its module"):
        load_plugins()


# --- a user's own


def test_a_task_of_ones_own_is_made_by_its_id():
    own = doubling(namespace="me", version=2, default_tiers=(0,))
    identifier = register_task("demo.doubling", own, namespace="me", version=2)
    assert identifier == own.env_id == "me/Demo.Doubling-v2"
    assert identifier in registered_ids()
    env = gymnasium.make(identifier, expose_answer=True)
    _, info = env.reset(seed=1)
    assert env.step(info["answer"])[1] == 1.0
    envs: Any = gymnasium.make_vec(identifier, num_envs=4, group_size=2)
    assert envs.reset(seed=1)[1]["problem_id"][0] == info["problem_id"]
    register_family("demo", ["demo.doubling"], namespace="me")
    assert gymnasium.make("me/Demo-v0").reset(seed=1)[1]["task"] == "demo.doubling"


def test_registering_again_is_quiet_and_something_else_is_not():
    register()
    for _ in range(2):
        register_task("demo.doubling", doubling(namespace="me"), namespace="me")
        register_family("demo", ["demo.doubling"], namespace="me")
    with pytest.warns(UserWarning, match="Overriding environment grpo/Math.Chain-v0"):
        register_task("math.chain", "elsewhere:chain")
    with pytest.warns(UserWarning, match="Overriding environment me/Demo-v0"):
        register_family("demo", ["demo.doubling", "demo.halving"], namespace="me")


def test_a_task_is_imported_by_name_when_it_is_first_made():
    identifier = register_task("math.chain", TASKS["math.chain"])
    assert tasks_of(identifier)[0].name == "math.chain"
    register_task("demo.missing", "grpo_envs.nowhere:missing")
    with pytest.raises(ModuleNotFoundError):
        gymnasium.make("grpo/Demo.Missing-v0")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("grpo_envs.index:TASKS", r"grpo_envs.index:TASKS is registered as grpo/demo.x but is no Task"),
        ("grpo_envs.index:absent", r"is registered as grpo/demo.x but is no Task: None"),
        ("grpo_envs.math.chain:chain", r"registered as grpo/demo.x version 0 but is grpo/math.chain version 0"),
    ],
)
def test_an_entry_that_holds_something_else_is_named(entry, message):
    register_task("demo.x", entry)
    with pytest.raises(InvalidValueError, match=message):
        gymnasium.make("grpo/Demo.X-v0")


def test_a_task_is_registered_under_its_own_name_namespace_and_version():
    for wrong in ({"namespace": "grpo"}, {"namespace": "me", "version": 1}):
        with pytest.raises(InvalidValueError, match="register a Task under its own name, namespace and version"):
            register_task("demo.doubling", doubling(namespace="me"), **wrong)
    register_task("math.chain", "grpo_envs.math.chain:chain", version=1)
    with pytest.raises(
        InvalidValueError, match=r"registered as grpo/math.chain version 1 but is grpo/math.chain version 0"
    ):
        gymnasium.make("grpo/Math.Chain-v1")


def test_unknown_names_are_met_with_the_nearest():
    with pytest.raises(
        UnknownNameError, match=r"unknown task or family 'grpo/math.chian'; did you mean 'grpo/math.chain'\?"
    ):
        load_tasks("grpo/math.chian")
    with pytest.raises(UnknownNameError, match=r"unknown environment 'grpo/Mth-v0'; did you mean 'grpo/Math-v0'\?"):
        tasks_of("grpo/Mth-v0")


# --- spelling

WORD = st.from_regex(r"[a-z][a-z0-9]{0,6}", fullmatch=True)
PART = st.lists(WORD, min_size=1, max_size=3).map("_".join)
NAME = st.lists(PART, min_size=2, max_size=3).map(".".join)


@given(NAME, st.integers(0, 12))
def test_name_and_id_are_two_spellings_of_one_thing(name, version):
    identifier = env_id(name, "me", version)
    assert task_name(identifier) == name
    assert task_name(identifier.split("/")[1]) == name
    assert Task(name, doubling().source, doubling().reward).name == name


def test_an_id_that_is_none_is_refused():
    assert task_name("grpo/Math.MiniSudoku-v0") == "math.mini_sudoku"
    for wrong in ("", "grpo/Math/Chain-v0", "grpo/Ma th-v0"):
        with pytest.raises(InvalidValueError, match=r"expected namespace/Family\.Task-vN"):
            task_name(wrong)
