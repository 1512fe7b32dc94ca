"""Judges a table of programs in a process of its own, and tells on standard output what came of each.

    python -m tests.rewards.code.run_programs TABLE TIER REPOSITORY [KIND ...]

A process of its own can be another user's, and it sees what a program leaves: processes that outlive their parents come
to it, and its temporary folder is its own.
"""

import ctypes
import gc
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grpo_rewards.code import CodeJudge, Job
from tests.rewards.code.canary import Canary, canary

_SUBREAPER = 36
_MEGABYTE = 1 << 20


def read_table(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a table, in either of the two spellings of limits and expectations."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        limits = row["limits"]
        row["expected"] = row.get("expected", row.get("expected_reward"))
        row["limits"] = {
            "time_s": min(limits["time_s"], 0.5) if row["kind"] == "resources" else limits["time_s"],
            "memory_mb": limits.get("memory_mb", limits.get("mem_mb")),
        }
    return rows


def main(table: str, tier: Any, repository: str, *kinds: str) -> None:
    """Judge the rows one after another by one judge."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)  # processes that outlive their parents become ours
    rows = [row for row in read_table(Path(table)) if not kinds or row["kind"] in kinds]
    told: dict[str, Any] = {"rows": {}}
    with canary(Path(repository)) as bird:
        descriptors = len(os.listdir("/proc/self/fd"))
        with CodeJudge(workers=1, isolation=tier) as judge:
            for row in rows:
                if tier in row.get("tiers", [tier]):
                    told["rows"][row["id"]] = _judged(judge, row, bird)
        told["survivors"] = list(_children())
        told["descriptors"] = len(os.listdir("/proc/self/fd")) - descriptors
        told["visits"] = bird.visits
        told["left"] = sorted(os.listdir(tempfile.gettempdir()))
    told["user"] = os.getuid()
    gc.collect()
    print(json.dumps(told))


def _judged(judge: CodeJudge, row: dict[str, Any], bird: Canary) -> dict[str, Any]:
    """Judge a row. What looks for the traces of another goes to both of a worker's sandboxes, as did the other."""
    text = re.sub("@[A-Z]+@", lambda found: bird.tokens[found[0]], json.dumps(row))
    row = json.loads(text)
    options = {name: row[name] for name in ("given", "in_place", "entry_point") if row.get(name)}
    job = Job(row["code"], row["tests"], row["style"], **row["limits"], **options)
    used, began, restarts = _used(), time.monotonic(), judge.restarts
    verdicts = [judge.submit(job) for _ in range(1 + (row["kind"] == "persistence"))]
    most = 0
    for verdict in verdicts:
        while not verdict.done() and "disk:" in row["must_not"]:
            most = max(most, _used() - used)
            time.sleep(0.02)
    found = [future.result() for future in verdicts]
    harm = bird.harm(row["must_not"])
    harm += [wish for wish in re.findall(r"disk:\d+", row["must_not"]) if most > int(wish[5:]) * _MEGABYTE]
    bird.restore()
    return {
        "value": max(verdict.value or 0.0 for verdict in found),
        "reason": str(found[0].reason),
        "abstains": any(verdict.abstains for verdict in found),
        "wall": round(time.monotonic() - began, 3),
        "harm": harm,
        "restarts": judge.restarts - restarts,
        "feedback": found[0].feedback[:200],
    }


def _used() -> int:
    """Bytes in use where temporary files lie."""
    disk = os.statvfs(tempfile.gettempdir())
    return (disk.f_blocks - disk.f_bfree) * disk.f_frsize


def _children() -> Iterator[str]:
    """Yield the children of this process, dead ones too: a judge that was closed has left none."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == os.getpid():
                    yield Path(f"/proc/{name}/cmdline").read_text().replace("\0", " ")[:80]
            except (OSError, IndexError):  # gone meanwhile
                continue


if __name__ == "__main__":
    main(*sys.argv[1:])
