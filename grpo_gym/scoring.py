"""Scoring that never raises: errors of a scorer become verdicts, equal answers are judged once.

The rule (it decides what a policy can learn): what the ANSWER causes scores 0, a crash of the scorer on it included,
else a policy learns to crash its judge. A fault that the answer did not cause makes the row abstain. To tell them
apart, the scorer is tried on a right answer to the same problem: if that scores, the fault was the answer's.
"""

from __future__ import annotations

import logging
import math
import numbers
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from grpo_gym.reward import Reward
from grpo_gym.stream import Drawn
from grpo_gym.verdict import Reason, Verdict

T = TypeVar("T")

logger = logging.getLogger(__name__)

MAX_ANSWER = 1_000_000
"""Characters of an answer that are scored; a longer one scores 0 as too big."""

FAULTS = (Exception, SystemExit)
"""What a scorer may throw at us. SystemExit is among them: code in an answer that is executed may call exit()."""

_UNFIT = {Reason.SCORER_ERROR, Reason.TIMEOUT, Reason.CRASHED}
"""Reasons that show, on a right answer, that the scorer itself is at fault."""


MAX_WARNINGS = 64
"""Different faults that are remembered as told: each is one warning, however many rows it hits."""

_warned: set[str] = set()


def score_all(reward: Reward | None, rows: Sequence[tuple[str, Drawn]], holder: object | None = None) -> list[Verdict]:
    """Judge answers; never raises, returns one verdict per row in order.

    Args:
        reward: Replaces the tasks' own rewards when given.
        rows: (answer, drawn problem) pairs. Equal answers to one problem are judged once.
        holder: Keeps the worker processes of slow rewards alive until `release_workers(holder)`; default: the reward.
    """
    if len(rows) == 1:
        return _score_with(_judge_of(reward, rows[0][1]), rows, holder)
    unique: dict[tuple[int, str], tuple[str, Drawn]] = {}
    for answer, drawn in rows:
        unique.setdefault((id(drawn), answer), (answer, drawn))
    verdicts = dict(zip(unique, _score_unique(reward, list(unique.values()), holder), strict=True))
    return [verdicts[id(drawn), answer] for answer, drawn in rows]


def release_workers(holder: object) -> None:
    """Give up a holder's share of the worker pool; the last share that goes ends the processes."""
    pool = sys.modules.get("grpo_gym.pool")
    if pool is not None:  # else no slow reward was ever scored in this process
        pool.release(holder)


def judge(reward: Reward, answer: str, drawn: Drawn) -> Verdict:
    """Judge one answer in this process; a fault of the scorer is a verdict with reason scorer_error."""
    return attempt(lambda: reward.score(answer, drawn.problem), is_sound)


def score_one(reward: Reward, answer: str, drawn: Drawn) -> Verdict:
    """Judge one answer in this process, and find whose fault it is when the scorer fails on it."""
    if len(answer) > MAX_ANSWER:
        return too_big()
    return _settle(reward, [judge(reward, answer, drawn)], [drawn])[0]


def blame(failed: Verdict, on_right: Verdict, drawn: Drawn) -> Verdict:
    """Return the failed verdict when a right answer scores (the fault was the answer's), else an abstention.

    An abstention keeps the components and details that the failed verdict came with: what is known stays known.

    Args:
        failed: The verdict that the fault led to: 0 with the fault's reason; a reward that scores an answer below 0
            for other reasons may say less, never more.
        on_right: What the scorer made of a right answer to the same problem.
        drawn: The problem.
    """
    problem = drawn.problem.problem_id
    if on_right.abstains or on_right.reason in _UNFIT:
        level = logging.DEBUG if failed.feedback in _warned else logging.WARNING
        logger.log(level, "the scorer fails on %s, right answer included; it abstains: %s", problem, failed.feedback)
        if len(_warned) < MAX_WARNINGS:
            _warned.add(failed.feedback)
        return replace(failed, value=None, reason=Reason.ABSTAIN)
    logger.info("an answer to %s makes the scorer fail and scores 0: %s", problem, failed.feedback)
    return replace(failed, value=min(0.0, float(failed)))


def is_scorer_error(verdict: Verdict) -> bool:
    """Whether a verdict says that the scorer failed on the answer: it must be found out whose fault that is."""
    return verdict.reason is Reason.SCORER_ERROR and not verdict.abstains


def right_answer(drawn: Drawn) -> str | Verdict:
    """Return an answer that should earn the maximum, or a scorer_error verdict when the task can write none."""
    return attempt(lambda: drawn.task.right_answer(drawn.problem), lambda answer: isinstance(answer, str))


def attempt(compute: Callable[[], T], sound: Callable[[object], bool]) -> T | Verdict:
    """Return what `compute` returns, or a scorer_error verdict when it raises or returns something unsound."""
    try:
        result = compute()
    except FAULTS as error:
        return _fault(f"{type(error).__name__}: {error}")
    return result if sound(result) else _fault(f"not a usable result: {result!r}")


def is_sound(verdict: object) -> bool:
    """Whether this is a Verdict as declared, of finite numbers: NaN and None never travel through Gymnasium."""
    if not isinstance(verdict, Verdict) or not isinstance(verdict.reason, Reason):
        return False
    if not isinstance(verdict.components, Mapping) or not isinstance(verdict.details, Mapping):
        return False
    return (verdict.value is None or is_finite(verdict.value)) and all(map(is_finite, verdict.components.values()))


def is_finite(number: object) -> bool:
    """Whether this is a real number that fits a float; numpy's scalars count."""
    if type(number) is float:  # as almost all are; what is asked below costs ten times as much
        return math.isfinite(number)
    try:
        return isinstance(number, numbers.Real) and math.isfinite(number)
    except OverflowError:
        return False


def too_big() -> Verdict:
    """Return the verdict on an answer that is too long to be scored."""
    return Verdict(0.0, Reason.TOO_BIG, feedback=f"the answer has more than {MAX_ANSWER} characters")


def _score_unique(reward: Reward | None, rows: list[tuple[str, Drawn]], holder: object | None) -> list[Verdict]:
    by_reward: dict[int, list[int]] = {}
    for position, (_, drawn) in enumerate(rows):
        by_reward.setdefault(id(_judge_of(reward, drawn)), []).append(position)
    verdicts: dict[int, Verdict] = {}
    for positions in by_reward.values():
        chosen = _judge_of(reward, rows[positions[0]][1])
        verdicts.update(zip(positions, _score_with(chosen, [rows[p] for p in positions], holder), strict=True))
    return [verdicts[position] for position in range(len(rows))]


def _judge_of(reward: Reward | None, drawn: Drawn) -> Reward:
    """Return what judges a problem: its task's own reward, or what the one given puts in that one's place."""
    own = drawn.task.reward
    return own if reward is None else reward.in_place_of(own)


def _score_with(reward: Reward, rows: Sequence[tuple[str, Drawn]], holder: object | None) -> list[Verdict]:
    """Judge rows of one reward: the batch at once, and one by one where the batch fails."""
    if reward.cost == "slow":
        from grpo_gym.pool import score_in_pool  # worker processes: only where a slow reward asks for them

        return score_in_pool(reward, rows, holder)
    if all(len(answer) <= MAX_ANSWER for answer, _ in rows):
        try:
            verdicts = reward.score_batch([(answer, drawn.problem) for answer, drawn in rows])
            if len(verdicts) == len(rows) and all(map(is_sound, verdicts)):
                return _settle(reward, verdicts, [drawn for _, drawn in rows])
        except FAULTS as error:
            logger.debug("batch scoring failed, scoring one by one: %s: %s", type(error).__name__, error)
    return [score_one(reward, answer, drawn) for answer, drawn in rows]


def _settle(reward: Reward, verdicts: Sequence[Verdict], problems: Sequence[Drawn]) -> list[Verdict]:
    """Find whose fault the scorer errors among verdicts are; a right answer is tried once per problem."""
    on_right: dict[int, Verdict] = {}
    settled = []
    for verdict, drawn in zip(verdicts, problems, strict=True):
        if is_scorer_error(verdict):
            if id(drawn) not in on_right:
                right = right_answer(drawn)
                on_right[id(drawn)] = right if isinstance(right, Verdict) else judge(reward, right, drawn)
            verdict = blame(verdict, on_right[id(drawn)], drawn)
        settled.append(verdict)
    return settled


def _fault(text: str) -> Verdict:
    return Verdict(0.0, Reason.SCORER_ERROR, feedback=text[:300])
