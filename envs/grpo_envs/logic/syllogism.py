"""Which conclusions follow from categorical premises: all, no, some, some not, over four to eight kinds.

A kind may be without members: "all" and "no" do not say that there is anything, which the question tells. At least one
of five conclusions follows and at least two do not; both sorts are drawn from the same quantities. From tier 1 on it is
asked for those of which the proofs are long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.venn import Chains, Diagram, Literal, Statement, length
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_gym.verdict import Reason
from grpo_rewards.logic import Findings, PuzzleReward, UnreadError
from grpo_rewards.logic.reading import items

KINDS = (
    "poets",
    "bakers",
    "cooks",
    "dancers",
    "farmers",
    "judges",
    "nurses",
    "pilots",
    "singers",
    "tailors",
    "writers",
)
SAYINGS = {"all": "All {} are {}", "no": "No {} are {}", "some": "Some {} are {}", "some not": "Some {} are not {}"}
LABELS = "ABCDE"
MARGIN = 0.1
"""What luck counts beyond naming all or none: a constant list does worse on average, but what falls below is not taken
back."""

SHARES = (0, 1, 2, 2)
"""Of the 25 ways to have one, two or three of five, 5, 10 and 10 have so many."""


EXISTENCE = "A kind may have no members, unless a statement says that it has."

TRIES = 100
"""Statements that are drawn in search of premises."""


class Size(NamedTuple):
    """What a tier looks like.

    Attributes:
        kinds: How many kinds there are.
        links: Premises with "all" or "no" beyond those that connect all kinds.
        things: Premises with "some".
        deep: Whether conclusions with long proofs are asked for.
    """

    kinds: int
    links: int
    things: int
    deep: bool = True


SIZES = (Size(4, 0, 1, False), Size(5, 0, 1), Size(6, 1, 1), Size(6, 1, 2), Size(7, 1, 3), Size(8, 2, 4))


def read(text: str, problem: Problem) -> str:
    """Read the letters of the conclusions that are said to follow."""
    said = [label for item in items(text) for label in _labels(item.strip(" .()"))]
    for label in said:
        if len(label) != 1 or label not in LABELS:
            raise UnreadError(f"{label[:40]!r} is none of the conclusions A to E")
    if len(set(said)) != len(said):
        raise UnreadError("a conclusion is named twice", Reason.HEDGED)
    return "".join(sorted(said))


def _labels(item: str) -> Sequence[str]:
    """Return the labels of an item: one, or "ACD" for A, C and D."""
    if len(item) == 1:
        return item.upper()
    together = item.replace(" ", "")
    return together if together.isupper() and set(together) <= set(LABELS) else [item.upper()]


def check(said: str, problem: Problem) -> Findings:
    """Decide every conclusion by the regions of the premises' diagram."""
    diagram, conclusions = _posed(problem)
    follows = {label: diagram.entails(c) for label, c in zip(LABELS, conclusions, strict=True)}
    wrong = [
        f"{label} {'follows, too' if true else 'does not follow'}"
        for label, true in follows.items()
        if true != (label in said)
    ]
    number = sum(follows.values())
    luck = max(number, len(LABELS) - number) / len(LABELS) + MARGIN
    return Findings(wrong, 1 - len(wrong) / len(LABELS), luck)


def others(problem: Problem) -> list[str]:
    """Return other spellings of the right answer."""
    letters = str(problem.reference).split(", ")
    return [
        f"\\boxed{{{'; '.join(letters[::-1])}}}",
        f"\\boxed{{{{{', '.join(letter.lower() for letter in letters)}}}}}",
        f"\\boxed{{{' and '.join(f'({letter})' for letter in letters)}}}",
    ]


def words_of_working(problem: Problem) -> int:
    """Return the effort: words of the worked solution, which grow with chains and counterexamples."""
    return len(str(problem.solution).split())


def hasty(problem: Problem, rng: Rng) -> str:
    """See the proofs that take two premises at most, and no others."""
    diagram, conclusions = _posed(problem)
    chains, said = Chains(diagram.premises), list[str]()
    for label, conclusion in zip(LABELS, conclusions, strict=True):
        proof = chains.proof(conclusion)
        if proof is not None and length(proof) <= 2:
            said.append(label)
    return f"\\boxed{{{', '.join(said or [rng.choice(LABELS)])}}}"


@task(
    "logic.syllogism",
    reward=PuzzleReward(read, check),
    answer_format=r"Answer with the letters of all that follow, like \boxed{X, Y}.",
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=others,
    effort=words_of_working,
    guess=hasty,
)
def syllogism(rng: Rng, tier: int) -> Problem:
    """Say which of five conclusions follow from 4 premises about 4 kinds (0), to 13 premises about 8 kinds (5)."""
    size = SIZES[tier]
    names = rng.sample(KINDS, size.kinds)
    premises, diagram, conclusions = _draw(rng, size)
    rng.shuffle(premises)
    rng.shuffle(conclusions)
    chains = Chains(premises)
    lines = [
        f"{label}: {_argued(conclusion, chains, diagram, names)}"
        for label, conclusion in zip(LABELS, conclusions, strict=True)
    ]
    answer = ", ".join(label for label, c in zip(LABELS, conclusions, strict=True) if diagram.entails(c))
    said = [f"{number}. {_said(premise, names)}." for number, premise in enumerate(premises, 1)]
    asked = [f"{label}. {_said(conclusion, names)}." for label, conclusion in zip(LABELS, conclusions, strict=True)]
    prompt = "\n".join([*said, f"{EXISTENCE} Which of these conclusions follow? At least one does.", *asked])
    meta = {
        "n": size.kinds,
        "premises": [list(premise) for premise in premises],
        "conclusions": [list(conclusion) for conclusion in conclusions],
    }
    return Problem(prompt, answer, "\n".join([*lines, f"\\boxed{{{answer}}}"]), meta)


def _posed(problem: Problem) -> tuple[Diagram, list[Statement]]:
    premises, conclusions = ([Statement(*s) for s in problem.meta[name]] for name in ("premises", "conclusions"))
    return Diagram(problem.meta["n"], premises), conclusions


def _said(statement: Statement, names: list[str]) -> str:
    return SAYINGS[statement.quantity].format(names[statement.subject], names[statement.predicate])


def _draw(rng: Rng, size: Size) -> tuple[list[Statement], Diagram, list[Statement]]:
    """Draw premises from which three conclusions at least follow that no premise says, and five conclusions."""
    while True:
        premises = _premises(rng, size)
        diagram = Diagram(size.kinds, premises)
        following, others = list[Statement](), list[Statement]()
        for statement in _statements(rng, size.kinds):
            if not any(premise.says(statement) for premise in premises):
                (following if diagram.entails(statement) else others).append(statement)
        if len(following) >= 3:
            break
    chains = Chains(premises)
    rng.shuffle(following)
    if size.deep:
        following.sort(key=lambda statement: -length(chains.proof(statement)))
        del following[max(3, len(following) // 2) :]
    chosen = rng.sample(following, rng.weighted(SHARES))
    while len(chosen) < len(LABELS):
        quantity = rng.choice(following).quantity
        alike = [other for other in others if other.quantity == quantity] or others
        chosen.append(alike[rng.below(len(alike))])
        others.remove(chosen[-1])
    return premises, diagram, chosen


def _premises(rng: Rng, size: Size) -> list[Statement]:
    """Draw links that connect all kinds, further links, and what is there; none follows from those before it.

    Where hardly anything is left to say, there are fewer in the end.
    """
    premises = list[Statement]()
    for _ in range(TRIES):
        place = len(premises) + 1
        if place < size.kinds:  # a tree: to the last kind or to any earlier one
            pair = [place, place - 1 if rng.below(4) else rng.below(place)]
            if rng.below(4) == 0:
                pair.reverse()
        else:
            pair = rng.sample(range(size.kinds), 2)
        if place < size.kinds + size.links:
            quantity = rng.choice(("all", "all", "all", "no"))
        else:
            quantity = rng.choice(("some", "some not"))
        premise = Statement(quantity, *pair)
        if not Diagram(size.kinds, premises).entails(premise) and Diagram(size.kinds, [*premises, premise]).possible():
            premises.append(premise)
            if place == size.kinds - 1 + size.links + size.things:
                break
    return premises


def _statements(rng: Rng, n: int) -> list[Statement]:
    """Return what can be said of n kinds; where the order of two kinds says nothing, in one order."""
    found = list[Statement]()
    for subject in range(n):
        for predicate in range(n):
            if subject != predicate:
                found += [Statement("all", subject, predicate), Statement("some not", subject, predicate)]
            if subject < predicate:
                turned = (subject, predicate) if rng.below(2) else (predicate, subject)
                found += [Statement("no", *turned), Statement("some", *turned)]
    return found


def _argued(conclusion: Statement, chains: Chains, diagram: Diagram, names: list[str]) -> str:
    """Argue why a conclusion follows, or show what there may be without it."""
    proof = chains.proof(conclusion)
    if proof is None:
        things = [
            " ".join(name for kind, name in enumerate(names) if region >> kind & 1) or "none of these"
            for region in diagram.counterexample(conclusion)
        ]
        return f"no, there may be just {'; '.join(f'({thing})' for thing in things) or 'nothing'}."
    if conclusion.universal:
        return f"yes, {names[conclusion.subject]} are {_chain(proof[0], names)}."
    (first, number), (second, _) = proof[0][0], proof[1][0]
    further = [f"{_literal(chain[0][0], names)} are {_chain(chain[1:], names)}" for chain in proof[2:]]
    return (
        "; ".join([f"yes, some are {_literal(first, names)} and {_literal(second, names)} ({number})", *further]) + "."
    )


def _chain(steps: list[tuple[Literal, int]], names: list[str]) -> str:
    return ", ".join(f"{_literal(literal, names)} ({number})" for literal, number in steps)


def _literal(literal: Literal, names: list[str]) -> str:
    kind, belongs = literal
    return names[kind] if belongs else f"not {names[kind]}"
