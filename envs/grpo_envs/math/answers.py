r"""Other right forms of an answer, for a task's `equivalents`: what no verifier may refuse. All stand in `\boxed{}`."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from grpo_gym.problem import Problem


def boxes(texts: Iterable[str]) -> list[str]:
    """Put each text in a box."""
    return [f"\\boxed{{{text}}}" for text in texts]


def number_forms(problem: Problem) -> list[str]:
    r"""Write a rational number otherwise: `\frac{3}{4}`, not reduced, as a decimal where that is exact."""
    value = Fraction(str(problem.reference))
    top, bottom = abs(value.numerator), value.denominator
    sign = "-" if value < 0 else ""
    texts = [f"{sign}\\frac{{{top}}}{{{bottom}}}", f"{sign}{3 * top}/{3 * bottom}"]
    if (decimal := _decimal(top, bottom)) is not None:
        texts.append(sign + decimal)
    return boxes(texts)


def list_forms(problem: Problem, variable: str = "") -> list[str]:
    r"""Write an unordered list otherwise: the other way round, as a set, with "and", as equations for the variable."""
    parts = str(problem.reference).split(", ")
    backwards = parts[::-1]
    texts = [", ".join(backwards)]
    if len(parts) > 1:
        texts += [f"\\{{{', '.join(parts)}\\}}", f"\\left\\{{{', '.join(backwards)}\\right\\}}"]
        texts.append(f"{', '.join(parts[:-1])} \\text{{ and }} {parts[-1]}")
    letter = problem.meta.get("variable", variable)
    if letter:
        texts.append(", ".join(f"{letter} = {part}" for part in backwards))
    if "joined" in problem.meta:
        texts.append(problem.meta["joined"])
    return boxes(texts)


def tuple_forms(problem: Problem) -> list[str]:
    r"""Write a tuple otherwise: without blanks, with `\left(`, its fractions as `\frac`."""
    inside = str(problem.reference)[1:-1]
    parts = inside.split(", ")
    texts = [f"({','.join(parts)})", f"\\left({inside}\\right)"]
    if "/" in inside:
        texts.append(f"({', '.join(_frac(part) for part in parts)})")
    return boxes(texts)


def polynomial_forms(problem: Problem) -> list[str]:
    """Write a polynomial otherwise: its terms the other way round, with a sign of multiplication."""
    terms = str(problem.reference).replace(" - ", " + -").split(" + ")
    backwards = " + ".join(reversed(terms)).replace("+ -", "- ")
    return boxes([backwards, str(problem.reference).replace(" ", "")])


def _frac(text: str) -> str:
    top, bar, bottom = text.partition("/")
    if not bar:
        return text
    return f"{'-' if top.startswith('-') else ''}\\frac{{{top.removeprefix('-')}}}{{{bottom}}}"


def _decimal(top: int, bottom: int) -> str | None:
    """Return a fraction as an exact decimal with one to six places, None where it has none."""
    for places in range(1, 7):
        if 10**places % bottom == 0:
            digits = str(top * 10**places // bottom).rjust(places + 1, "0")
            return f"{digits[:-places]}.{digits[-places:]}"
    return None
