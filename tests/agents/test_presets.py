"""Presets: each is options that exist, the method is apart from the scale, and what is given wins."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from grpo_agents.config import Sampling, TrainConfig, to_dict
from grpo_agents.config.objective import PresetName
from grpo_agents.losses import form_of
from grpo_agents.presets import PRESETS, with_preset
from grpo_gym.errors import UnknownNameError

NAMES = sorted(PRESETS)


def value(config: TrainConfig, field: str) -> Any:
    found: Any = to_dict(config)
    for part in field.split("."):
        found = found[part]
    return found


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_one_builds_and_is_what_it_says(name, scale):
    config = with_preset(TrainConfig(), name, scale)
    preset = PRESETS[name]

    assert config.preset == name
    assert all(value(config, field) == wanted for field, wanted in preset.options.items())
    for field, wanted in preset.scale.items():
        assert value(TrainConfig(), field) is not None  # KeyError for a name that does not exist
        assert (value(config, field) == wanted) == (scale or value(TrainConfig(), field) == wanted)
    assert form_of(config.objective)


@pytest.mark.parametrize("name", NAMES)
def test_method_and_scale_share_no_field_and_the_source_can_be_found(name):
    preset = PRESETS[name]

    assert not preset.options.keys() & preset.scale.keys()
    assert "arXiv" in preset.source or "19" in preset.source
    assert "algo" in preset.options


@pytest.mark.parametrize("name", NAMES)
def test_what_it_does_not_name_stays(name):
    config = TrainConfig(seed=7, env="x", sampling=Sampling(temperature=0.9))
    named = {*PRESETS[name].options, "preset"}
    found = to_dict(with_preset(config, name))
    for field, before in to_dict(config).items():
        if isinstance(before, dict) and field not in ("env_args",):
            for inner, old in before.items():
                assert f"{field}.{inner}" in named or found[field][inner] == old
        else:
            assert field in named or found[field] == before


def test_what_is_laid_over_a_preset_wins():
    from grpo_agents.config.reading import overlaid

    config = overlaid(with_preset(TrainConfig(), "dapo"), {"objective": {"clip_high": 0.5}, "group_size": 4})

    assert (config.objective.clip_high, config.objective.clip_low, config.group_size) == (0.5, 0.2, 4)
    assert config.selection.zero_variance == "drop"


def test_an_unknown_name_tells_the_nearest():
    with pytest.raises(UnknownNameError, match="dr_grpo"):
        with_preset(TrainConfig(), "dr_grop")


def test_methods_that_were_once_ambiguous():
    """Numbers that are easily taken for one another: each is the one of the source."""
    assert value(with_preset(TrainConfig(), "cispo"), "objective.clip_high") == 4.0  # the bound itself is 5
    gspo = with_preset(TrainConfig(), "gspo").objective
    assert (gspo.clip_low, gspo.clip_high) == (3e-4, 4e-4)
    rloo = with_preset(TrainConfig(), "rloo").objective
    assert (rloo.baseline, rloo.scale, rloo.kl_estimator) == ("leave_one_out", "none", "k1")
    assert with_preset(TrainConfig(), "deepseekmath").objective.kl_ratio_correction is False
    assert with_preset(TrainConfig(), "orz").critic.kind == "separate"


def test_every_name_that_a_config_may_hold_is_a_preset():
    assert set(get_args(PresetName)) == {"", *PRESETS}
