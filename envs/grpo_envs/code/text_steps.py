"""Steps on texts of words, and what a text comes to in the end: the parts of `code.texts`."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from grpo_envs.code.steps import Maker, Step
from grpo_gym.rng import Rng

VOWELS = "aeiou"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _places(k: int) -> str:
    return "one place" if k == 1 else f"{k} places"


def shifted(rng: Rng) -> Step:
    """A Caesar shift with exceptions."""
    k = rng.integer(1, 25) * rng.choice((1, -1))
    forward, back = f"{_places(k)} forward, from z on to a", f"{_places(-k)} back, from a on to z"
    way = f"{forward if k > 0 else back},"
    exempt = rng.choice(("", "vowels", "x", "x"))
    letter = rng.choice("abcdefglmnorst")
    kept = {"": "", "vowels": VOWELS, "x": letter}[exempt]
    but = {"": "", "vowels": " that is no vowel (a, e, i, o, u)", "x": f" other than {letter}"}[exempt]
    skip = f" and c not in {kept!r}" if kept else ""
    table = str.maketrans({c: LETTERS[(i + k) % 26] for i, c in enumerate(LETTERS) if c not in kept})
    wrong = str.maketrans({c: LETTERS[(i - k) % 26] for i, c in enumerate(LETTERS) if c not in kept})
    everything = str.maketrans({c: LETTERS[(i + k) % 26] for i, c in enumerate(LETTERS)})
    sign = "+" if k > 0 else "-"
    return Step(
        f"move every lower-case letter{but} {way} and leave all other characters as they are",
        f"s = ''.join(chr((ord(c) - 97 {sign} {abs(k)}) % 26 + 97) if c.islower(){skip} else c for c in s)",
        lambda s: s.translate(table),
        (lambda s: s.translate(wrong), lambda s: s.translate(everything)),
        "shift",
    )


def word_order(rng: Rng) -> Step:
    """Order the words."""
    way = rng.choice(("reverse", "alphabet", "length", "last"))
    if way == "reverse":
        return Step(
            ("put the words in reverse order", "reverse the order of the words, but not the words themselves"),
            "s = ' '.join(s.split()[::-1])",
            lambda s: " ".join(reversed(s.split())),
            (lambda s: s[::-1],),
            "words",
        )
    if way == "alphabet":
        return Step(
            "sort the words as Python's sorted does (capitals come before lower-case letters)",
            "s = ' '.join(sorted(s.split()))",
            lambda s: " ".join(sorted(s.split())),
            (lambda s: " ".join(sorted(s.split(), key=str.lower)),),
            "words",
        )
    if way == "length":
        sign, word = rng.choice(((1, "short to long"), (-1, "long to short")))
        key = "len(w)" if sign == 1 else "-len(w)"
        return Step(
            f"sort the words from {word}; words of equal length keep their order",
            f"s = ' '.join(sorted(s.split(), key=lambda w: {key}))",
            lambda s: " ".join(w for n in range(1, 30)[::sign] for w in s.split() if len(w) == n),
            (
                lambda s: " ".join(sorted(s.split(), key=lambda w: (sign * len(w), w))),
                lambda s: " ".join(sorted(s.split(), key=len)[::-sign]),
            ),
            "words",
        )
    return Step(
        "sort the words by their last letter (as Python compares characters); words that share it keep their order",
        "s = ' '.join(sorted(s.split(), key=lambda w: w[-1]))",
        lambda s: " ".join(w for _, _, w in sorted((w[-1], i, w) for i, w in enumerate(s.split()))),
        (lambda s: " ".join(sorted(s.split(), key=lambda w: w[::-1])),),
        "words",
    )


def word_filter(rng: Rng) -> Step:
    """Keep some words."""
    k, c = rng.integer(2, 7), rng.choice("abcdefgilmnorstuxy")
    way = rng.choice(("long", "without", "every", "once"))
    if way == "long":
        return Step(
            f"keep only the words of at least {k} letters",
            f"s = ' '.join(w for w in s.split() if len(w) >= {k})",
            lambda s: " ".join(w for w in s.split() if len(w) > k - 1),
            (lambda s: " ".join(w for w in s.split() if len(w) > k),),
            "pick",
        )
    if way == "without":
        return Step(
            f"drop all words that contain the letter {c}, in lower case",
            f"s = ' '.join(w for w in s.split() if {c!r} not in w)",
            lambda s: " ".join(w for w in s.split() if w.find(c) < 0),
            (lambda s: " ".join(w for w in s.split() if c not in w.lower()), lambda s: s.replace(c, "")),
            "pick",
        )
    if way == "once":
        return Step(
            "of equal words keep only the first one (capitals make a difference)",
            "s = ' '.join(dict.fromkeys(s.split()))",
            lambda s: " ".join(w for i, w in enumerate(s.split()) if w not in s.split()[:i]),
            (lambda s: " ".join(sorted(set(s.split()))),),
            "pick",
        )
    m, r = 2 + k % 3, rng.below(2)
    return Step(
        f"keep only the words whose place in the text (counted from 0) leaves remainder {r} when divided by {m}",
        f"s = ' '.join(w for i, w in enumerate(s.split()) if i % {m} == {r})",
        lambda s: " ".join(s.split()[r::m]),
        (lambda s: " ".join(s.split()[1 - r :: m]), lambda s: s[r::m]),
        "pick",
    )


def word_change(rng: Rng) -> Step:
    """Change every word."""
    k, suffix = rng.integer(1, 4), rng.choice(("ay", "o", "en", "ix", "a", "ette", "um", "ish", "er", "s"))
    way = rng.choice(("reverse", "rotate", "suffix", "title", "ends"))
    if way == "reverse":
        return Step(
            "reverse the letters of every word, but not the order of the words",
            "s = ' '.join(w[::-1] for w in s.split())",
            lambda s: " ".join(s[::-1].split()[::-1]),
            (lambda s: s[::-1],),
            "each",
        )
    if way == "rotate":
        return Step(
            "in every word move the first letter to the end"
            if k == 1
            else f"in every word move the first {k} letters to the end (a word of at most {k} letters stays as it is)",
            f"s = ' '.join(w[{k}:] + w[:{k}] for w in s.split())",
            lambda s: " ".join("".join([*w[k:], *w[:k]]) for w in s.split()),
            (lambda s: " ".join(w[-k:] + w[:-k] for w in s.split()),),
            "each",
        )
    if way == "suffix":
        return Step(
            f"append {suffix!r} to every word that begins with a vowel (a, e, i, o, u in lower case)",
            f"s = ' '.join(w + {suffix!r} if w[0] in 'aeiou' else w for w in s.split())",
            lambda s: " ".join(w + suffix * (w[0] in VOWELS) for w in s.split()),
            (
                lambda s: " ".join(w + suffix * (w[-1] in VOWELS) for w in s.split()),
                lambda s: " ".join(w + suffix * (w[0].lower() in VOWELS) for w in s.split()),
            ),
            "each",
        )
    if way == "title":
        m = rng.integer(2, 3)
        return Step(
            f"in every word make the letters at the indices 0, {m}, {2 * m} and so on capitals, and leave the others",
            f"s = ' '.join(''.join(c.upper() if i % {m} == 0 else c for i, c in enumerate(w)) for w in s.split())",
            lambda s: " ".join("".join(c if i % m else c.upper() for i, c in enumerate(w)) for w in s.split()),
            (lambda s: "".join(c if i % m else c.upper() for i, c in enumerate(s)),),
            "each",
        )
    return Step(
        "in every word swap the first and the last letter (a word of one letter stays as it is)",
        "s = ' '.join(w[-1] + w[1:-1] + w[0] if len(w) > 1 else w for w in s.split())",
        lambda s: " ".join(w if len(w) == 1 else f"{w[-1]}{w[1:-1]}{w[0]}" for w in s.split()),
        (lambda s: " ".join(w[-1] + w[1:-1] + w[0] for w in s.split()),),
        "each",
    )


def letters(rng: Rng) -> Step:
    """Change single letters."""
    a, b = rng.sample(LETTERS[:20], 2)
    way = rng.choice(("swap", "mirror", "squeeze", "double", "remove"))
    if way == "swap":
        return Step(
            f"exchange the lower-case letters {a} and {b}: every {a} becomes {b} and every {b} becomes {a}",
            f"s = s.replace({a!r}, '#').replace({b!r}, {a!r}).replace('#', {b!r})",
            lambda s: s.translate(str.maketrans(a + b, b + a)),
            (lambda s: s.replace(a, b).replace(b, a), lambda s: s.replace(a, b)),
            "letters",
        )
    if way == "mirror":
        return Step(
            "replace every lower-case letter by its mirror image in the alphabet (a by z, b by y, ..., z by a)",
            "s = ''.join(chr(219 - ord(c)) if c.islower() else c for c in s)",
            lambda s: s.translate(str.maketrans(LETTERS, LETTERS[::-1])),
            (),
            "letters",
        )
    if way == "squeeze":
        return Step(
            "replace every run of equal characters by one such character",
            "s = ''.join(c for i, c in enumerate(s) if i == 0 or c != s[i - 1])",
            lambda s: "".join(c for c, _ in groupby(s)),
            (lambda s: "".join(dict.fromkeys(s)),),
            "letters",
        )
    if way == "double":
        k = rng.integer(2, 3)
        return Step(
            f"write every lower-case vowel (a, e, i, o, u) {k} times",
            f"s = ''.join(c * {k} if c in 'aeiou' else c for c in s)",
            lambda s: "".join(c * (k if VOWELS.find(c) >= 0 else 1) for c in s),
            (lambda s: "".join(c * k if c.lower() in VOWELS else c for c in s),),
            "letters",
        )
    return Step(
        f"remove every {a}, in lower case, that directly follows another lower-case letter",
        f"s = ''.join(c for i, c in enumerate(s) if c != {a!r} or i == 0 or not s[i - 1].islower())",
        lambda s: "".join(c for p, c in zip(" " + s, s, strict=False) if not (c == a and "a" <= p <= "z")),
        (lambda s: s.replace(a, ""), lambda s: "".join(c for i, c in enumerate(s) if c != a or not s[i - 1].islower())),
        "letters",
    )


def coded(rng: Rng) -> Step:
    """Write runs as letter and number, which only the last step does."""
    if rng.chance(1, 2):
        return Step(
            "write every run of equal characters as the character followed by the length of the run, "
            "also where that is 1 ('aab' becomes 'a2b1')",
            "from itertools import groupby\ns = ''.join(c + str(len(list(run))) for c, run in groupby(s))",
            _runs,
            (lambda s: "".join(f"{c}{s.count(c)}" for c in dict.fromkeys(s)),),
            "runs",
        )
    return Step(
        "write every run of at least two equal characters as the character followed by the length of the run, "
        "and single characters as they are ('aab' becomes 'a2b')",
        "from itertools import groupby\n"
        "runs = [(c, len(list(run))) for c, run in groupby(s)]\n"
        "s = ''.join(c + str(n) if n > 1 else c for c, n in runs)",
        lambda s: _runs(s, least=2),
        (_runs,),
        "runs",
    )


def _runs(s: str, least: int = 1) -> str:
    out, start = "", 0
    for i in range(1, len(s) + 1):
        if i == len(s) or s[i] != s[start]:
            out += s[start] + (str(i - start) if i - start >= least else "")
            start = i
    return out


STEPS: list[Maker] = [shifted, word_order, word_filter, word_change, letters, shifted, letters]
STEPS_WITH_NUMBERS: list[Maker] = [shifted, word_filter, letters, shifted]
"""The steps that come in many kinds, for pipelines of one or two."""


def count(rng: Rng) -> Step:
    """How many there are of something."""
    way, c = rng.choice(("vowels", "different", "letter", "words", "capitals")), rng.choice("abcdefgilmnorstu")
    m = rng.integer(11, 97)
    if way == "vowels":
        return Step(
            "return how many characters are vowels (a, e, i, o, u in lower case)",
            "return sum(c in 'aeiou' for c in s)",
            lambda s: sum(map(s.count, VOWELS)),
            (lambda s: sum(map(s.lower().count, VOWELS)),),
            "number",
        )
    if way == "different":
        return Step(
            "return how many different characters the text has, spaces not counted",
            "return len(set(s) - {' '})",
            lambda s: len(set("".join(s.split()))),
            (lambda s: len(set(s)), lambda s: len(set(s.lower()) - {" "})),
            "number",
        )
    if way == "letter":
        return Step(
            f"return the sum of the indices (from 0) at which the text has the letter {c}, modulo {m}",
            f"return sum(i for i, x in enumerate(s) if x == {c!r}) % {m}",
            lambda s: sum(i * (x == c) for i, x in enumerate(s)) % m,
            (lambda s: sum(i + 1 for i, x in enumerate(s) if x == c) % m, lambda s: s.count(c)),
            "number",
        )
    if way == "words":
        return Step(
            f"return the sum of the squares of the lengths of the words, modulo {m}",
            f"return sum(len(w) ** 2 for w in s.split()) % {m}",
            lambda s: sum(len(w) * len(w) for w in s.split()) % m,
            (lambda s: sum(len(w) for w in s.split()) % m,),
            "number",
        )
    return Step(
        "return the index (from 0) of the last capital letter, and -1 if there is none",
        "return max((i for i, c in enumerate(s) if c.isupper()), default=-1)",
        lambda s: next((i for i in range(len(s) - 1, -1, -1) if "A" <= s[i] <= "Z"), -1),
        (lambda s: next((i for i, c in enumerate(s) if c.isupper()), -1),),
        "number",
    )


def chosen(rng: Rng) -> Step:
    """One word or letter, with a rule for ties."""
    way = rng.choice(("longest", "letter", "last"))
    if way == "letter":
        return Step(
            "return the lower-case letter that occurs most often, the first in the alphabet if there are several, "
            "and '' if there is none",
            "letters = sorted(c for c in s if c.islower())\nreturn max(letters, key=letters.count) if letters else ''",
            lambda s: min((c for c in LETTERS if c in s), key=lambda c: -s.count(c), default=""),
            (
                lambda s: max(s, key=s.count) if s else "",
                lambda s: max((c for c in s if c.islower()), key=s.count, default=""),
            ),
        )
    first = way == "longest"
    word = "first" if first else "last"
    order = "s.split()" if first else "s.split()[::-1]"
    return Step(
        f"return the longest word, the {word} one in the text if there are several, and '' if there is no word",
        f"return max({order}, key=len, default='')",
        lambda s: _longest(s.split(), first),
        (lambda s: _longest(s.split(), not first), lambda s: max(sorted(s.split()), key=len, default="")),
    )


def _longest(words: list[str], first: bool) -> str:
    best: Any = ""
    for word in words:
        if len(word) > len(best) or (len(word) == len(best) and not first):
            best = word
    return str(best)


ENDS: list[Maker] = [count, chosen]
