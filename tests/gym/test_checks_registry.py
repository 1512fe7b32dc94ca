"""No registered reward of this product can be fooled in any of the ways that a check knows."""

from __future__ import annotations

import pytest

from grpo_gym.checks import check_reward
from tests.shared import product_ids


@pytest.mark.slow
@pytest.mark.parametrize("identifier", product_ids())
def test_every_line_of_every_registered_environment_passes(identifier: str) -> None:
    report = check_reward(
        identifier, n=8 if "/Code" in identifier else 16
    )  # there, every answer is a program that runs

    assert report.ok, str(report)
