"""What a step leaves in the logs: one flat record of figures, and one record per completion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from grpo_agents.advantages import flat_expected, group_statistics
from grpo_agents.collect import NOT_FINITE, Episode
from grpo_agents.credit import Strata
from grpo_agents.lesson import own_logprobs
from grpo_agents.rollouts import Rollout
from grpo_agents.update import Update
from grpo_gym.verdict import Reason

FAULTS = (Reason.SCORER_ERROR, Reason.TIMEOUT, Reason.CRASHED)
"""Reasons of answers on which the scorer failed; they score 0."""

ALL_WRONG = 0.6
"""Share of groups that are all wrong from which on it is worth a warning."""


def step_metrics(step: int, rollout: Rollout, strata: Strata, result: Update, learning_rate: float) -> dict[str, Any]:
    """Return one step's figures; of a lost step without episodes too.

    Lengths are in tokens, log-probs in nats. `groups/signal` is the share of groups whose rewards differ: only those
    teach. With one update per batch the ratio is 1 and the loss shows only how lengths and advantages fall together;
    `grad_norm` and `gradient_l1` (sum over tokens of the slope in their log-probs) say whether anything is learned.
    `rows/error_rate` is the share of rows that could not be judged, or on whose answer the scorer failed.
    Every step has the same keys, but for `reason/`, `skipped/`, `task/` and `strata/`, of which a step has those that
    occurred, and what options switch on.
    """
    episodes = rollout.episodes
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
        "turns": _mean([len(e.turn_lengths) for e in judged]),
        "ended": _mean([float(e.ended) for e in judged]),
        "entropy/sampled": -_mean([p for e in judged for p in own_logprobs(e)]),
        "groups/all_right": stats.all_right,
        "groups/all_wrong": stats.all_wrong,
        "groups/signal": (stats.groups - stats.zero_variance - stats.too_few_valid) / max(1, stats.groups),
        "groups/retired": rollout.retired,
        "rounds": rollout.rounds,
        "rows": len(episodes),
        "rows/abstained": sum(not e.valid and not e.skipped for e in episodes),
        "rows/skipped": sum(bool(e.skipped) for e in episodes),
        "rows/raised": sum(bool(e.info.get("raised")) for e in episodes),
        "rows/error_rate": _mean([float(is_faulty(e)) for e in episodes]),
        "rows/masked": 0.0,
        "groups/dropped": 0.0,
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
    return metrics | _of_strata(episodes, strata, result) | _loss_metrics(result) | result.figures


def is_faulty(episode: Episode) -> bool:
    """Whether a row was not judged (the environment raised, or the scorer abstained), or the scorer failed on it."""
    unjudged = not episode.valid and not episode.skipped
    return unjudged or episode.skipped == NOT_FINITE or str(episode.info.get("reason")) in FAULTS


def flat_advice(metrics: dict[str, Any], group_size: int) -> str:
    """Return what to do when most groups are all wrong and so teach nothing; "" when it is not so.

    Groups that are all right teach nothing either, but then the task is solved, which is no cause for alarm.
    """
    if not metrics["rows"] or metrics["groups/all_wrong"] < ALL_WRONG * (metrics["rows"] / group_size):
        return ""
    rate = metrics["pass@1"]
    return (
        f"{metrics['groups/all_wrong']} groups are all wrong and teach nothing (at a pass rate p of {rate:.2f}, "
        f"p^G + (1 - p)^G is {flat_expected([rate], group_size):.2f} with G = {group_size}): take a lower tier, a warm "
        "start (grpo-gym sft) or a larger group_size"
    )


def _of_strata(episodes: Sequence[Episode], strata: Strata, result: Update) -> dict[str, float]:
    """Return each stratum's share, reward, pass rate, spread of advantages and mean weight; none where there is one."""
    figures: dict[str, float] = {}
    for name in sorted(set(strata.names)) if len(set(strata.names)) > 1 else []:
        rows = [row for row, own in enumerate(strata.names) if own == name]
        judged = [episodes[row] for row in rows if episodes[row].valid]
        advantages = result.advantages[torch.tensor(rows)].double()
        figures |= {
            f"strata/{name}/share": len(rows) / len(episodes),
            f"strata/{name}/reward": _mean([e.reward for e in judged]),
            f"strata/{name}/pass@1": _mean([float(e.reward >= 1.0) for e in judged]),
            f"strata/{name}/adv_std": float(advantages.std(correction=0)),
            f"strata/{name}/weight": float(strata.weights[torch.tensor(rows)].mean()),
        }
    return figures


def completion_records(step: int, rollout: Rollout, strata: Strata, result: Update) -> list[dict[str, Any]]:
    """Return one record per completion; texts are data here, whatever they hold."""
    taught = set(rollout.taught)
    return [
        {
            "step": step,
            "completion_id": f"{step}-{row}",
            "group": episode.group,
            "seed": episode.seed,
            "problem_id": episode.info.get("problem_id", ""),
            "task": episode.info.get("task", ""),
            "tier": episode.info.get("tier"),
            "stratum": strata.names[row],
            "taught": row in taught,
            "prompt": episode.prompt,
            "completion": episode.texts[0] if len(episode.texts) == 1 else episode.texts,
            "reward": episode.reward,
            "rewards": episode.info.get("rewards", {}),
            "reason": episode.info.get("reason", ""),
            "feedback": episode.info.get("feedback", ""),
            "valid": episode.valid,
            "skipped": episode.skipped,
            "advantage": float(result.advantages[row]),
            "length": episode.length,
            "ended": episode.ended,
        }
        for row, episode in enumerate(rollout.episodes)
    ]


def _loss_metrics(result: Update) -> dict[str, float]:
    """Return the figures of the loss, 0 where nothing was taught; keys of a critic only where there is one."""
    names = {
        "loss": "loss",
        "policy_loss": "policy_loss",
        "gradient_l1": "gradient_l1",
        "kl": "kl",
        "kl_to_old": "kl_to_old",
        "clip/low": "clip_low",
        "clip/high": "clip_high",
        "clip/dual": "clip_dual",
        "tokens/kept": "kept_tokens",
        "ratio/min": "ratio_min",
        "ratio/max": "ratio_max",
    }
    figures = {} if result.terms is None else result.terms.metrics()
    more = {f"value/{name.removeprefix('value_')}": figures[name] for name in figures if name.startswith("value_")}
    if figures.get("entropy"):
        more["entropy"] = figures["entropy"]
    return {key: figures.get(name, 0.0) for key, name in names.items()} | more


def _by_task(episodes: Sequence[Episode]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for episode in episodes:
        values.setdefault(str(episode.info.get("task", "all")), []).append(episode.reward)
    return dict(sorted(values.items()))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
