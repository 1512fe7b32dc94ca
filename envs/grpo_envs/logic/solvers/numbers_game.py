"""Given numbers and a number to be made of them: expressions as trees, ways to combine, the rules of an answer.

A tree is a number or (sign, left, right).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_rewards.logic import Findings
from grpo_rewards.logic.arithmetic import Expression, expression

Tree = int | tuple[str, "Tree", "Tree"]

_RANK = {"+": 1, "-": 1, "*": 2, "/": 2}


def value(tree: Tree) -> Fraction:
    """Calculate a tree. Raises ZeroDivisionError."""
    if isinstance(tree, int):
        return Fraction(tree)
    sign, left, right = tree
    a, b = value(left), value(right)
    return a + b if sign == "+" else a - b if sign == "-" else a * b if sign == "*" else a / b


def written(tree: Tree) -> str:
    """Write a tree with the brackets that it needs."""
    if isinstance(tree, int):
        return str(tree)
    sign, left, right = tree
    before, behind = written(left), written(right)
    if not isinstance(left, int) and _RANK[left[0]] < _RANK[sign]:
        before = f"({before})"
    if not isinstance(right, int) and _RANK[right[0]] <= _RANK[sign] and (sign in "-/" or right[0] in "+-"):
        behind = behind if sign == "+" else f"({behind})"
    return f"{before} {sign} {behind}"


def as_latex(tree: Tree) -> str:
    """Write a tree as LaTeX does: fractions, crosses, no blanks."""
    if isinstance(tree, int):
        return str(tree)
    sign, left, right = tree
    before, behind = as_latex(left), as_latex(right)
    if sign == "/":
        return f"\\frac{{{before}}}{{{behind}}}"
    sign = "\\times " if sign == "*" else sign
    return f"\\left({before}\\right){sign}\\left({behind}\\right)"


def taken_apart(tree: Tree) -> list[str]:
    """Write how a number comes from others, and they from others, down to those that are given."""
    if isinstance(tree, int):
        return []
    sign, left, right = tree
    here = f"{value(tree)} = {_term(left)} {sign} {_term(right)}"
    return [here, *taken_apart(left), *taken_apart(right)]


def _term(tree: Tree) -> str:
    number = value(tree)
    return str(number) if number.denominator == 1 and number >= 0 else f"({number})"


def combined(rng: Rng, numbers: Sequence[int], signs: Sequence[str]) -> tuple[int, Tree]:
    """Combine numbers in random order by the signs in random order, whole and positive throughout.

    A difference is taken the way in which it is positive. Where there is none, no exact quotient, or 1 is a factor, the
    sum is taken.
    """
    pool: list[tuple[int, Tree]] = [(number, number) for number in numbers]
    order = rng.sample(signs, len(signs))
    for sign in order:
        a, one = pool.pop(rng.below(len(pool)))
        b, two = pool.pop(rng.below(len(pool)))
        pool.append(_join(sign, a, one, b, two))
    return pool[0]


def _join(sign: str, a: int, one: Tree, b: int, two: Tree) -> tuple[int, Tree]:
    if a < b:
        a, one, b, two = b, two, a, one
    if sign == "-" and a > b:
        return a - b, ("-", one, two)
    if sign == "/" and b > 1 and a % b == 0:
        return a // b, ("/", one, two)
    if sign == "*" and b > 1:
        return a * b, ("*", one, two)
    return a + b, ("+", one, two)


class Hunt:
    """Search for a number by combining two numbers at a time, whole and positive throughout, depth first.

    Args:
        numbers: What is given.
        target: What is to be made.
        most: How many solutions are looked for.

    Attributes:
        found: The solutions.
        tried: How many combinations were tried.
    """

    def __init__(self, numbers: Sequence[int], target: int, most: int = 1) -> None:
        self.found: list[Tree] = []
        self.tried = 0
        self._target, self._most = target, most
        self._go([(number, number) for number in numbers])

    def _go(self, pool: list[tuple[int, Tree]]) -> None:
        for i, (a, one) in enumerate(pool):
            for j in range(i):
                b, two = pool[j]
                rest = [*pool[:j], *pool[j + 1 : i], *pool[i + 1 :]]
                self.tried += 4
                for pair in _ways(a, one, b, two):
                    if pair[0] == self._target:
                        self.found.append(pair[1])
                    elif rest:
                        self._go([*rest, pair])
                    if len(self.found) >= self._most:
                        return


def _ways(a: int, one: Tree, b: int, two: Tree) -> list[tuple[int, Tree]]:
    """Return what two numbers give; what gives one of them back is left out."""
    if a < b:
        a, one, b, two = b, two, a, one
    ways: list[tuple[int, Tree]] = [(a + b, ("+", one, two))]
    if a > b:
        ways.append((a - b, ("-", one, two)))
    if b > 1:
        ways.append((a * b, ("*", one, two)))
        if a % b == 0:
            ways.append((a // b, ("/", one, two)))
    return ways


def read(text: str, problem: Problem) -> Expression:
    """Read an answer. Raises UnreadError."""
    return expression(text)


def broken_rules(found: Expression, numbers: Sequence[int], target: int) -> list[str]:
    """Return what an expression does that it may not: use a number too often, or have another value."""
    broken = [
        f"{number} is used {found.numbers.count(number)} times and given {numbers.count(number)} times"
        for number in dict.fromkeys(found.numbers)
        if found.numbers.count(number) > numbers.count(number)
    ]
    if found.value is None:
        broken.append("it divides by zero")
    elif found.value != target:
        broken.append(f"its value is {found.value}, not {target}")
    if found.claimed not in (None, target):
        broken.append(f"it says = {found.claimed}, not {target}")
    return broken


def check(found: Expression, problem: Problem) -> Findings:
    """Check an expression against the numbers and the target in `meta`: each number at most once."""
    return Findings(broken_rules(found, problem.meta["numbers"], problem.meta["target"]))


def spellings(trees: Sequence[Tree], target: int) -> list[str]:
    """Write right answers otherwise: in LaTeX, as an equation, with Unicode signs, without blanks."""
    texts = []
    for tree in trees:
        plain = written(tree)
        signs = plain.replace("*", "\u00d7").replace("/", "\u00f7").replace("-", "\u2212")
        texts += [as_latex(tree), f"{plain} = {target}", signs, plain.replace(" ", "")]
    return [f"\\boxed{{{text}}}" for text in texts]


def closest(rng: Rng, numbers: Sequence[int], target: int, signs: str, tries: int) -> Tree:
    """Combine the numbers blindly a few times and return what comes closest: a weak solver."""
    best: tuple[int, Tree] | None = None
    for _ in range(tries):
        made = combined(rng, numbers, [rng.choice(signs) for _ in numbers[1:]])
        if best is None or abs(made[0] - target) < abs(best[0] - target):
            best = made
    assert best is not None
    return best[1]
