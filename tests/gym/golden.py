"""Fingerprints of the first problems of every environment. They never change within a version.

python -m tests.gym.golden        adds what is new; a changed one is an error: raise the task's version instead
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from grpo_gym.problem import SPLITS, Problem
from grpo_gym.registration import tasks_of
from grpo_gym.stream import ProblemStream
from tests.shared import product_ids

PATH = Path(__file__).resolve().parents[1] / "cases" / "golden_problems.json"
SEED = 2026
FIRST = 3

Fingerprints = dict[str, dict[str, list[str]]]


def fingerprint(problem: Problem) -> str:
    text = json.dumps(problem.to_json(), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def fingerprints() -> Fingerprints:
    """Environment id -> "tier split" -> fingerprints of its first problems."""
    found: Fingerprints = {}
    for identifier in product_ids():
        tasks = tasks_of(identifier)
        streams = {
            f"{tier} {split}": ProblemStream(identifier.rsplit("-v", 1)[0], tasks, tier, split)
            for tier in sorted({tier for task in tasks for tier in task.tiers})
            for split in SPLITS
        }
        found[identifier] = {
            name: [fingerprint(stream.at(SEED, index).problem) for index in range(FIRST)]
            for name, stream in streams.items()
        }
    return found


def stored() -> Fingerprints:
    loaded: Fingerprints = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    return loaded


def write() -> None:
    """Add the fingerprints of new environments to the file. Raises SystemExit when one has changed."""
    known, found = stored(), fingerprints()
    changed = sorted(
        identifier for identifier in known if found.get(identifier, known[identifier]) != known[identifier]
    )
    if changed:
        raise SystemExit(f"problems of {', '.join(changed)} have changed: raise the version of the task")
    PATH.write_text(json.dumps({**known, **found}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
