r"""Noisy-or networks and exact inference by enumeration.

Every disease is there or not, independently. One that is there brings a finding about with a probability of its own,
independently of everything else, and so may a cause outside the network (the leak). So a finding is absent with
probability (1 - leak) * product of (1 - link) over the diseases that are there.

Findings that were looked for in vain are products of one factor per disease: they change each disease's weight alone.
Findings that were seen tie their diseases together. So only groups of diseases that share seen findings are enumerated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class Finding:
    """A finding that was looked for.

    Attributes:
        name: What it is called.
        seen: Whether it was there.
        links: Disease -> probability, in hundredths, that it brings the finding about.
        leak: Probability, in hundredths, that something else does.
    """

    name: str
    seen: bool
    links: dict[str, int]
    leak: int


@dataclass(frozen=True)
class State:
    """Which diseases of a group are there, and how much that weighs.

    Attributes:
        present: Those that are there.
        factors: What is multiplied: a weight per disease, then per seen finding the factors of its absence.
        weight: The product of the weights and of (1 - product of the factors) over the findings.
    """

    present: tuple[str, ...]
    factors: tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]
    weight: float


@dataclass(frozen=True)
class Network:
    """Diseases and findings.

    Attributes:
        priors: Disease -> probability, in hundredths, before anything is looked for.
        findings: What was looked for.
    """

    priors: dict[str, int]
    findings: Sequence[Finding]

    def vain(self, disease: str) -> list[Finding]:
        """Return the findings of a disease that were looked for in vain."""
        return [finding for finding in self.findings if not finding.seen and disease in finding.links]

    def weights(self, disease: str) -> tuple[float, float]:
        """Return the weights of a disease being there and not, after what was looked for in vain."""
        there = self.priors[disease] / 100
        for finding in self.vain(disease):
            there *= 1 - finding.links[disease] / 100
        return there, 1 - self.priors[disease] / 100

    def groups(self) -> list[tuple[str, ...]]:
        """Return the diseases in groups that share seen findings, in the order in which they are listed."""
        group = {disease: {disease} for disease in self.priors}
        for finding in self.findings:
            if finding.seen:
                joined = set().union(*(group[disease] for disease in finding.links))
                for disease in joined:
                    group[disease] = joined
        found = [tuple(d for d in self.priors if d in group[disease]) for disease in self.priors]
        return list(dict.fromkeys(found))

    def states(self, group: Sequence[str]) -> Iterator[State]:
        """Yield all states of a group with their weights, from none there to all there."""
        weights = {disease: self.weights(disease) for disease in group}
        seen = [finding for finding in self.findings if finding.seen and any(d in finding.links for d in group)]
        for there in product((False, True), repeat=len(group)):
            present = tuple(disease for disease, is_there in zip(group, there, strict=True) if is_there)
            factors = tuple(weights[d][0 if is_there else 1] for d, is_there in zip(group, there, strict=True))
            absences = tuple((1 - f.leak / 100, *(1 - f.links[d] / 100 for d in present if d in f.links)) for f in seen)
            weight = 1.0
            for factor in factors:
                weight *= factor
            for absence in absences:
                gone = 1.0
                for factor in absence:
                    gone *= factor
                weight *= 1 - gone
            yield State(present, (factors, absences), weight)

    def posteriors(self) -> dict[str, float]:
        """Return disease -> its probability after what was seen and not seen."""
        found: dict[str, float] = {}
        for group in self.groups():
            states = list(self.states(group))
            total = sum(state.weight for state in states)
            for disease in group:
                found[disease] = sum(state.weight for state in states if disease in state.present) / total
        return {disease: found[disease] for disease in self.priors}
