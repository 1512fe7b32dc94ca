"""Old rewards against new ones: the figures of a rescoring, as plain values for a table and for JSON.

Means, ups and downs are taken over the completions that were judged both times, so that two means can be compared; how
many were not judged stands beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from grpo_agents.rescore import Rescored, Rescoring
from grpo_gym.verdict import Reason

SPANS = 5
"""Ranges that a run's steps are cut into at most."""
LARGEST = 5
"""Changes that are shown."""
FAULTS_SHOWN = 3
"""Causes of faults that are shown, the most frequent ones."""
SAME = 1e-9
"""Rewards that are this close are the same."""
FAULTS = {str(reason) for reason in (Reason.SCORER_ERROR, Reason.TIMEOUT, Reason.CRASHED)}
"""Reasons that tell of a fault of the scorer, whoever caused it."""


def compare(rescoring: Rescoring) -> dict[str, Any]:
    """Return the summary of a rescoring.

    `all`, `by_steps` and `by_task` hold the figures of `figures`; `parts` old and new mean of each component, with
    weight, seconds and errors where a composite reward tells them; `changes` the largest ones; `left_out` and `faults`
    cause -> count.
    """
    rows = rescoring.rows
    return {
        "completions": len(rows),
        "left_out": dict(rescoring.left_out),
        "all": figures(rows),
        "by_steps": _by(rows, _span_of(rows)),
        "by_task": _by(rows, lambda row: row.task) if any(row.task for row in rows) else {},
        "reasons": dict(Counter(row.reason for row in rows).most_common()),
        "faults": dict(Counter(row.feedback for row in rows if _is_fault(row)).most_common(FAULTS_SHOWN)),
        "parts": _parts(rows),
        "changes": [_change(row) for row in _largest(rows)],
    }


def figures(rows: Sequence[Rescored]) -> dict[str, Any]:
    """Return counts and means of some completions; a mean of nothing is None."""
    pairs = [(row.old, row.new) for row in rows if row.old is not None and row.new is not None]
    ups = [new - old for old, new in pairs if new - old > SAME]
    downs = [new - old for old, new in pairs if old - new > SAME]
    return {
        "n": len(rows),
        "compared": len(pairs),
        "old": _mean(old for old, _ in pairs),
        "new": _mean(new for _, new in pairs),
        "up": len(ups),
        "up_by": _mean(ups),
        "down": len(downs),
        "down_by": _mean(downs),
        "abstained_then": sum(row.old is None for row in rows),
        "abstained": sum(row.new is None for row in rows),
        "errors": sum(row.new is not None and _is_fault(row) for row in rows),
    }


def _by(rows: Sequence[Rescored], label: Callable[[Rescored], str]) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Rescored]] = {}
    for row in rows:
        groups.setdefault(label(row), []).append(row)
    return {name: figures(group) for name, group in groups.items()}


def _span_of(rows: Sequence[Rescored]) -> Callable[[Rescored], str]:
    """Return the function from a completion to its range of steps, "1-6"; the ranges are equally long."""
    first, last = min((row.step for row in rows), default=0), max((row.step for row in rows), default=0)
    width = -(-(last - first + 1) // SPANS)

    def span(row: Rescored) -> str:
        low = first + (row.step - first) // width * width
        high = min(low + width - 1, last)
        return str(low) if low == high else f"{low}-{high}"

    return span


def _parts(rows: Sequence[Rescored]) -> dict[str, dict[str, Any]]:
    """Return each component's means, and what composite rewards say of their leaves, added up."""
    leaves = _leaves(rows)
    names = dict.fromkeys(name for row in rows for name in (*row.old_parts, *row.parts))
    return {
        name: {
            "old": _mean(row.old_parts[name] for row in rows if _is_number(row.old_parts.get(name))),
            "new": _mean(row.parts[name] for row in rows if name in row.parts),
            **leaves.get(name, {}),
        }
        for name in [*names, *(name for name in leaves if name not in names)]
    }


def _leaves(rows: Sequence[Rescored]) -> dict[str, dict[str, Any]]:
    """Return per leaf its weight (the last seen), its seconds, and the completions it failed on.

    Equal answers to one problem share a verdict that was reached once: its seconds count once.
    """
    found: dict[str, dict[str, Any]] = {}
    counted: set[int] = set()
    for row in rows:
        if not isinstance(row.leaves, Mapping):
            continue
        for name, leaf in row.leaves.items():
            total = found.setdefault(name, {"weight": None, "seconds": 0.0, "errors": 0})
            total["weight"] = leaf["weight"]
            total["seconds"] += 0.0 if id(row.leaves) in counted else leaf["seconds"]
            total["errors"] += bool(leaf["error"])
        counted.add(id(row.leaves))
    return found


def _largest(rows: Sequence[Rescored]) -> list[Rescored]:
    changed = [row for row in rows if _distance(row) > SAME]
    return sorted(changed, key=_distance, reverse=True)[:LARGEST]


def _distance(row: Rescored) -> float:
    return 0.0 if row.old is None or row.new is None else abs(row.new - row.old)


def _change(row: Rescored) -> dict[str, Any]:
    return {
        "completion_id": row.completion_id,
        "task": row.task,
        "old": row.old,
        "new": row.new,
        "reason": row.reason,
        "feedback": row.feedback,
        "end": row.end,
    }


def _is_fault(row: Rescored) -> bool:
    return row.new is None or row.reason in FAULTS


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None
