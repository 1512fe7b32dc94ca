"""Closing processes in with what the Linux kernel offers to anyone: Landlock, seccomp, capabilities, namespaces.

Used by the checks of foreign rewards (`grpo_gym.checks.confine`) and by the code judge, whose helper processes load the
files of this folder alone: they import the standard library and one another, nothing else.
"""
