"""The policy that ships with the package: 0.7 M parameters, made by `recipe.py`, described in `MODEL_CARD.md`."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "policy"
"""Weights (safetensors), config and tokenizer of the shipped policy."""
