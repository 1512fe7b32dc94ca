r"""Unicode and dress: brings the many ways to write one symbol to the one that the tokeniser knows.

Folding never changes a value: typographic minus signs, \u00d7, \u221a, \u00bd, x\u00b2, \u2264, Greek letters and
full-width digits become ASCII or LaTeX. Letters of other scripts that merely look like Latin ones are left as they are.
"""

from __future__ import annotations

import re

_GREEK_NAMES = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi
chi psi omega
"""
_GREEK = _GREEK_NAMES.split()

_SYMBOLS = {
    "\u2212\u2013\u2014\u2010\u2011\uff0d\ufe63": "-", "\uff0b": "+", "\u00d7\u2715\u2a2f": r"\times ",
    "\u00b7\u22c5\u2022\u2219": r"\cdot ", "\u00f7": r"\div ", "\u2215\u2044\uff0f": "/", "\u2217\uff0a": "*",
    "\u221a": r"\surd ", "\u221b": r"\cuberoot ", "\u221e": r"\infty ", "\u00b0\u00ba\u02da": r"^\circ ",
    "\u2264\u2a7d\u2266": r"\le ", "\u2265\u2a7e\u2267": r"\ge ", "\u2260": r"\ne ", "\u2248": r"\approx ",
    "\u00b1": r"\pm ", "\u2213": r"\mp ", "\u222a": r"\cup ", "\u2229": r"\cap ", "\u2216": r"\setminus ",
    "\u2205\u00d8": r"\emptyset ", "\u2208": r"\in ", "\u2209": r"\notin ", "\u211d": r"\mathbb{R}",
    "\u2124": r"\mathbb{Z}", "\u2115": r"\mathbb{N}", "\u211a": r"\mathbb{Q}", "\u2102": r"\mathbb{C}",
    "\u2032\u2019": "'", "\u2033": "''", "\u2026": r"\ldots ", "\u22ef": r"\cdots ", "\u2192": r"\to ",
    "\u2228": r"\lor ", "\u2227": r"\land ", "\u222b": r"\int ", "\u2211": r"\sum ", "\u220f": r"\prod ",
    "\u2223": "|", "\u230a": r"\lfloor ", "\u230b": r"\rfloor ", "\u2308": r"\lceil ", "\u2309": r"\rceil ",
    "\u27e8\u2329": r"\langle ", "\u27e9\u232a": r"\rangle ", "\u2236\uff1a": ":", "\uff0c": ", ", "\uff1d": "=",
    "\uff08": "(", "\uff09": ")", "\uff3b": "[", "\uff3d": "]", "\uff5b": r"\{", "\uff5d": r"\}",
    "\uff05": "%", "\uff1c": "<", "\uff1e": ">",
    "\u00a0\u2009\u202f\u2007\u3000\u2002\u2003\u200a": " ", "\u200b\u2060\ufeff\u2061\u2062\u200e\u200f": "",
    "\u2202": r"\partial ", "\u210f": r"\hbar ", "\u2113": r"\ell ", "\u2261": r"\equiv ", "\u2234": " ",
    "\u03d5": r"\phi ", "\u03d1": r"\theta ", "\u03f5": r"\epsilon ", "\u00b5": r"\mu ", "\u2220": r"\angle ",
    "\u00ac": r"\neg ", "\u2102\u2103": r"^\circ C", "\u2109": r"^\circ F", "\u3002": ".",
}  # fmt: skip

_FRACTIONS = {
    "\u00bd": (1, 2), "\u2153": (1, 3), "\u2154": (2, 3), "\u00bc": (1, 4), "\u00be": (3, 4), "\u2155": (1, 5),
    "\u2156": (2, 5), "\u2157": (3, 5), "\u2158": (4, 5), "\u2159": (1, 6), "\u215a": (5, 6), "\u215b": (1, 8),
    "\u215c": (3, 8), "\u215d": (5, 8), "\u215e": (7, 8), "\u2150": (1, 7), "\u2151": (1, 9), "\u2152": (1, 10),
}  # fmt: skip

_RAISED = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b\u207d\u207e\u207f\u2071"
_LOWERED = "\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089\u208a\u208b\u208d\u208e\u2099\u1d62"
_PLAIN = "0123456789+-()ni"


def _table() -> dict[int, str]:
    table = {ord(character): text for group, text in _SYMBOLS.items() for character in group}
    table |= {ord(c): rf"\frac{{{top}}}{{{bottom}}}" for c, (top, bottom) in _FRACTIONS.items()}
    table |= {0xFF10 + digit: str(digit) for digit in range(10)}
    places = [0x3B1 + place for place in range(25) if place != 17]  # 17 is the final sigma
    for place, name in zip(places, _GREEK, strict=True):
        table[place] = f"\\{name} "
        table[place - 32] = f"\\{name.capitalize()} "
    return table


_TABLE = _table()
_RUN_UP = re.compile(f"[{_RAISED}]+")
_RUN_DOWN = re.compile(f"[{_LOWERED}]+")
_UP = str.maketrans(_RAISED, _PLAIN)
_DOWN = str.maketrans(_LOWERED, _PLAIN)

_SEPARATE = re.compile(r"\s+")
_LONE_DOLLAR = re.compile(r"^(-?)\$(?= ?[\d.])([^$]*)$")
"""A dollar sign before a number and no other: money, not the beginning of mathematics."""
_LAYERS = 12
"""Layers of dress that are taken off. A fixed number keeps the time linear in the text's length."""


def fold(text: str) -> str:
    """Return the text in ASCII and LaTeX where it was Unicode, blanks squeezed."""
    if not text.isascii():
        text = _RUN_UP.sub(lambda run: "^{" + run[0].translate(_UP) + "}", text)
        text = _RUN_DOWN.sub(lambda run: "_{" + run[0].translate(_DOWN) + "}", text)
        text = text.translate(_TABLE)
    return _LONE_DOLLAR.sub(r"\1\\$\2", _SEPARATE.sub(" ", text).strip())


def trim(text: str) -> str:
    r"""Drop what may stand around an answer: math delimiters, emphasis, quotes, a final full stop."""
    if text[:1].isalnum() and text[-1:].isalnum():
        return text  # as most answers: nothing stands around it
    for _ in range(_LAYERS):
        before = text
        text = text.strip().strip("`").strip()
        if text[:1] == "." and not text[1:2].isdigit():
            text = text[1:]
        if text.endswith(".") and not text.endswith(("..", r"\.")):
            text = text[:-1]
        for mark in ("**", "__", "$$"):
            text = text.removeprefix(mark).removesuffix(mark)
        for opening, closing in (("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ('"', '"'), ("*", "*")):
            if len(text) >= len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing):
                inner = text[len(opening) : -len(closing)]
                if opening not in inner and not inner.endswith("\\"):
                    text = inner
        text = text.removesuffix("\\").removesuffix(r"\,").removesuffix(r"\;").removesuffix("~")
        if text == before:
            break
    return text.strip()
