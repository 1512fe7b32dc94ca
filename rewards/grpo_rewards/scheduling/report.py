"""What answers gain over dispatch rules: shares of the optimum, of a policy's answers and of each rule side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grpo_gym.problem import Problem
from grpo_gym.verdict import Verdict
from grpo_rewards.scheduling.dispatch import RULES, dispatched, ranked
from grpo_rewards.scheduling.timetable import makespan, timetable


@dataclass(frozen=True)
class Gain:
    """What a set of answers is worth.

    Attributes:
        answers: How many there are.
        valid: Share that breaks no rule.
        optimal: Share that is optimal.
        ratio: Mean of optimum over cost; 0 for an invalid answer.
        rules: Dispatch rule -> the same mean of its schedules for the same problems; none for rotas.
        gains: Dispatch rule -> mean of its cost over the answer's cost, less 1: by how much shorter the valid answers'
            schedules are than the rule's.
    """

    answers: int
    valid: float
    optimal: float
    ratio: float
    rules: Mapping[str, float]
    gains: Mapping[str, float]


def by_rules(problem: Problem) -> dict[str, int]:
    """Return dispatch rule -> makespan of the schedule that it leads to; nothing for a rota."""
    jobs, machines = problem.meta.get("jobs"), problem.meta.get("machines", [])
    if jobs is None:
        return {}
    if problem.meta.get("flow"):
        found = {rule: dict.fromkeys(machines, ranked(jobs, rule)) for rule in RULES}
        return {rule: makespan(timetable(jobs, orders)) for rule, orders in found.items()}
    return {rule: makespan(timetable(jobs, dispatched(jobs, machines, rule))) for rule in RULES}


def gain(rows: Iterable[tuple[Problem, Verdict]]) -> Gain:
    """Compare answers, as a scheduling reward judged them, with the dispatch rules on the same problems."""
    answers = valid = optimal = 0
    ratio = 0.0
    rules: dict[str, list[float]] = {}
    gains: dict[str, list[float]] = {}
    for problem, verdict in rows:
        answers += 1
        best, cost = int(problem.meta["best"]), verdict.details.get("cost")
        if cost is not None:
            valid += 1
            optimal += cost <= best
            ratio += best / cost
        for rule, length in by_rules(problem).items():
            rules.setdefault(rule, []).append(best / length)
            if cost is not None:
                gains.setdefault(rule, []).append(length / cost - 1)
    count = max(1, answers)
    return Gain(answers, valid / count, optimal / count, ratio / count, _means(rules), _means(gains))


def _means(values: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: sum(found) / len(found) for name, found in values.items()}
