"""Schedules and rotas with proved optima.

shops.py       what job shop and flow shop share: drawing, bounds in words, worked solutions
branching.py   exact solver for the job shop
sequences.py   exact solvers for the flow shop
assignment.py  exact solver for rotas
"""
