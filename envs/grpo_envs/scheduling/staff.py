"""Staff rotas: one person per role and day, by skill, days off and limits, as cheaply as possible.

The optimum is proved by prices. Suppose that every shift of a sought-after person cost some more than is asked: no rota
can cost less than the cheapest person for every shift then, less what is supposed for as many shifts as these people
may work. Problems are made backwards from such supposed costs: a rota, the least cost of every shift, what is supposed
for whom; the prices follow, and the rota's cost is the bound. No search is needed, and the proof is in the solution.
"""

from __future__ import annotations

from typing import Any

from grpo_envs.scheduling.assignment import Assignment
from grpo_envs.scheduling.shops import as_answer
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.scheduling.rota import Rota, RotaReward, greedy

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
ROLES = ("cook", "waiter", "cleaner", "driver", "guard")
NAMES = (
    *("Ann", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hal", "Ida", "Jo", "Kim", "Leo", "May", "Ned", "Oda", "Pam"),
    *("Quin", "Ray", "Sue", "Tim", "Uma", "Vic", "Wes", "Xia", "Yan", "Zoe"),
)
SIZES = ((3, 1, 1, 3), (3, 2, 2, 4), (4, 2, 3, 5), (5, 2, 3, 6), (5, 3, 4, 8), (7, 3, 5, 9))
"""Days, roles a day, roles in all, and people by tier."""

SOUGHT = (1, 2, 2, 3, 4, 5)
"""How many people are sought after, where so many work at all."""

LEAST, MOST = 10, 24
"""Least and largest of the supposed costs that a problem is made from."""

EXTRA = 4
"""The most that is supposed on top of a price."""

SPARE = 3
"""By how much people may be dearer than supposed on days on which they do not work."""


def written(rota: Rota) -> str:
    """Write a rota as it is asked for."""
    return "; ".join(f"{day}: {', '.join(team)}" for day, team in rota.items())


def boxed(rota: Rota) -> str:
    """Write a rota as a final answer."""
    return f"\\boxed{{{written(rota)}}}"


def spellings(problem: Problem) -> list[str]:
    """Return the reference in other words."""
    rows = str(problem.reference).split("; ")
    return [
        f"\\boxed{{{text}}}"
        for text in ("; ".join(reversed(rows)), ", ".join(rows), "; ".join(rows).replace(",", ""), " \\\\ ".join(rows))
    ]


def found_by_flow(problem: Problem) -> list[str]:
    """Return what the exact solver finds."""
    flow = Assignment(problem.meta["days"], problem.meta["people"])
    flow.solve()
    return [boxed({d: [flow.filled[d, k] for k in range(len(r))] for d, r in problem.meta["days"].items()})]


def ways(problem: Problem) -> float:
    """Return how many ways of filling shifts the exact solver looks at, and how many it may choose from."""
    flow = Assignment(problem.meta["days"], problem.meta["people"])
    flow.solve()
    return flow.relaxed + sum(map(len, flow.able.values()))


def cheapest_first(problem: Problem, rng: Rng) -> str:
    """The weak solver: shift by shift the cheapest who may still work."""
    return boxed(greedy(problem))


@task(
    "scheduling.staff",
    reward=RotaReward(),
    answer_format=r"Name the people of each day in the order of its roles, as in \boxed{Mon: Ann, Bo; Tue: Cy, Ann}.",
    answer=as_answer,
    default_tiers=(0, 1),
    equivalents=spellings,
    solver=found_by_flow,
    effort=ways,
    guess=cheapest_first,
)
def staff(rng: Rng, tier: int) -> Problem:
    """Fill 3 shifts by 3 people (0) up to 21 shifts by 9 people (5)."""
    length, each, kinds, size = SIZES[tier]
    roles = rng.sample(ROLES, kinds)
    days = {day: rng.sample(roles, each) for day in DAYS[:length]}
    main = {name: roles[k % kinds] for k, name in enumerate(rng.sample(NAMES, size))}
    names = sorted(main)
    rota = {day: [rng.choice([n for n in names if main[n] == role]) for role in needed] for day, needed in days.items()}
    least = {day: [rng.integer(LEAST, MOST) for _ in needed] for day, needed in days.items()}
    working = [name for name in names if any(name in team for team in rota.values())]
    sought = sorted(rng.sample(working, min(SOUGHT[tier], len(working))))
    extra = {name: rng.integer(1, EXTRA) for name in sought}
    people = {name: _person(rng, main[name], _places(rota, name), days, least, extra.get(name, 0)) for name in names}
    best = sum(people[name]["prices"][day] for day, team in rota.items() for name in team)
    solution = "\n".join([*_proof(days, people, least, extra, best), *_costs(rota, people), boxed(rota)])
    meta = {"days": days, "people": people, "best": best}
    return Problem(_prompt(days, people), written(rota), solution, meta)


def _places(rota: Rota, name: str) -> dict[str, int]:
    """Return the days on which somebody works, with the place in the team."""
    return {day: team.index(name) for day, team in rota.items() if name in team}


def _person(
    rng: Rng, main: str, works: dict[str, int], days: dict[str, list[str]], least: dict[str, list[int]], extra: int
) -> dict[str, Any]:
    """Return what somebody can do and asks, so that nothing is cheaper with the supposed extra than supposed.

    A second role is given only where it would not be the dearer one on a day that the person works.
    """
    roles = [main]
    for role in sorted({role for needed in days.values() for role in needed} - {main}):
        clash = any(
            role in days[day] and least[day][days[day].index(role)] > least[day][place] for day, place in works.items()
        )
        if not clash and rng.chance(1, 2):
            roles.append(role)
    prices = {}
    for day, needed in days.items():
        tops = [cost for role, cost in zip(needed, least[day], strict=True) if role in roles]
        if day in works:
            prices[day] = least[day][works[day]] - extra
        elif rng.chance(3, 4) or (not works and not prices and day == DAYS[len(days) - 1]):
            prices[day] = (max(tops) if tops else rng.integer(LEAST, MOST)) + rng.integer(0, SPARE) - extra
    most = len(works) if extra else min(len(days), max(1, len(works) + rng.integer(0, 1)))
    return {"roles": roles, "most": most, "prices": prices}


def _prompt(days: dict[str, list[str]], people: dict[str, Any]) -> str:
    lines = [f"{day}: {', '.join(roles)}" for day, roles in days.items()]
    for name, person in people.items():
        prices = ", ".join(f"{day} {price}" for day, price in person["prices"].items())
        lines.append(f"{name} ({', '.join(person['roles'])}; at most {person['most']}): {prices}")
    listed = "\n".join(lines)
    return (
        "Each day needs one person for each of its roles. Nobody works in a role that is not theirs, on a day for "
        f"which they ask no price, twice on a day, or on more days than they may.\n{listed}\n"
        "Which rota costs least in all?"
    )


def _proof(
    days: dict[str, list[str]], people: dict[str, Any], least: dict[str, list[int]], extra: dict[str, int], best: int
) -> list[str]:
    """Write why no rota costs less."""
    lines = [f"Suppose that each day of {name} cost {more} more." for name, more in extra.items()]
    lines.append("The cheapest person for each role would then cost:" if extra else "The cheapest for each role:")
    for day, roles in days.items():
        costs = ", ".join(f"{role} {cost}" for role, cost in zip(roles, least[day], strict=True))
        lines.append(f"{day}: {costs}")
    sums = [sum(costs) for costs in least.values()]
    lines.append(f"{' + '.join(map(str, sums))} = {sum(sums)}")
    total = sum(sums)
    for name, more in extra.items():
        most = people[name]["most"]
        lines.append(f"{name} may work {most} day{'s' * (most > 1)}: {total} - {most} * {more} = {total - most * more}")
        total -= most * more
    if total != best:
        raise AssertionError(f"the bound is {total}, the rota costs {best}")
    return [*lines, f"So no rota costs less than {total}. One that costs as much:"]


def _costs(rota: Rota, people: dict[str, Any]) -> list[str]:
    """Write what the rota costs."""
    lines, sums = [], []
    for day, team in rota.items():
        prices = [people[name]["prices"][day] for name in team]
        sums.append(sum(prices))
        lines.append(f"{day}: {', '.join(f'{name} {price}' for name, price in zip(team, prices, strict=True))}")
    return [*lines, f"{' + '.join(map(str, sums))} = {sum(sums)}"]
