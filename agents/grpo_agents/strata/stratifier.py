"""The strata of a run: which one a prompt belongs to, and what follows from it.

A step goes: `assign` the prompts before anything is sampled, take `weights` and `clips` by the names, and `observe`
afterwards. Only `observe` changes anything, so that whatever looks at a batch twice sees the same strata.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

from grpo_agents.config import Strata
from grpo_agents.config.consistency import KEYS, WHY_NOT_THE_ANSWER
from grpo_agents.strata import keys
from grpo_agents.strata.averages import Averages, Key
from grpo_agents.strata.boundaries import place
from grpo_agents.strata.cuts import Cuts
from grpo_agents.strata.facts import PromptFacts, require_facts
from grpo_agents.strata.names import difficulty_names, joined
from grpo_agents.strata.past import PassRates
from grpo_agents.strata.weights import balance_weights, fixed_weights, renormalised, worst_weights

logger = logging.getLogger(__name__)

MEANS_MEMORY: Final = 10
"""Batches that a stratum's mean reward remembers; each counts once, however many prompts of the stratum it had."""

MEANS_KEPT: Final = 4096
"""Strata with a mean: a bound for environments that give every problem a task of its own."""

PATIENCE: Final = 20
"""Steps, with all strata there, after which a configured name that never came up is reported."""


class Stratifier:
    """Tells prompts apart by the keys of `config.Strata`, and remembers what the strata's weights need.

    Args:
        options: Which keys, boundaries, weights and clips.

    Raises:
        ValueError: A key that does not exist or stands twice, or more than one number among them.
    """

    def __init__(self, options: Strata) -> None:
        unknown = [key for key in options.by if key not in KEYS]
        if unknown:
            raise ValueError(f"strata.by has no {unknown[0]!r}, only {', '.join(KEYS)}: {WHY_NOT_THE_ANSWER}")
        numbers = [key for key in options.by if key in keys.NUMBER_KEYS]
        if len(numbers) > 1 or len(set(options.by)) < len(options.by):
            raise ValueError(f"strata.by is {', '.join(options.by)}: each key once, and at most one number among them")
        self._options = options
        self._categories = [key for key in options.by if key in keys.CATEGORY_KEYS]
        self._number = numbers[0] if numbers else None
        self._cuts = Cuts(options)
        self._past = PassRates(keeps="pass_rate" in options.by)
        self._means = Averages(MEANS_MEMORY, MEANS_KEPT)
        self._seen: set[str] = set()
        self._steps = 0
        self._waited = 0
        self._warned = False

    @property
    def pass_rates(self) -> PassRates:
        """Pass rates as far as they were seen; kept only where strata are told apart by them."""
        return self._past

    def assign(self, facts: Sequence[PromptFacts], step: int) -> list[str]:
        """Name the stratum of each prompt. Changes nothing.

        Args:
            facts: Prompts, [P], of which nothing was sampled yet.
            step: Steps done before this one.

        Returns:
            Names, [P]: categories first, then the number's, e.g. "sums / hard"; "all" without any key.

        Raises:
            TypeError: Anything but PromptFacts, with the reason.
        """
        edges = self._cuts.at(step)
        names = difficulty_names(len(edges) + 1, self._number in keys.HIGH_IS_EASY)
        assigned = []
        for fact in map(require_facts, facts):
            parts = [keys.category(key, fact) for key in self._categories]
            if self._number is not None:
                parts.append(names[place(keys.number(self._number, fact, self._past), edges)])
            assigned.append(joined(parts))
        return assigned

    def observe(
        self, facts: Sequence[PromptFacts], pass_rates: Sequence[float], rewards: Sequence[float], step: int
    ) -> None:
        """Take in a step's results, in any order: pass rates, means, and the boundaries of the next step.

        Args:
            facts: The prompts as they were assigned, [P].
            pass_rates: Share of each group's judged completions that were right, [P]; NaN where none was judged.
            rewards: Mean reward of each group's judged completions, [P]; NaN where none was judged.
            step: As in `assign`.

        Raises:
            TypeError: Anything but PromptFacts.
            ValueError: Lengths that differ, a pass rate outside 0 to 1, or an infinite reward.
        """
        if not len(facts) == len(pass_rates) == len(rewards):
            raise ValueError(
                f"{len(facts)} prompts, {len(pass_rates)} pass rates, {len(rewards)} rewards; give as many"
            )
        if any(math.isinf(reward) for reward in rewards):
            raise ValueError("rewards are infinite; give NaN for a group of which no completion was judged")
        names = self.assign(facts, step)
        numbers = [keys.number(self._number, fact, self._past) for fact in facts] if self._number else []
        self._past.observe(facts, pass_rates)  # refuses before anything else has changed
        by_name: dict[str, list[float]] = defaultdict(list)
        for name, reward in zip(names, map(float, rewards), strict=True):
            if not math.isnan(reward):
                by_name[name].append(reward)
        of_batch: dict[Key, list[float]] = {(name,): [_mean(values)] for name, values in by_name.items()}
        self._means.add(of_batch)
        self._seen.update(names)
        self._steps = step + 1
        self._move_boundaries(numbers, step)
        self.check_names()

    def _move_boundaries(self, numbers: list[float], step: int) -> None:
        if self._number is None:
            self._waited += 1
            return
        before = len(self._cuts.at(step))
        self._cuts.observe(numbers, step)
        if len(self._cuts.at(step + 1)) != before:
            self._means.clear()  # of another number of strata, "hard" is another set of prompts
        if self._cuts.wanted(step) == self._cuts.full_count:
            self._waited += 1

    def weights(self, names: Sequence[str]) -> Tensor:
        """Return what each row's advantage is multiplied by, from the configuration and past batches only.

        The product of the fixed weight, the balancing one and the worst-stratum one, if asked for scaled to a mean of
        1 over the rows.

        Args:
            names: Stratum of each row, [n].

        Returns:
            float64 [n] on the CPU, at least 0.
        """
        options, means = self._options, self.means()
        product = fixed_weights(names, options.weights)
        product = product * fixed_weights(names, balance_weights(means, options.balance_coef))
        product = product * fixed_weights(names, worst_weights(means, options.worst_coef))
        return renormalised(product) if options.renormalise else product

    def clips(self, names: Sequence[str], default_low: float, default_high: float) -> tuple[Tensor, Tensor]:
        """Return clip_low and clip_high of each row, float64 [n] each on the CPU; the defaults where none is set."""
        pairs = [self._options.clips.get(name, (default_low, default_high)) for name in names]
        both = torch.tensor(pairs, dtype=torch.float64).reshape(-1, 2)
        return both[:, 0].clone(), both[:, 1].clone()

    def means(self) -> dict[str, float]:
        """Return the running mean reward of each stratum seen since the number of strata last changed."""
        return {str(name): mean for (name,), mean in self._means.means().items()}

    def figures(self) -> dict[str, float]:
        """Return flat keys for the log: edges and number of a number's strata at the next step, and running means."""
        figures: dict[str, float] = {}
        if self._number is not None:
            edges = self._cuts.at(self._steps)
            figures = {f"strata/edge/{index}": edge for index, edge in enumerate(edges)}
            figures["strata/count"] = float(len(edges) + 1)
        return figures | {f"strata/{name}/mean": mean for name, mean in sorted(self.means().items())}

    def check_names(self) -> None:
        """Warn, once, of names in weights, clips or shares that no prompt had in 20 steps with all strata there."""
        if self._warned or self._waited < PATIENCE:
            return
        options = self._options
        missing = sorted({*options.weights, *options.clips, *options.shares} - self._seen)
        if missing:
            self._warned = True
            seen = sorted(self._seen)
            shown = ", ".join(seen[:20]) + (", ..." if len(seen) > 20 else "")
            logger.warning("no prompt was in the strata %s; there were: %s", ", ".join(missing), shown)

    def state_dict(self) -> dict[str, Any]:
        """Return plain JSON values, from which `load_state_dict` restores every bit."""
        return {
            "by": list(self._options.by),
            "boundaries": self._options.boundaries,
            "cuts": self._cuts.state_dict(),
            "past": self._past.state_dict(),
            "means": self._means.state_dict(),
            "seen": sorted(self._seen),
            "steps": self._steps,
            "waited": self._waited,
            "warned": self._warned,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up where `state_dict` left off.

        Raises:
            ValueError: The state of strata told apart by other keys or boundaries.
        """
        ours = (list(self._options.by), self._options.boundaries)
        if (state["by"], state["boundaries"]) != ours:
            raise ValueError(
                f"the state is of strata by {state['by']} with boundaries {state['boundaries']}, not of {ours[0]} with "
                f"{ours[1]}; resume with the options that it was written under"
            )
        self._cuts.load_state_dict(state["cuts"])
        self._past.load_state_dict(state["past"])
        self._means.load_state_dict(state["means"])
        self._seen, self._steps = set(state["seen"]), state["steps"]
        self._waited, self._warned = state["waited"], state["warned"]


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)
