r"""Hostile answers to whatever is asked for in `\boxed{}` and read as a whole: puzzles and plans alike."""

from __future__ import annotations

from grpo_gym.reward import Probe


def box(text: str) -> str:
    """Put a text in a box."""
    return f"\\boxed{{{text}}}"


def boxed_probes() -> tuple[Probe, ...]:
    """Return answers around the right one that must not be paid."""
    return (
        Probe("the question, boxed", lambda p: box(p.prompt)),
        Probe("the right answer in the thoughts alone", lambda p: f"<think>{box(str(p.reference))}</think>"),
        Probe("an empty box at the end", lambda p: f"{box(str(p.reference))} so {box('')}"),
        Probe("more behind the answer", lambda p: box(f"{p.reference} or qq")),
        Probe("more before the answer", lambda p: box(f"not {p.reference}")),
    )
