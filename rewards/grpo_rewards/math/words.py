r"""References that are words: a choice's letter (`B`, `\text{(C)}`), names and phrases (`\text{even}`, "no root")."""

from __future__ import annotations

import re

from grpo_rewards.math.fold import fold, trim

_WRAPPER = re.compile(
    r"\\(?:text\w*|math(?:rm|bf|sf|it|tt)|mbox|hbox|operatorname|textbf|emph|boxed|fbox)\s*\{([^{}]*)\}"
)
_CHOICE = re.compile(r"[(\[]?\s*([A-Ja-j])\s*[)\].:]?")
_CHOICE_AND_MORE = re.compile(
    r"(?:(?:the )?(?:correct )?(?:option|choice|answer)(?: is)?:?\s*)?[(\[]?\s*([A-Ja-j])\s*(?:[)\].:]\s*(\S.*)?|)",
    re.IGNORECASE,
)
_OTHER_CHOICE = re.compile(r"(?<![\w\\])[(\[]?[A-J](?:[)\].:]|\b(?!['_^]))")
_GOES_ON = re.compile(r"(?:or|and|not|if)\b|[+*/=^,;&|]|\\(?:pm|mp|lor|land|cdot|times)", re.IGNORECASE)
"""What makes the text behind a letter more than the content of that choice."""

_ARTICLES = re.compile(r"^(?:an?|the)\s+")
_PHRASE = re.compile(r"[A-Za-z][A-Za-z ,.'\u2019-]*")

_SAME = {
    "dne": "does not exist", "doesn't exist": "does not exist",
    "not possible": "impossible", "undef": "undefined", "not defined": "undefined",
}  # fmt: skip
_SYMBOLS = {
    "all real number": r"\mathbb{R}", "all real": r"\mathbb{R}", "real number": r"\mathbb{R}",
    "set of all real number": r"\mathbb{R}", "no solution": r"\emptyset", "no real solution": r"\emptyset",
    "empty set": r"\emptyset", "null set": r"\emptyset",
}  # fmt: skip
_MATHS_NAMES = "sin cos tan log ln exp sqrt pi infinity inf oo alpha beta gamma theta lambda sigma omega"
_MATHS_WORDS = frozenset(_MATHS_NAMES.split())


def unwrapped(text: str) -> str:
    r"""Return the text without `\text{...}` and dollar signs."""
    plain = trim(fold(text))
    for _ in range(4):
        inner = _WRAPPER.sub(r"\1", plain)
        inner = inner.replace("\\ ", " ").replace("\\,", " ").replace("~", " ").replace("$", " ")
        if inner == plain:
            break
        plain = inner
    if plain.startswith("{") and plain.endswith("}"):
        plain = plain[1:-1]
    return " ".join(plain.split())


def symbol(text: str) -> str | None:
    """Return the symbol for which these words stand ("all real numbers"), None for other words."""
    return _SYMBOLS.get(normal(text)) if len(text) < 80 else None


def choice(reference: str) -> str | None:
    """Return the letter when the reference is one of A to J, in brackets or not, else None."""
    plain = unwrapped(reference)
    match = _CHOICE.fullmatch(plain)
    return match[1] if match is not None and match[1].isupper() else None


def is_choice(answer: str, letter: str) -> bool:
    """Whether the answer names this choice, alone or followed by the choice's content."""
    plain = unwrapped(answer)[:2_000]
    match = _CHOICE_AND_MORE.fullmatch(plain)
    if match is None or match[1].upper() != letter:
        return False
    return match[2] is None or (_GOES_ON.match(match[2]) is None and _OTHER_CHOICE.search(match[2]) is None)


def phrase(reference: str) -> str | None:
    """Return the normal form of a reference that is words, None when it is maths.

    Words are what stands in a text command, or a run of plain letters that is too long to be a product.
    """
    plain = unwrapped(reference)
    if not _PHRASE.fullmatch(plain) or plain.lower() in _MATHS_WORDS:
        return None
    folded = trim(fold(reference))
    wrapped = _WRAPPER.search(folded) is not None and not re.match(r"[-+]?\d", folded)
    words = re.findall(r"[A-Za-z'\u2019]+", plain)
    longest = max(map(len, words))
    if (
        (wrapped and longest > 1)
        or longest > 3
        or plain.lower() in ("yes", "no", "odd", "dne", "all", "one", "two", "ten")
    ):
        return normal(plain)
    return normal(plain) if plain.isupper() and plain.isalpha() and len(plain) > 1 else None


def normal(text: str) -> str:
    """Return words in the form in which they are compared."""
    plain = unwrapped(text).replace("\u2019", "'").replace("_", " ")
    lower = " ".join(re.sub(r"[^\w' ]", " ", plain.casefold()).split())
    lower = _ARTICLES.sub("", lower)
    lower = _SAME.get(lower, lower)
    return " ".join(
        word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word for word in lower.split()
    )
