"""Rewards as other people write them, each with what is good or bad about it. Importable: they are named as texts."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from grpo_gym import Problem, Reason, Reward, Verdict
from grpo_gym.reward import Probe

_BOX = re.compile(r"\\boxed\{([^{}]*)\}")
_TAG = re.compile(r"<answer>\s*(.*?)\s*</answer>", re.DOTALL)


def _boxed(text: str) -> str | None:
    found = _BOX.findall(text)
    return found[-1].strip() if found else None


# --- sound ones, in each style


def plain_boxed(response, reference):
    return _boxed(response) == reference


def plain_exact(response: str, reference: str) -> float:
    return float(response.strip() == reference)


def plain_swapped(ground_truth, prediction):
    return float(_boxed(prediction) == ground_truth)


def plain_of_problem(response, problem):
    return float(_boxed(response) == problem.reference)


def plain_with_options(response, reference, strict=True, **options):
    return {"score": float(_boxed(response) == reference), "strict": 1.0 if strict else 0.0, "note": "a text"}


def plain_any(*args):
    return float(_boxed(args[0]) == args[1])


def positional_only(response, reference, /):
    return float(_boxed(response) == reference)


def trl_texts(completions: list[str], ground_truth: list[str], **kwargs: Any) -> list[float]:
    return [1.0 if _boxed(c) == gt else 0.0 for c, gt in zip(completions, ground_truth, strict=True)]


def trl_messages(prompts, completions, answer, **kwargs) -> list[float]:
    responses = [completion[0]["content"] for completion in completions]
    assert prompts[0][-1]["role"] == "user"
    tagged = [_TAG.search(text) for text in responses]
    return [2.0 if m and m[1] == a else 0.0 for m, a in zip(tagged, answer, strict=True)]


def trl_typed(completions: list[list[dict[str, str]]], solution: list[str], **kwargs) -> list[float | None]:
    contents = [completion[0]["content"] for completion in completions]
    return [float(_boxed(c) == (_boxed(s) or "?")) for c, s in zip(contents, solution, strict=True)]  # "\boxed{12}"


def trl_own_column(completions, verdict_key):
    return [float(_boxed(c) == k) for c, k in zip(completions, verdict_key, strict=True)]


def trl_two_columns(completions, numbers, aim):
    return [float(eval(c) == a and bool(n)) for c, n, a in zip(completions, numbers, aim, strict=True)]


async def trl_async(completions, answer):
    return [float(_boxed(c) == a) for c, a in zip(completions, answer, strict=True)]


def verl_score(data_source, solution_str, ground_truth, extra_info=None):
    if data_source != "openai/gsm8k":
        raise NotImplementedError(data_source)
    found = re.findall(r"#### (\-?[0-9\.\,]+)", solution_str)
    return 1.0 if found and found[-1].replace(",", "") == ground_truth else 0.0


def verl_short(solution_str, ground_truth, method="strict", format_score=0.1, score=1.0):
    found = _TAG.findall(solution_str)
    if not found:
        return 0
    return score if found[-1] == ground_truth else format_score


def verl_dict(data_source, solution_str, ground_truth, extra_info=None, **kwargs):
    right = _boxed(solution_str) == ground_truth
    return {"score": 1.0 if right else -1.0, "acc": right, "pred": _boxed(solution_str)}


def verl_batch(data_sources, solution_strs, ground_truths, extra_infos):
    return [float(_boxed(s) == g) for s, g in zip(solution_strs, ground_truths, strict=True)]


def verl_by_position(source, text, truth):
    return float(_boxed(text) == truth)


class Callable_:
    """As ms-swift has them: a class that is made without arguments, and called as TRL does."""

    def __call__(self, completions, solution, **kwargs) -> list[float]:
        return [float(_boxed(c) == s) for c, s in zip(completions, solution, strict=True)]


class OurReward(Reward):
    """A Reward of this package without a task."""

    range = (-2.0, 1.0)

    def score(self, response: str, problem: Problem) -> Verdict:
        right = _boxed(response) == problem.reference
        return Verdict(1.0 if right else -2.0, Reason.CORRECT if right else Reason.WRONG)

    def probes(self) -> list[Probe]:
        return [Probe("a bribe", lambda problem: "please")]


our_reward = OurReward()


class NeedsArguments:
    def __init__(self, tokenizer: object) -> None:
        self.tokenizer = tokenizer


partial_exact: Callable[..., float] = functools.partial(plain_with_options, strict=False)

number = 3


def one_argument(response):
    return 1.0


def three_arguments(queries, prompts, labels):
    return [1.0]


def everything(*args, **kwargs):
    return 1.0


def by_target(response, target):
    return 3.0 * (_boxed(response) == str(target["of"]))


def two_rewards(completions, answer):
    return [1.0, 1.0]


def no_list(completions, answer):
    return 1.0


def no_score(response, reference):
    return {"reward": 1.0}


def a_text(response, reference):
    return "1.0"


def abstains(response, reference):
    return None


# --- faulty ones


def runs_answers(response, reference):
    try:
        return float(eval(_boxed(response) or response) == int(reference))
    except Exception:
        return 0.0


def leaky(response, reference):
    """Pays for prefixes and for any refusal, raises on nothing, and is sometimes no number."""
    if response == "nan":
        return float("nan")
    first = response.split()[0]
    if first == "I":
        return 1.0
    return len(reference) / len(first) if first.startswith(reference) else 0.0


def pays_never(response, reference):
    return 0.0


def never_ready(response, reference):
    raise ConnectionError("no judge at this address")


def harmful(response, reference):
    """Hangs on one kind of junk, dies on another, and writes where it must not on a third."""
    import ctypes
    import os
    import pathlib

    if response == "null":
        while True:
            pass
    if response == "[]":
        ctypes.string_at(0)
    if response == "{}":
        pathlib.Path(os.environ["HOME"], "leak").write_text(response)
    return float(response == reference)
