"""What earns without solving anything: the prompt as it is, one answer to all, a copied part, a filled grid."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from grpo_gym.checks.exam import Exam
from grpo_gym.checks.lines.paying import Row, Strategy, best, unpaid, untold, written
from grpo_gym.checks.question import Finding, question, shown, skipped
from grpo_gym.checks.specimen import Specimen
from grpo_gym.checks.texts import STOCK, WRAPS

LOOKED_AT = 20_000
"""Characters of a prompt that are searched for numbers and names."""

_LABEL = re.compile(r"^[\s.]*(?:\(?\w{1,2}[.):]|[-*\u2022])\s+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_WORD = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")

_BLANKS = {".", "_", "?", "*", "0", "-", "x", "X", "#", "\u25a1"}
_CELLS = re.compile(r"[^\s|,\[\]()]+")


@question("echo", "pay nothing for what the prompt already says; look for the answer where it was asked for")
def echo(exam: Exam) -> Finding:
    """The prompt as an answer earns nothing, in whatever dress."""
    few = untold(exam, exam.sample)[:16]
    prompts = [(s, s.problem["prompt"]) for s in few]
    rows = [Row(f"the prompt, {name}", s, wrap(prompt)) for s, prompt in prompts for name, wrap in WRAPS.items()]
    rows += [Row("the prompt, bare", s, prompt) for s, prompt in prompts]
    rows += [Row("the prompt as the answer", s, text) for s, text in written(exam, prompts)]
    rows += [Row("the whole message", s, s.text) for s in few]
    rows += [Row("the message twice", s, f"{s.text}\n{s.text}") for s in few]
    return unpaid(exam, "echo", rows)


@question("constant answer", "spread the answers, pay no partial credit for a guess, or declare the level in `floors`")
def constant_answer(exam: Exam) -> Finding:
    """The best answer that never looks at the problem earns little on average."""
    if not exam.sample:
        return skipped("no problem could be made")
    finals = [] if exam.facts.interactive else [text for s in exam.sample if (text := s.final or s.right) is not None]
    stock = [text for _, text in written(exam, [(exam.sample[0], reference) for reference in STOCK])]
    candidates = dict.fromkeys([*finals, *stock, *STOCK, *(str(s.reference) for s in exam.sample)])
    return best(exam, "constant answer", [Strategy(shown(text), partial(_always, text)) for text in candidates])


@question("copied part", "pay nothing for a part of the prompt, or declare the level in `floors`")
def copied_part(exam: Exam) -> Finding:
    """Copying one place of the prompt, always the same, earns little on average."""
    parts = [("the longest line", _longest_line), ("the largest number", _largest), ("the smallest number", _smallest)]
    parts += [(f"line {-place} from the end", partial(_at, _lines, place)) for place in (-3, -4, -5)]
    parts += [
        ("the first item of a list", partial(_at, _items, 0)),
        ("the last item of a list", partial(_at, _items, -1)),
    ]
    for place, name in {0: "first", 1: "second", 2: "third", 3: "fourth", -2: "last but one", -1: "last"}.items():
        for kind, find in {"line": _lines, "number": _numbers, "word": _words, "name": _names}.items():
            parts.append((f"the {name} {kind}", partial(_at, find, place)))
    strategies = [Strategy(name, find) for name, find in parts]
    strategies += [Strategy(f"{name}, as the answer", find, dressed=True) for name, find in parts]
    return best(exam, "copied part", strategies, known=("constant answer", "echo"))


@question("filled blanks", "count only cells that were blank, or pay for the whole and nothing else")
def filled_blanks(exam: Exam) -> Finding:
    """The grid of the prompt with its blanks filled in blindly earns little on average."""
    if not any(_grid(s) for s in exam.sample):
        return skipped("no grid with blanks in the prompts")
    fills = [(f"blanks filled with {sign}", partial(_filled, sign)) for sign in ("1", "2", "0", "A")]
    strategies = [Strategy(name, find) for name, find in fills]
    strategies += [Strategy(f"{name}, as the answer", find, dressed=True) for name, find in fills]
    return best(exam, "filled blanks", strategies, known=("constant answer", "echo", "copied part"))


def _always(text: str, _: Specimen) -> str:
    return text


def _at(find: Callable[[Specimen], list[str]], place: int, specimen: Specimen) -> str:
    parts = find(specimen)
    return parts[place] if -len(parts) <= place < len(parts) else ""


def _longest_line(specimen: Specimen) -> str:
    return max(_lines(specimen), key=len, default="")


def _largest(specimen: Specimen) -> str:
    return max(_numbers(specimen), key=lambda number: abs(float(number)), default="")


def _smallest(specimen: Specimen) -> str:
    return min(_numbers(specimen), key=lambda number: abs(float(number)), default="")


def _lines(specimen: Specimen) -> list[str]:
    """Return the prompt's lines without their numbers and bullets."""
    return [_LABEL.sub("", line).strip() for line in specimen.problem["prompt"].splitlines() if line.strip()]


def _items(specimen: Specimen) -> list[str]:
    """Return the lines that are numbered or bulleted: premises, options, clues."""
    lines = specimen.problem["prompt"].splitlines()
    return [_LABEL.sub("", line).strip() for line in lines if _LABEL.match(line)]


def _numbers(specimen: Specimen) -> list[str]:
    return _NUMBER.findall(specimen.problem["prompt"][:LOOKED_AT])


def _words(specimen: Specimen) -> list[str]:
    return _WORD.findall(specimen.problem["prompt"][:LOOKED_AT])


def _names(specimen: Specimen) -> list[str]:
    return _NAME.findall(specimen.problem["prompt"][:LOOKED_AT])


def _grid(specimen: Specimen) -> list[str]:
    """Return the longest run of lines that look like rows of cells with at least one blank among them, else none."""
    best_run: list[str] = []
    run: list[str] = []
    for line in [*specimen.problem["prompt"].splitlines(), ""]:
        cells = _CELLS.findall(line)
        if len(cells) >= 2 and all(len(cell) <= 2 for cell in cells):
            run.append(line)
            continue
        best_run, run = max(best_run, run, key=len), []
    has_blank = any(cell in _BLANKS for line in best_run for cell in _CELLS.findall(line))
    return best_run if len(best_run) >= 2 and has_blank else []


def _filled(sign: str, specimen: Specimen) -> str:
    return "\n".join(_CELLS.sub(lambda cell: sign if cell[0] in _BLANKS else cell[0], line) for line in _grid(specimen))
