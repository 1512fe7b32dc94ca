r"""Any answer that fulfils the conditions is right: it is put into them, exactly. For tasks with many right answers.

`meta["variables"]` names what is asked for, `meta["conditions"]` are equations and inequalities in them, and with
`meta["integers"]` the values must be whole. The answer is a tuple in that order, or one equation for each variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from grpo_gym.problem import Problem
from grpo_gym.reward import Probe, Reward
from grpo_gym.verdict import Verdict
from grpo_rewards.math.constructed import judge_constructed
from grpo_rewards.math.guard import TooBigError, UnreadableError
from grpo_rewards.math.parser import parse
from grpo_rewards.math.rational import rational
from grpo_rewards.math.tree import Items, Node, Relation, Sym, Tuple

_SIGNS = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}

Point = dict[str, Fraction]


class SubstitutionReward(Reward):
    """Judges values by putting them into the conditions of the problem."""

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        names = [str(name) for name in problem.meta["variables"]]
        try:
            conditions = [_relation(str(text)) for text in problem.meta["conditions"]]
        except (UnreadableError, TooBigError) as error:
            return Verdict.abstain(f"a condition cannot be read: {error}")

        def fault(text: str) -> str:
            broken = _broken(conditions, _values(parse(text, grouping=False), names), problem)
            return f"{text[:80]} does not fulfil: {broken}" if broken else ""

        return judge_constructed(response, fault)

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being right."""

        def box(values: Sequence[object]) -> str:
            return f"\\boxed{{({', '.join(map(str, values))})}}"

        return (
            Probe("far away", lambda p: box([10**9 + k for k, _ in enumerate(p.meta["variables"])])),
            Probe("the names themselves", lambda p: box(p.meta["variables"])),
            Probe("the conditions", lambda p: f"\\boxed{{{', '.join(p.meta['conditions'])}}}"),
            Probe("one value too many", lambda p: f"\\boxed{{{str(p.reference)[:-1]}, 1)}}"),
        )


def _relation(text: str) -> Relation:
    node = parse(text, grouping=False)
    if not isinstance(node, Relation) or any(sign not in _SIGNS for sign in node.signs):
        raise UnreadableError(f"{text!r} is no equation or inequality")
    return node


def _values(node: Node, names: Sequence[str]) -> Point:
    """Return the value of each variable, from a tuple, from equations, or from a bare value of a single one."""
    parts = list(node.items) if isinstance(node, (Tuple, Items)) else [node]
    if len(parts) == 2 == len(names) and isinstance(node, Relation):
        parts = [node]
    named: dict[str, Node] = {}
    if parts and all(isinstance(part, Relation) for part in parts):
        for part in parts:
            named.update(_named(part))
    elif len(parts) == len(names) and (not isinstance(node, Tuple) or node.brackets == "()"):
        named = dict(zip(names, parts, strict=True))
    if sorted(named) != sorted(names):
        raise UnreadableError(f"expected a value for each of {', '.join(names)}")
    point = {}
    for name, part in named.items():
        value = rational(part)
        if value is None:
            raise UnreadableError(f"the value of {name} is not a rational number")
        point[name] = value
    return point


def _named(part: Node) -> dict[str, Node]:
    """Read "x = 3", or "(x, y) = (3, 4)"."""
    if not isinstance(part, Relation) or part.signs != ("=",):
        raise UnreadableError("expected equations such as x = 3")
    left, right = part.items
    if isinstance(left, Tuple) and isinstance(right, Tuple) and len(left.items) == len(right.items):
        pairs = list(zip(left.items, right.items, strict=True))
    else:
        pairs = [(left, right)]
    named: dict[str, Node] = {}
    for name, value in pairs:
        if not isinstance(name, Sym) or name.name in named:
            raise UnreadableError("expected equations such as x = 3")
        named[name.name] = value
    return named


def _broken(conditions: Sequence[Relation], point: Point, problem: Problem) -> str:
    """Return the first condition that the values do not fulfil, "" when they fulfil all."""
    if problem.meta.get("integers") and any(value.denominator != 1 for value in point.values()):
        return "whole numbers"
    for condition, text in zip(conditions, problem.meta["conditions"], strict=True):
        values = [rational(side, point) for side in condition.items]
        for sign, left, right in zip(condition.signs, values, values[1:], strict=False):
            if left is None or right is None or not _SIGNS[sign](left, right):
                return str(text)
    return ""
