r"""Whether a response keeps to one script: the language-consistency reward of DeepSeek-R1 (arXiv 2501.12948).

A script is not a language: "latin" is English as well as French or romanised Chinese. What this can tell apart is what
models mix in practice, Chinese with English, say. It needs no dependency and cannot be wrong about a letter.

DeepSeek-R1 takes the share of words; here it is the share of letters, because one endless word without blanks would
count as a single word. Digits, punctuation, LaTeX commands, tags, code and single Latin or Greek letters (variables)
count for nothing. A policy may hide text in a code fence or behind backslashes; what is left must have letters, or
nothing is earned.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from grpo_gym.errors import UnknownNameError
from grpo_gym.problem import Problem
from grpo_gym.reward import Reward
from grpo_gym.verdict import Reason, Verdict

SCRIPTS: dict[str, tuple[str, ...]] = {
    "arabic": ("ARABIC",),
    "armenian": ("ARMENIAN",),
    "bengali": ("BENGALI",),
    "cyrillic": ("CYRILLIC",),
    "devanagari": ("DEVANAGARI",),
    "ethiopic": ("ETHIOPIC",),
    "georgian": ("GEORGIAN",),
    "greek": ("GREEK",),
    "gujarati": ("GUJARATI",),
    "gurmukhi": ("GURMUKHI",),
    "han": ("CJK", "IDEOGRAPHIC"),
    "hangul": ("HANGUL",),
    "hebrew": ("HEBREW",),
    "japanese": ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA"),
    "kannada": ("KANNADA",),
    "khmer": ("KHMER",),
    "lao": ("LAO",),
    "latin": ("LATIN",),
    "malayalam": ("MALAYALAM",),
    "myanmar": ("MYANMAR",),
    "sinhala": ("SINHALA",),
    "tamil": ("TAMIL",),
    "telugu": ("TELUGU",),
    "thai": ("THAI",),
}
"""How the Unicode names of each script's letters begin. "japanese" is Han and kana together."""

_NOT_PROSE = re.compile(
    r"```.*?```|`[^`\n]*`"  # code
    r"|\\(?:begin|end)\{[A-Za-z]{1,30}\*?\}|\\[A-Za-z]+"  # LaTeX
    r"|</?[A-Za-z]\w{0,30}>"  # tags
    r"|(?<![A-Za-z\u00c0-\u024f\u0370-\u03ff])[A-Za-z\u0370-\u03ff](?![A-Za-z\u00c0-\u024f\u0370-\u03ff])",  # variables
    re.DOTALL,
)


class LanguageConsistency(Reward):
    """The share of letters that belong to a script, in [0, 1]; 0 when there are no letters.

    Args:
        script: A key of `SCRIPTS`.
    """

    def __init__(self, script: str) -> None:
        if script not in SCRIPTS:
            raise UnknownNameError("script", script, SCRIPTS)
        self.script = script

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        letters = letters_by_script(response)
        total = letters.total()
        if not total:
            return Verdict(0.0, Reason.NO_ANSWER, feedback="nothing is written in letters")
        share = sum(letters[name] for name in SCRIPTS[self.script]) / total
        if share == 1:
            return Verdict(1.0, Reason.CORRECT)
        return Verdict(share, Reason.WRONG, feedback=f"{share:.0%} of the letters are {self.script}")


def letters_by_script(text: str) -> Counter[str]:
    """Count the letters that count, by how their Unicode names begin ("LATIN", "CJK", ...)."""
    found: Counter[str] = Counter()
    for character, count in Counter(_NOT_PROSE.sub(" ", text)).items():
        script = _script(character)
        if script:
            found[script] += count
    return found


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    """Return how a letter's name begins, "" for anything but a letter. Wide and styled letters count as plain ones."""
    plain = unicodedata.normalize("NFKC", character)[0]
    if not unicodedata.category(plain).startswith("L"):
        return ""
    return re.split(r"[ -]", unicodedata.name(plain, ""), maxsplit=1)[0]
