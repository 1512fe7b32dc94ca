r"""Exact values of analysis and geometry in writing: products and quotients, multiples of pi and roots, plain text.

References are LaTeX, e.g. `\frac{5\pi\sqrt{3}}{2}`. The spellings that are as right are made when somebody asks for a
task's `equivalents`: the plain one, "(5*pi*sqrt(3))/2", from the reference, others from `meta["also"]`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from grpo_envs.math.style import MATHS
from grpo_envs.math.writing import square_part
from grpo_gym.problem import Problem
from grpo_rewards.math.worked_out import WorkedOutReward


def box(text: str) -> str:
    """Return the text as a final answer."""
    return f"\\boxed{{{text}}}"


def solved(
    prompt: str, lines: Iterable[str], reference: str, also: Iterable[str] = (), meta: dict[str, Any] | None = None
) -> Problem:
    """Return a problem whose solution is the lines with the boxed reference behind them.

    Args:
        prompt: The question.
        lines: The working, every line true.
        reference: The right answer.
        also: Answers that are as right.
        meta: What the reward needs besides.
    """
    others = [text for text in dict.fromkeys(also) if text != reference]
    solution = "\n".join([*lines, box(reference)])
    return Problem(prompt, reference, solution, {**(meta or {}), **({"also": others} if others else {})})


def also(problem: Problem) -> list[str]:
    """Return other right answers, boxed: the plain spelling and those in `meta["also"]`."""
    texts = [plain(str(problem.reference)), *problem.meta.get("also", ())]
    return [box(text) for text in texts if text != problem.reference]


def length_of_working(problem: Problem) -> float:
    """Return how many symbols the working writes down: the task's `effort`."""
    return float(len((problem.solution or "").replace(" ", "")))


EXACT: dict[str, Any] = {
    **MATHS,
    "reward": WorkedOutReward(),
    "equivalents": also,
    "effort": length_of_working,
}
"""The Task fields of the tasks that write exact values."""


# --- writing


def joined(terms: Iterable[str]) -> str:
    """Write signed terms as a sum: ["3x", "-2", "0"] -> "3x - 2"."""
    text = ""
    for term in terms:
        if term == "0":
            continue
        if not text:
            text = term
        else:
            text += f" - {term[1:]}" if term[0] == "-" else f" + {term}"
    return text or "0"


def step(left: str, right: object) -> list[str]:
    """Return the line "left = right", or none where both are written alike."""
    return [f"{left} = {right}"] if left != str(right) else []


def scaled(coefficient: int, symbol: str) -> str:
    """Write a multiple of a symbol: no 1x, and 0 alone."""
    if coefficient == 0:
        return "0"
    return {1: symbol, -1: f"-{symbol}"}.get(coefficient, f"{coefficient}{symbol}")


def factor(text: str) -> str:
    """Put a sum or a signed term into brackets, so that it can stand in a product."""
    return f"({text})" if " " in _outside(text) or text[0] == "-" else text


def times(*factors: str | int) -> str:
    """Write a product, whole numbers multiplied and first: -6(2x + 1) for the factors 3, "2x + 1" and -2."""
    number = math.prod(f for f in factors if isinstance(f, int))
    texts = [f for f in factors if isinstance(f, str) and f != "1"]
    if not texts or number == 0:
        return str(number)
    if len(texts) == 1 and number == 1:
        return texts[0]
    shown = [factor(text) for text in texts]
    # a number cannot follow a letter without a sign
    body = shown[0] + "".join(f"({text})" if text[0].isdigit() else text for text in shown[1:])
    return scaled(number, f"({body})" if body[0].isdigit() else body)


def over(top: str, bottom: str | int) -> str:
    r"""Write a quotient; the sign of a single term stands before the bar."""
    if bottom in (1, "1"):
        return top
    sign, top = ("-", top[1:]) if top[0] == "-" and " " not in _outside(top) else ("", top)
    return f"{sign}\\frac{{{top}}}{{{bottom}}}"


def ratio_term(top: int, bottom: int, symbol: str) -> str:
    r"""Write a rational multiple of a symbol in lowest terms: "\frac{3x}{2}", "-x"; the symbol "" is 1."""
    common = math.gcd(top, bottom) * (1 if bottom > 0 else -1)
    number = top // common
    return over(scaled(number, symbol) if symbol else str(number), bottom // common)


def ratio(top: int, bottom: int = 1) -> str:
    r"""Write a rational number in lowest terms: "\frac{3}{4}"."""
    return ratio_term(top, bottom, "")


def _outside(text: str) -> str:
    """Return the part of a text that stands outside its brackets and braces."""
    if "(" not in text and "{" not in text:
        return text
    depth, kept = 0, []
    for sign in text:
        depth += (sign in "({") - (sign in ")}")
        if depth == 0:
            kept.append(sign)
    return "".join(kept)


# --- roots and multiples of pi


class Surd(NamedTuple):
    """A number top / bottom * sqrt(radicand), times pi if `pi`; the radicand has no square factor."""

    top: int
    bottom: int = 1
    radicand: int = 1
    pi: bool = False

    def __str__(self) -> str:
        r"""Write it: "-\frac{5\pi\sqrt{3}}{2}"."""
        root = f"\\sqrt{{{self.radicand}}}" if self.radicand > 1 else ""
        return ratio_term(self.top, self.bottom, f"\\pi{root}" if self.pi else root)


def surd(top: int, bottom: int = 1, under: int = 1, pi: bool = False) -> Surd:
    """Return top / bottom * sqrt(under) with the smallest whole number under the root."""
    if top == 0 or under == 0:
        return Surd(0)
    outside, inside = square_part(under) if under > 1 else (1, 1)
    top *= outside
    common = math.gcd(top, bottom) * (1 if bottom > 0 else -1)
    return Surd(top // common, bottom // common, inside, pi)


def root_of(top: int, bottom: int = 1) -> Surd:
    """Return sqrt(top / bottom) with a whole number under the root."""
    return surd(1, bottom, top * bottom)


def total(*values: Surd) -> str:
    """Write a sum of surds that have different roots."""
    return joined(str(value) for value in values)


# --- the plain spelling

_TOKEN = re.compile(r"\\text\{([^{}]*)\}|\\([A-Za-z]+)|\\.|[\d.]+|.", re.DOTALL)
_ENDS = re.compile(r"[\w)]$")


def plain(text: str) -> str:
    r"""Write LaTeX as plain text: "\frac{5\pi\sqrt{3}}{2}" is "(5*pi*sqrt(3))/2"."""
    tokens = list(_TOKEN.finditer(text))
    out, position = "", 0
    while position < len(tokens):
        piece, position = _piece(tokens, position)
        begins = piece[0].isalpha() or piece[0] == "("
        if begins and _ENDS.search(out) and not re.search(r"(sin|cos|tan|ln|sqrt)$", out):
            out += "*" if len(piece) > 1 or out[-1] == ")" or out[-1].isalpha() else ""
        out += piece
    return out


def _piece(tokens: list[re.Match[str]], position: int) -> tuple[str, int]:
    """Return the plain text of the token at a position, with its arguments, and the position behind it."""
    token = tokens[position]
    if token[1] is not None:
        return token[1].strip(), position + 1
    if token[2] == "frac":
        top, position = _argument(tokens, position + 1)
        bottom, position = _argument(tokens, position)
        return f"{_bracketed(top)}/{_bracketed(bottom)}", position
    if token[2] == "sqrt" or token[0] == "^":
        inner, after = _argument(tokens, position + 1)
        return (
            f"sqrt({inner})" if token[2] else f"^{inner if len(inner) == 1 or inner.isdigit() else f'({inner})'}"
        ), after
    return token[2] or token[0], position + 1


def _argument(tokens: list[re.Match[str]], position: int) -> tuple[str, int]:
    """Return what stands in the braces at a position, or the one token there, and the position behind it."""
    if tokens[position][0] != "{":
        return _piece(tokens, position)
    depth, start = 1, position + 1
    while depth:
        position += 1
        depth += (tokens[position][0] == "{") - (tokens[position][0] == "}")
    inner = plain("".join(token[0] for token in tokens[start:position]))
    return inner, position + 1


def _bracketed(text: str) -> str:
    return text if text.isalnum() else f"({text})"
