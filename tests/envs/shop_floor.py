"""Schedules and rotas a second time: read from the prompt, simulated and searched in other ways than the product's."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Shop = dict[str, list[tuple[str, int]]]
Orders = Mapping[str, Sequence[str]]


def job_shop_of(prompt: str) -> Shop:
    """Read "K: M2 8, M4 3" lines."""
    lines = re.findall(r"^([A-Z]): ((?:M\d \d+(?:, )?)+)$", prompt, re.MULTILINE)
    return {job: [(m, int(t)) for m, t in re.findall(r"(M\d) (\d+)", text)] for job, text in lines}


def flow_shop_of(prompt: str) -> Shop:
    """Read "K: 8, 3" lines."""
    lines = re.findall(r"^([A-Z]): ((?:\d+(?:, )?)+)$", prompt, re.MULTILINE)
    return {job: [(f"M{k}", int(t)) for k, t in enumerate(text.split(", "), 1)] for job, text in lines}


def machines_of(shop: Shop) -> list[str]:
    return sorted({machine for operations in shop.values() for machine, _ in operations})


def longest_path(shop: Shop, orders: Orders) -> int | None:
    """The makespan as the longest path in the graph of operations, found by relaxing all edges; None for a cycle."""
    before: dict[tuple[str, str], list[tuple[str, str]]] = {(j, m): [] for j, ops in shop.items() for m, _ in ops}
    for job, operations in shop.items():
        for (one, _), (two, _) in itertools.pairwise(operations):
            before[job, two].append((job, one))
    for machine, order in orders.items():
        for one, two in itertools.pairwise(order):
            before[two, machine].append((one, machine))
    time = {(job, machine): t for job, operations in shop.items() for machine, t in operations}
    end = dict(time)
    for _ in range(len(time) + 1):
        later = {node: time[node] + max((end[p] for p in before[node]), default=0) for node in time}
        if later == end:
            return max(end.values())
        end = later
    return None


def all_orders(shop: Shop) -> Iterator[dict[str, tuple[str, ...]]]:
    machines = machines_of(shop)
    for choice in itertools.product(itertools.permutations(shop), repeat=len(machines)):
        yield dict(zip(machines, choice, strict=True))


def line_bound(shop: Shop) -> int:
    """What no schedule can beat: a job's time, a machine's time with the shortest ways to it and from it."""
    bounds = [sum(t for _, t in operations) for operations in shop.values()]
    for machine in machines_of(shop):
        place = {job: [m for m, _ in operations].index(machine) for job, operations in shop.items()}
        to = min(sum(t for _, t in shop[job][:k]) for job, k in place.items())
        away = min(sum(t for _, t in shop[job][k + 1 :]) for job, k in place.items())
        bounds.append(to + away + sum(shop[job][k][1] for job, k in place.items()))
    return max(bounds)


def orders_in(boxed: str) -> dict[str, list[str]]:
    """Read the boxed answer of a job shop."""
    inside = boxed.removeprefix("\\boxed{").removesuffix("}")
    return {row.split(": ")[0]: row.split(": ")[1].split(", ") for row in inside.split("; ")}


def office_of(prompt: str) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Read days with roles, and people as (roles, most, prices)."""
    days, people = {}, {}
    for line in prompt.splitlines():
        if found := re.fullmatch(r"(\w{3}): ([a-z, ]+)", line):
            days[found[1]] = found[2].split(", ")
        elif found := re.fullmatch(r"(\w+) \(([a-z, ]+); at most (\d)\): (.*)", line):
            prices = {day: int(price) for day, price in re.findall(r"(\w{3}) (\d+)", found[4])}
            people[found[1]] = (found[2].split(", "), int(found[3]), prices)
    return days, people


def rota_cost(days: dict[str, list[str]], people: dict[str, Any], rota: Orders) -> int | None:
    """What a rota costs, None when it breaks a rule."""
    if list(rota) != list(days):
        return None
    worked = [name for team in rota.values() for name in team]
    total = 0
    for day, roles in days.items():
        if len(rota[day]) != len(roles) or len(set(rota[day])) < len(roles):
            return None
        for role, name in zip(roles, rota[day], strict=True):
            can, most, prices = people[name]
            if role not in can or day not in prices or worked.count(name) > most:
                return None
            total += prices[day]
    return total


def cheapest(days: dict[str, list[str]], people: dict[str, Any]) -> int:
    """The least cost, by going through the days and keeping the best cost for what everybody has worked so far."""
    names = list(people)
    best = {(0,) * len(names): 0}
    for day, roles in days.items():
        after: dict[tuple[int, ...], int] = {}
        able = [[n for n in names if role in people[n][0] and day in people[n][2]] for role in roles]
        teams = [team for team in itertools.product(*able) if len(set(team)) == len(team)]
        for worked, cost in best.items():
            for team in teams:
                now = tuple(w + (n in team) for w, n in zip(worked, names, strict=True))
                if any(w > people[n][1] for w, n in zip(now, names, strict=True)):
                    continue
                total = cost + sum(people[n][2][day] for n in team)
                after[now] = min(total, after.get(now, total))
        best = after
    return min(best.values())
