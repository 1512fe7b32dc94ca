"""The pages about methods name every option with its default, every value of a choice, and what each preset sets."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import shlex
import typing
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from grpo_agents.advantages import compute_advantages
from grpo_agents.config import Critic, Objective, Reference, Selection, Strata, TrainConfig
from grpo_agents.losses import FORMS
from grpo_agents.presets import PRESETS
from grpo_gym.cli.options import parse
from grpo_gym.cli.train import Options, _before_options

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {
    name: (DOCS / name).read_text(encoding="utf-8") for name in ("objectives.md", "strata.md", "presets.md", "ppo.md")
}
RECORDS = {
    "objective": Objective,
    "selection": Selection,
    "strata": Strata,
    "reference": Reference,
    "critic": Critic,
}
FIELDS = {f"{name}.{field.name}" for name, record in RECORDS.items() for field in dataclasses.fields(record)}
CHOICES = {
    f"{name}.{field}": typing.get_args(hint)
    for name, record in RECORDS.items()
    for field, hint in typing.get_type_hints(record).items()
    if typing.get_origin(hint) is Literal
}
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SNIPPETS = [(page, kind, code) for page, text in PAGES.items() for kind, code in FENCE.findall(text)]
PYTHON = [(page, code) for page, kind, code in SNIPPETS if kind == "python"]
COMMANDS = [line for _, kind, code in SNIPPETS if kind == "shell" for line in code.splitlines()]
LINK = re.compile(r"\]\(([^)\s]+)\)")
EXPECTED = re.compile(r"print\(.*\)  # (.*)$", re.MULTILINE)

Table = list[list[str]]


@cache
def tables(first: str) -> list[Table]:
    """All tables whose first header is this, as rows of cells; the header is the first row."""
    found: list[Table] = []
    for text in PAGES.values():
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
            if rows[0][0] == first:
                found.append([rows[0], *rows[2:]])
    return found


def bare(cell: str) -> str:
    return cell.strip("`")


def written(value: Any) -> str:
    """A value as the pages write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (dict, tuple)):
        return ", ".join(map(written, value)) or "none"
    return format(value, "g") if isinstance(value, float) else str(value)


def test_every_option_stands_once_with_its_default() -> None:
    rows = [row for table in tables("option") for row in table[1:]]

    assert sorted(bare(row[0]) for row in rows) == sorted(FIELDS)
    for row in rows:
        assert row[1] == written(attrgetter(bare(row[0]))(TrainConfig())), row[0]
        assert row[2], row[0]


def test_the_records_hold_choices_and_all_are_looked_at() -> None:
    assert {"objective.loss", "objective.baseline", "objective.scale", "objective.average"} < set(CHOICES)
    assert {"objective.ratio", "objective.correction", "critic.kind", "strata.boundaries"} < set(CHOICES)


@pytest.mark.parametrize("option", sorted(CHOICES))
def test_every_value_of_a_choice_is_explained_and_none_that_does_not_exist(option: str) -> None:
    (table,) = tables(f"`{option}`")

    assert sorted(bare(row[0]) for row in table[1:]) == sorted(CHOICES[option])
    assert all(row[0].startswith("`") and row[1] for row in table[1:])


def test_the_table_of_losses_says_what_they_are_made_of() -> None:
    (table,) = tables("`objective.loss`")

    assert table[0] == ["`objective.loss`", "ratio", "surrogate", "average", "paper"]
    for name, ratio, _, average, _ in table[1:]:
        form = FORMS[bare(name)]  # type: ignore[index]  # the names are those of FORMS: see above
        assert (ratio, average) == ("own" if form.own_ratio else form.ratio, form.average), name


def test_the_keys_of_strata_are_explained() -> None:
    from grpo_agents.config.consistency import KEYS

    ((cell,),) = [[row[2] for table in tables("option") for row in table if bare(row[0]) == "strata.by"]]

    assert set(re.findall(r"`(\w+)`", cell)) == set(KEYS)


@pytest.mark.parametrize(("first", "part"), [("preset option", "options"), ("scale option", "scale")])
def test_the_tables_of_presets_hold_what_these_set_and_nothing_else(first: str, part: str) -> None:
    (table,) = tables(first)
    head, rows = table[0], table[1:]
    said: dict[str, dict[str, str]] = {bare(name): {} for name in head[2:]}

    for row in rows:
        assert row[1] == written(attrgetter(bare(row[0]))(TrainConfig())), f"default of {row[0]}"
        for name, cell in zip(head[2:], row[2:], strict=True):
            if cell:
                said[bare(name)][bare(row[0])] = cell

    wanted = {name: getattr(preset, part) for name, preset in PRESETS.items()}
    assert said == {name: {key: written(v) for key, v in of.items()} for name, of in wanted.items() if of}


def test_every_preset_has_its_source_and_what_it_leaves_out() -> None:
    text = PAGES["presets.md"]
    (table,) = tables("preset")
    sources = {bare(row[0]): row[2] for row in table[1:]}

    assert list(sources) == list(PRESETS)
    for name, preset in PRESETS.items():
        assert set(re.findall(r"\d{4}\.\d{5}", preset.source)) == set(re.findall(r"\d{4}\.\d{5}", sources[name])), name
        assert f"\n* **`{name}`**: " in text


@pytest.mark.parametrize("page", PAGES)
def test_no_page_speaks_of_an_option_that_does_not_exist(page: str) -> None:
    records = "|".join((*RECORDS, "optimisation", "sampling", "evaluation"))

    for option in re.findall(rf"`((?:{records})\.\w+)", PAGES[page]):
        assert attrgetter(option)(TrainConfig()) is not None, option


def test_the_worked_example_is_what_the_code_gives() -> None:
    (table,) = tables("baseline")[:1]

    assert table[0] == ["baseline", "scale", "8", "5", "3"]
    assert len(table) > 5
    for baseline, scale, *cells in table[1:]:
        rewards = torch.tensor([8.0, 5.0, 3.0], dtype=torch.float64)
        names: Any = {"baseline": bare(baseline), "scale": bare(scale)}
        assert [f"{value:.4f}" for value in compute_advantages(rewards, [0, 0, 0], **names).tolist()] == cells


@pytest.mark.parametrize(("page", "code"), PYTHON, ids=[f"{page}-{place}" for place, (page, _) in enumerate(PYTHON)])
def test_a_python_snippet_runs_and_prints_what_its_comments_say(page: str, code: str) -> None:
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(compile(code, page, "exec"), {"__name__": "snippet"})

    expected = EXPECTED.findall(code)
    if expected:
        assert printed.getvalue().splitlines() == expected


def test_the_figures_that_the_text_gives_for_snippets_are_printed() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for page, code in PYTHON:
            if page in ("objectives.md", "strata.md"):
                exec(compile(code, page, "exec"), {"__name__": "snippet"})

    lines = printed.getvalue().splitlines()
    assert {"grpo 0.0 1.0", "dapo 0.2 1.0"} < set(lines)
    assert "This prints 0 and 1 for `grpo`, 0.2 and 1 for `dapo`." in PAGES["objectives.md"]
    assert {"leave_one_out [4.0, -0.5, -3.5]", "stratum [3.0, 0.0, -2.0]", "shrinkage [3.82, -0.41, -3.24]"} < set(
        lines
    )
    assert "This prints 4.0, -0.5, -3.5; then 3.0, 0.0, -2.0; then 3.82, -0.41, -3.24." in PAGES["strata.md"]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_has_options_that_exist_and_go_together(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-method.yaml").write_text("preset: dapo\nobjective: {clip_high: 0.3}\n", encoding="utf-8")
    program, command, *arguments = shlex.split(line)

    options = parse(Options, command, arguments, Options(run=_before_options(arguments)))

    assert (program, command) == ("grpo-gym", "train")
    assert options.run != TrainConfig(), "the command asks for nothing but the defaults"


@pytest.mark.parametrize("page", PAGES)
def test_links_within_the_documents_lead_somewhere(page: str) -> None:
    for link in LINK.findall(PAGES[page]):
        path, _, anchor = link.partition("#")
        target = DOCS / (path or page)
        assert link.startswith("https://") or target.is_file(), f"{link}: there is no {target.name}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", head).lower().replace(" ", "-") for head in headings}, link
