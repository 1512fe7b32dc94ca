"""Environments: where problems come from. One file per task; `index.py` names them all."""
