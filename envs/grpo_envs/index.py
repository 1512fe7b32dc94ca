"""The light index: every task by name and string, so that importing grpo_gym imports no task."""

from __future__ import annotations

TASKS = {
    "math.chain": "grpo_envs.math.chain:chain",
    "math.linear": "grpo_envs.math.linear:linear",
    "math.fractions": "grpo_envs.math.fractions:fractions",
    "math.remainder": "grpo_envs.math.remainder:remainder",
    "math.gcd": "grpo_envs.math.gcd:gcd",
    "logic.guess_number": "grpo_envs.logic.guess_number:guess_number",
}

FAMILIES = {
    "math": ["math.chain", "math.linear", "math.fractions", "math.remainder", "math.gcd"],
}


def register() -> None:
    """Register families and tasks; the plugin entry point of this package."""
    # not at the top: `import grpo_gym` calls this function, and whoever imports this module first would be in a circle
    from grpo_gym.registration import register_family, register_task

    for family, tasks in FAMILIES.items():
        register_family(family, tasks)
    for name, entry in TASKS.items():
        register_task(name, entry)
