"""`rescore`: what changed, told in a table and kept in the run's folder; rewards of one's own by name; no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from grpo_agents.config import TrainConfig, to_dict
from grpo_agents.environments import seeds_for
from grpo_agents.run_log import COMPLETIONS, RunLog
from grpo_gym.cli.objects import load_reward
from grpo_gym.errors import InvalidValueError, UnknownNameError
from tests.cli.conftest import Cli, finish, spawn

ENV = "grpo/Arithmetic-v0"
REWARDS = '''
from grpo_gym import FunctionReward, Reward, Verdict
from grpo_gym.verdict import Reason

def short(response, problem):
    return float("{" + problem.reference + "}" in response) / (1 + response.count(" "))

def anything(*arguments):
    return 0.25

class Half(Reward):
    """Half for everybody."""
    def __init__(self, value=0.5):
        self.value = value
    def score(self, response, problem):
        leaf = {"value": self.value, "weight": 2.0, "seconds": 0.5, "error": ""}
        return Verdict(self.value, Reason.WRONG, {"half": self.value}, "[/bold]\\x1b[31m", {"leaves": {"half": leaf}})

class Needs(Half):
    def __init__(self, value):
        self.value = value

instance = Half(0.75)
def make(value=0.125): return Half(value)
def make_function(): return short
def number(): return 0.5
def broken(): return 1 / 0
def fails(response, problem): return 1 / 0
text = "no reward"
builtin = len
inside = FunctionReward(short)
'''


def a_run(path: Path, groups: int = 4, steps: int = 2) -> Path:
    """A run folder as `train` leaves it, whose completions are right, wrong, and hostile."""
    path.mkdir()
    config = TrainConfig(env=ENV, prompts=groups, group_size=3, seed=7)
    (path / "config.yaml").write_text(json.dumps({**to_dict(config), "policy": {"parameters": 1}}))
    env: Any = gymnasium.make(ENV, expose_answer=True).unwrapped
    records: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        for group, seed in enumerate(seeds_for("train", 7, step, groups)):
            for text in ("right", "none", "[/bold]\x1b[2J"):
                prompt, info = env.reset(seed=seed)
                said = f"so it is {info['answer']}" if text == "right" else text
                _, reward, _, _, last = env.step(said)
                labels = {key: info[key] for key in ("problem_id", "task", "tier")}
                records.append({"step": step, "completion_id": f"{step}-{len(records)}", "group": group, **labels})
                records[-1] |= {"prompt": prompt, "completion": said, "reward": reward, "rewards": last["rewards"]}
                records[-1] |= {"reason": last["reason"], "valid": True, "skipped": ""}
    RunLog(path).append(COMPLETIONS, records)
    return path


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run, and a current folder with rewards of one's own."""
    monkeypatch.setattr("sys.path", list(__import__("sys").path))
    monkeypatch.delitem(__import__("sys").modules, "own_rewards", raising=False)
    (tmp_path / "own_rewards.py").write_text(REWARDS)
    monkeypatch.chdir(tmp_path)
    return a_run(tmp_path / "run")


def written(run: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / f"rescored-{name}.jsonl").read_text().splitlines()]


def test_the_environments_own_reward_says_the_same_again(cli: Cli, run: Path) -> None:
    said = cli("rescore", run)
    lines = {line.split()[0]: line.split()[1:] for line in said.out.splitlines() if line.split()}

    assert (said.code, said.err) == (0, "")
    assert lines["all"] == ["24", "0.333", "0.333", "0", "0", "0", "0"]
    assert {record["reward"] for record in written(run, "own")} == {0.0, 1.0}
    assert said.out.splitlines()[-1] == f"written to: {run / 'rescored-own.jsonl'}"


def test_another_reward_is_set_beside_the_old_one(cli: Cli, run: Path) -> None:
    said = cli("rescore", run, "--reward", "own_rewards:short")

    assert said.code == 0
    assert "24 completions scored again by own_rewards:short" in said.out
    row = next(line for line in said.out.splitlines() if line.split()[:1] == ["all"])
    assert row.split() == ["all", "24", "0.333", "0.083", "0", "8", "(-0.75)", "0", "0"]
    assert [line.split()[:3] for line in said.out.splitlines() if line.strip().startswith("steps")] == [
        ["steps", "1", "12"],
        ["steps", "2", "12"],
    ]
    assert "1-0  1 -> 0.25  wrong" in said.out
    assert "...so it is \\boxed{" in said.out


def test_every_judgement_is_written_down(cli: Cli, run: Path) -> None:
    cli("rescore", run, "--reward", "own_rewards:Half")
    records = written(run, "own_rewards.Half")

    assert [record["completion_id"] for record in records] == [
        r["completion_id"] for r in RunLog(run).read(COMPLETIONS)
    ]
    assert set(records[0]) == {
        *("completion_id", "step", "task", "old_reward", "reward", "rewards", "reason", "abstain", "feedback")
    }
    assert records[0] | {"task": ""} == {
        "completion_id": "1-0",
        "step": 1,
        "task": "",
        "old_reward": 1.0,
        "reward": 0.5,
        "rewards": {"half": 0.5},
        "reason": "wrong",
        "abstain": False,
        "feedback": "[/bold]\x1b[31m",
    }


def test_texts_of_policies_and_rewards_are_shown_and_never_obeyed(cli: Cli, run: Path) -> None:
    said = cli("rescore", run, "--reward", "own_rewards:Half")

    assert "\x1b" not in said.out
    assert "[/bold]\\x1b[31m" in said.out
    assert "...[/bold]\\x1b[2J" in said.out


def test_parts_have_their_weight_seconds_and_errors(cli: Cli, run: Path) -> None:
    said = cli("rescore", run, "--reward", "own_rewards:Half")
    rows = [line.split() for line in said.out.splitlines() if line.split()[:1] in (["half"], ["score"])]

    assert rows == [["score", "0.333", "-", "-", "-", "-"], ["half", "-", "0.500", "2", "12.00", "0"]]


def test_the_figures_as_json(cli: Cli, run: Path) -> None:
    said = cli("rescore", run, "--reward", "own_rewards:short", "--step", 2, "--json")
    summary = json.loads(said.out)

    assert summary["reward"] == "own_rewards:short"
    assert summary["completions"] == 12
    assert summary["all"]["new"] == pytest.approx(1 / 12)
    assert list(summary["by_steps"]) == ["2"]
    assert len(written(run, "own_rewards.short")) == 12


def test_what_is_left_out_is_said(cli: Cli, run: Path) -> None:
    records = list(RunLog(run).read(COMPLETIONS))
    records[0]["problem_id"] = "math.gcd-t0-0000000000000000"
    (run / COMPLETIONS).write_text("".join(json.dumps(record) + "\n" for record in records))

    assert "1 left out: the seed leads to another problem now" in cli("rescore", run).out


def test_a_reward_that_fails_is_said_and_abstains(cli: Cli, run: Path) -> None:
    said = cli("rescore", run, "--reward", "own_rewards:fails")

    assert said.code == 0
    assert "24 times the scorer failed: ZeroDivisionError: division by zero" in said.out
    assert {record["abstain"] for record in written(run, "own_rewards.fails")} == {True}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere",), "nowhere is not a run folder"),
        (("run", "--step", 9), "nothing could be scored again in run: there are no completions of these steps"),
        (("run", "--step", 2, 1), "--step is 2 1: give one step, or the first and the last"),
        (("run", "--step", 1, 2, 3), "--step is 1 2 3: give one step, or the first and the last"),
        (("run", "--reward", "short"), "'short' names no code: give module:attribute"),
        (("run", "--reward", "own_rewards:shrot"), "unknown attribute of own_rewards 'shrot'; did you mean 'short'?"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(cli: Cli, run: Path, words: tuple[object, ...], message: str) -> None:
    said = cli("rescore", *words)

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"error: {message}")
    assert said.err.count("\n") == 1
    assert not list(run.glob("rescored-*"))


def test_a_run_whose_problems_are_all_others_now_is_an_error(cli: Cli, run: Path) -> None:
    text = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(text.replace('"seed": 7', '"seed": 8'))
    said = cli("rescore", run)

    assert said.code == 2
    assert said.err.startswith("error: nothing could be scored again in ")
    assert "24 left out: the seed leads to another problem now" in said.err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("short", 0.25),
        ("anything", 0.25),
        ("inside", 0.25),
        ("instance", 0.75),
        ("instance.score", 0.75),
        ("Half", 0.5),
        ("make", 0.125),
        ("make_function", 0.25),
    ],
)
def test_a_reward_is_an_instance_a_class_a_function_or_what_makes_one(run: Path, name: str, value: float) -> None:
    env: Any = gymnasium.make(ENV).unwrapped
    env.reset(seed=1)
    response = f"so it is {{{env.problem.reference}}}"

    assert load_reward(f"own_rewards:{name}").score(response, env.problem).value == value


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_rewards:Needs", r"own_rewards:Needs raised TypeError: .*missing 1 required positional argument"),
        ("own_rewards:broken", r"own_rewards:broken raised ZeroDivisionError"),
        ("own_rewards:number", r"own_rewards:number\(\) returned 0\.5, no Reward"),
        ("own_rewards:text", r"a reward is a Reward or a function .* got 'no reward'"),
        ("own_rewards:", r"names no code"),
        (":short", r"names no code"),
        ("no_such_module:x", r"cannot import the module of 'no_such_module:x': ModuleNotFoundError"),
        ("bad_module:x", r"cannot import the module of 'bad_module:x': SyntaxError"),
    ],
)
def test_what_is_no_reward_is_told(run: Path, name: str, message: str) -> None:
    (run.parent / "bad_module.py").write_text("def")
    with pytest.raises(InvalidValueError, match=message):
        load_reward(name)


def test_an_attribute_that_is_missing_inside_is_told(run: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown attribute of own_rewards 'instance\.scroe'"):
        load_reward("own_rewards:instance.scroe")


def test_no_learning_library_is_imported(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run")
    code = f"""
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {{"torch", "transformers", "tokenizers", "safetensors", "datasets", "matplotlib"}}:
            raise ImportError(f"{{name}} is blocked")
sys.meta_path.insert(0, Blocker())
from grpo_gym.cli.main import main
sys.exit(main(["rescore", {str(run)!r}, "--reward", "grpo_rewards.math:MathReward"]))
"""
    said = finish(spawn(code=code))

    assert (said.code, said.err) == (0, "")
    assert (run / "rescored-grpo_rewards.math.MathReward.jsonl").exists()
