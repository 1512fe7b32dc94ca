"""The reference of a KL term: a copy that can be moved, or the policy with its adapter off, which is where it began."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor

from grpo_agents.config import Objective
from grpo_agents.config import Reference as Options
from grpo_agents.grpo import GRPO
from grpo_agents.lora import has_adapter, without_adapter
from grpo_agents.policy import Policy
from grpo_agents.prepare import prepare
from grpo_agents.reference import AdapterOff, FrozenCopy, make_reference
from grpo_gym.errors import InvalidValueError
from tests.agents.foreign_envs import Word, vector
from tests.agents.lessons import batch, learner, step
from tests.agents.runs import babbler, identical, learn, short, weights
from tests.agents.tiny_models import ragged_groups, row_by_row

pytestmark = [
    pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"),  # peft's
    pytest.mark.filterwarnings("ignore:.past_key_values. is deprecated:FutureWarning"),
]
GROUPS = ragged_groups()
BUDGET = 64


def changed(policy: Policy, factor: float = 1.2) -> Policy:
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.mul_(factor)
    return policy


def asked(reference: Any) -> Tensor:
    values: Tensor = reference.frozen(GROUPS, 1.0, BUDGET)
    return values


class TestCopy:
    def test_it_tells_the_log_probs_of_the_start_without_gradient_whatever_the_policy_becomes(self):
        policy = babbler()
        reference = FrozenCopy(policy)
        before = asked(reference)
        changed(policy)

        assert torch.equal(asked(reference), before)
        assert not before.requires_grad
        assert torch.allclose(before, row_by_row(babbler().model, GROUPS), atol=1e-5)
        assert not torch.allclose(asked(FrozenCopy(policy)), before, atol=0.1)

    def test_moved_all_the_way_it_is_the_policy(self):
        policy = babbler()
        reference = FrozenCopy(policy)
        changed(policy)
        reference.move(policy, 1.0)

        assert torch.equal(asked(reference), asked(FrozenCopy(policy)))
        assert identical(reference.state_dict(), weights(policy))

    def test_moved_a_part_it_lies_between(self):
        policy = babbler()
        reference = FrozenCopy(policy)
        reference.move(changed(policy), 0.6)

        for name, value in babbler().model.state_dict().items():
            expected = 0.4 * value + 0.6 * policy.model.state_dict()[name]
            assert torch.allclose(reference.state_dict()[name], expected, atol=1e-7)
        assert not any(p.requires_grad for p in reference._logprobs.model.parameters())

    def test_its_state_is_nothing_before_it_moved_and_everything_afterwards(self):
        policy = babbler()
        reference = FrozenCopy(policy)
        assert reference.state_dict() == {}
        reference.move(changed(policy), 0.6)
        state = copy.deepcopy(reference.state_dict())
        reference.move(changed(policy), 0.6)
        other = FrozenCopy(babbler())
        other.load_state_dict({})
        assert other.state_dict() == {}
        other.load_state_dict(state)

        assert identical(other.state_dict(), state)
        assert not identical(reference.state_dict(), state)


class TestInARun:
    def test_it_moves_when_it_is_due_and_only_then(self, monkeypatch):
        moves: list[tuple[int, float]] = []
        config = short(steps=5, objective={"kl_coef": 0.1}, reference={"sync_every": 2, "sync_mix": 0.3})
        agent = GRPO(babbler(), vector(Word, 12, AutoresetMode.NEXT_STEP), config)
        reference = agent.reference
        assert isinstance(reference, FrozenCopy)
        original = reference.move

        def move(policy: Policy, mix: float) -> None:
            moves.append((agent.step, mix))
            original(policy, mix)

        monkeypatch.setattr(reference, "move", move)
        agent.learn()

        assert moves == [(2, 0.3), (4, 0.3)]

    def test_one_that_follows_at_every_step_leaves_no_kl(self):
        config = short(steps=4, objective={"kl_coef": 0.1}, optimisation={"learning_rate": 1e-2})
        env = vector(Word, 12, AutoresetMode.NEXT_STEP)
        staying = learn(babbler(), config, env)
        config = short(
            steps=4,
            objective={"kl_coef": 0.1},
            optimisation={"learning_rate": 1e-2},
            reference={"sync_every": 1, "sync_mix": 1.0},
        )
        following = learn(babbler(), config, env)

        assert all(abs(m["kl"]) < 1e-6 for m in following)
        assert staying[-1]["kl"] > 1e-3


class TestWhichKind:
    def test_a_policy_without_an_adapter_has_a_copy(self):
        assert not has_adapter(babbler().model)
        assert isinstance(make_reference(babbler(), Options(kind="auto")), FrozenCopy)
        assert isinstance(make_reference(babbler(), Options(kind="copy")), FrozenCopy)
        with pytest.raises(
            InvalidValueError, match=r"needs a policy with an adapter \(LoRA\); this one has none: take c"
        ):
            make_reference(babbler(), Options(kind="adapter"))

    def test_a_given_start_is_copied(self):
        start = changed(babbler())
        reference = make_reference(babbler(), Options(kind="auto"), start)

        assert torch.equal(asked(reference), asked(FrozenCopy(start)))


@pytest.fixture
def adapted() -> Policy:
    """A babbler with a LoRA adapter that says something already."""
    peft = pytest.importorskip("peft")
    start = babbler()
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = peft.get_peft_model(
            start.model, peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=True)
        )
    return Policy(model, start.tokenizer)


def stir(policy: Policy) -> None:
    """Give the adapter weights that matter."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in policy.model.parameters():
            if parameter.requires_grad:
                parameter.copy_(torch.randn(parameter.shape, generator=generator))


class TestAdapter:
    def test_switched_off_it_is_the_start_exactly_and_on_again_afterwards(self, adapted):
        start = asked(FrozenCopy(adapted))  # a fresh adapter adds exactly 0
        stir(adapted)
        reference = make_reference(adapted, Options(kind="auto"))
        on = adapted.logprobs.frozen(GROUPS, 1.0, BUDGET)

        assert isinstance(reference, AdapterOff)
        assert torch.equal(asked(reference), start)
        assert torch.allclose(start, asked(FrozenCopy(babbler())), atol=1e-5)
        assert not torch.allclose(on, start, atol=0.05)
        assert torch.equal(adapted.logprobs.frozen(GROUPS, 1.0, BUDGET), on)

    def test_on_again_also_after_an_exception(self, adapted):
        stir(adapted)
        on = adapted.logprobs.frozen(GROUPS, 1.0, BUDGET)

        def fails() -> None:
            with without_adapter(adapted.model):
                assert not torch.equal(adapted.logprobs.frozen(GROUPS, 1.0, BUDGET), on)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fails()
        assert torch.equal(adapted.logprobs.frozen(GROUPS, 1.0, BUDGET), on)

    def test_only_the_adapter_learns_and_takes_gradients(self, adapted):
        before = weights(adapted)
        episodes = batch(adapted)
        parameters = [p for p in adapted.model.parameters() if p.requires_grad]
        reference = make_reference(adapted, Options(kind="adapter"))
        result = step(
            adapted,
            episodes,
            optimizer=torch.optim.SGD(parameters, lr=0.5),
            objective=Objective(kl_coef=0.1),
            reference=reference,
        )
        moved = {name for name, value in weights(adapted).items() if not torch.equal(value, before[name])}

        assert result.terms is not None
        assert float(result.terms.policy.kl) == pytest.approx(0.0, abs=1e-5)
        assert moved
        assert all("lora_" in name for name in moved)
        assert torch.allclose(asked(reference), asked(FrozenCopy(babbler())), atol=1e-5)
        assert float(result.terms.policy.ratio_max) == pytest.approx(1.0, abs=1e-5)  # sampled with the adapter on
        assert all(p.requires_grad for p in parameters)

    def test_the_kl_is_that_to_a_copy_of_the_start(self, adapted):
        stir(adapted)
        episodes = batch(adapted, off_policy=0.1)
        lessons = [
            prepare(learner(adapted, objective=Objective(kl_coef=1.0), reference=of), episodes, 1.0).lessons[0]
            for of in (AdapterOff(adapted), FrozenCopy(babbler()))
        ]

        first, second = (lesson.tokens.reference for lesson in lessons)
        assert first is not None
        assert second is not None
        assert torch.allclose(first, second, atol=1e-5)

    def test_it_cannot_be_moved_and_keeps_no_state(self, adapted):
        reference = make_reference(adapted, Options(kind="adapter"))
        with pytest.raises(InvalidValueError, match="cannot be moved: take kind copy"):
            reference.move(adapted, 0.5)

        assert reference.state_dict() == {}
        reference.load_state_dict({})

    def test_a_given_start_or_kind_copy_wins_over_the_adapter(self, adapted):
        assert isinstance(make_reference(adapted, Options(kind="auto"), babbler()), FrozenCopy)
        assert isinstance(make_reference(adapted, Options(kind="copy")), FrozenCopy)

    def test_a_run_with_one_learns(self, adapted):
        config = short(steps=12, objective={"kl_coef": 0.01}, optimisation={"learning_rate": 3e-2})
        metrics = learn(adapted, config, vector(Word, 12, AutoresetMode.NEXT_STEP))
        rewards = [m["reward"] for m in metrics]

        assert metrics[0]["kl"] == pytest.approx(0.0, abs=1e-6)
        assert metrics[-1]["kl"] > 1e-4
        assert sum(rewards[-3:]) > sum(rewards[:3]) + 0.15
