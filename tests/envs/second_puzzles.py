"""Knights, truth chains and zebras, read from their prompts and solved by trying everything: a second opinion."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from grpo_gym import Problem

# --- knights and truth chains: every world is tried, statements are read from the prompt by splitting it into words

World = dict[str, bool]
Truth = Callable[[World], bool]


def outermost(text: str, words: Sequence[str]) -> tuple[str, str, str] | None:
    """Cut "(A) and (B)" at the first of some words that stands outside brackets."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        for word in words:
            if not depth and text[place:].startswith(f" {word} "):
                return text[:place], word, text[place + len(word) + 2 :]
    return None


def meaning(text: str, speaker: str) -> Truth:
    """Translate what somebody says into a function of the world; another grammar than the generator's."""
    text = text.strip()
    text = text[0].lower() + text[1:] if text.startswith(("If ", "It ", "Exactly ")) else text
    if (
        text[0] == "("
        and text.count("(") == text.count(")")
        and outermost(text, ["and", "or", "if and only if"]) is None
    ):
        inside = text[1:-1]
        return meaning(inside, speaker)
    if text.startswith("it is not true that "):
        inner = meaning(text.removeprefix("it is not true that "), speaker)
        return lambda world: not inner(world)
    if " would say that " in text.split("(")[0] and text.split()[1] == "would":
        who, _, rest = text.partition(" would say that ")
        inner = meaning(rest, speaker)
        return lambda world: world[who] == inner(world)
    if text.startswith("if "):
        condition, _, then = text.removeprefix("if ").partition(", then ")
        first, second = meaning(condition, speaker), meaning(then, speaker)
        return lambda world: second(world) if first(world) else True
    text = text.removesuffix(", or both")
    for words in (["if and only if"], ["or"], ["and"]):
        cut = outermost(text, words)
        if cut and not re.fullmatch(r"\w+ and \w+ are of .*|exactly .*", text):
            one, two = meaning(cut[0], speaker), meaning(cut[2], speaker)
            sign = cut[1]
            if sign == "and":
                return lambda world: one(world) and two(world)
            if sign == "or":
                return lambda world: one(world) or two(world)
            return lambda world: one(world) == two(world)
    return plain(text, speaker)


def plain(text: str, speaker: str) -> Truth:
    words = [speaker if word in ("I", "me") else word for word in re.findall(r"\w+", text)]
    if words[0] == "exactly":
        named = [word for word in words[3:] if word[0].isupper()]
        return lambda world: sum(world[n] for n in named or world) == int(words[1])
    if words[1] == "and":
        return lambda world: (world[words[0]] == world[words[2]]) == (words[-2] == "same")
    honest = words[-1] in ("knight", "truth")
    assert honest or words[-1] in ("knave", "lies"), text
    return lambda world: world[words[0]] == honest


def statements(prompt: str) -> list[Truth]:
    found: list[Truth] = []
    for line in prompt.splitlines():
        spoken = re.fullmatch(r'\d+\. (\w+) says(?:: "(.+)\."| that (.+)\.)', line)
        fact = re.fullmatch(r"\d+\. (\w+ (?:lies|tells the truth))\.", line)
        if spoken:
            who, truth = spoken[1], meaning(spoken[2] or spoken[3], spoken[1])
            found.append(lambda world, who=who, truth=truth: world[who] == truth(world))  # type: ignore[misc]
        elif fact:
            found.append(meaning(fact[1], ""))
    return found


def worlds(names: Sequence[str]) -> Iterator[World]:
    for kinds in itertools.product((True, False), repeat=len(names)):
        yield dict(zip(names, kinds, strict=True))


def solutions_of(problem: Problem) -> list[World]:
    rules = statements(problem.prompt)
    names = problem.meta["names"]
    assert len(rules) == len(names)
    return [world for world in worlds(names) if all(rule(world) for rule in rules)]


# --- zebra: arrangements are tried attribute by attribute, clues are read from the prompt

House = dict[str, int]


def clue(text: str, known: Sequence[str]) -> tuple[list[str], Callable[[House], bool]]:
    """Translate a clue of the prompt; also return whom it is about."""
    who = [word for word in re.findall(r"\w+", text) if word in known]
    a, b, c = (*who, "", "", "")[:3]
    rules: dict[str, Callable[[House], bool]] = {
        "does not live in house": lambda at: str(at[a]) not in re.findall(r"\d", text),
        "lives in house": lambda at: str(at[a]) in re.findall(r"\d", text),
        "directly left of": lambda at: at[a] + 1 == at[b],
        "next to": lambda at: at[a] - at[b] in (1, -1),
        "somewhere left of": lambda at: at[a] < at[b],
        "exactly one house between": lambda at: {at[a] - at[b]} <= {2, -2},
        "somewhere between": lambda at: at[a] in range(min(at[b], at[c]) + 1, max(at[b], at[c])),
        " is either ": lambda at: at[a] == at[b] or at[a] == at[c],
        " is not ": lambda at: at[a] != at[b],
        " is ": lambda at: at[a] == at[b],
    }
    return who, next(rule for phrase, rule in rules.items() if phrase in text)


def parsed(prompt: str) -> tuple[int, list[list[str]], list[tuple[list[str], Callable[[House], bool]]]]:
    _, listed, *lines, _ = prompt.splitlines()
    attributes = [part.split(": ")[1].split(", ") for part in listed.rstrip(".").split(". ")]
    known = [word for values in attributes for word in values]
    return len(attributes[0]), attributes, [clue(line.partition(". ")[2], known) for line in lines]


def arrangements(n: int, attributes: Sequence[Sequence[str]], clues: Sequence[Any]) -> Iterator[House]:
    """Place one attribute after the other; a clue is checked as soon as all are placed whom it is about."""

    def extended(at: House, rest: Sequence[Sequence[str]]) -> Iterator[House]:
        if not rest:
            yield at
            return
        placed = {*at, *rest[0]}
        due = [rule for who, rule in clues if set(who) <= placed and not set(who) <= set(at)]
        for houses in itertools.permutations(range(1, n + 1)):
            more = at | dict(zip(rest[0], houses, strict=True))
            if all(rule(more) for rule in due):
                yield from extended(more, rest[1:])

    yield from extended({}, attributes)


def grid(at: House, n: int) -> str:
    return "; ".join(
        f"{house}: {', '.join(word for word, place in at.items() if place == house)}" for house in range(1, n + 1)
    )
