r"""Staff rotas: who works on which day, `\boxed{Mon: Ann, Bo; Tue: Cy}`, the names in the order of the day's roles.

`problem.meta` holds `days` (day -> roles), `people` (name -> `roles`, `most` shifts, `prices` by day) and `best`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from grpo_gym.problem import Problem
from grpo_gym.verdict import Reason
from grpo_rewards.logic.reading import UnreadError
from grpo_rewards.scheduling.cost import BrokenPlanError, CostReward

_DAY = re.compile(
    r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
    r"(?:(?=[a-z])(?:day|(?<=Tue)sday|(?<=Wed)nesday|(?<=Thu)rsday|(?<=Sat)urday))?[\"']?\s*[:=]",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[\s,;|&\"']+(?:and\b[\s,]*)?", re.IGNORECASE)
_ROLE = re.compile(r"\(\s?(?:as (?:an? )?|the )?([a-z]{1,30})\s?\)", re.IGNORECASE)
_AROUND = " \t\n,;.|[](){}&\\-*\"'"

Rota = dict[str, list[str]]
"""Day -> people in the order of its roles."""


class RotaReward(CostReward):
    """Who works on which day in which role: least cost over cost."""

    def read(self, text: str, problem: Problem) -> Rota:
        """Read the people of every day."""
        head, *parts = _DAY.split(text)
        if head.strip(_AROUND) or not parts:
            raise UnreadError(f"{text[:60]!r} does not begin with a day and a colon")
        known = {name.casefold(): name for name in problem.meta["people"]}
        rota: Rota = {}
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            day = name.capitalize()
            if day in rota:
                raise UnreadError(f"{day} is filled twice", Reason.HEDGED)
            rota[day] = _team(body, known, problem.meta["days"].get(day, ()))
        return rota

    def cost_of(self, plan: Rota, problem: Problem) -> int:
        """Return the sum of the prices."""
        days, people = problem.meta["days"], problem.meta["people"]
        for day in plan:
            if day not in days:
                raise BrokenPlanError(f"nothing is to do on {day}")
        total = 0
        shifts = dict.fromkeys(people, 0)
        for day, roles in days.items():
            team = plan.get(day, [])
            if len(team) != len(roles):
                raise BrokenPlanError(f"{day} has {len(team)} people for {len(roles)} roles")
            for role, name in zip(roles, team, strict=True):
                if team.count(name) > 1:
                    raise BrokenPlanError(f"{name} would work twice on {day}")
                total += _price(name, people[name], day, role)
                shifts[name] += 1
        for name, worked in shifts.items():
            if worked > people[name]["most"]:
                raise BrokenPlanError(f"{name} would work {worked} shifts, at most {people[name]['most']} are allowed")
        return total

    def baseline(self, problem: Problem) -> float:
        """Return what people cost who are chosen blindly among those who may: the sum of mean prices."""
        total = 0.0
        for day, roles in problem.meta["days"].items():
            for role in roles:
                prices = list(candidates(problem, day, role).values())
                total += sum(prices) / len(prices)
        return total

    def praise(self, cost: int) -> str:
        """Say what the rota costs."""
        return f"a valid rota that costs {cost}"


def _team(body: str, known: Mapping[str, str], roles: Sequence[str]) -> list[str]:
    """Read the people of a day: in the order of its roles, or each with a role in brackets. Raises UnreadError."""
    if "(" in body:
        body = _ROLE.sub(lambda said: f" @{said[1]}" if said[1].casefold() in roles else said[0], body)
    team: list[str] = []
    told: dict[str, str] = {}
    for piece in filter(None, _BETWEEN.split(body.strip(_AROUND))):
        if piece[0] == "@" and team and team[-1] not in told.values():
            if told.setdefault(piece[1:].casefold(), team[-1]) != team[-1]:
                raise UnreadError(f"two people are {piece[1:]}", Reason.HEDGED)
        elif piece.casefold() not in known:
            raise UnreadError(f"{piece[:60]!r} is nobody of the staff")
        else:
            team.append(known[piece.casefold()])
    if not told:
        return team
    if len(told) != len(team):
        raise UnreadError("some are told to have a role, and others are not")
    return [told[role] for role in roles if role in told]


def _price(name: str, person: Mapping[str, Any], day: str, role: str) -> int:
    """Return what somebody asks for a day. Raises BrokenPlanError for a day off or a role that is not theirs."""
    if role not in person["roles"]:
        raise BrokenPlanError(f"{name} cannot be {role} on {day}")
    if day not in person["prices"]:
        raise BrokenPlanError(f"{name} is off on {day}")
    return int(person["prices"][day])


def candidates(problem: Problem, day: str, role: str) -> dict[str, int]:
    """Return who can fill a role on a day, with their prices."""
    return {
        name: person["prices"][day]
        for name, person in problem.meta["people"].items()
        if role in person["roles"] and day in person["prices"]
    }


def greedy(problem: Problem) -> Rota:
    """Return the rota of a weak solver: shift by shift the cheapest who may still work; it may run out of people."""
    rota: Rota = {}
    left = {name: person["most"] for name, person in problem.meta["people"].items()}
    for day, roles in problem.meta["days"].items():
        team: list[str] = []
        for role in roles:
            prices = candidates(problem, day, role)
            free = [name for name in prices if left[name] and name not in team] or list(prices)
            name = min(free, key=lambda one: prices[one])
            left[name] -= 1
            team.append(name)
        rota[day] = team
    return rota
