"""How a finished run is told: scores before and after, one problem answered twice, and what the figures do not say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.table import Table

from grpo_gym.cli.terminal import grid, interval, percent, plain, terminal

if TYPE_CHECKING:
    from grpo_agents.evaluate import Score
    from grpo_agents.train import Result

HASTY = (
    "The shipped policy was taught to answer hastily on purpose, and it can also work step by step. What GRPO can gain "
    "here is that it chooses the latter more often; it does not teach arithmetic."
)
LEARNED = r"grpo/(Arithmetic|Math\.(Chain|Linear|Fractions|Remainder|Gcd))-"
"""The environments that the shipped policy was taught on."""

UNCHECKED = "held-out seeds, content not checked: training may have met the same problems"
SHOWN = 600
"""Characters of a prompt or answer that are shown."""


def print_result(result: Result) -> None:
    """Print the table of a finished run, the example, and where everything is."""
    from grpo_agents.evaluate import left_out

    screen, summary = terminal(), result.summary
    screen.print(scores(summary), soft_wrap=False)
    for when in ("before", "after"):
        if missing := left_out(summary["held_out"][when]):
            screen.print(plain(f"{when}: {summary['held_out'][when]['n']:,} judged, {missing}", "yellow"))
    if not summary["held_out"]["content_checked"]:
        screen.print(plain(UNCHECKED, "yellow"))
    done = f"{summary['steps']} steps, {summary['completions']:,} completions, {summary['seconds']:.0f} s"
    screen.print(plain(done))
    print_example(result.example)
    if summary["model"] == "embedded" and re.match(LEARNED, summary["env"].rpartition(":")[2]):
        screen.print(plain(HASTY))
    screen.print(plain("run folder: ", "bold").append_text(plain(result.folder)))


def scores(summary: Mapping[str, Any]) -> Table:
    """Return test scores and completion length before and after, with 95 % intervals."""
    from grpo_agents.evaluate import wilson

    held_out = summary["held_out"]
    table = grid(("", "before", "after"), numbers=(1, 2), title=f"{held_out['n']:,} test problems of {summary['env']}")
    ends = (held_out["before"], held_out["after"])
    table.add_row("pass@1, sampled", *(interval(end["pass@1"], end["low"], end["high"]) for end in ends))
    table.add_row("pass@1, greedy", *(interval(end["greedy"], *wilson(end["greedy"], end["greedy_n"])) for end in ends))
    table.add_row("completion length", *(f"{end['length']:.1f} tokens" for end in ends))
    table.caption = "in brackets: 95 % interval"
    table.caption_justify = "left"
    return table


def print_example(example: Mapping[str, Any]) -> None:
    """Print a test problem with its answers before and after. What the policy wrote is shown, never obeyed."""
    screen = terminal()
    screen.print()
    screen.print(plain(example["prompt"], limit=SHOWN))
    for when in ("before", "after"):
        answer = example[when]
        reward = answer["reward"]
        told = "not judged" if reward is None else f"reward {reward:g}"
        screen.print(plain(f"{when}, {told}:", "green" if reward is not None and reward >= 1.0 else "red"))
        for text in answer["texts"] or [""]:
            screen.print(plain(text or "(nothing)", limit=SHOWN))
    screen.print()


def print_scores(sampled: Score, greedy: Score, title: str, checked: bool) -> None:
    """Print an evaluation: pass@1 with intervals and length, in all and by task and tier.

    Args:
        sampled: Answers drawn.
        greedy: Answers of most likely tokens, to the same problems.
        title: What was answered.
        checked: Whether the split keeps content apart; said when it does not.
    """
    from grpo_agents.evaluate import left_out

    table = grid(("", "n", "pass@1, sampled", "pass@1, greedy"), numbers=(1, 2, 3), title=title)
    table.add_row("all", str(sampled.n), *(interval(score.pass_at_1, *score.interval) for score in (sampled, greedy)))
    by_task, by_task_greedy = sampled.by_task(), greedy.by_task()
    for label, (share, n) in by_task.items():
        table.add_row(plain(label), str(n), percent(share), percent(by_task_greedy.get(label, (None, 0))[0]))
    screen = terminal()
    screen.print(table, soft_wrap=False)
    for how, score in (("sampled", sampled), ("greedy", greedy)):
        if missing := left_out(score.to_json()):
            screen.print(plain(f"{how}: {score.n:,} judged, {missing}", "yellow"))
    screen.print(plain(f"completion length: {sampled.length:.1f} tokens sampled, {greedy.length:.1f} greedy"))
    if not checked:
        screen.print(plain(UNCHECKED, "yellow"))
