"""The boundaries of one run: fixed ones that may grow in number, or moving ones fitted to the latest prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from grpo_agents.config import Strata
from grpo_agents.strata import boundaries
from grpo_agents.strata.averages import exact_mean
from grpo_agents.strata.boundaries import Edges

WINDOW: Final = 512
"""Numbers that a fit sees, at least, once so many came: a quartile of 512 is known to 2 % of the prompts (one std)."""


class Cuts:
    """Boundaries of a number, step by step.

    Fixed edges (and the preset) stay what they are: only their number grows, and no stratum is merged away, so that a
    name always means the same prompts. Moving ones are fitted to the window of numbers seen, at the first batch that
    allows one, then every `refit_every` steps and when a stratum is to be added; an edge stays within the hysteresis,
    and strata with fewer than `min_count` of the window are merged. Before the first batch there is one stratum.
    """

    def __init__(self, options: Strata) -> None:
        self._options = options
        self._fixed: Edges | None = None
        if options.boundaries == "length_128_256":
            self._fixed = boundaries.LENGTH_128_256
        elif options.boundaries == "fixed":
            self._fixed = tuple(map(float, options.edges))
        self._window: list[list[float]] = []
        self._fitted: Edges = ()
        self._edges: Edges = ()
        self._fitted_at = 0
        self._fitted_for = 1

    @property
    def full_count(self) -> int:
        """Strata once they have all come."""
        return self._options.count if self._fixed is None else len(self._fixed) + 1

    def wanted(self, step: int) -> int:
        """Return the number of strata that the schedule has for a step."""
        return boundaries.how_many(step, self.full_count, self._options.grow_every)

    def at(self, step: int) -> Edges:
        """Return the edges of a step, of which nothing was sampled yet."""
        return self._edges if self._fixed is None else boundaries.thinned(self._fixed, self.wanted(step))

    def observe(self, numbers: Sequence[float], step: int) -> None:
        """Take in a step's numbers, in any order, and fit the edges of the next step where that is due."""
        if self._fixed is not None:
            return
        # Whole batches, each sorted: neither which numbers stay nor what follows depends on the order of rows.
        self._window.append(sorted(numbers))
        while sum(map(len, self._window[1:])) >= WINDOW:
            del self._window[0]
        wanted = self.wanted(step + 1)
        nothing_yet = wanted > 1 and not self._edges
        if nothing_yet or wanted != self._fitted_for or step + 1 - self._fitted_at >= self._options.refit_every:
            self._fit(wanted, step + 1)

    def _fit(self, wanted: int, step: int) -> None:
        options = self._options
        values = sorted(value for batch in self._window for value in batch)
        if not values:
            return
        cut = boundaries.quantile_edges if options.boundaries == "quantile" else boundaries.linear_edges
        mean = exact_mean(values)
        spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
        self._fitted = boundaries.settled(self._fitted, cut(values, wanted), spread, options.hysteresis)
        self._edges = boundaries.merged(self._fitted, values, options.min_count)
        self._fitted_at, self._fitted_for = step, wanted

    def state_dict(self) -> dict[str, Any]:
        """Return plain JSON values, from which `load_state_dict` restores every bit."""
        return {
            "window": [list(batch) for batch in self._window],
            "fitted": list(self._fitted),
            "edges": list(self._edges),
            "fitted_at": self._fitted_at,
            "fitted_for": self._fitted_for,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up where `state_dict` left off."""
        self._window = [list(batch) for batch in state["window"]]
        self._fitted, self._edges = tuple(state["fitted"]), tuple(state["edges"])
        self._fitted_at, self._fitted_for = state["fitted_at"], state["fitted_for"]
