"""Diagnosis of invented diseases: how probable is what, after what was seen? No medical claim is made.

network.py    noisy-or networks and exact inference
noisy_or.py   the task
"""
