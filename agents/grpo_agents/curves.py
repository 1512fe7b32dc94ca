"""The picture of a run: reward, validation score and length over steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grpo_agents.files import writing


def draw_curves(
    metrics: Sequence[dict[str, Any]], before: dict[str, Any], after: dict[str, Any], path: Path, title: str = ""
) -> None:
    """Write a PNG with two panels over steps: score (training reward, validation, test ends) and completion length.

    Args:
        metrics: The records of metrics.jsonl.
        before: Test figures at step 0 (pass@1, low, high, length).
        after: The same at the last step.
        path: Where the picture goes.
        title: Above the panels: which run it was.

    Raises:
        CheckpointError: The disk refuses the picture.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8, 6.5), layout="constrained")
    score, length = figure.subplots(2, 1, sharex=True)
    _draw_scores(score, metrics, before, after)
    length.plot([r["step"] for r in metrics], [r["length"] for r in metrics], color="C1")
    length.set(xlabel="step", ylabel="completion length (tokens)", ylim=(0, None))
    length.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    for axis in (score, length):
        axis.grid(alpha=0.3)
    if title:
        figure.suptitle(title, fontsize="medium", parse_math=False)
    temporary = path.with_name(f".{path.name}.tmp")
    with writing(path):
        figure.savefig(temporary, dpi=120, format="png")
        temporary.replace(path)


def _draw_scores(score: Any, metrics: Sequence[dict[str, Any]], before: dict[str, Any], after: dict[str, Any]) -> None:
    """Draw the upper panel; the legend stands above it, where it hides no point."""
    steps = [record["step"] for record in metrics]
    validated = [record for record in metrics if "val/pass@1" in record]
    last = max(steps, default=0)
    score.plot(steps, [record["reward"] for record in metrics], color="0.6", label="training reward (per step)")
    score.plot(
        [record["step"] for record in validated],
        [record["val/pass@1"] for record in validated],
        "o-",
        color="C0",
        label="validation pass@1",
    )
    ends = [(0, before), (last, after)]
    score.errorbar(
        [step for step, _ in ends],
        [figures["pass@1"] for _, figures in ends],
        yerr=[
            [abs(figures["pass@1"] - figures["low"]) for _, figures in ends],
            [abs(figures["high"] - figures["pass@1"]) for _, figures in ends],
        ],
        fmt="s",
        color="C3",
        capsize=4,
        label="test pass@1, 95 % interval",
    )
    score.set(ylabel="score", ylim=(-0.02, 1.02))
    score.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize="small", frameon=False)
