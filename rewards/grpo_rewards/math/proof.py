r"""Proofs about equations in a small step language: every step is checked, a sound short proof earns the maximum.

A proof is lines like `(3) 3x = 15 by subtract 4 from (1)`: a number, an equation, a reason. A reason applies one rule
to both sides of earlier equations, and each side of the new equation must be what comes out, as a polynomial: writing
out, collecting and factoring are free. Every rule leads from true equations to true ones:

    add A to (i)        subtract A from (i)     multiply (i) by A     divide (i) by n
    square (i)          substitute (i) in (j)   (where (i) says "variable = ...")

A is an expression or an earlier equation (k). Other lines are talk and count for nothing. One unsound step, and the
proof is worth 0. A sound one as long as the known proof is worth 1, a longer one known / steps, at least `FLOOR`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from grpo_gym.problem import Problem
from grpo_gym.reward import Probe, Reward
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.math.guard import TooBigError, UnreadableError
from grpo_rewards.math.parser import parse
from grpo_rewards.math.polynomial import Polynomial, add, constant, multiply, polynomial, substitute

FLOOR = 0.2
"""What a sound proof is worth however long it is."""

MAX_STEPS = 60
MAX_PROOF = 20_000
"""Characters of a proof that are read."""

_NUMBER = re.compile(r"(?:[-*] ?)?\((\d{1,3})\)")
_REFERENCE = re.compile(r"\((\d{1,3})\)")
_RULES = (
    ("add", re.compile(r"add (?P<what>.+) to \((?P<i>\d{1,3})\)")),
    ("add", re.compile(r"add (?P<what>\(\d{1,3}\)) and \((?P<i>\d{1,3})\)")),
    ("subtract", re.compile(r"subtract (?P<what>.+) from \((?P<i>\d{1,3})\)")),
    ("multiply", re.compile(r"multiply \((?P<i>\d{1,3})\) (?:by|and) (?P<what>.+)")),
    ("divide", re.compile(r"divide \((?P<i>\d{1,3})\) by (?P<what>.+)")),
    ("square", re.compile(r"square (?P<what>)\((?P<i>\d{1,3})\)")),
    ("substitute", re.compile(r"substitute (?P<what>\(\d{1,3}\)) (?:in|into) \((?P<i>\d{1,3})\)")),
)


class UnsoundError(ValueError):
    """A step that does not follow."""


@dataclass(frozen=True)
class Equation:
    """Two sides."""

    left: Polynomial
    right: Polynomial


def read_equation(text: str) -> Equation:
    """Read "3x + 4 = 19". Raises UnreadableError or TooBigError."""
    sides = text.strip().strip("$").split("=")
    if len(sides) != 2:
        raise UnreadableError(f"{text.strip()[:60]!r} is not one equation")
    left, right = (polynomial(parse(side, grouping=False)) for side in sides)
    return Equation(left, right)


def check_proof(given: Sequence[str], goal: str, proof: str) -> int:
    """Check a proof.

    Args:
        given: The equations that may be used, numbered from 1.
        goal: The equation to be proved.
        proof: The proof's text.

    Returns:
        Its number of steps.

    Raises:
        UnsoundError: When a step does not follow, or the last one is not the goal.
        UnreadableError: When a step cannot be read, or there is none.
        TooBigError: When something is beyond the limits.
    """
    known = [read_equation(text) for text in given]
    target = read_equation(goal)
    steps = [step for line in proof.splitlines() if (step := _step(line)) is not None]
    if not steps:
        raise UnreadableError('no line such as "(3) 2x = 8 by subtract 4 from (1)"')
    if len(steps) > MAX_STEPS:
        raise TooBigError(f"more than {MAX_STEPS} steps")
    for step in steps:
        number, text, reason = step
        if number != len(known) + 1:
            raise UnsoundError(f"step ({number}) should have the number ({len(known) + 1})")
        stated = read_equation(text)
        if stated != _apply(reason, known):
            raise UnsoundError(f"({number}) {text.strip()[:60]} does not follow by {reason[:60]}")
        known.append(stated)
    if known[-1] != target:
        raise UnsoundError(f"the last step is not {goal}")
    return len(steps)


def _step(line: str) -> tuple[int, str, str] | None:
    """Split a line "(3) equation by reason"; None for any other line."""
    folded = " ".join(line.split())
    number = _NUMBER.match(folded)
    equation, by, reason = folded[number.end() :].partition(" by ") if number else ("", "", "")
    if number is None or not by:
        return None
    return int(number[1]), equation.strip(" ,;"), reason.strip(" .,;$")


def _apply(reason: str, known: Sequence[Equation]) -> Equation:
    """Return what a reason gives."""
    for name, pattern in _RULES:
        match = pattern.fullmatch(reason.replace("$", ""))
        if match is not None:
            return _rule(name, match["what"], _numbered(match["i"], known), known)
    raise UnreadableError(f"no rule is called {reason[:60]!r}")


def _rule(name: str, what: str, on: Equation, known: Sequence[Equation]) -> Equation:
    if name == "square":
        return Equation(multiply(on.left, on.left), multiply(on.right, on.right))
    other = _operand(what, known)
    if name == "add":
        return Equation(add(on.left, other.left), add(on.right, other.right))
    if name == "subtract":
        return Equation(add(on.left, other.left, -1), add(on.right, other.right, -1))
    if name == "multiply":
        return Equation(multiply(on.left, other.left), multiply(on.right, other.right))
    if name == "divide":
        return _divided(on, other, what)
    variable = _variable(other, what)
    return Equation(substitute(on.left, {variable: other.right}), substitute(on.right, {variable: other.right}))


def _divided(on: Equation, by: Equation, what: str) -> Equation:
    if _REFERENCE.fullmatch(what) or set(by.left) != {()}:
        raise UnsoundError(f"only a number that is not 0 may divide both sides, not {what[:60]}")
    inverse = constant(Fraction(1) / by.left[()])
    return Equation(multiply(on.left, inverse), multiply(on.right, inverse))


def _variable(equation: Equation, what: str) -> str:
    """Return the variable that an equation "variable = ..." gives a value."""
    if len(equation.left) == 1:
        (monomial, c), *_ = equation.left.items()
        if c == 1 and len(monomial) == 1 and monomial[0][1] == 1:
            return monomial[0][0]
    raise UnsoundError(f"equation {what} does not say what a variable is")


def _operand(what: str, known: Sequence[Equation]) -> Equation:
    reference = _REFERENCE.fullmatch(what)
    if reference is not None:
        return _numbered(reference[1], known)
    value = polynomial(parse(what, grouping=False))
    return Equation(value, value)


def _numbered(number: str, known: Sequence[Equation]) -> Equation:
    if not 1 <= int(number) <= len(known):
        raise UnsoundError(f"there is no equation ({number}) yet")
    return known[int(number) - 1]


class ProofReward(Reward):
    """Checks a proof of `problem.reference` from `meta["given"]`; `meta["steps"]` is the length of a known proof."""

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one proof. What stands in `<think>` is no part of it."""
        if len(response) > MAX_PROOF:
            return Verdict(0.0, Reason.TOO_BIG, feedback=f"the response has more than {MAX_PROOF} characters")
        proof = response.rsplit("</think>", 1)[-1].split("<think>", 1)[0]
        try:
            steps = check_proof(problem.meta["given"], str(problem.reference), proof)
        except UnsoundError as error:
            return Verdict(0.0, Reason.WRONG, {"sound": 0.0}, feedback=str(error))
        except TooBigError as error:
            return Verdict(0.0, Reason.TOO_BIG, {"sound": 0.0}, feedback=str(error))
        except UnreadableError as error:
            return Verdict(0.0, Reason.UNPARSEABLE, {"sound": 0.0}, feedback=str(error))
        shortest = int(problem.meta["steps"])
        brevity = min(1.0, max(FLOOR, shortest / steps))
        feedback = "" if brevity == 1 else f"the proof is sound in {steps} steps; {shortest} are enough"
        return Verdict(brevity, Reason.CORRECT, {"sound": 1.0, "brevity": brevity}, feedback)

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without a proof."""
        return (
            Probe("the goal and no step", lambda p: str(p.reference)),
            Probe("the goal as a step", lambda p: _alone(p, "square (1)")),
            Probe("a step from itself", lambda p: _alone(p, f"add 0 to ({len(p.meta['given']) + 1})")),
            Probe("a division by zero", lambda p: _alone(p, "divide (1) by 0")),
            Probe("a rule that there is not", lambda p: _alone(p, "magic (1)")),
        )


def _alone(problem: Problem, reason: str) -> str:
    return f"({len(problem.meta['given']) + 1}) {problem.reference} by {reason}"
