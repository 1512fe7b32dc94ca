"""Benchmarks: one file per question. `python benchmarks/run_all.py` answers all of them."""
