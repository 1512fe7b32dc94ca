"""Write the model card of the shipped policy from the figures that its recipe measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grpo_agents.files import write_json, write_text

TEXT = """# Model card: the shipped policy

A Llama-type causal language model of {parameters:,} parameters with a byte-level tokenizer, made from nothing by
`python -m grpo_agents.embedded.recipe` in {cpu_minutes} CPU minutes. It exists so that `grpo-gym train` has something
to train on any machine, without a download.

## What it can do, and what it was taught on purpose
It was taught in two phases on problems of `grpo/Arithmetic-v0`, tiers 0 to 2, train split:

1. **Careful**: worked solutions only. Right on {careful:.1%} of held-out problems of tiers 0-1 (sampled).
2. **Mixture**: {share:.0%} careful, the rest *hasty*: the answer at once, with a near miss. Right on {mixture:.1%}
   afterwards.

So the start is weak by design: it knows how to work a problem and mostly does not. Training it with GRPO shifts it to
working step by step, which is a choice among strategies it already has. **That run does not teach it arithmetic**, and
continued imitation of careful working would reach the same accuracy.

## Scores on validation problems (the test split was not read)
{table}

Nothing else should be expected of it: it knows no language beyond the tasks' own words.

## Made by
Seed {seed}, {threads} thread(s), torch {torch}; weights sha256 `{sha256}`. The recipe and its sizes:

```json
{recipe}
```
"""


def write_card(path: Path, figures: dict[str, Any]) -> None:
    """Write the card as Markdown, and the figures as JSON beside it."""
    recipe = figures["recipe"]
    text = TEXT.format(
        parameters=figures["parameters"],
        cpu_minutes=figures["cpu_minutes"],
        careful=figures["after_careful"]["tiers 0-1 sampled"]["pass@1"],
        mixture=figures["after_mixture"]["tiers 0-1 sampled"]["pass@1"],
        share=recipe["careful_share"],
        table=_table(figures),
        seed=recipe["seed"],
        threads=recipe["threads"],
        torch=figures["torch"],
        sha256=figures["sha256"],
        recipe=json.dumps(recipe, indent=2),
    )
    write_text(path, text)
    write_json(path.with_name("figures.json"), figures)


def _table(figures: dict[str, Any]) -> str:
    lines = ["| problems | after careful: pass@1, tokens | after mixture: pass@1, tokens |", "|---|---|---|"]
    for name, careful in figures["after_careful"].items():
        mixture = figures["after_mixture"][name]
        lines.append(f"| {name} | {_cell(careful)} | {_cell(mixture)} |")
    return "\n".join(lines)


def _cell(score: dict[str, Any]) -> str:
    return f"{score['pass@1']:.3f}, {score['length']:.1f}"
