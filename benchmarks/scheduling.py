"""What do dispatch rules reach on the scheduling tasks, and so what is there to be gained over them?

Each figure is a mean of optimum over makespan (or cost) on problems of one tier; the optima are proved. The rules need
no search: first in, first out; shortest processing time; most work remaining; and any job that waits, drawn at random.
For rotas: the cheapest person left for each shift in turn (0 where it runs out of people), and people at mean prices.

What a policy's own answers gain is told by `grpo_rewards.scheduling.report.gain`, from problems and verdicts.
"""

from __future__ import annotations

from benchmarks.intervals import mean_interval
from benchmarks.rows import Report, Row
from grpo_gym import Problem, Rng, Task
from grpo_gym.registration import load_tasks
from grpo_rewards.scheduling.report import by_rules
from grpo_rewards.scheduling.rota import RotaReward, greedy
from grpo_rewards.scheduling.timetable import makespan, timetable

TASKS = ("job_shop", "flow_shop", "staff")


def run(quick: bool) -> Report:
    """Measure all tiers of the three tasks."""
    many = 60 if quick else 400
    rows: list[Row] = []
    for name in TASKS:
        task = load_tasks(f"grpo/scheduling.{name}")[0]
        for tier in task.tiers:
            rows += measure(task, tier, [task.problem(tier, "train", seed, 0) for seed in range(many)])
    return Report(rows)


def measure(task: Task, tier: int, problems: list[Problem]) -> list[Row]:
    """Return the mean ratio of every rule on problems of one tier, and how often it is optimal."""
    ways = _rota_rules if task.name == "scheduling.staff" else _shop_rules
    ratios: dict[str, list[float]] = {}
    for problem in problems:
        for rule, ratio in ways(problem).items():
            ratios.setdefault(rule, []).append(ratio)
    rows = []
    for rule, values in ratios.items():
        mean, low, high = mean_interval(values)
        optimal = 100 * sum(value == 1 for value in values) / len(values)
        note = f"optimal in {optimal:.0f} of 100"
        rows.append(Row("scheduling", f"{task.env_id} tier {tier}", "optimum / cost", mean, "", low, high, rule, note))
    return rows


def _shop_rules(problem: Problem) -> dict[str, float]:
    best = problem.meta["best"]
    return {
        "any job that waits": best / _at_random(problem),
        **{rule: best / length for rule, length in by_rules(problem).items()},
    }


def _rota_rules(problem: Problem) -> dict[str, float]:
    reward = RotaReward()
    rota = "; ".join(f"{day}: {', '.join(team)}" for day, team in greedy(problem).items())
    return {
        "anybody, at mean prices": problem.meta["best"] / reward.baseline(problem),
        "cheapest first": float(reward.score(f"\\boxed{{{rota}}}", problem)),
    }


def _at_random(problem: Problem) -> int:
    """Return the makespan when any job goes next, and in a flow shop any order."""
    jobs, machines = problem.meta["jobs"], problem.meta["machines"]
    rng = Rng("at random", problem.problem_id)
    if problem.meta.get("flow"):
        return makespan(timetable(jobs, dict.fromkeys(machines, rng.sample(list(jobs), len(jobs)))))
    step = dict.fromkeys(jobs, 0)
    orders: dict[str, list[str]] = {machine: [] for machine in machines}
    while waiting := [job for job, k in step.items() if k < len(machines)]:
        job = rng.choice(waiting)
        orders[jobs[job][step[job]][0]].append(job)
        step[job] += 1
    return makespan(timetable(jobs, orders))
