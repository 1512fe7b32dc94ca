"""Choosing among several programs by tests that everybody may see, and what that is worth: for evaluation.

Chen et al. 2021, "Evaluating Large Language Models Trained on Code", https://arxiv.org/abs/2107.03374: pass@k is the
chance that one of k samples is right, estimated without bias from n samples of which c are right (equation 1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from grpo_gym.errors import InvalidValueError
from grpo_gym.verdict import Verdict
from grpo_rewards.code.job import Job


class BatchJudge(Protocol):
    """What is asked of a judge; a `CodeJudge` does it."""

    def judge_all(self, jobs: Sequence[Job]) -> list[Verdict]:
        """Judge programs; verdicts come in the order of the jobs."""
        ...


def best_of(candidates: Sequence[str], public: Job, judge: BatchJudge) -> int:
    """Return the index of the program to hand in, among candidates that public tests can tell apart.

    Most public tests passed wins. Among equals it is the one whose results most of the equals share, test by test; then
    the shortest program, then the first.

    Args:
        candidates: Programs, at least one.
        public: The public tests and how programs run; its own solution does not count.
        judge: Who judges.

    Raises:
        InvalidValueError: There is no candidate.
    """
    if not candidates:
        raise InvalidValueError("best_of needs at least one candidate, got none")
    different = list(dict.fromkeys(candidates))
    verdicts = judge.judge_all([replace(public, solution=code, every_test=True) for code in different])
    by_code = dict(zip(different, verdicts, strict=True))
    passed = {code: _passed(verdict) for code, verdict in by_code.items()}
    most = max(passed.values())
    results = {code: _results(by_code[code]) for code in different if passed[code] == most}
    votes = Counter(results[code] for code in candidates if code in results)

    def rank(index: int) -> tuple[int, int, int]:
        code = candidates[index]
        return -votes[results[code]], len(code), index

    return min((index for index, code in enumerate(candidates) if code in results), key=rank)


def pass_at_k(samples: int, right: int, k: int) -> float:
    """Return the unbiased estimate of pass@k: 1 - C(samples - right, k) / C(samples, k).

    Args:
        samples: How many programs were tried (n).
        right: How many of them were right (c).
        k: How many somebody may hand in.

    Raises:
        InvalidValueError: Not 0 <= right <= samples, or not 1 <= k <= samples.
    """
    if not 0 <= right <= samples:
        raise InvalidValueError(f"{right} of {samples} samples are right: must be between 0 and all of them")
    if not 1 <= k <= samples:
        raise InvalidValueError(f"k is {k}, must be between 1 and the {samples} samples")
    none_right = 1.0
    for tried in range(samples - right + 1, samples + 1):  # a product of ratios: the binomials themselves overflow
        none_right *= max(0.0, 1.0 - k / tried)
    return 1.0 - none_right


def _passed(verdict: Verdict) -> int:
    return int(verdict.details.get("passed", 0))


def _results(verdict: Verdict) -> str:
    """Return what a program made of each test, as text that equal results share: that it passed, or how it failed."""
    tests: Sequence[dict[str, Any]] = verdict.details.get("tests", ())
    return repr([(test.get("ok"), test.get("message")) for test in tests])
