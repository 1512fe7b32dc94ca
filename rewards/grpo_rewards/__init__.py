"""Verifiable rewards: text in, Verdict out. Usable from any trainer as plain functions, without the environments.

What decides whether an answer is right: `math` and `exact` (words). What shapes how it is written: `format`, `length`,
`repetition`, `language`. What puts several into one: `compose`. Import from the module you need; this one stays empty.
"""
