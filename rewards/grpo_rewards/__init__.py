"""Verifiable rewards: text in, Verdict out. Usable from any trainer as plain functions, without the environments."""
