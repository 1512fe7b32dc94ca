"""No registered reward of this product can be fooled in any of the ways that a check knows."""

from __future__ import annotations

import pytest

from grpo_gym.checks import check_reward
from tests.shared import product_ids

CODE = [identifier for identifier in product_ids() if identifier.startswith("grpo/Code")]
"""Where every answer is a program that runs: fewer problems."""


def is_mixture(identifier: str) -> bool:
    """Whether this is a whole family: `make test` checks these alone, `make test-all` each of their tasks, too."""
    return "." not in identifier and not identifier.startswith("grpo/CodeRepair")


IDS = [pytest.param(i, marks=() if is_mixture(i) else pytest.mark.long) for i in product_ids()]


@pytest.mark.slow
@pytest.mark.parametrize("identifier", IDS)
def test_every_line_of_every_registered_environment_passes(identifier: str) -> None:
    report = check_reward(identifier, n=8 if identifier in CODE else 16)

    assert report.ok, str(report)
