"""How well a program is written, as one number: a pure function of the measures of its syntax tree.

Each part is 1 for a program without faults of its kind and falls with every one: `part = 1 / (1 + faults / half)`,
where `half` faults halve it. All measures are counts and maxima, so nothing that is added to a program makes another
fault count less: no padding with comments, blank lines, docstrings, unused names or dead code raises the score. What
raises it is written into the program itself: shorter functions, flatter control flow, better names, docstrings that
say something. Names that the problem asks for count like any other, for every answer alike.

The score says nothing of whether the program is right, and a policy can earn it with wrong programs: pay it only to
right ones, as `CodeReward` does. Code inside a text (`exec`, `eval`) cannot be measured: its score is 0.
"""

from __future__ import annotations

from collections.abc import Mapping

_HALF: dict[str, dict[str, tuple[int, float]]] = {
    "names": {"misnamed": (0, 4), "one_letter_names": (0, 6), "overlong_names": (0, 4)},
    "length": {"longest_function": (20, 30), "largest_expression": (40, 40)},
    "complexity": {"most_complex": (6, 8)},
    "nesting": {"deepest_nesting": (3, 2)},
    "docstrings": {"undocumented": (0, 4)},
    "tidiness": {
        "unreachable": (0, 3), "useless": (0, 3), "unused": (0, 3), "repeated": (0, 3), "bare_excepts": (0, 3),
        "mutable_defaults": (0, 3),
    },
}  # fmt: skip
"""Of each part's measures: how much is free, and how many beyond that halve the part."""

PARTS = tuple(_HALF)


def style_score(metrics: Mapping[str, float]) -> tuple[float, dict[str, float]]:
    """Return the score of a program's form in [0, 1], and the parts whose mean it is.

    Args:
        metrics: The measures by name, as `judge.inspect` tells them.
    """
    if metrics["text_run_as_code"] or not metrics["statements"]:
        return 0.0, dict.fromkeys(PARTS, 0.0)
    parts = {}
    for part, measures in _HALF.items():
        faults = sum(max(0.0, metrics[name] - free) / half for name, (free, half) in measures.items())
        parts[part] = 1 / (1 + faults)
    return sum(parts.values()) / len(parts), parts
