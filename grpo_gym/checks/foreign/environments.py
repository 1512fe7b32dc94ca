"""Any Gymnasium environment of texts under check: a problem is what a reset shows, a score what a step pays.

Nothing is asked of it but `reset(seed=...)` and `step(text)`. Where it tells its answer, in a reset's info or as an
attribute, the lines about right answers are asked too; the format is found by trial, as for functions.
"""

from __future__ import annotations

import numbers
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium

from grpo_gym.checks.foreign.trials import Trial
from grpo_gym.checks.target import Facts
from grpo_gym.errors import GeneratorError, InvalidValueError
from grpo_gym.foreign import same
from grpo_gym.problem import Problem, Split
from grpo_gym.reward import Probe
from grpo_gym.sources import Key, labelled
from grpo_gym.verdict import Reason, Verdict

MAX_STEPS = 50
"""Steps of one episode; the same text is given in each."""

ANSWER_NAMES = ("answer", "reference_answer", "solution", "correct_answer", "ground_truth", "expected_answer")
"""Where an environment may tell its answer: in info, or as an attribute."""

_SEEDS: dict[Split, int] = {"train": 0, "val": 1 << 29, "test": 1 << 30}
_SEEDS_OF_A_STREAM = 100_000

_NO_SPLITS = "the environment has no splits: held-out seeds, content not checked"
_NOT_APPLICABLE = {"splits": _NO_SPLITS, "neighbouring seeds": "an environment has one problem per seed"}


class EnvTarget:
    """An environment under check.

    Args:
        identifier: A registered id.

    Raises:
        InvalidValueError: It cannot be made.
    """

    def __init__(self, identifier: str) -> None:
        self.identifier = identifier
        self._here = threading.local()
        self._top = 1.0
        problems = [self.problem(None, "train", 0, place) for place in (0, 1, 2)]
        self._trial = Trial()
        known = all(problem.reference is not None for problem in problems)
        if known:
            self._trial.try_formats(self, problems, same)
            self._top = self._trial.range[1]
        note = self._trial.note(problems[0]) if known else "it tells no answer"
        unknown = {"range": "neither a range nor a right answer is known"}
        self.facts = Facts(
            name=identifier,
            tiers=(0,),
            default_tiers=(0,),
            range=self._trial.range if known else (0.0, 1.0),
            foreign=True,
            note=f"an environment of others; {note}",
            not_applicable=_NOT_APPLICABLE | ({} if known else unknown),
        )

    def problem(self, tier: int | None, split: Split, seed: int, index: int) -> Problem:
        """Return what a reset shows. Raises GeneratorError when two resets with one seed show different texts."""
        own_seed = _SEEDS[split] + seed * _SEEDS_OF_A_STREAM + index
        text, info = self._reset(own_seed)
        answer = self._answer(info)
        again, _ = self._reset(own_seed)
        if text != again:
            raise GeneratorError(f"two resets with seed {own_seed} show {text!r:.60} and {again!r:.60}")
        name = self.identifier
        problem = Problem(text, answer, meta={"seed": own_seed})
        return labelled(problem, Key(name.rpartition("/")[2], 0, 0, split, seed, index))

    def right_answer(self, problem: Problem) -> str | None:
        """Return the answer that the environment tells, written as it is paid best."""
        return self.final_answer(problem, problem.reference)

    def final_answer(self, problem: Problem, reference: object) -> str | None:
        """Write a value as an answer, in the format that is paid best."""
        return self._trial.manner.answer(reference)

    def score(self, response: str, problem: Problem) -> Verdict:
        """Play an episode in which every action is the response. Raises whatever the environment raises."""
        text, _ = self._reset(problem.meta["seed"])
        if text != problem.prompt:
            raise GeneratorError(f"a reset with seed {problem.meta['seed']} shows {text!r:.60} now")
        env, total = self._env(), 0.0
        info: Mapping[str, Any] = {}
        for _ in range(MAX_STEPS):
            _, reward, terminated, truncated, info = env.step(response)
            total += _number(reward)
            if terminated or truncated:
                break
        if info.get("abstain"):
            return Verdict.abstain(str(info.get("feedback", "")))
        parts = info.get("rewards")
        named = parts.items() if isinstance(parts, Mapping) else ()
        components = {str(name): float(value) for name, value in named if isinstance(value, numbers.Real)}
        return Verdict(total, Reason.CORRECT if total >= self._top else Reason.WRONG, components)

    def play_right(self, problem: Problem, spell: Callable[[str], str]) -> Verdict:
        """Give the right answer, spelled in another way."""
        return self.score(spell(self.right_answer(problem) or ""), problem)

    def equivalents(self, problem: Problem) -> Sequence[str] | None:
        """Return None: the environment cannot be asked."""
        return None

    def solutions(self, problem: Problem) -> Sequence[str] | None:
        """Return None: the environment cannot be asked."""
        return None

    def effort(self, problem: Problem) -> float | None:
        """Return None: the environment cannot be asked."""
        return None

    def probes(self, problem: Problem) -> Sequence[tuple[Probe, str]]:
        """Return nothing: the environment cannot be asked."""
        return ()

    def opening(self, problem: Problem) -> tuple[str, dict[str, Any]]:
        """Return what a reset shows, but for where it tells its answer to those who ask."""
        text, info = self._reset(problem.meta["seed"])
        return text, {name: value for name, value in info.items() if name not in ANSWER_NAMES}

    def _env(self) -> gymnasium.Env[Any, Any]:
        """Return this thread's environment: one at a time may act in it."""
        if not hasattr(self._here, "env"):
            try:
                self._here.env = gymnasium.make(self.identifier, disable_env_checker=True)
            except Exception as error:
                raise InvalidValueError(f"cannot make {self.identifier}: {type(error).__name__}: {error}") from error
        env: gymnasium.Env[Any, Any] = self._here.env
        return env

    def _reset(self, seed: int) -> tuple[str, dict[str, Any]]:
        text, info = self._env().reset(seed=seed)
        if not isinstance(text, str):
            raise GeneratorError(f"{self.identifier} shows {type(text).__name__}, not text")
        return text, info

    def _answer(self, info: Mapping[str, Any]) -> str | int | float | None:
        """Return the answer that was told with the reset, None when none was."""
        inside = self._env().unwrapped
        told = [info.get(name) for name in ANSWER_NAMES] + [getattr(inside, name, None) for name in ANSWER_NAMES]
        return next((value for value in told if isinstance(value, (str, int, float)) and value != ""), None)


def _number(reward: object) -> float:
    """Return a step's reward. Raises InvalidValueError when it is no number."""
    try:
        if isinstance(reward, (str, bytes)):
            raise TypeError("a text")
        return float(reward)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"a step paid {reward!r:.60}, not a number: {error}") from error
