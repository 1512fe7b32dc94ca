"""Whether a data set is still the one that a run began with: a fingerprint that a checkpoint keeps.

The order of the rows is part of it, since a seed shows the row at a place: the same rows in another order are other
problems for the rest of a run, and a resumed run would not be the uninterrupted one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from grpo_gym.errors import InvalidValueError
from grpo_gym.problem import Problem, Split

Fingerprint = dict[str, Any]
"""`rows`, their number; `rows_sha256`, of them in any order; `order_sha256`, of them in theirs. JSON."""

WAY_OUT = "put the old data back, or begin a new run from the checkpoint's folder as its model"


def fingerprint_of(problems: Iterable[tuple[Split, Problem]]) -> Fingerprint:
    """Return the fingerprint of problems in their order: of all that is shown, judged by or drawn by."""
    digests = [_digest(split, problem) for split, problem in problems]
    return {
        "rows": len(digests),
        "rows_sha256": hashlib.sha256(b"".join(sorted(digests))).hexdigest(),
        "order_sha256": hashlib.sha256(b"".join(digests)).hexdigest(),
    }


def check_same(was: Mapping[str, Fingerprint], now: Mapping[str, Fingerprint]) -> None:
    """See that data sets are those of a checkpoint, each under the name of its task.

    Raises:
        InvalidValueError: A data set came, went or changed; it says which, and how many rows it had and has.
    """
    for name in (*was, *now):
        if was.get(name) != now.get(name):
            raise InvalidValueError(f"{_change(name, was.get(name), now.get(name))}: {WAY_OUT}")


def _change(name: str, was: Fingerprint | None, now: Fingerprint | None) -> str:
    if was is None or now is None:
        what, count = ("was not there", now) if was is None else ("is not there any more", was)
        return f"the data set {name} of {(count or {}).get('rows')} rows {what}"
    if was.get("rows") != now["rows"]:
        return f"the data set {name} had {was.get('rows')} rows and has {now['rows']} now"
    if was.get("rows_sha256") != now["rows_sha256"]:
        return f"the data set {name} has other rows than it had, {now['rows']} of them as before"
    return f"the data set {name} has its {now['rows']} rows in another order, so seeds show other ones"


def _digest(split: Split, problem: Problem) -> bytes:
    own = [split, problem.tier, problem.prompt, problem.reference, problem.solution, problem.meta]
    return hashlib.sha256(json.dumps(own, sort_keys=True).encode()).digest()
