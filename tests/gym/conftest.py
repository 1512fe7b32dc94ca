"""What tests of the core share: a registry in which a test may register what it likes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import pytest

from grpo_gym import registration


@pytest.fixture
def own_names() -> Iterator[None]:
    """Give the registry back as it was."""
    tables: list[dict[str, Any]] = [
        gymnasium.registry,
        registration._tasks,
        registration._families,
        registration._mixtures,
        registration._loaded,
    ]
    before = [dict(table) for table in tables]
    yield
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)
