"""Which prompts make a batch when strata have shares of it: quotas first, then the prompts in the order they come.

Chosen by stratum alone, never by what their completions earned: among the prompts of a stratum nothing is preferred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction


def quotas(shares: Mapping[str, float], names: Sequence[str], prompts: int) -> dict[str, int]:
    """Turn shares into numbers of prompts, by largest remainder (Hamilton's method).

    A stratum with a share has it whether or not prompts of it have come: what it lacks can be looked for. The others
    share the rest in proportion to how they come. Where no other stratum came, the named ones share all of it in
    proportion to their shares. Equal remainders go to the larger share, then by name.

    Args:
        shares: Share of the batch by stratum, each at least 0, together at most 1.
        names: Strata of the candidates, one per prompt, with repeats; their order does not matter.
        prompts: Prompts in the batch.

    Returns:
        Prompts wanted by stratum, for every name in `shares` and `names`. They add up to `prompts`, unless no name has
        a share above 0: then all are 0.

    Raises:
        ValueError: A share that is negative or not finite, shares above 1 in sum, or fewer than 0 prompts.
    """
    if prompts < 0:
        raise ValueError(f"prompts is {prompts}, must be at least 0")
    if any(not 0 <= share <= 1 + 1e-9 for share in shares.values()):
        raise ValueError(f"shares are {dict(shares)}, each must be 0 to 1")
    # The decimal that the user wrote, not the float next to it: 0.3 of 10 is 3 and leaves no remainder.
    wanted = {name: Fraction(repr(float(share))) for name, share in shares.items()}
    named = sum(wanted.values(), Fraction(0))
    if named > 1 + Fraction(1, 10**9):
        raise ValueError(f"shares sum to {float(named):g}, must be at most 1")
    others = Counter(name for name in names if name not in wanted)
    rest = max(Fraction(0), 1 - named)
    wanted |= {name: rest * count / others.total() for name, count in others.items()}
    return _largest_remainder(wanted, prompts)


def choose(names: Sequence[str], wanted: Mapping[str, int], prompts: int) -> list[int]:
    """Pick the prompts of a batch: each stratum's first ones up to its quota, then whatever came first.

    Args:
        names: Stratum of each candidate, in the order they came.
        wanted: Quota by stratum, from `quotas`.
        prompts: Prompts to pick.

    Returns:
        Indices into `names`, rising, exactly `prompts` of them.

    Raises:
        ValueError: Fewer candidates than prompts, or quotas of more than that.
    """
    if len(names) < prompts:
        raise ValueError(f"{len(names)} candidates cannot fill a batch of {prompts} prompts; look at more of them")
    if sum(wanted.values()) > prompts:
        raise ValueError(f"quotas add up to {sum(wanted.values())}, must be at most {prompts} prompts")
    left = Counter(wanted)
    picked: list[int] = []
    spare: list[int] = []
    for index, name in enumerate(names):
        (picked if left[name] > 0 else spare).append(index)
        left[name] -= 1
    return sorted(picked + spare[: prompts - len(picked)])


def lacking(names: Sequence[str], wanted: Mapping[str, int]) -> dict[str, int]:
    """Return how many prompts each stratum still lacks to its quota; empty when all are filled."""
    have = Counter(names)
    return {name: count - have[name] for name, count in wanted.items() if count > have[name]}


def _largest_remainder(wanted: Mapping[str, Fraction], prompts: int) -> dict[str, int]:
    total = sum(wanted.values(), Fraction(0))
    if not total:
        return dict.fromkeys(wanted, 0)
    exact = {name: share / total * prompts for name, share in wanted.items()}
    counts = {name: int(value) for name, value in exact.items()}
    by_remainder = sorted(exact, key=lambda name: (counts[name] - exact[name], -exact[name], name))
    for name in by_remainder[: prompts - sum(counts.values())]:
        counts[name] += 1
    return counts
