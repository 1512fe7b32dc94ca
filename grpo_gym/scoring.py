"""Scoring that never raises: errors of a scorer become verdicts, equal answers are judged once, slow rewards go to a pool.

The rule (it decides what a policy can learn): whatever the ANSWER causes scores 0, a crash of the scorer on it included,
else a policy learns to crash its judge. A fault that the answer did not cause makes the row abstain. To tell them apart,
the scorer is tried on a right answer to the same problem: if that scores, the fault was the answer's.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from grpo_gym.reward import Reward
from grpo_gym.stream import Drawn
from grpo_gym.verdict import Reason, Verdict

T = TypeVar("T")

logger = logging.getLogger(__name__)

MAX_ANSWER = 1_000_000
"""Characters of an answer that are scored; a longer one scores 0 as too big."""


def score_all(reward: Reward | None, rows: Sequence[tuple[str, Drawn]]) -> list[Verdict]:
    """Judge answers; never raises, returns one verdict per row in order.

    Args:
        reward: Replaces the tasks' own rewards when given.
        rows: (answer, drawn problem) pairs. Equal answers to one problem are judged once.
    """
    unique: dict[tuple[int, str], tuple[str, Drawn]] = {}
    for answer, drawn in rows:
        unique.setdefault((id(drawn), answer), (answer, drawn))
    verdicts = dict(zip(unique, _score_unique(reward, list(unique.values())), strict=True))
    return [verdicts[id(drawn), answer] for answer, drawn in rows]


def _score_unique(reward: Reward | None, rows: list[tuple[str, Drawn]]) -> list[Verdict]:
    by_reward: dict[int, list[int]] = {}
    for position, (_, drawn) in enumerate(rows):
        by_reward.setdefault(id(reward or drawn.task.reward), []).append(position)
    verdicts: list[Verdict | None] = [None] * len(rows)
    for positions in by_reward.values():
        chosen = reward or rows[positions[0]][1].task.reward
        for position, verdict in zip(positions, _score_with(chosen, [rows[p] for p in positions]), strict=True):
            verdicts[position] = verdict
    return [verdict for verdict in verdicts if verdict is not None]


def _score_with(reward: Reward, rows: list[tuple[str, Drawn]]) -> list[Verdict]:
    """Judge rows of one reward: the batch at once, and one by one where the batch fails."""
    if reward.cost == "slow":
        from grpo_gym.pool import score_in_pool  # worker processes: only where a slow reward asks for them

        return score_in_pool(reward, rows)
    small = [(answer, drawn.problem) for answer, drawn in rows if len(answer) <= MAX_ANSWER]
    if len(small) == len(rows):
        try:
            verdicts = reward.score_batch(small)
            if len(verdicts) == len(rows) and all(_sound(verdict) for verdict in verdicts):
                return list(verdicts)
        except Exception as error:
            logger.debug("batch scoring failed, scoring one by one: %s: %s", type(error).__name__, error)
    return [score_one(reward, answer, drawn) for answer, drawn in rows]


def score_one(reward: Reward, answer: str, drawn: Drawn) -> Verdict:
    """Judge one answer in this process; a scorer that raises on it is tried on a right answer to find whose fault it is."""
    if len(answer) > MAX_ANSWER:
        return Verdict(0.0, Reason.TOO_BIG, feedback=f"the answer has more than {MAX_ANSWER} characters")
    verdict = guarded(lambda: reward.score(answer, drawn.problem), lambda failed: failed)
    if verdict.reason is not Reason.SCORER_ERROR:
        return verdict
    return blame(verdict, lambda right: guarded(lambda: reward.score(right, drawn.problem), lambda failed: failed), drawn)


def blame(failed: Verdict, score: Callable[[str], Verdict], drawn: Drawn) -> Verdict:
    """Return 0 when the scorer handles a right answer (the fault was the answer's), else an abstention."""
    right = guarded(lambda: score(drawn.task.right_answer(drawn.problem)), lambda also_failed: also_failed)
    if right.reason is not Reason.SCORER_ERROR and not right.abstains:
        logger.info("answer to %s made the scorer fail, scores 0: %s", drawn.problem.problem_id, failed.feedback)
        return failed
    logger.warning("scorer failed on %s and on its right answer too, abstains: %s", drawn.problem.problem_id, failed.feedback)
    return Verdict.abstain(failed.feedback)


def guarded(compute: Callable[[], T], otherwise: Callable[[Verdict], T]) -> T:
    """Return what `compute` returns, or `otherwise` of a scorer_error verdict when it raises or is not sound."""
    try:
        result = compute()
    except Exception as error:
        return otherwise(_error(f"{type(error).__name__}: {error}"))
    if isinstance(result, Verdict) and not _sound(result):
        return otherwise(_error(f"a verdict with value {result.value!r} or components {dict(result.components)!r}"))
    return result


def _error(text: str) -> Verdict:
    return Verdict(0.0, Reason.SCORER_ERROR, feedback=text[:300])


def _sound(verdict: object) -> bool:
    """Whether this is a verdict of finite numbers: NaN and None never travel through Gymnasium."""
    if not isinstance(verdict, Verdict):
        return False
    numbers = [*verdict.components.values(), 0.0 if verdict.value is None else verdict.value]
    return all(isinstance(number, (int, float)) and math.isfinite(number) for number in numbers)
