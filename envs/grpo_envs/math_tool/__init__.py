"""Maths with a calculator: single-turn tasks as episodes of several turns, in which a policy may have things computed.

`calculator.py` computes exactly, within limits; `episode.py` is the conversation; `tasks.py` lists what there is.
"""
