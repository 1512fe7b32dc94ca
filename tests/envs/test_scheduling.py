"""Schedules and rotas: optima are optima by brute force and by bounds, worked solutions are true line by line."""

from __future__ import annotations

import itertools
import re
import statistics
from typing import Any

import pytest

from grpo_envs.scheduling import branching, sequences
from grpo_envs.scheduling.assignment import Assignment
from grpo_envs.scheduling.shops import bounds, drawn
from grpo_gym import Problem, Rng
from grpo_gym.registration import load_tasks
from grpo_rewards.scheduling.report import by_rules
from tests.envs.shop_floor import (
    all_orders,
    cheapest,
    flow_shop_of,
    job_shop_of,
    line_bound,
    longest_path,
    machines_of,
    office_of,
    orders_in,
    rota_cost,
)

JOB, FLOW, STAFF = (load_tasks(f"grpo/scheduling.{name}")[0] for name in ("job_shop", "flow_shop", "staff"))
TIERS = range(6)


def problems(task, tier: int, many: int) -> list[Problem]:
    return [task.problem(tier, "train", seed, 0) for seed in range(many)]


# --- job shop


@pytest.mark.parametrize("tier", TIERS)
def test_a_job_shops_optimum_is_reached_and_cannot_be_beaten(tier):
    """The reference, simulated a second time, ends at a bound that is found a second time."""
    for problem in problems(JOB, tier, 20 if tier < 4 else 10):
        shop = job_shop_of(problem.prompt)
        assert longest_path(shop, orders_in(f"\\boxed{{{problem.reference}}}")) == line_bound(shop)
        assert problem.meta["best"] == line_bound(shop)


@pytest.mark.parametrize(("tier", "many"), [(0, 8), (1, 6), (2, 3), pytest.param(3, 1, marks=pytest.mark.long)])
def test_every_answer_to_a_small_job_shop_earns_what_brute_force_says(tier, many):
    for problem in problems(JOB, tier, many):
        shop = job_shop_of(problem.prompt)
        ends = [(orders, longest_path(shop, orders)) for orders in all_orders(shop)]
        best = min(end for _, end in ends if end is not None)
        assert best == problem.meta["best"]
        for orders, end in ends[:300]:
            answer = "; ".join(f"{machine}: {' '.join(row)}" for machine, row in orders.items())
            verdict = JOB.reward.score(f"\\boxed{{{answer}}}", problem)
            assert verdict.value == (0 if end is None else best / end)
            assert ("waits for" in verdict.feedback) == (end is None)


@pytest.mark.parametrize("size", [(2, 2), (3, 2), (2, 3), (3, 3)])
def test_the_job_shop_solver_agrees_with_brute_force_where_no_bound_is_met(size):
    loose = 0
    machines = [f"M{k}" for k in range(1, size[1] + 1)]
    for seed in range(14):
        jobs = drawn(Rng("brute", *size, seed), size[0], lambda rng: rng.sample(machines, len(machines)))
        shop = {job: [(m, t) for m, t in operations] for job, operations in jobs.items()}
        low = max(map(sum, bounds(jobs, machines).values()))
        assert low == line_bound(shop)
        found, orders = branching.optimum(jobs, machines, low)
        ends = [end for choice in all_orders(shop) if (end := longest_path(shop, choice)) is not None]
        assert found == longest_path(shop, orders) == min(ends)
        loose += found > low
    assert loose > 0


def test_or_tools_finds_no_shorter_job_shop():
    cp_model = pytest.importorskip("ortools.sat.python.cp_model", reason="OR-Tools is not installed")
    for problem in [p for tier in (3, 4, 5) for p in problems(JOB, tier, 10)]:
        shop = job_shop_of(problem.prompt)
        model = cp_model.CpModel()
        horizon = sum(t for operations in shop.values() for _, t in operations)
        end = model.new_int_var(0, horizon, "end")
        intervals: dict[str, list[Any]] = {machine: [] for machine in machines_of(shop)}
        for operations in shop.values():
            ready = 0
            for machine, time in operations:
                start = model.new_int_var(0, horizon, "")
                intervals[machine].append(model.new_fixed_size_interval_var(start, time, ""))
                model.add(start >= ready)
                ready = start + time
            model.add(end >= ready)
        for rows in intervals.values():
            model.add_no_overlap(rows)
        model.minimize(end)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        assert solver.solve(model) == cp_model.OPTIMAL
        assert solver.objective_value == problem.meta["best"]


# --- flow shop


@pytest.mark.parametrize("tier", TIERS)
def test_a_flow_shops_optimum_is_that_of_all_orders(tier):
    for problem in problems(FLOW, tier, 12 if tier < 4 else 4):
        shop = flow_shop_of(problem.prompt)
        best = problem.meta["best"]
        assert best == line_bound(shop)
        assert passed(shop, str(problem.reference).split(", ")) == best
        for order in list(itertools.permutations(shop))[:: 1 if tier < 4 else 97]:
            end = passed(shop, order)
            assert end >= best
            assert FLOW.reward.score(f"\\boxed{{{' '.join(order)}}}", problem).value == best / end


@pytest.mark.parametrize("size", [(3, 2), (4, 2), (4, 3), (5, 4)])
def test_the_flow_shop_solvers_agree_with_brute_force_where_no_bound_is_met(size):
    loose = 0
    machines = [f"M{k}" for k in range(1, size[1] + 1)]
    for seed in range(12):
        jobs = drawn(Rng("brute", *size, seed), size[0], lambda rng: machines)
        shop = {job: [(m, t) for m, t in operations] for job, operations in jobs.items()}
        best = min(passed(shop, order) for order in itertools.permutations(shop))
        low = line_bound(shop)
        found, order = sequences.optimum(jobs, low)
        assert found == best == passed(shop, order)
        loose += best > low
        if size[1] == 2:
            first, last = sequences.johnson(jobs)
            assert passed(shop, [*first, *last]) == best
    assert loose > 0


def passed(shop, order) -> int:
    """Return when the last job leaves: each machine's last end, updated job by job."""
    ends = [0] * len(next(iter(shop.values())))
    for job in order:
        for k, (_, time) in enumerate(shop[job]):
            ends[k] = max(ends[k], ends[k - 1] if k else 0) + time
    return ends[-1]


# --- worked solutions of both


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(("task", "read"), [(JOB, job_shop_of), (FLOW, flow_shop_of)], ids=["job shop", "flow shop"])
def test_every_line_of_a_shops_solution_is_true(task, read, tier):
    for problem in problems(task, tier, 8):
        shop = read(problem.prompt)
        _, *lines, said, box = str(problem.solution).splitlines()
        assert box == task.answer(problem)
        split = next(k for k, line in enumerate(lines) if line.startswith("The largest is"))
        sums = [(name, re.findall(r"\d+", text), int(total)) for name, text, total in map(parts, lines[:split])]
        assert {name for name, _, _ in sums} == {*shop, *machines_of(shop)}
        assert all(sum(map(int, terms)) == total for _, terms, total in sums)
        assert max(total for _, _, total in sums) == line_bound(shop) == int(lines[split].split()[3].rstrip("."))
        rows = [line.split(": ") for line in lines[split + 1 :] if line.startswith("M")]
        orders = {machine: re.findall(r"[A-Z]", row) for machine, row in rows}
        spans = {
            (job, machine): (int(start), int(end))
            for machine, row in rows
            for job, start, end in re.findall(r"([A-Z]) (\d+)-(\d+)", row)
        }
        assert len(spans) == sum(map(len, shop.values()))
        for job, operations in shop.items():
            assert all(spans[job, m][1] - spans[job, m][0] == t for m, t in operations)
            assert all(spans[job, a][1] <= spans[job, b][0] for (a, _), (b, _) in itertools.pairwise(operations))
        for machine, order in orders.items():
            assert all(spans[a, machine][1] <= spans[b, machine][0] for a, b in itertools.pairwise(order))
        assert said == f"The last job ends at {max(end for _, end in spans.values())}."
        assert all(", ".join(order) in box for order in orders.values())


def parts(line: str) -> tuple[str, str, str]:
    name, text = line.split(": ")
    terms, total = text.split(" = ")
    return name, terms, total


def test_johnsons_rule_is_what_the_solution_says():
    for problem in problems(FLOW, 1, 20):
        shop = flow_shop_of(problem.prompt)
        first, last = (line.split(": ")[1] for line in str(problem.solution).splitlines() if ", by " in line)
        assert re.findall(r"[A-Z]", first) + re.findall(r"[A-Z]", last) == str(problem.reference).split(", ")
        for text, machine, sign in ((first, 0, 1), (last, 1, -1)):
            rows = re.findall(r"([A-Z]) (\d+)", text)
            times = [shop[job][machine][1] for job, _ in rows]
            assert times == [int(time) for _, time in rows] == sorted(times, key=lambda time: sign * time)
            assert all((shop[job][0][1] <= shop[job][1][1]) == (machine == 0) for job, _ in rows)


# --- rotas


@pytest.mark.parametrize("tier", [*range(4), pytest.param(4, marks=pytest.mark.long)])
def test_a_rotas_optimum_is_that_of_all_rotas(tier):
    for problem in problems(STAFF, tier, (40, 20, 8, 3, 1)[tier]):
        assert cheapest(*office_of(problem.prompt)) == problem.meta["best"]


@pytest.mark.parametrize("tier", TIERS)
def test_the_rota_keeps_the_rules_costs_the_optimum_and_is_proved_to(tier):
    """The proof is checked against the prompt: supposed prices, cheapest people, sums, what is taken off."""
    for problem in problems(STAFF, tier, 25):
        days, people = office_of(problem.prompt)
        text = str(problem.solution)
        rota = orders_in(text.splitlines()[-1])
        assert rota_cost(days, people, rota) == problem.meta["best"]
        extra = {name: int(more) for name, more in re.findall(r"each day of (\w+) cost (\d+) more", text)}
        total = 0
        for day, roles in days.items():
            costs = [
                min(p[2][day] + extra.get(n, 0) for n, p in people.items() if role in p[0] and day in p[2])
                for role in roles
            ]
            assert f"{day}: " + ", ".join(f"{r} {c}" for r, c in zip(roles, costs, strict=True)) in text.splitlines()
            total += sum(costs)
        for name, more in extra.items():
            most = people[name][1]
            assert f"{name} may work {most} day" in text
            assert f": {total} - {most} * {more} = {total - most * more}" in text
            total -= most * more
        assert total == problem.meta["best"]
        assert f"costs less than {total}." in text
        for line in re.findall(r"^(\d+(?: \+ \d+)+) = (\d+)$", text, re.MULTILINE):
            assert sum(map(int, line[0].split(" + "))) == int(line[1])


@pytest.mark.parametrize("tier", TIERS)
def test_the_rota_solver_finds_the_planted_optimum(tier):
    for problem in problems(STAFF, tier, 25):
        assert Assignment(problem.meta["days"], problem.meta["people"]).solve() == problem.meta["best"]


def test_the_rota_solver_replaces_people_as_far_as_it_takes():
    """Ann alone can drive, so she must give up the first day; then Bo, who takes it, gives up the second to Cy."""
    days = {"Mon": ["cook"], "Tue": ["cook"], "Wed": ["driver"]}
    people = {
        "Ann": {"roles": ["cook", "driver"], "most": 1, "prices": {"Mon": 1, "Wed": 9}},
        "Bo": {"roles": ["cook"], "most": 1, "prices": {"Mon": 5, "Tue": 2}},
        "Cy": {"roles": ["cook"], "most": 1, "prices": {"Tue": 7}},
    }
    flow = Assignment(days, people)
    assert flow.solve() == 5 + 7 + 9
    assert flow.filled == {("Mon", 0): "Bo", ("Tue", 0): "Cy", ("Wed", 0): "Ann"}
    assert Assignment({**days, "Thu": ["cook"]}, people).solve() is None


def test_nobody_is_put_into_two_roles_of_a_day():
    """Ann is the cheapest cook and the only driver, and may work twice: Bo must cook, whatever it costs."""
    people = {
        "Ann": {"roles": ["cook", "driver"], "most": 2, "prices": {"Mon": 1}},
        "Bo": {"roles": ["cook"], "most": 1, "prices": {"Mon": 50}},
    }
    for roles in (["cook", "driver"], ["driver", "cook"]):
        assert Assignment({"Mon": roles}, people).solve() == 51


# --- all three


@pytest.mark.parametrize("task", [JOB, FLOW, STAFF], ids=lambda task: task.name)
def test_dispatch_rules_and_weak_solvers_get_worse_and_never_beat_the_optimum(task):
    shares = []
    for tier in (0, 3, 5):
        values = []
        for problem in problems(task, tier, 25):
            assert all(length >= problem.meta["best"] for length in by_rules(problem).values())
            values.append(float(task.reward.score(task.hasty_answer(problem) or "", problem)))
        shares.append(statistics.mean(values))
    assert shares[0] > shares[2]
    assert shares[0] < 1
