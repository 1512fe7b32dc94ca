"""The folder of cases and data that this repository shares with others; tests that need it are skipped without it."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("GRPO_GYM_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared_file(*parts: str) -> Path:
    path = SHARED.joinpath(*parts)
    if not path.is_file():
        pytest.skip(f"the shared file {'/'.join(parts)} is not here (set GRPO_GYM_SHARED)")
    return path
