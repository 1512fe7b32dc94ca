"""The same run again: from the same seed, from a checkpoint of any step, and after Ctrl-C; and which steps are kept."""

from __future__ import annotations

import json
import math
import os
import signal
from typing import Any

import gymnasium
import pytest
import torch

from grpo_agents.config import TrainConfig
from grpo_agents.grpo import GRPO
from grpo_agents.policy import Policy
from grpo_agents.run_folder import RunFolder
from grpo_agents.strata import PassRates
from grpo_agents.train import agent_class
from grpo_gym.errors import CheckpointError
from tests.agents.foreign_envs import COUNTDOWN, WORD
from tests.agents.runs import Metrics, babbler, identical, learn, log, new_run, short, weights

LINEAR = "grpo/Math.Linear-v0"
SHOP = "foreign/Shop-v0"
gymnasium.register(SHOP, entry_point="tests.agents.test_rollouts:Shop")


class TestSeeds:
    def test_the_same_seed_gives_the_same_run_and_another_another(self, tmp_path):
        ends = {}
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            policy = babbler()
            learn(policy, short(env=COUNTDOWN, seed=seed), path=tmp_path / name)
            ends[name] = (weights(policy), log(tmp_path / name), log(tmp_path / name, "completions"))

        assert identical(ends["a"][0], ends["b"][0])
        assert ends["a"][1:] == ends["b"][1:]
        assert not identical(ends["a"][0], ends["c"][0])
        assert ends["a"][2] != ends["c"][2]

    def test_what_happened_before_in_the_process_does_not_matter(self):
        first = babbler()
        learn(first, short(env=COUNTDOWN))
        torch.rand(17)
        torch.manual_seed(99)
        second = babbler()
        learn(second, short(env=COUNTDOWN))

        assert identical(weights(first), weights(second))

    def test_luck_differs_from_step_to_step_and_from_seed_to_seed(self, monkeypatch):
        """Also where the problems are the same."""
        monkeypatch.setattr("grpo_agents.rollouts.seed_stream", lambda *args: iter([5, 6, 7]))
        answers: dict[tuple[int, int], list[list[list[str]]]] = {}
        for seed in (0, 1):
            agent = GRPO(babbler(), None, short(env=WORD, seed=seed))
            for agent.step in (1, 2, 1):
                answers.setdefault((seed, agent.step), []).append([e.texts for e in agent.rollout().episodes])

        assert all(once == again for once, again in (answers[seed, 1] for seed in (0, 1)))
        assert answers[0, 1][0] != answers[0, 2][0]
        assert answers[0, 1][0] != answers[1, 1][0]

    def test_steps_show_new_problems(self, tmp_path):
        learn(babbler(), short(env=LINEAR, steps=3), path=tmp_path)
        problems = {record["problem_id"] for record in log(tmp_path, "completions")}

        assert len(problems) == 9


RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "two updates per batch": {"optimisation": {"updates_per_batch": 2, "weight_decay": 0.1, "warmup_steps": 4}},
    "kl": {"objective": {"kl_coef": 0.1}},
    "all that looks back": {
        "env": SHOP,
        "env_args": {"fixed": {f"p{n}": 1.0 for n in range(6)}},
        "strata": {
            "by": ("task", "pass_rate"),
            "count": 2,
            "refit_every": 1,
            "min_count": 1,
            "weights": {"rare / hard": 1.5},
            "shares": {"rare / hard": 0.3},
            "balance_coef": 0.5,
        },
        "selection": {"retire_at": 0.9, "retire_after": 1, "refill_rounds": 1},
        "objective": {"kl_coef": 0.1, "kl_target": 0.01, "entropy_coef": 0.01},
        "reference": {"sync_every": 2, "sync_mix": 0.5},
        "optimisation": {"minibatches": 2, "updates_per_batch": 2},
    },
    "ppo": {
        "algo": "ppo",
        "strata": {"by": ("prompt_tokens",), "count": 2, "refit_every": 1, "min_count": 1, "worst_coef": 1.0},
        "objective": {"kl_coef": 0.1, "kl_target": 0.01, "kl_estimator": "k1"},
        "reference": {"sync_every": 2, "sync_mix": 0.5},
        "critic": {"kind": "separate", "warmup_steps": 1},
    },
}
"""In "all that looks back" strata, retired prompts, refills, an adaptive kl_coef and a moved reference together."""

RESUMED = [
    *((kind, step) for kind in ("plain", "two updates per batch", "kl") for step in (1, 2, 3)),
    ("all that looks back", 2),
    ("all that looks back", 3),
    ("ppo", 2),
]


def resumable(kind: str, **changes: Any) -> TrainConfig:
    return short(
        **{"env": COUNTDOWN, "steps": 4, "evaluation": {"every": 2, "val_problems": 4}, **RUNS[kind], **changes}
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, Any]:
    """The uninterrupted runs: folder, weights and optimiser state at the end."""
    runs = {}
    for kind in RUNS:
        path = tmp_path_factory.mktemp("whole") / kind
        policy = babbler()
        config = resumable(kind)
        agent = agent_class(config)(policy, None, config, folder=new_run(path, config))
        agent.learn()
        runs[kind] = (path, weights(policy), agent.optimizer.state_dict()["state"])
    return runs


class TestResume:
    @pytest.mark.parametrize(("kind", "step"), RESUMED)
    def test_row_06_from_any_step_it_is_the_uninterrupted_run_bit_for_bit(self, kind, step, whole, tmp_path):
        path, end, state = whole[kind]
        config = resumable(kind)
        folder = new_run(tmp_path / "run", config)
        assert folder is not None
        agent_class(config)(babbler(), None, resumable(kind, steps=step + 1), folder=folder).learn()
        (folder.checkpoints / f"step-{step + 1:06d}" / "state.json").unlink()  # killed while it wrote this one

        policy = Policy.load(folder.checkpoint(), device="cpu")
        agent = agent_class(config)(policy, None, config, folder=folder, reference=babbler())
        agent.resume()
        assert agent.step == step
        agent.learn()

        assert identical(weights(policy), end)
        after = agent.optimizer.state_dict()["state"]
        assert all(torch.equal(after[key][name], value) for key in state for name, value in state[key].items())
        drop = {"val/pass@1", "val/length"} if step % 2 else set()  # the shorter run validated its last step too
        for name in ("metrics", "completions"):
            ours, theirs = log(tmp_path / "run", name), log(path, name)
            assert [{k: v for k, v in r.items() if k not in drop or r["step"] > step} for r in ours] == [
                {k: v for k, v in r.items() if k not in drop or r["step"] > step} for r in theirs
            ]

    def test_the_runs_above_carry_what_they_say(self, whole):
        """Else nothing of it would have been resumed."""
        path = whole["all that looks back"][0]
        metrics = log(path)
        state = json.loads((RunFolder(path).checkpoint() / "state.json").read_text())

        assert len({m["kl_coef"] for m in metrics}) == 4
        assert state["retirement"]["in_a_row"]
        assert any(m["rounds"] == 2 for m in metrics)
        assert len({r["stratum"] for r in log(path, "completions")}) > 2
        assert sorted(RunFolder(path).load_tensors(RunFolder(path).checkpoint())) == ["reference"]
        path = whole["ppo"][0]
        assert sorted(RunFolder(path).load_tensors(RunFolder(path).checkpoint())) == ["critic", "reference"]
        assert len({m["kl_coef"] for m in log(path)}) == 3  # it waits while the critic warms up

    def test_a_run_without_strata_by_pass_rate_carries_no_problems(self, whole):
        """Made-up problems do not come back: thousands of names in every checkpoint would serve nobody."""
        past = json.loads((RunFolder(whole["plain"][0]).checkpoint() / "state.json").read_text())["strata"]["past"]

        assert past == PassRates().state_dict()

    def test_the_best_step_is_remembered(self, whole):
        path, *_ = whole["plain"]
        scores = {m["step"]: m["val/pass@1"] for m in log(path) if "val/pass@1" in m}
        agent = GRPO(babbler(), None, resumable("plain"), folder=RunFolder(path))
        agent.resume()

        assert agent.best == (min(s for s in scores if scores[s] == max(scores.values())), max(scores.values()))

    def test_a_kl_run_wants_its_first_policy_again(self, whole):
        agent = GRPO(babbler(), None, resumable("kl"), folder=RunFolder(whole["kl"][0]))
        with pytest.raises(
            CheckpointError, match="a run with a KL term resumes only with reference=, the policy that it"
        ):
            agent.resume()

    def test_without_a_folder_there_is_nothing_to_resume(self):
        with pytest.raises(CheckpointError, match="nothing to resume: this GRPO has no run folder"):
            GRPO(babbler(), None, short(env=WORD)).resume()


def test_ctrl_c_ends_after_the_step_with_a_checkpoint(tmp_path):
    asked: list[str] = []
    config = short(env=WORD, steps=9, keeping={"checkpoint_every": 100})
    folder = new_run(tmp_path, config)

    def interrupt(metrics: Metrics) -> None:
        if metrics["step"] == 2:
            os.kill(os.getpid(), signal.SIGINT)

    agent = GRPO(
        babbler(), None, config, folder=folder, on_step=interrupt, on_stop=lambda: asked.append("after this step")
    )
    assert agent.learn() is False
    assert folder is not None

    assert folder.steps() == [2]
    assert asked == ["after this step"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_best_validated_step_is_kept_although_it_is_no_regular_one(tmp_path, monkeypatch):
    scores = iter([0.2, 0.9, 0.1, math.nan, 0.3])

    class Fixed:
        length = 1.0

        def __init__(self) -> None:
            self.pass_at_1 = next(scores)

    monkeypatch.setattr("grpo_agents.grpo.evaluate", lambda *args, **kwargs: Fixed())
    config = short(env=WORD, steps=5, evaluation={"every": 1}, keeping={"checkpoint_every": 3, "keep_last": 1})
    folder = new_run(tmp_path, config)
    agent = GRPO(babbler(), None, config, folder=folder)
    agent.learn()
    assert folder is not None

    assert agent.best == (2, 0.9)
    assert folder.steps() == [2, 5]


def test_a_first_validation_without_a_score_does_not_count_as_the_best(monkeypatch):
    scores = iter([math.nan, 0.1])

    class Fixed:
        length = 1.0

        def __init__(self) -> None:
            self.pass_at_1 = next(scores)

    monkeypatch.setattr("grpo_agents.grpo.evaluate", lambda *args, **kwargs: Fixed())
    agent = GRPO(babbler(), None, short(env=WORD, evaluation={"every": 1}))
    agent.learn()

    assert agent.best == (2, 0.1)
