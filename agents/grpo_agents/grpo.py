"""Group Relative Policy Optimisation (DeepSeekMath, arXiv 2402.03300, algorithm 1) on any Gymnasium text environment.

    for each step
        draw a batch of problems, and show each to a group of rows   rollouts.py
        sample a completion per row from the current policy          collect.py, sampler.py
        score them                                                   the environment
        compare each reward with its group's                         credit.py, advantages/
        raise the log-probs of what was better than its group        losses/, update.py

No critic (ppo.py has one, on the same loop), and the sampler's own log-probs are the old policy's. Where the paper
keeps a KL term to the reference policy, the default here is none (DAPO, Dr. GRPO); `objective.kl_coef` brings it back.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grpo_agents.collect import none_fits, none_judged
from grpo_agents.config import TrainConfig
from grpo_agents.config.objective import SPREADLESS
from grpo_agents.credit import Strata
from grpo_agents.environments import (
    EnvironmentRaisedError,
    curriculum_figures,
    distinct_seeds,
    restore,
    state_of,
)
from grpo_agents.evaluate import evaluate
from grpo_agents.interrupt import StopFlag
from grpo_agents.kl import next_kl_coef
from grpo_agents.lora import check_adapter
from grpo_agents.metrics import completion_records, flat_advice, step_metrics
from grpo_agents.optimizers import make_optimizer, set_learning_rate
from grpo_agents.policy import Policy
from grpo_agents.prepare import Learner
from grpo_agents.quantised import check_trainable
from grpo_agents.reference import FrozenCopy, Reference, make_reference
from grpo_agents.retirement import Retirement
from grpo_agents.rollouts import Rollout, Rollouts, by_group
from grpo_agents.run_folder import RunFolder
from grpo_agents.strata import PromptFacts, Stratifier
from grpo_agents.training_env import Given, as_source
from grpo_agents.update import Update, update
from grpo_gym.errors import CheckpointError, GrpoGymError
from grpo_gym.rng import stable_hash

logger = logging.getLogger(__name__)

Metrics = dict[str, Any]
MAX_FAILURES = 3
"""Steps in a row that may fail (environment raised, update refused) before the run stops with the last cause."""


class GRPO:
    """Trains a policy on an environment.

    Args:
        policy: Changed in place.
        env: Made from `config.env` when None. Else an id, an environment or what makes one, (data set, reward), a
            mixture of these, or a VectorEnv with prompts x group_size rows: `training_env` has the list. A VectorEnv
            stays open, and there are no validation scores then, for it cannot be made again with other problems.
        config: Everything else.
        reference: What the KL term pulls to; None for the policy as it is now, or as it is without its adapter.
        folder: Where logs and checkpoints go; None keeps nothing on disk.
        on_step: Called with each step's metrics.
        on_stop: Called at the first Ctrl-C, which ends the run after its step; from a signal handler, so be brief.

    Example:
        >>> policy = Policy.load("path/to/model")                                         # doctest: +SKIP
        >>> GRPO(policy, config=TrainConfig(env="grpo/Math-v0", steps=20)).learn()        # doctest: +SKIP
    """

    def __init__(
        self,
        policy: Policy,
        env: Any = None,
        config: TrainConfig | None = None,
        *,
        reference: Policy | None = None,
        folder: RunFolder | None = None,
        on_step: Callable[[Metrics], None] = lambda metrics: None,
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        check_trainable(policy.model)
        self.policy = policy
        self.config = config or TrainConfig()
        check_adapter(policy.model, self.config.lora)
        self.source = as_source(env, self.config)
        self.rows = self.config.prompts * self.config.group_size
        self.env = self.source.vector(self.rows, self.config.group_size)
        self.folder = folder
        self.on_step = on_step
        self.on_stop = on_stop
        self.given_reference = reference
        self.reference: Reference | None = None
        self.kl_coef = self.config.objective.kl_coef
        if self.kl_coef > 0:
            self.reference = make_reference(policy, self.config.reference, reference)
        if self.config.optimisation.gradient_checkpointing:
            policy.logprobs.recompute_layers()
        self.optimizer = make_optimizer(policy, self.config)
        self.stratifier = Stratifier(self.config.strata)
        self.retirement = Retirement(self.config.selection.retire_at, self.config.selection.retire_after)
        self.rollouts = Rollouts(policy, self.env, self.config, self.stratifier, self.retirement)
        self.step = 0
        self.best: tuple[int, float] | None = None
        self.failures: list[str] = []
        self.advised = False

    def learn(self) -> bool:
        """Run the remaining steps. Returns False when Ctrl-C ended it early; the run can be resumed then."""
        try:
            val_seeds = self._validation_seeds()
            with StopFlag(self.on_stop) as stop:
                while self.step < self.config.steps and not stop:
                    self.step += 1
                    self._play_step(val_seeds)
                    if stop or self._checkpoint_is_due():
                        self.save()
        finally:
            if not isinstance(self.source, Given):
                self.env.close()
        return self.step >= self.config.steps

    def _play_step(self, val_seeds: list[int]) -> None:
        """Sample, score, learn, log. A step that fails costs one batch; MAX_FAILURES in a row end the run."""
        began = time.perf_counter()
        set_learning_rate(self.optimizer, self.step, self.config)
        rollout, lost = self._rollout_or_cause()
        sampled = time.perf_counter()
        facts = rollout.facts(self.policy)
        strata = self.strata_of(rollout, facts)
        result = Update.none(len(rollout.episodes), lost) if lost else self.improve(rollout, strata)
        trained = time.perf_counter()
        metrics = step_metrics(self.step, rollout, strata, result, self.optimizer.param_groups[0]["lr"])
        scoring = self.env.take_seconds()
        metrics |= {"seconds/rollout": sampled - began, "seconds/update": trained - sampled, "kl_coef": self.kl_coef}
        metrics |= {"seconds/scoring": scoring, "seconds/sampling": max(0.0, sampled - began - scoring)}
        self._advise(metrics)
        self._look_back(rollout, facts, result)
        metrics |= self.stratifier.figures() | curriculum_figures(self.env) | self._validate(val_seeds)
        self._record(metrics, rollout, strata, result)
        if result.refused:
            self._failed(result.skipped)
        else:
            self.failures = []

    def _rollout_or_cause(self) -> tuple[Rollout, str]:
        """Return what the step sampled, and why nothing can be learned from it when that is a fault, else ""."""
        try:
            rollout = self.rollout()
        except EnvironmentRaisedError as error:
            return Rollout([], []), str(error)
        return rollout, none_fits(self.policy, rollout.episodes) or none_judged(rollout.episodes)

    def rollout(self) -> Rollout:
        """Sample one completion per row, G rows per problem, and score them.

        Raises:
            EnvironmentRaisedError: The environment raised.
        """
        return self.rollouts(self.step)

    def strata_of(self, rollout: Rollout, facts: dict[int, PromptFacts]) -> Strata:
        """Return the stratum of each row, by its prompt and by what was seen before this step."""
        objective = self.config.objective
        of_group = dict(zip(facts, self.stratifier.assign([*facts.values()], self.step - 1), strict=True))
        names = [of_group[episode.group] for episode in rollout.episodes]
        low, high = self.stratifier.clips(names, objective.clip_low, objective.clip_high)
        return Strata(names, self.stratifier.weights(names), low, high)

    def improve(self, rollout: Rollout, strata: Strata | None = None) -> Update:
        """Raise the log-probs of completions that beat their group, lower the others."""
        generator = torch.Generator().manual_seed(stable_hash("minibatch", self.config.seed, self.step) % 2**63)
        result = update(
            self.learner(),
            rollout.lesson(),
            kl_coef=self.kl_coef,
            strata=None if strata is None else strata.rows(rollout.taught),
            generator=generator,
        )
        return result.among(rollout.taught, len(rollout.episodes))

    def learner(self) -> Learner:
        """Return what an update needs beside the episodes."""
        config = self.config
        return Learner(
            logprobs=self.policy.logprobs,
            optimizer=self.optimizer,
            objective=config.objective,
            optimisation=config.optimisation,
            max_tokens=config.sampling.max_tokens,
            temperature=config.sampling.temperature,
            selection=config.selection,
            reference=self.reference,
        )

    def _look_back(self, rollout: Rollout, facts: dict[int, PromptFacts], result: Update) -> None:
        """Take in what the step showed: pass rates, the KL that was measured, and a reference that is due to move."""
        config = self.config
        rates = by_group(rollout.episodes)
        right, rewards = [rate for rate, _ in rates], [reward for _, reward in rates]
        self.stratifier.observe([*facts.values()], right, rewards, self.step - 1)
        for fact, (rate, _) in zip(facts.values(), rates, strict=True):
            self.retirement.observe(fact.problem_id, rate)
        measured = self.measured_kl(result)
        if config.objective.kl_target and measured is not None:
            self.kl_coef = next_kl_coef(self.kl_coef, measured, config.objective.kl_target, config.objective.kl_horizon)
        if self.reference is not None and config.reference.sync_every and self.step % config.reference.sync_every == 0:
            self.reference.move(self.policy, config.reference.sync_mix)

    def save(self) -> None:
        """Write a checkpoint of everything that a resumed run needs, and drop old ones."""
        if self.folder is None:
            return
        state = {
            "best": self.best,
            "failures": self.failures,
            "environment": state_of(self.env),
            "kl_coef": self.kl_coef,
            "strata": self.stratifier.state_dict(),
            "retirement": self.retirement.state_dict(),
        }
        self.folder.save(self.step, self.policy, self.optimizer, state, self.tensors())
        self.folder.prune(self.config.keeping.keep_last, self.best[0] if self.best else None)

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """Return what a checkpoint keeps beside policy and optimiser, by name; nothing for what is empty."""
        moved = self.reference.state_dict() if self.reference is not None else {}
        return {"reference": moved} if moved else {}

    def load_tensors(self, saved: dict[str, dict[str, Tensor]]) -> None:
        """Take back what `tensors` returned."""
        if self.reference is not None and "reference" in saved:
            self.reference.load_state_dict(saved["reference"])

    def resume(self) -> None:
        """Continue from the folder's newest checkpoint; the policy must hold that checkpoint's weights already.

        All random streams are functions of (seed, step), so weights, optimiser, step, what the past says of strata and
        prompts, and what the environment carries (a curriculum) are the whole state; with a KL term also the reference,
        which is the policy that the run began with and has to be given unless it is the policy without its adapter.

        Raises:
            CheckpointError: No checkpoint, a damaged one, one of another environment, or a KL term without its
                reference.
        """
        if self.folder is None:
            raise CheckpointError("nothing to resume: this GRPO has no run folder")
        if isinstance(self.reference, FrozenCopy) and self.given_reference is None:
            raise CheckpointError("a run with a KL term resumes only with reference=, the policy that it began with")
        path = self.folder.checkpoint()
        state = self.folder.load_state(path, self.optimizer)
        saved = self.folder.load_tensors(path)
        try:
            self.step = int(state["step"])
            self.best = (int(state["best"][0]), float(state["best"][1])) if state["best"] else None
            self.failures = [str(cause) for cause in state["failures"]]
            self.kl_coef = float(state["kl_coef"])
            self.stratifier.load_state_dict(state["strata"])
            self.retirement.load_state_dict(state["retirement"])
            self.load_tensors(saved)
        except (KeyError, TypeError, ValueError, IndexError, RuntimeError) as error:
            raise CheckpointError(f"checkpoint {path} is damaged: {error!r}") from error
        restore(self.env, state.get("environment", {}))
        self.folder.forget_after(self.step)

    def measured_kl(self, result: Update) -> float | None:
        """Return the mean KL to the reference that an update measured, None where it was refused or is not finite."""
        measured = None if result.refused else result.mean_kl()
        return measured if measured is not None and math.isfinite(measured) else None

    def _advise(self, metrics: Metrics) -> None:
        """Say once when the groups teach next to nothing: a flat curve is then no verdict on the method."""
        alone = self.config.algo == "ppo" or self.config.objective.baseline in SPREADLESS  # flat groups teach, too
        advice = "" if alone else flat_advice(metrics, self.config.group_size)
        if advice and not self.advised:
            self.advised = True
            logger.warning("step %d: %s", self.step, advice)

    def _checkpoint_is_due(self) -> bool:
        """Whether this step is one of the regular ones, the last, or the best so far."""
        best_now = self.best is not None and self.best[0] == self.step
        return best_now or self.step % self.config.keeping.checkpoint_every == 0 or self.step == self.config.steps

    def _validation_seeds(self) -> list[int]:
        if not self.config.evaluation.every or isinstance(self.source, Given):
            return []
        return distinct_seeds(self.source, "val", self.config.seed, self.config.evaluation.val_problems)

    def _validate(self, seeds: list[int]) -> Metrics:
        every = self.config.evaluation.every
        if not seeds or (self.step % every and self.step != self.config.steps):
            return {}
        began = time.perf_counter()
        try:
            score = evaluate(self.policy, self.source, "val", seeds, self.config.sampling, seed=self.config.seed)
        except EnvironmentRaisedError as error:
            logger.warning("no validation score at step %d: %s", self.step, error)
            return {"seconds/validation": time.perf_counter() - began}
        if not math.isnan(score.pass_at_1) and (self.best is None or score.pass_at_1 > self.best[1]):
            self.best = (self.step, score.pass_at_1)
        return {
            "val/pass@1": score.pass_at_1,
            "val/length": score.length,
            "seconds/validation": time.perf_counter() - began,
        }

    def _record(self, metrics: Metrics, rollout: Rollout, strata: Strata, result: Update) -> None:
        if self.folder is not None:
            self.folder.append("metrics.jsonl", [metrics])
            self.folder.append("completions.jsonl", completion_records(self.step, rollout, strata, result))
        self.on_step(metrics)

    def _failed(self, why: str) -> None:
        logger.warning("step %d is lost: %s", self.step, why)
        self.failures.append(why)
        count, first = len(self.failures), self.failures[0]
        if count >= MAX_FAILURES:
            cause = why if first == why else f"{why}; the first: {first}"
            raise GrpoGymError(f"{count} steps in a row failed, the last at step {self.step}: {cause}")
