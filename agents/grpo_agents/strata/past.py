"""What the past says about a prompt: how often it is likely to be solved, before anything is sampled.

A problem's own record is worth most, but short at first, and made-up problems never come back. So it is shrunk towards
the record of its cell (task and tier), and that one towards 0.5, each by the number of groups behind it:

    cell     = (n * cell's mean + 2 * 0.5)  / (n + 2)
    estimate = (v * own mean    + 2 * cell) / (v + 2)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from grpo_agents.strata.averages import Averages, Key
from grpo_agents.strata.facts import PromptFacts, require_facts

PRIOR: Final = 0.5
"""Pass rate of a prompt of which nothing is known."""

PRIOR_GROUPS: Final = 2
"""Groups that the prior counts as, and the cell's record towards a problem's own."""

PROBLEM_MEMORY: Final = 4
"""Groups that a problem's own mean remembers: between two visits the policy has changed a lot."""

CELL_MEMORY: Final = 64
"""Groups that a cell's mean remembers: a few batches."""

PROBLEMS_KEPT: Final = 50_000
"""Problems with a record of their own, the latest: more than maths data sets hold, a few MB in a checkpoint."""

CELLS_KEPT: Final = 4096
"""Cells with a record: a bound for environments that give every problem a task of its own."""


class PassRates:
    """Pass rates as far as they were seen, by problem and by cell (task and tier). Bounded; JSON in and out.

    Args:
        keeps: Whether anything is kept; False for whoever never asks, so that no checkpoint carries thousands of
            problems for nothing. What is taken in is checked all the same.
    """

    def __init__(self, keeps: bool = True) -> None:
        self._keeps = keeps
        self._problems = Averages(PROBLEM_MEMORY, PROBLEMS_KEPT)
        self._cells = Averages(CELL_MEMORY, CELLS_KEPT)

    def estimate(self, facts: PromptFacts) -> float:
        """Return the pass rate expected of a prompt, 0 to 1; 0.5 before anything is known. Changes nothing.

        Raises:
            TypeError: Anything but PromptFacts.
        """
        require_facts(facts)
        cell = _shrunk(self._cells.get((facts.task, facts.tier)), PRIOR)
        return _shrunk(self._problems.get((facts.problem_id,)), cell)

    def observe(self, facts: Sequence[PromptFacts], pass_rates: Sequence[float]) -> None:
        """Take in a batch, in any order.

        Args:
            facts: One prompt per group, [P].
            pass_rates: Share of the group's judged completions that were right, [P]; NaN where none was judged, which
                leaves the prompt out.

        Raises:
            TypeError: Anything but PromptFacts.
            ValueError: Lengths that differ, or a rate outside 0 to 1.
        """
        problems: dict[Key, list[float]] = defaultdict(list)
        cells: dict[Key, list[float]] = defaultdict(list)
        if len(facts) != len(pass_rates):
            raise ValueError(f"{len(facts)} prompts have {len(pass_rates)} pass rates; give one for each")
        for fact, rate in zip(map(require_facts, facts), map(float, pass_rates), strict=True):
            if not (math.isnan(rate) or 0 <= rate <= 1):
                raise ValueError(f"the pass rate of {fact.problem_id!r} is {rate}, must be 0 to 1, or NaN if unknown")
            if math.isnan(rate):
                continue
            cells[fact.task, fact.tier].append(rate)
            if fact.problem_id:
                problems[fact.problem_id,].append(rate)
        if self._keeps:
            self._problems.add(problems)
            self._cells.add(cells)

    def state_dict(self) -> dict[str, Any]:
        """Return plain JSON values, from which `load_state_dict` restores every bit."""
        return {"problems": self._problems.state_dict(), "cells": self._cells.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up where `state_dict` left off."""
        self._problems.load_state_dict(state["problems"])
        self._cells.load_state_dict(state["cells"])


def _shrunk(record: tuple[float, int], prior: float) -> float:
    """Mean of a record, pulled to the prior as if that had been seen PRIOR_GROUPS times."""
    mean, weight = record
    return prior + weight / (weight + PRIOR_GROUPS) * (mean - prior)
