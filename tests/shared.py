"""What tests of several folders share: cases and data beside the repository (skipped without them), and the ids."""

import os
from pathlib import Path

import pytest

from grpo_gym import registered_ids

SHARED = Path(os.environ.get("GRPO_GYM_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared_file(*parts: str) -> Path:
    path = SHARED.joinpath(*parts)
    if not path.is_file():
        pytest.skip(f"the shared file {'/'.join(parts)} is not here (set GRPO_GYM_SHARED)")
    return path


def product_ids() -> list[str]:
    """The ids of this product; tests of user code leave ids of their own in the registry, whatever the order."""
    return [identifier for identifier in registered_ids() if identifier.startswith("grpo/")]
