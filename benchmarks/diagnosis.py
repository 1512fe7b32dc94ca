"""What do answers earn on the diagnosis task that know little? The priors, one number for everything, neglected priors.

Each figure is a mean reward on problems of one tier. The single number is the best one for these very problems.
"""

from __future__ import annotations

from benchmarks.intervals import mean_interval
from benchmarks.rows import Report, Row
from grpo_gym import Problem, Task
from grpo_gym.registration import load_tasks


def run(quick: bool) -> Report:
    """Measure all tiers."""
    many = 60 if quick else 400
    [task] = load_tasks("grpo/diagnosis.noisy_or")
    rows: list[Row] = []
    for tier in task.tiers:
        rows += measure(task, tier, [task.problem(tier, "train", seed, 0) for seed in range(many)])
    return Report(rows)


def measure(task: Task, tier: int, problems: list[Problem]) -> list[Row]:
    """Return what each way to answer earns on problems of one tier."""
    constants = [[earned(task, p, dict.fromkeys(p.meta["priors"], k / 100)) for p in problems] for k in range(1, 100)]
    priors = [earned(task, p, {name: prior / 100 for name, prior in p.meta["priors"].items()}) for p in problems]
    hasty = [float(task.reward.score(task.hasty_answer(p) or "", p)) for p in problems]
    ways = {"the priors": priors, "the best single number": max(constants, key=sum), "the weak solver": hasty}
    rows = []
    for who, values in ways.items():
        mean, low, high = mean_interval(values)
        note = f"fully right in {100 * sum(value == 1 for value in values) / len(values):.0f} of 100"
        rows.append(Row("diagnosis", f"{task.env_id} tier {tier}", "mean reward", mean, "", low, high, who, note))
    return rows


def earned(task: Task, problem: Problem, reports: dict[str, float]) -> float:
    """Return the reward of reported probabilities."""
    answer = ", ".join(f"{name}: {report:.2f}" for name, report in reports.items())
    return float(task.reward.score(f"\\boxed{{{answer}}}", problem))
