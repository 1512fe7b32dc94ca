"""What a step leaves in the logs: one flat record of figures, and one record per completion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from grpo_agents.advantages import group_statistics
from grpo_agents.collect import Episode
from grpo_agents.update import Update


def step_metrics(step: int, episodes: Sequence[Episode], result: Update, learning_rate: float) -> dict[str, Any]:
    """Return one step's figures; of a lost step without episodes too.

    Lengths are in tokens, log-probs in nats. `groups/signal` is the share of groups whose rewards differ: only those
    teach. With one update per batch the ratio is 1 and the loss shows only how lengths and advantages fall together;
    `grad_norm` says whether anything is learned. Every step has the same keys, but for `reason/`, `skipped/` and
    `task/`, of which a step has those that occurred.
    """
    valid = torch.tensor([e.valid for e in episodes], dtype=torch.bool)
    rewards = torch.tensor([e.reward if e.valid else 0.0 for e in episodes], dtype=torch.float64)
    stats = group_statistics(rewards, torch.tensor([e.group for e in episodes], dtype=torch.int64), valid)
    judged = [e for e in episodes if e.valid]
    lengths = [e.length for e in judged]
    metrics: dict[str, Any] = {
        "step": step,
        "reward": stats.mean,
        "reward/std": stats.std,
        "reward/within_group_std": stats.within_group_std,
        "pass@1": _mean([float(e.reward >= 1.0) for e in judged]),
        "length": _mean(lengths),
        "length/max": max(lengths, default=0),
        "ended": _mean([float(e.ended) for e in judged]),
        "entropy/sampled": -_mean([p for e in judged for p in _own_logprobs(e)]),
        "groups/all_right": stats.all_right,
        "groups/all_wrong": stats.all_wrong,
        "groups/signal": (stats.groups - stats.zero_variance - stats.too_few_valid) / max(1, stats.groups),
        "rows": len(episodes),
        "rows/abstained": sum(not e.valid and not e.skipped for e in episodes),
        "rows/skipped": sum(bool(e.skipped) for e in episodes),
        "learning_rate": learning_rate,
        "grad_norm": result.grad_norm,
        "tokens/sampled": sum(e.length for e in episodes),
        "tokens/trained": result.trained_tokens,
        "update/skipped": result.skipped,
    }
    for reason, count in Counter(str(e.info.get("reason", "none")) for e in judged).items():
        metrics[f"reason/{reason}"] = count
    for reason, count in Counter(e.skipped for e in episodes if e.skipped).items():
        metrics[f"skipped/{reason}"] = count
    for task, values in _by_task(judged).items():
        metrics[f"task/{task}"] = _mean(values)
    return metrics | _loss_metrics(result)


def completion_records(step: int, episodes: Sequence[Episode], result: Update) -> list[dict[str, Any]]:
    """Return one record per completion; texts are data here, whatever they hold."""
    return [
        {
            "step": step,
            "completion_id": f"{step}-{row}",
            "group": episode.group,
            "problem_id": episode.info.get("problem_id", ""),
            "task": episode.info.get("task", ""),
            "tier": episode.info.get("tier"),
            "prompt": episode.prompt,
            "completion": episode.texts[0] if len(episode.texts) == 1 else episode.texts,
            "reward": episode.reward,
            "rewards": episode.info.get("rewards", {}),
            "reason": episode.info.get("reason", ""),
            "valid": episode.valid,
            "skipped": episode.skipped,
            "advantage": float(result.advantages[row]),
            "length": episode.length,
            "ended": episode.ended,
        }
        for row, episode in enumerate(episodes)
    ]


def _loss_metrics(result: Update) -> dict[str, float]:
    if result.terms is None:
        return {"loss": 0.0, "kl": 0.0, "clip/low": 0.0, "clip/high": 0.0, "ratio/max": 0.0}
    figures = result.terms.metrics()
    return {
        "loss": figures["loss"],
        "kl": figures["kl"],
        "clip/low": figures["clip_low"],
        "clip/high": figures["clip_high"],
        "ratio/max": figures["ratio_max"],
    }


def _own_logprobs(episode: Episode) -> list[float]:
    if episode.trajectory is None:
        return []
    return [p for p, own in zip(episode.trajectory.logprobs, episode.trajectory.own, strict=True) if own]


def _by_task(episodes: Sequence[Episode]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for episode in episodes:
        values.setdefault(str(episode.info.get("task", "all")), []).append(episode.reward)
    return dict(sorted(values.items()))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
