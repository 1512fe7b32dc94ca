"""Configs: every bound says field, value and bound; a wrong name gets the right one; YAML and back loses nothing."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

import grpo_agents.config
from grpo_agents.config import Objective, SFTConfig, TrainConfig, from_dict, read_yaml, to_dict
from grpo_gym.errors import GrpoGymError, InvalidValueError, UnknownNameError

AT_LEAST = {
    "steps": 0,
    "threads": 0,
    "prompts": 1,
    "group_size": 2,
    "sampling.max_tokens": 1,
    "sampling.batch_rows": 1,
    "sampling.max_turns": 0,
    "sampling.max_seconds": 0,
    "lora.rank": 0,
    "lora.alpha": 0,
    "objective.clip_low": 0,
    "objective.clip_high": 0,
    "objective.clip_dual": 0,
    "objective.kl_coef": 0,
    "objective.kl_target": 0,
    "objective.kl_horizon": 1,
    "objective.entropy_coef": 0,
    "objective.off_policy_threshold": 0,
    "objective.correction_high": 0,
    "objective.correction_low": 0,
    "selection.refill_rounds": 0,
    "selection.overlong_buffer": 0,
    "selection.overlong_penalty": 0,
    "selection.retire_after": 1,
    "selection.peek_rounds": 1,
    "strata.count": 1,
    "strata.grow_every": 0,
    "strata.refit_every": 1,
    "strata.hysteresis": 0,
    "strata.min_count": 1,
    "strata.balance_coef": 0,
    "strata.worst_coef": 0,
    "reference.sync_every": 0,
    "critic.value_coef": 0,
    "critic.value_clip": 0,
    "critic.warmup_steps": 0,
    "critic.learning_rate": 0,
    "critic.length_adaptive": 0,
    "optimisation.learning_rate": 0,
    "optimisation.warmup_steps": 0,
    "optimisation.weight_decay": 0,
    "optimisation.beta1": 0,
    "optimisation.beta2": 0,
    "optimisation.updates_per_batch": 1,
    "optimisation.minibatches": 1,
    "optimisation.token_budget": 1,
    "evaluation.test_problems": 1,
    "evaluation.val_problems": 1,
    "evaluation.every": 0,
    "keeping.checkpoint_every": 1,
    "keeping.keep_last": 1,
}
SHARES = (
    "objective.entropy_share",
    "objective.turn_discount",
    "selection.retire_at",
    "reference.sync_mix",
    "critic.discount",
    "critic.gae_lambda",
    "critic.critic_lambda",
)
ABOVE_0 = (
    "sampling.temperature",
    "objective.sapo_temperature_positive",
    "objective.sapo_temperature_negative",
    "optimisation.max_grad_norm",
    "env_seconds",
)
SFT_AT_LEAST = {
    "steps": 1,
    "batch": 1,
    "learning_rate": 0,
    "matrix_rate": 0,
    "warmup_steps": 0,
    "weight_decay": 0,
    "token_budget": 1,
}


def nested(name: str, value: Any) -> dict[str, Any]:
    """Return {"a": {"b": value}} for "a.b"."""
    record = value
    for part in reversed(name.split(".")):
        record = {part: record}
    return record  # type: ignore[no-any-return]  # there is at least one part


def refuses(cls: type[Any], record: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValueError, match=f"^{re.escape(message)}$"):
        from_dict(cls, record)


class TestBounds:
    @pytest.mark.parametrize("name", AT_LEAST)
    def test_the_bound_is_allowed_and_one_less_is_told(self, name):
        bound = AT_LEAST[name]
        from_dict(TrainConfig, nested(name, bound))
        value = type(_default(TrainConfig, name))(bound - 1)

        refuses(TrainConfig, nested(name, value), f"{name} is {value}, must be at least {bound}")

    @pytest.mark.parametrize("name", SFT_AT_LEAST)
    def test_the_same_in_a_supervised_run(self, name):
        bound = SFT_AT_LEAST[name]
        from_dict(SFTConfig, {name: bound})
        value = type(_default(SFTConfig, name))(bound - 1)

        refuses(SFTConfig, {name: value}, f"{name} is {value}, must be at least {bound}")

    @pytest.mark.parametrize("name", ABOVE_0)
    def test_what_must_be_above_0(self, name):
        refuses(TrainConfig, nested(name, 0), f"{name} is 0.0, must be above 0")

    @pytest.mark.parametrize("value", [math.nan, -0.1, 1.1])
    def test_a_share_lies_between_0_and_1(self, value):
        refuses(SFTConfig, {"careful": value}, f"careful is {value}, must be a share from 0 to 1")

    @pytest.mark.parametrize("value", [math.nan, -0.1, 1.1])
    @pytest.mark.parametrize("name", SHARES)
    def test_so_do_those_of_training(self, name, value):
        refuses(TrainConfig, nested(name, value), f"{name} is {value}, must be a share from 0 to 1")

    @pytest.mark.parametrize("name", ["optimisation.beta1", "optimisation.beta2"])
    def test_a_decay_is_below_1(self, name):
        refuses(TrainConfig, nested(name, 1.0), f"{name} is 1.0, must be below 1")

    @pytest.mark.parametrize("cls", [TrainConfig, SFTConfig])
    def test_three_tiers_are_told(self, cls):
        refuses(cls, {"tier": [0, 1, 2]}, "tier is (0, 1, 2): give one tier, or the lowest and the highest")

    @pytest.mark.parametrize("name", [n for n in AT_LEAST if n.split(".")[0] in ("objective", "optimisation")])
    def test_nan_and_infinity_are_no_numbers_here(self, name):
        if isinstance(_default(TrainConfig, name), int):
            refuses(TrainConfig, nested(name, math.nan), f"{name} must be int, got nan")
        else:
            refuses(TrainConfig, nested(name, math.nan), f"{name} is nan, must be at least 0")
            refuses(TrainConfig, nested(name, math.inf), f"{name} is inf, must be at least 0 and finite")

    def test_an_infinite_gradient_limit_means_none(self):
        assert from_dict(TrainConfig, nested("optimisation.max_grad_norm", math.inf)).optimisation.max_grad_norm > 1e300

    def test_every_number_of_a_config_has_a_bound(self):
        numbers = {name for name, value in _leaves(TrainConfig()) if type(value) in (int, float)}

        assert numbers == {*AT_LEAST, *SHARES, *ABOVE_0, "seed"}

    def test_they_hold_for_records_made_in_python_and_for_changed_copies_too(self):
        with pytest.raises(InvalidValueError, match="group_size is 1, must be at least 2"):
            TrainConfig(group_size=1)
        with pytest.raises(InvalidValueError, match=r"objective\.clip_low is -1, must be at least 0"):
            replace(TrainConfig(), objective=Objective(clip_low=-1))


class TestNames:
    @pytest.mark.parametrize(
        ("record", "message"),
        [
            ({"step": 3}, "unknown config field 'step'; did you mean 'steps'?"),
            ({"objective": {"los": "dapo"}}, "unknown config field 'objective.los'; did you mean 'objective.loss'?"),
            ({"objective": {"loss": "dap"}}, "unknown value of objective.loss 'dap'; did you mean 'dapo'?"),
            ({"prompt_style": "Chat"}, "unknown value of prompt_style 'Chat'; did you mean 'chat'?"),
            ({7: 1}, "unknown config field '7'; known: "),
        ],
    )
    def test_a_wrong_one_gets_the_right_one(self, record, message):
        with pytest.raises(UnknownNameError) as caught:
            from_dict(TrainConfig, record)

        assert str(caught.value).startswith(message)


class TestTypes:
    @pytest.mark.parametrize(
        ("record", "message"),
        [
            ({"steps": "5"}, "steps must be int, got '5'"),
            ({"steps": 5.0}, "steps must be int, got 5.0"),
            ({"steps": True}, "steps must be int, got True"),
            ({"steps": None}, "steps must be int, got None"),
            ({"model": 3}, "model must be str, got 3"),
            ({"env_args": [1]}, "env_args must be dict, got [1]"),
            ({"tier": "low"}, "tier must be whole numbers, got 'low'"),
            ({"tier": [1, 2.5]}, "tier must be whole numbers, got [1, 2.5]"),
            ({"tier": [True]}, "tier must be whole numbers, got [True]"),
            ({"objective": "dapo"}, "objective must be a mapping, got 'dapo'"),
            ({"objective": {"kl_coef": "much"}}, "objective.kl_coef must be a number, got 'much'"),
            ({"objective": {"kl_coef": False}}, "objective.kl_coef must be a number, got False"),
            ({"objective": {"kl_coef": [1]}}, "objective.kl_coef must be a number, got [1]"),
            ({"objective": {"kl_ratio_correction": 1}}, "objective.kl_ratio_correction must be bool, got 1"),
        ],
        ids=str,
    )
    def test_a_wrong_one_is_told(self, record, message):
        refuses(TrainConfig, record, message)

    def test_a_long_value_is_shown_short(self):
        with pytest.raises(InvalidValueError) as caught:
            from_dict(TrainConfig, {"steps": "x" * 500})

        assert len(str(caught.value)) < 100

    def test_whole_numbers_pass_as_floats_and_one_tier_as_a_tuple(self):
        config = from_dict(TrainConfig, {"objective": {"kl_coef": 1}, "tier": 2})

        assert config.objective.kl_coef == 1.0
        assert isinstance(config.objective.kl_coef, float)
        assert config.tier == (2,)

    @pytest.mark.parametrize(("text", "value"), [("3e-4", 3e-4), ("1E-3", 1e-3), (".5", 0.5)])
    def test_a_number_that_yaml_reads_as_a_text_is_a_number(self, text, value, tmp_path):
        path = tmp_path / "config.yaml"
        path.write_text(f"optimisation: {{learning_rate: {text}}}\n")

        assert read_yaml(TrainConfig, path).optimisation.learning_rate == value


class TestYaml:
    @pytest.mark.parametrize("cls", [TrainConfig, SFTConfig])
    def test_every_field_survives_the_way_to_yaml_and_back(self, cls, tmp_path):
        config = _all_changed(cls)
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(to_dict(config)))

        same = [name for name, value in _leaves(config) if value == _default(cls, name)]
        assert same == (["algo", "objective.credit"] if cls is TrainConfig else [])
        assert read_yaml(cls, path) == config

    def test_an_empty_mapping_is_the_defaults(self, tmp_path):
        (tmp_path / "c.yaml").write_text("{}\n")

        assert read_yaml(TrainConfig, tmp_path / "c.yaml") == TrainConfig()

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, r"cannot read the config .*: No such file"),
            (b"\xff\xfe\x00", "cannot read the config .*: not UTF-8"),
            (b"a: [", "is not YAML: "),
            (b"- steps", "must hold a mapping of config fields, got list"),
            (b"", "must hold a mapping of config fields, got NoneType"),
        ],
    )
    def test_what_is_no_config_is_told(self, tmp_path, content, message):
        path = tmp_path / "c.yaml"
        if content is not None:
            path.write_bytes(content)

        with pytest.raises(InvalidValueError, match=message) as caught:
            read_yaml(TrainConfig, path)
        assert "\n" not in str(caught.value)


def test_every_field_has_a_line_of_text():
    """The command line shows it as help."""
    folder = Path(grpo_agents.config.__file__).parent
    text = "\n".join((folder / f"{name}.py").read_text("utf-8") for name in ("records", "objective"))
    described = 0
    for line, after in pairwise(text.splitlines()):
        if re.match(r"    \w+: .* = (?!field\(default_factory=[A-Z])", line):  # records say it in their class
            assert after.startswith('    """'), line
            described += 1
    assert described > 90


def _default(cls: type[Any], name: str) -> Any:
    return dict(_leaves(cls()))[name]


def _leaves(record: Any, where: str = "") -> list[tuple[str, Any]]:
    """Return (dotted name, value) of every field that is no record itself."""
    found = []
    for field in fields(record):
        value = getattr(record, field.name)
        name = where + field.name
        found += _leaves(value, name + ".") if dataclasses.is_dataclass(value) else [(name, value)]
    return found


CHANGED: dict[str, Any] = {
    "preset": "dapo",
    "algo": "grpo",  # ppo refuses some of the others; see test_choices_survive
    "loss": "grpo",
    "average": "token",
    "ratio": "product",
    "scale": "group",
    "baseline": "leave_one_out",
    "rewards": "normalise_then_sum",
    "reward_weights": {"solved": 1.0, "é": -0.5},
    "clip_dual": 4.0,
    "kl_estimator": "k2",
    "kl_coef": 0.1,
    "correction": "token_mask",
    "zero_variance": "drop",
    "truncated": "mask",
    "by": ("task", "pass_rate"),
    "boundaries": "fixed",
    "edges": (0.25, 0.5),
    "weights": {"é / hard": 1.2},
    "clips": {"easy": (0.1, 0.3)},
    "shares": {"hard": 0.5},
    "prompt_style": "raw",
    "dtype": "bfloat16",
    "special_tokens": "keep",
    "credit": "episode",  # turn refuses rewards normalise_then_sum; see test_choices_survive
    "targets": ("q_proj", "v_proj"),
    "optimizer": "muon",
}
"""Values of fields that have choices, or that others must go with."""


def _all_changed(cls: type[Any]) -> Any:
    """Return a record in which no field but `algo` has its default."""
    changed: dict[str, Any] = {}
    for field in fields(cls):
        value = getattr(cls(), field.name)
        if field.name in CHANGED:
            changed[field.name] = CHANGED[field.name]
        elif field.name == "kind":
            changed[field.name] = {"auto": "copy", "shared": "separate"}[value]
        elif dataclasses.is_dataclass(value):
            changed[field.name] = _all_changed(type(value))
        elif isinstance(value, bool):
            changed[field.name] = not value
        elif isinstance(value, int | float):
            changed[field.name] = value + 1 if isinstance(value, int) else value / 2 + 1e-5
        elif isinstance(value, tuple):
            changed[field.name] = (1.5, 2.5) if field.name.startswith("vespo") else (1, 2)
        else:
            changed[field.name] = {"reward": [1, None, "é"]} if isinstance(value, dict) else value + " é: 'x'"
    return cls(**changed)


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"lora": {"alpha": 8.0}}, "lora.alpha and lora.targets need lora.rank above 0"),
    ({"objective": {"credit": "turn", "rewards": "normalise_then_sum"}}, "components of a reward come with the last"),
    ({"algo": "ppo", "objective": {"credit": "turn"}}, "algo ppo credits every token by its critic"),
    ({"algo": "ppo", "objective": {"turn_discount": 0.5}}, "set critic.discount"),
    ({"beta": 0.1}, "objective.kl_coef.*strata.balance_coef"),
    ({"objective": {"beta": 0.1}}, "objective.kl_coef.*strata.balance_coef"),
    ({"objective": {"clip_dual": 1.1}}, "clip_dual is 1.1, must be above 1 . objective.clip_high"),
    ({"objective": {"correction": "token_mask", "correction_low": 3}}, "correction_high must be above"),
    ({"objective": {"entropy_share": 0}}, "leaves no token"),
    ({"objective": {"baseline": "none", "scale": "group"}}, "std of 0"),
    ({"objective": {"baseline": "none"}}, "take whiten"),
    ({"objective": {"loss": "gmpo", "ratio": "token"}}, "has its own ratio"),
    ({"objective": {"loss": "sapo", "clip_dual": 3}}, "leave clip_dual at 0"),
    ({"objective": {"baseline": "batch"}, "selection": {"zero_variance": "drop"}}, "would bias"),
    ({"objective": {"baseline": "stratum"}}, "needs strata.by"),
    ({"objective": {"baseline": "stratum", "rewards": "normalise_then_sum"}}, "is of one reward"),
    ({"objective": {"reward_weights": {"a": 1}}}, "normalise_then_sum"),
    ({"objective": {"kl_target": 0.1}}, "must begin above 0"),
    ({"strata": {"by": ["completion_tokens"]}}, "never learned"),
    ({"strata": {"by": ["reward"]}}, "never learned"),
    ({"strata": {"by": ["tsk"]}}, "did you mean 'task'"),
    ({"strata": {"by": ["prompt_tokens", "pass_rate"]}}, "at most one of"),
    ({"strata": {"by": ["task", "task"]}}, "each key once"),
    ({"strata": {"edges": [1, 2]}}, "go together"),
    ({"strata": {"by": ["tier"], "boundaries": "fixed", "edges": [1]}}, "cuts a number"),
    ({"strata": {"by": ["pass_rate"], "boundaries": "fixed"}}, "go together"),
    ({"preset": "dapp"}, "did you mean 'dapo'"),
    ({"objective": {"correction": "token_mask", "correction_high": 0.5}}, "the ratio is 1"),
    ({"strata": {"by": ["pass_rate"], "boundaries": "fixed", "edges": [0.5, 0.2]}}, "that rise"),
    ({"strata": {"by": ["tier"], "boundaries": "length_128_256"}}, "needs strata.by prompt_tokens"),
    ({"strata": {"weights": {"hard": 1.2}}}, "needs strata.by"),
    ({"strata": {"by": ["tier"], "weights": {"hard": -1}}}, "at least 0"),
    ({"strata": {"by": ["tier"], "shares": {"a": 0.6, "b": 0.6}}}, "at most 1"),
    ({"reference": {"sync_every": 2}}, "needs a KL term"),
    ({"reference": {"sync_every": 2, "kind": "adapter"}, "objective": {"kl_coef": 0.1}}, "cannot be moved"),
    ({"selection": {"overlong_buffer": 300}}, "at most sampling.max_tokens"),
    ({"algo": "ppo", "selection": {"refill_rounds": 1}}, "not in groups"),
    ({"algo": "ppo", "objective": {"rewards": "normalise_then_sum"}}, "is of groups"),
    ({"algo": "ppo", "objective": {"baseline": "stratum"}, "strata": {"by": ["task"]}}, "its critic for a baseline"),
]


class TestContradictions:
    @pytest.mark.parametrize(("record", "message"), CONTRADICTIONS)
    def test_are_told_before_anything_is_sampled(self, record, message):
        with pytest.raises(GrpoGymError, match=message):
            from_dict(TrainConfig, record)

    def test_ppo_may_have_groups_of_one(self):
        assert from_dict(TrainConfig, {"algo": "ppo", "group_size": 1}).group_size == 1


@pytest.mark.parametrize(
    "config", [TrainConfig(algo="ppo", preset="vapo"), TrainConfig(objective=Objective(credit="turn"))]
)
def test_choices_survive(config, tmp_path):
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(to_dict(config)), encoding="utf-8")
    assert read_yaml(TrainConfig, tmp_path / "c.yaml") == config
