"""Runs that train an adapter: checkpoints of the adapter alone, the same run from any of them, GRPO and PPO."""

from __future__ import annotations

import gc
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from grpo_agents.adapter_files import CONFIG, WEIGHTS
from grpo_agents.config import EMBEDDED, Lora, TrainConfig
from grpo_agents.critic import SeparateCritic
from grpo_agents.grpo import GRPO
from grpo_agents.lora import adapter_rank, has_adapter
from grpo_agents.policy import Policy
from grpo_agents.reference import AdapterOff, FrozenCopy
from grpo_agents.run_folder import RunFolder
from grpo_agents.train import agent_class, describe, load_policy, resume, train
from grpo_gym.errors import CheckpointError, InvalidValueError, ModelError
from tests.agents.adapters import adapted, learned, said, saved_babbler, stirred
from tests.agents.foreign_envs import COUNTDOWN, WORD
from tests.agents.runs import babbler, identical, learn, log, new_run, short, weights

pytestmark = pytest.mark.long

RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "kl": {"objective": {"kl_coef": 0.1}, "optimisation": {"updates_per_batch": 2, "learning_rate": 1e-2}},
    "kl to a copy that moves": {
        "objective": {"kl_coef": 0.1},
        "reference": {"sync_every": 2, "sync_mix": 0.5},
    },
    "ppo, shared critic": {"algo": "ppo"},
    "ppo, separate critic": {"algo": "ppo", "critic": {"kind": "separate", "warmup_steps": 1}},
}


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return saved_babbler(tmp_path_factory.mktemp("base") / "babbler")


def config_of(base: Path, kind: str = "plain", **changes: Any) -> TrainConfig:
    made: dict[str, Any] = {
        "env": COUNTDOWN,
        "steps": 3,
        "model": str(base),
        "lora": Lora(rank=4),
        "device": "cpu",
        "seed": 1,
    }
    return short(**{**made, **RUNS[kind], **changes})


@pytest.fixture(scope="module")
def whole(base, tmp_path_factory) -> dict[str, Any]:
    """The uninterrupted runs: folder, weights and critic at the end."""
    runs = {}
    for kind in RUNS:
        config = config_of(base, kind)
        policy = load_policy(config)
        folder = new_run(tmp_path_factory.mktemp("whole") / "run", config)
        agent = agent_class(config)(policy, None, config, folder=folder)
        agent.learn()
        runs[kind] = (folder, weights(policy), agent.tensors())
    return runs


class TestResume:
    @pytest.mark.parametrize("kind", RUNS)
    def test_from_a_checkpoint_it_is_the_uninterrupted_run_bit_for_bit(self, kind, whole, base, tmp_path):
        path, end, tensors = whole[kind]
        config = config_of(base, kind)
        folder = new_run(tmp_path / "run", config)
        assert folder is not None
        first = config_of(base, kind, steps=2)
        agent_class(config)(load_policy(first), None, first, folder=folder).learn()

        policy = load_policy(config, folder.checkpoint())
        start = load_policy(config) if "copy" in kind else None
        agent = agent_class(config)(policy, None, config, folder=folder, reference=start)
        agent.resume()
        assert agent.step == 2
        agent.learn()

        assert identical(weights(policy), end)
        found = agent.tensors()
        assert found.keys() == tensors.keys()
        assert all(identical(found[name], tensors[name]) for name in tensors)
        for name in ("metrics", "completions"):
            assert log(folder.path, name) == log(path.path, name)

    @pytest.mark.parametrize("kind", RUNS)
    def test_the_run_learned_something(self, kind, whole, base):
        """Else nothing of it would have been resumed; and the base rests."""
        _, end, tensors = whole[kind]
        start = weights(load_policy(config_of(base, kind)))
        moved = {name for name in end if not torch.equal(end[name], start[name])}

        assert moved == {name for name in end if "lora_" in name}
        assert all(bool(value.any()) for state in tensors.values() for value in state.values())

    @pytest.mark.parametrize("kind", RUNS)
    def test_a_checkpoint_holds_no_weight_of_the_base(self, kind, whole):
        folder = whole[kind][0].checkpoint()
        heads = ("head.weight", "head.bias")
        size = sum(value.numel() for value in learned(adapted()).values())

        assert not (folder / "model.safetensors").exists()
        assert (folder / WEIGHTS).stat().st_size < 4 * size + 10_000
        assert (folder / "optimizer.pt").stat().st_size < 5 * 4 * size + 60_000
        for state in whole[kind][0].load_tensors(folder).values():
            assert all("lora_" in name or name in heads for name in state)

    def test_a_base_that_changed_is_told(self, tmp_path):
        base = saved_babbler(tmp_path / "base")
        config = config_of(base, steps=1, out=str(tmp_path / "run"), evaluation={"test_problems": 2})
        train(config)
        saved_babbler(base, context=256, architecture="gpt2")

        with pytest.raises(ModelError, match="no adapter can be put on GPT2LMHeadModel"):
            resume(tmp_path / "run")

    def test_a_checkpoint_of_another_rank_is_told(self, whole, base):
        folder = whole["plain"][0].checkpoint()

        with pytest.raises(CheckpointError, match=r"holds an adapter of rank 4, and the run's config says lora.rank 8"):
            load_policy(config_of(base, lora=Lora(rank=8)), folder)
        with pytest.raises(CheckpointError, match="holds an adapter of rank 0, and the run's config says"):
            load_policy(config_of(base), base)

    def test_critics_of_another_make_are_refused(self, whole, base, tmp_path):
        """Silently starting a critic anew would be a different run."""
        config = config_of(base, "ppo, separate critic")
        agent: Any = agent_class(config)(load_policy(config), None, config)
        state = agent.critic.state_dict()
        state.pop(next(name for name in state if "lora_B" in name))

        with pytest.raises(RuntimeError, match="Missing key"):
            agent.critic.load_state_dict(state)
        with pytest.raises(RuntimeError, match="Unexpected key"):
            agent.critic.load_state_dict({**agent.critic.state_dict(), "stranger": torch.zeros(1)})


class TestMemory:
    @pytest.mark.parametrize("kind", ["kl", "ppo, separate critic", "kl to a copy that moves"])
    def test_a_run_keeps_no_second_copy_of_the_base(self, kind, base):
        config = config_of(base, kind)
        policy = load_policy(config)
        gc.collect()
        before = _numbers_alive()
        agent = agent_class(config)(policy, None, config)
        gc.collect()
        adapter = sum(value.numel() for value in learned(policy).values())

        assert _numbers_alive() - before <= 2 * adapter + 100
        assert sum(p.numel() for p in policy.model.parameters()) > 3 * adapter
        assert isinstance(agent.reference, AdapterOff if kind == "kl" else FrozenCopy if "copy" in kind else type(None))

    def test_a_separate_critic_trains_its_own_adapter_and_head(self, base):
        policy = stirred(load_policy(config_of(base)))
        critic = SeparateCritic(policy)
        own = {name: p for name, p in critic.named_parameters() if p.requires_grad}
        theirs = {id(p) for p in policy.model.parameters()}

        assert all("lora_" in name or name.startswith("head.") for name in own)
        assert not any(id(p) in theirs for p in own.values())
        assert critic.parameter_count == sum(value.numel() for value in learned(policy).values()) + 33


class TestPolicyOfAConfig:
    def test_the_shipped_policy_with_an_adapter(self):
        config = short(lora=Lora(rank=2, alpha=6.0, targets=("q_proj",)), device="cpu", model=EMBEDDED)
        policy, plain = load_policy(config), load_policy(short(device="cpu", model=EMBEDDED))
        facts = describe(policy)

        assert adapter_rank(policy.model) == 2
        assert torch.equal(said(policy), said(plain))
        assert facts["adapter_rank"] == 2
        assert facts["trained_parameters"] == sum(value.numel() for value in learned(policy).values())
        assert facts["parameters"] == describe(plain)["parameters"] + facts["trained_parameters"]
        assert describe(plain)["adapter_rank"] == 0
        assert describe(plain)["trained_parameters"] == describe(plain)["parameters"]

    def test_the_same_seed_gives_the_same_adapter(self, base):
        first, again = (learned(load_policy(config_of(base))) for _ in range(2))

        assert identical(first, again)
        assert not identical(first, learned(load_policy(config_of(base, seed=2))))

    def test_a_model_that_is_an_adapter_goes_on_learning_or_is_folded_in(self, base, tmp_path):
        policy = stirred(load_policy(config_of(base)))
        policy.save(tmp_path / "adapter")
        going_on = load_policy(config_of(tmp_path / "adapter", lora=Lora()))
        anew = load_policy(config_of(tmp_path / "adapter", lora=Lora(rank=2)))
        stirred(anew, 0.01).save(tmp_path / "second")

        assert torch.equal(said(going_on), said(policy))
        assert identical(learned(going_on), learned(policy))
        assert adapter_rank(anew.model) == 2
        assert json.loads((tmp_path / "second" / CONFIG).read_text())["base_model_name_or_path"] == str(
            tmp_path / "adapter"
        )
        assert torch.equal(said(Policy.load(tmp_path / "second", device="cpu")), said(anew))

    def test_a_policy_without_an_adapter_is_not_trained_as_if_it_had_one(self):
        with pytest.raises(InvalidValueError, match="the policy has no adapter"):
            GRPO(babbler(), None, short(env=WORD, lora=Lora(rank=4)))

    def test_a_reference_without_the_adapter_cannot_follow_a_policy_with_one(self):
        config = short(env=WORD, objective={"kl_coef": 0.1}, reference={"sync_every": 1})
        with pytest.raises(InvalidValueError, match="the reference cannot move to the policy, which has no lm_head"):
            learn(adapted(), config, reference=babbler())


class TestJob:
    @pytest.mark.slow
    def test_from_start_to_summary_and_again(self, base, tmp_path):
        """The main job with a KL term, stopped behind its second step: the resumed run is the whole one."""
        out, again = tmp_path / "whole", tmp_path / "again"
        changes: dict[str, Any] = {
            "evaluation": {"every": 2, "test_problems": 4, "val_problems": 4},
            "objective": {"kl_coef": 0.1},
        }
        result = train(config_of(base, out=str(out), **changes))
        assert result.finished
        shutil.copytree(out, again)
        folder = RunFolder(again)
        (folder.checkpoint(3) / "state.json").unlink()
        assert resume(again).finished

        last = RunFolder(out).checkpoint()
        assert (folder.checkpoint() / WEIGHTS).read_bytes() == (last / WEIGHTS).read_bytes()
        assert log(again) == log(out)
        assert has_adapter(Policy.load(last, device="cpu").model)


def _numbers_alive() -> int:
    """Numbers in all tensors that Python knows of, each storage once."""
    tensors = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor)]
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() // 4 for t in tensors}.values())
