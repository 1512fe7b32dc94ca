"""What a run leaves on disk: whole checkpoints or none, logs of strict JSON, and clear words about damage."""

from __future__ import annotations

import errno
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode

from grpo_agents import run_folder
from grpo_agents.collect import Episode
from grpo_agents.config import Objective, TrainConfig, to_dict
from grpo_agents.credit import no_strata
from grpo_agents.curves import draw_curves
from grpo_agents.files import plain, write_json, write_text
from grpo_agents.grpo import GRPO
from grpo_agents.metrics import step_metrics
from grpo_agents.optimizers import make_optimizer
from grpo_agents.policy import Policy
from grpo_agents.rollout import Trajectory
from grpo_agents.rollouts import Rollout
from grpo_agents.run_folder import RunFolder
from grpo_agents.update import Update
from grpo_gym.errors import CheckpointError, InvalidValueError, ModelError
from tests.agents.foreign_envs import WORD, Word, vector
from tests.agents.runs import babbler, identical, learn, log, short, weights

HOSTILE = [
    "[/bold]\x1b[2J",
    "\u2028\u2029\x00\x7f",
    "\ud800 alone",
    "</script><script>",
    '"\\\n',
    "\U0001d518 é",
    "nan",
]


@pytest.fixture
def run(tmp_path) -> RunFolder:
    """A run of two steps with a checkpoint after each."""
    config = short(env=WORD)
    learn(babbler(), config, path=tmp_path / "run")
    return RunFolder(tmp_path / "run")


def resumed(folder: RunFolder) -> GRPO:
    agent = GRPO(Policy.load(folder.checkpoint(), device="cpu"), None, short(env=WORD), folder=folder)
    agent.resume()
    return agent


class TestCheckpoints:
    def test_the_newest_is_found_and_any_other_by_its_step(self, run):
        assert run.steps() == [1, 2]
        assert run.checkpoint().name == "step-000002"
        assert run.checkpoint(1).name == "step-000001"
        with pytest.raises(CheckpointError, match=r"has no checkpoint of step 7; there are \[1, 2\]"):
            run.checkpoint(7)

    def test_a_folder_without_any_says_so(self, tmp_path):
        with pytest.raises(CheckpointError, match=r"has no checkpoint$"):
            RunFolder(tmp_path).checkpoint()

    def test_half_written_and_strange_folders_are_not_taken_for_one(self, run):
        half = run.checkpoints / "step-000009"
        shutil.copytree(run.checkpoint(), half)
        (half / "state.json").unlink()
        shutil.copytree(run.checkpoint(), run.checkpoints / ".step-000010.4711.tmp")
        shutil.copytree(run.checkpoint(), run.checkpoints / "step-copy")

        assert run.steps() == [1, 2]
        assert resumed(run).step == 2

    @pytest.mark.parametrize("content", [b"", b"\x80\x02junk.", "cut", "no groups", "a list", "gone"], ids=str)
    def test_a_damaged_optimiser_state_is_told(self, run, content):
        policy = Policy.load(run.checkpoint(), device="cpu")
        path = run.checkpoint() / "optimizer.pt"
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif content == "cut":
            path.write_bytes(path.read_bytes()[:100])
        elif content == "gone":
            path.unlink()
        else:
            torch.save([1] if content == "a list" else {"state": {}}, path)

        with pytest.raises(CheckpointError, match=r"checkpoint .*step-000002 is damaged: "):
            GRPO(policy, None, short(env=WORD), folder=run).resume()

    @pytest.mark.parametrize(
        "text", ["{", "[1]", '{"step": 2}', '{"step": 2, "best": [1], "failures": []}', '{"step": null}'], ids=str
    )
    def test_a_damaged_state_is_told(self, run, text):
        policy = Policy.load(run.checkpoint(), device="cpu")
        (run.checkpoint() / "state.json").write_text(text)

        with pytest.raises(CheckpointError, match=r"checkpoint .*step-000002 is damaged: "):
            GRPO(policy, None, short(env=WORD), folder=run).resume()

    def test_damaged_weights_are_told(self, run):
        path = run.checkpoint() / "model.safetensors"
        path.write_bytes(path.read_bytes()[:2000])

        with pytest.raises(ModelError):
            resumed(run)

    @pytest.mark.parametrize("place", ["write", "torch.save", "write_json"])
    def test_a_full_disk_is_told_and_leaves_the_earlier_ones_whole(self, run, monkeypatch, place):
        def full(*args: Any, **kwargs: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        if place == "write":
            monkeypatch.setattr(Policy, "write", full)
        elif place == "torch.save":
            monkeypatch.setattr(torch, "save", full)
        else:
            monkeypatch.setattr(run_folder, "write_json", full)
        policy = babbler()
        with pytest.raises(
            CheckpointError, match=r"cannot write .*step-000003: No space left on device; free .* are whole: .* step 2$"
        ):
            run.save(3, policy, make_optimizer(policy, short()), {"best": None, "failures": []})
        monkeypatch.undo()

        assert sorted(path.name for path in run.checkpoints.iterdir()) == ["step-000001", "step-000002"]
        assert resumed(run).step == 2

    def test_a_checkpoint_of_the_same_step_is_replaced(self, run):
        policy = babbler()
        run.save(2, policy, make_optimizer(policy, short()), {"best": None, "failures": []})

        assert identical(weights(Policy.load(run.checkpoint(), device="cpu")), weights(policy))

    def test_pruning_keeps_the_newest_and_the_best_and_clears_what_a_kill_left(self, run):
        for step in range(3, 8):
            shutil.copytree(run.checkpoint(1), run.checkpoints / f"step-{step:06d}")
        (run.checkpoints / ".step-000008.4711.tmp").mkdir()
        run.prune(2, best=3)

        assert run.steps() == [3, 6, 7]
        assert not list(run.checkpoints.glob(".*"))
        run.prune(1, best=None)
        assert run.steps() == [7]


class TestLogs:
    def test_a_line_that_a_kill_cut_short_is_left_out(self, run):
        with (run.path / "metrics.jsonl").open("a") as file:
            file.write('{"step": 3, "rew')

        assert [record["step"] for record in run.read("metrics.jsonl")] == [1, 2]
        run.forget_after(1)
        assert [record["step"] for record in run.read("metrics.jsonl")] == [1]

    def test_a_damaged_line_is_told_with_its_number(self, run):
        (run.path / "metrics.jsonl").write_text('{"step": 1}\n{"step": \n')

        with pytest.raises(CheckpointError, match=r"line 2 of .*metrics.jsonl is damaged"):
            list(run.read("metrics.jsonl"))

    def test_forgetting_changes_nothing_in_the_lines_that_stay(self, run):
        before = (run.path / "completions.jsonl").read_text().splitlines()
        run.forget_after(1)

        assert (run.path / "completions.jsonl").read_text().splitlines() == before[: len(before) // 2]
        assert list(run.read("nothing.jsonl")) == []

    def test_every_completion_of_every_step_is_kept_with_its_group_and_advantage(self, run):
        records = log(run.path, "completions")

        assert [r["completion_id"] for r in records] == [f"{step}-{row}" for step in (1, 2) for row in range(12)]
        assert [r["group"] for r in records] == [0] * 4 + [1] * 4 + [2] * 4 + [0] * 4 + [1] * 4 + [2] * 4
        assert all(r["prompt"].startswith("word ") and isinstance(r["completion"], str) for r in records)
        for first in range(0, 24, 4):
            group = records[first : first + 4]
            assert sum(r["advantage"] for r in group) == pytest.approx(0, abs=1e-5)
            assert sorted(group, key=lambda r: r["reward"]) == sorted(group, key=lambda r: r["advantage"])

    def test_the_keys_of_a_step_do_not_depend_on_what_happened_in_it(self, tmp_path):
        settings: list[dict[str, Any]] = [{}, {"odd_reward": math.nan}, {"odd_reward": None}, {"padding": 300}]
        keys = set()
        for number, args in enumerate(settings):
            learn(babbler(), short(), vector(Word, 12, AutoresetMode.NEXT_STEP, **args), path=tmp_path / str(number))
            for record in log(tmp_path / str(number)):
                keys.add(frozenset(key for key in record if not key.startswith(("reason/", "skipped/", "task/"))))

        assert len(keys) == 1
        assert {"reward", "length", "pass@1", "groups/signal", "grad_norm", "kl", "clip/low", "ratio/max"} < next(
            iter(keys)
        )

    def test_figures_of_a_step_are_those_of_its_completions(self, run):
        for record in log(run.path):
            rows = [r for r in log(run.path, "completions") if r["step"] == record["step"]]
            assert record["length"] == sum(r["length"] for r in rows) / 12
            assert record["tokens/sampled"] == sum(r["length"] for r in rows)
            assert record["reward"] == pytest.approx(sum(r["reward"] for r in rows) / 12)

    def test_the_entropy_counts_the_policys_own_tokens_and_each_of_them(self):
        """Certain ones too, whose log-prob is 0 as is what is noted for the environment's tokens."""
        trajectory = Trajectory([1], [5, 6, 7, 8], [True, False, True, True], [0.0, 0.0, -1.0, -2.0])
        episodes = [Episode(0, "?", trajectory, ["x"], reward) for reward in (0.0, 1.0)]
        metrics = step_metrics(1, Rollout(episodes, [0, 1]), no_strata(2, Objective()), Update.none(2, ""), 0.1)

        assert metrics["entropy/sampled"] == 1.0

    def test_hostile_text_comes_back_as_it_was(self, run):
        records = [{"step": 9, "completion": text, text: [text]} for text in HOSTILE]
        run.append("hostile.jsonl", records)

        assert list(run.read("hostile.jsonl")) == records
        assert (run.path / "hostile.jsonl").read_bytes().isascii()
        assert len((run.path / "hostile.jsonl").read_text().splitlines()) == len(HOSTILE)

    def test_what_json_does_not_know_becomes_what_it_knows(self):
        value = {
            "nan": [math.nan, -math.inf, np.float32("nan"), np.float64(0.5)],
            3: (np.int64(4), np.bool_(True), np.array([1.0, math.nan]), np.str_("x")),
            "object": HOSTILE[0].__class__,
            "deep": {"path": Path("a/b"), "none": None, "bool": False},
        }

        assert json.loads(json.dumps(plain(value), allow_nan=False)) == {
            "nan": [None, None, None, 0.5],
            "3": [4, True, [1.0, None], "x"],
            "object": "<class 'str'>",
            "deep": {"path": "a/b", "none": None, "bool": False},
        }

    def test_strange_infos_of_an_environment_do_not_end_the_run(self, tmp_path):
        class Strange(Word):
            def step(self, action: str) -> Any:
                observation, reward, terminated, truncated, info = super().step(action)
                odd = {
                    "reason": np.array([1.0, math.nan]),
                    "tier": object(),
                    "problem_id": 3,
                    "abstain": None,
                    "rewards": [1],
                }
                return observation, reward, terminated, truncated, info | odd

        metrics = learn(babbler(), short(), vector(Strange, 12, AutoresetMode.NEXT_STEP), path=tmp_path)

        assert all(m["grad_norm"] > 0 for m in metrics)
        assert log(tmp_path, "completions")[0]["problem_id"] == 3


class TestConfigFile:
    def test_it_comes_back_as_it_was(self, run):
        assert run.train_config() == short(env=WORD)

    def test_what_was_found_about_the_policy_is_no_part_of_it(self, tmp_path):
        folder = RunFolder(tmp_path)
        folder.create(to_dict(TrainConfig(tier=(1, 2))) | {"policy": {"parameters": 7}})

        assert folder.read_config()["policy"] == {"parameters": 7}
        assert folder.train_config() == TrainConfig(tier=(1, 2))

    def test_a_second_run_in_the_folder_is_refused(self, run):
        with pytest.raises(
            CheckpointError, match="already holds a run: choose another folder, or resume it with --resume"
        ):
            run.create(to_dict(short()))

    def test_a_function_among_the_arguments_is_told_and_leaves_no_folder(self, tmp_path):
        config = to_dict(short(env_args={"reward": len}))
        with pytest.raises(
            InvalidValueError, match=r"config\.yaml cannot hold <built-in function len>: register an env"
        ):
            RunFolder(tmp_path / "run").create(config)

        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        ("text", "message"),
        [(None, "is not a run folder"), ("- 1", "is damaged"), ("a: [", "is damaged"), (b"\xff", "is damaged")],
    )
    def test_what_is_no_config_is_told(self, tmp_path, text, message):
        if isinstance(text, bytes):
            (tmp_path / "config.yaml").write_bytes(text)
        elif text is not None:
            (tmp_path / "config.yaml").write_text(text)

        with pytest.raises(CheckpointError, match=message):
            RunFolder(tmp_path).read_config()


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "summary.json"
    write_json(path, {"a": 1})
    monkeypatch.setattr("os.fsync", lambda handle: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_text(path, "half")

    assert json.loads(path.read_text()) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["summary.json"]


def test_curves_are_drawn_of_a_run_with_lost_and_unjudged_steps(tmp_path):
    learn(babbler(), short(steps=3), vector(Word, 12, AutoresetMode.NEXT_STEP), path=tmp_path / "run")
    metrics = log(tmp_path / "run")
    metrics[1] |= {"reward": None, "rows": 0, "val/pass@1": None}
    judged = {"pass@1": 0.5, "low": 0.2, "high": 0.8}
    unjudged = {"pass@1": math.nan, "low": math.nan, "high": math.nan}
    draw_curves(metrics, unjudged, judged, tmp_path / "curves.png")

    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves.png", "run"]


def test_curves_say_which_run_it_was_and_hide_no_point(tmp_path, monkeypatch):
    figures: list[Any] = []

    def keep(self: Any, path: Path, **_: Any) -> None:
        figures.append(self)
        path.touch()

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", keep)
    metrics = [{"step": step, "reward": 0.5, "length": 3.0, "val/pass@1": 0.1} for step in (1, 2)]
    end = {"pass@1": 0.5, "low": 0.2, "high": 0.8}
    draw_curves(metrics, end, end, tmp_path / "curves.png", "a $model on an env, seed 3")
    score, length = figures[0].axes
    figures[0].draw_without_rendering()

    assert figures[0].get_suptitle() == "a $model on an env, seed 3"
    assert score.get_legend().get_window_extent().y0 >= score.get_window_extent().y1
    assert all(float(tick).is_integer() for tick in length.get_xticks())
