"""What a single reward, info or batch may hold without ending a run: it costs its row, or its step."""

from __future__ import annotations

import contextlib
from typing import Any

import gymnasium
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from grpo_agents.grpo import GRPO
from grpo_agents.reference import AdapterOff, FrozenCopy
from grpo_agents.rollouts import prompt_facts
from grpo_agents.train import agent_class
from grpo_gym.errors import GrpoGymError
from grpo_gym.infos import row_info
from tests.agents.foreign_envs import TEXT
from tests.agents.runs import Metrics, babbler, learn, short, weights

ROWS = 12


class Odd(gymnasium.Env[str, str]):
    """Pays and tells what it is given, row by row: `said[row]` is (rewards of the turns, info of the last)."""

    def __init__(self, rewards: tuple[float, ...], info: dict[Any, Any]) -> None:
        self.observation_space = self.action_space = TEXT
        self.rewards, self.info = rewards, info
        self.turn = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn = 0
        return f"say {int(self.np_random.integers(100))}", {"problem_id": None}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        done = self.turn == len(self.rewards)
        return "and", self.rewards[self.turn - 1], done, False, self.info if done else {}


def odd(*rows: tuple[tuple[float, ...], dict[Any, Any]]) -> SyncVectorEnv:
    """Return a vector environment whose first rows are odd, the others pay 0 or 1."""
    usual = [((float(row % 2),), {"rewards": {"a": float(row % 2)}}) for row in range(ROWS)]
    pairs = [*rows, *usual[len(rows) :]]
    return SyncVectorEnv(
        [lambda pair=pair: Odd(*pair) for pair in pairs],  # type: ignore[misc]  # the default binds it
        autoreset_mode=AutoresetMode.DISABLED,
    )


def trained(env: SyncVectorEnv, **changes: Any) -> list[Metrics]:
    policy = babbler()
    start = weights(policy)
    metrics = learn(policy, short(**changes), env)
    assert any(not value.equal(weights(policy)[name]) for name, value in start.items())
    return metrics


@pytest.mark.parametrize("algo", ["grpo", "ppo"])
@pytest.mark.parametrize("rewards", [(1e200,), (-1e308,), (1.5e308, 1.5e308), (float("inf"), float("-inf"))])
def test_a_reward_that_cannot_be_squared_costs_its_row(rewards: tuple[float, ...], algo: str) -> None:
    metrics = trained(odd((rewards, {})), algo=algo)

    assert [m["rows/skipped"] for m in metrics] == [1, 1]
    assert [m["update/skipped"] for m in metrics] == ["", ""]


@pytest.mark.parametrize("rewards", [{"a": None}, {"a": "much"}, {"a": 1e200}, {7: 1.0}])
@pytest.mark.parametrize("how", ["sum_then_normalise", "normalise_then_sum"])
def test_components_of_any_kind_beside_others_end_no_run(rewards: Any, how: str) -> None:
    metrics = trained(odd(((1.0,), {"rewards": rewards})), objective={"rewards": how})

    assert [m["update/skipped"] for m in metrics] == ["", ""]


def test_info_keys_that_are_no_names_are_left_out() -> None:
    assert row_info({7: [1.0], None: [2.0], "a": [3.0]}, 0) == {"a": 3.0}  # type: ignore[dict-item]
    trained(odd(((1.0,), {7: 1.0, None: 2.0})))


def test_a_batch_without_any_component_to_compare_costs_its_step_and_three_the_run() -> None:
    env = odd(*[((float(row % 2),), {"rewards": {"b": 1.0}}) for row in range(ROWS)])
    config = short(objective={"rewards": "normalise_then_sum", "reward_weights": {"a": 1.0}}, steps=5)
    with pytest.raises(GrpoGymError, match=r"3 steps in a row failed.* names a, which no episode has; .* has b"):
        learn(babbler(), config, env)


@pytest.mark.parametrize("problem", [None, float("nan"), 3, ["x"]])
def test_a_problem_without_a_name_shares_none_with_others(problem: Any) -> None:
    assert prompt_facts(babbler(), "?", {"problem_id": problem}).problem_id == ""


def test_an_update_that_is_refused_does_not_steer_the_kl_weight() -> None:
    """Its KL may be infinite; the step is lost, the run goes on or ends with the cause."""
    objective = {"kl_coef": 0.1, "kl_target": 0.01}
    config = short(steps=3, objective=objective, optimisation={"updates_per_batch": 6, "learning_rate": 3.0})
    seen: list[Metrics] = []
    with contextlib.suppress(GrpoGymError):  # three refusals in a row end the run, with the cause
        GRPO(babbler(), odd(), config, on_step=seen.append).learn()
    assert len(seen) == 3
    assert any(m["update/skipped"] for m in seen)
    assert all(0 < m["kl_coef"] < 1 for m in seen)


def test_the_kl_weight_waits_while_a_critic_warms_up() -> None:
    critic, objective = {"warmup_steps": 2}, {"kl_coef": 0.1, "kl_target": 0.01}
    metrics = learn(babbler(), short(algo="ppo", steps=4, critic=critic, objective=objective), odd())

    assert [m["kl_coef"] for m in metrics[:3]] == [0.1] * 3


@pytest.mark.filterwarnings("ignore::FutureWarning")  # peft asks transformers in an old way
def test_an_adapter_whose_reference_is_to_move_begins_with_a_copy() -> None:
    """By `auto` the reference would be the policy without its adapter, which cannot move: seen at the start."""
    peft = pytest.importorskip("peft")

    def agent(**reference: Any) -> GRPO:
        policy = babbler()
        policy.model = peft.get_peft_model(policy.model, peft.LoraConfig(r=2, target_modules=["q_proj"]))
        config = short(objective={"kl_coef": 0.1}, reference=reference)
        return agent_class(config)(policy, odd(), config)

    assert isinstance(agent().reference, AdapterOff)
    assert isinstance(agent(sync_every=2).reference, FrozenCopy)


def test_why_nothing_was_learned_is_said_truly() -> None:
    cut = learn(babbler(), short(selection={"truncated": "mask"}, sampling={"max_tokens": 1}), odd())
    flat = learn(babbler(), short(), odd(*[((1.0,), {})] * ROWS))

    why = "every completion was cut at its limit, and selection.truncated masks those"
    assert {m["update/skipped"] for m in cut} == {why}
    assert {m["update/skipped"] for m in flat} == {"no group had a spread of rewards"}
