r"""Text to tokens: LaTeX commands, ASCII maths, numbers in all their dresses.

A number is one token, thousands separators, repeating decimals and exponents included. Letters are split into known
functions (`sqrt`, `sin`), units behind a number (`5 cm`) and single variables. What has no meaning (`\displaystyle`,
`\left`, spaces, colours) is dropped here.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from grpo_rewards.math import guard
from grpo_rewards.math.guard import UnreadableError
from grpo_rewards.math.numerals import NUMBER, decimal, endless, repeating
from grpo_rewards.math.units import is_unit
from grpo_rewards.math.vocabulary import ALIASES, COMMANDS_ONLY, DROPPED, FUNCTIONS, GREEK, LOGIC, STYLES

_TOKEN = re.compile(
    rf"""(?P<space>\ +|\\[,;:!>\ ]|~|\$)
  | (?P<env>\\(?:begin|end)\ ?\{{[a-zA-Z]+\*?\}}(?:\{{[lcr|]*\}})?)
  | (?P<newline>\\\\(?:\[[^\]]{{0,9}}\])?)
  | (?P<command>\\[a-zA-Z]+)
  | (?P<escaped>\\[{{}}$%|&\#_^'"])
  | (?:{NUMBER})(?P<power>[eE][+-]?\d+(?![\w.^]))?
  | (?P<word>[A-Za-z]+)
  | (?P<sign><=|>=|!=|<>|==|\*\*|\.\.\.|=<|=>|->|[-+*/^_!'%,;:|=<>()\[\]{{}}&?\u20ac\u00a3\u00a5\u20b9\u00a2])
""",
    re.VERBOSE,
)
_WORDS = re.compile(r"[A-Za-z][A-Za-z.' -]*")
_SKIPPED_ARGUMENT = re.compile(r"\\(?:color|hspace|vspace|phantom|hphantom|label|tag|kern|hskip)\*? ?\{[^{}]{0,200}\}")
_COLOURED = re.compile(r"\\textcolor ?\{[^{}]{0,40}\}")
_STYLED = re.compile(
    rf"\\(?:{'|'.join(sorted(STYLES, key=len, reverse=True))})\*? ?\{{((?:[^{{}}]|\{{[^{{}}]*\}})*)\}}"
)
_LEIBNIZ = re.compile(r"(?<![A-Za-z\\])d([a-zA-Z]) ?/ ?d([a-zA-Z])(?![A-Za-z])")
_NO_DELIMITER = re.compile(r"\\(?:left|right) ?\.")
_HEXADECIMAL = re.compile(r"\b0[xX][0-9a-fA-F]")
_MODULE = re.compile(r"\b(?:np|numpy|math|sympy|torch)\.(?=[a-z])")
_ZERO = Fraction(0)


class Token(NamedTuple):
    """A piece of an answer.

    Attributes:
        kind: "num", "sym" (a variable), "fun" (a function), "text" (words), "env" (begin or end of a matrix), "cmd" (a
            LaTeX command with a meaning of its own) or "op".
        text: What it says, after aliases are resolved.
        value: A number's value.
        tight: Whether it follows its predecessor without a blank.
        rounded: Whether a number was written with a decimal point or exponent.
    """

    kind: str
    text: str
    value: Fraction = _ZERO
    tight: bool = True
    rounded: bool = False


def tokenise(text: str, grouping: bool = True) -> list[Token]:
    """Split an answer, already folded, into tokens.

    Args:
        text: The answer.
        grouping: Whether a comma before three digits may be a thousands separator; else it separates list members.

    Raises:
        UnreadableError: For a character that has no place in maths.
        TooBigError: For too many tokens, or a numeral that is too long.
    """
    if "\\" in text:
        text = _NO_DELIMITER.sub("", _COLOURED.sub("", _SKIPPED_ARGUMENT.sub(" ", text)))
    if _HEXADECIMAL.search(text):
        raise UnreadableError("a hexadecimal number")
    text = _MODULE.sub("", _LEIBNIZ.sub(r"\\frac{d\1}{d\2}", text))
    return _Lexer(grouping).run(text)


class _Lexer:
    def __init__(self, grouping: bool) -> None:
        self.grouping = grouping
        self.tokens: list[Token] = []
        self.depth = 0
        self.tight = True
        self.words_at = -1

    def run(self, text: str) -> list[Token]:
        self.spaced_list = ", " in text
        self._scan(text, 0, len(text))
        return self.tokens

    def _scan(self, text: str, position: int, end: int) -> None:
        while position < end:
            styled = _STYLED.match(text, position, end) if text[position] == "\\" else None
            if styled is not None:
                self._styled(styled[0], styled[1])
                position = styled.end()
                continue
            match = _TOKEN.match(text, position, end)
            if match is None:
                raise UnreadableError(f"no maths: {text[position : position + 20]!r}")
            position = match.end()
            kind = match.lastgroup
            if kind == "space":
                self.tight = False
            elif kind == "word":
                self._word(match[0])
            elif kind == "command":
                self._command(match[0][1:])
            elif kind == "sign":
                self._sign(match[0])
            elif kind == "escaped":
                self._escaped(match[0][1])
            elif kind == "env" or kind == "newline":
                self._put("env" if kind == "env" else "op", match[0] if kind == "env" else "\\\\")
            else:
                position = self._number(match)

    def _put(self, kind: str, text: str, value: Fraction = _ZERO, rounded: bool = False) -> None:
        self.tokens.append(Token(kind, text, value, self.tight, rounded))
        self.tight = True
        guard.check(len(self.tokens), guard.MAX_TOKENS, "symbols")

    def _number(self, match: re.Match[str]) -> int:
        commas = match["commas"]
        end = match.end()
        if commas is not None and not (self.grouping and (self.depth == 0 or self.spaced_list)):
            first = commas[: commas.index(",")]
            self._put("num", first, Fraction(first))
            return match.start() + len(first)
        if match["repeat"] is not None:
            value = repeating(match["before"], match["steady"], match["cycle"] or match["cycle2"])
        elif match["endless"] is not None:
            value = endless(match["endless"])
        else:
            value = decimal(re.sub(r"[^\d.]", "", match["grouped"] or commas or match["plain"]))
        if match["power"] is not None:
            exponent = int(match["power"][1:6].rstrip("."))
            guard.check(len(match["power"]), 6, "digits in an exponent")
            guard.check_power(4, exponent)
            value *= Fraction(10) ** exponent
        text = match["plain"] or ""
        self._put("num", text, value, rounded=("." in match[0] and not match["repeat"]) or bool(match["power"]))
        return end

    def _word(self, word: str) -> None:
        """Split letters: a connector, a function, a unit or noun behind a number, else single variables."""
        behind = self._behind_value()
        if self._keyword(word, behind):
            return
        if len(word) > 1 and behind and (is_unit(word) or (len(word) > 3 and not self.tight)):
            return self._put("text", word)
        if len(word) > 3 and not self.tokens and not word.isupper():
            return self._put("text", word)
        for name in ("sqrt", "sin", "cos", "tan", "log", "ln", "pi"):  # xsin, pir: a function glued to variables
            place = word.find(name)
            if place >= 0 and len(word) <= len(name) + 2:
                self._letters(word[:place])
                self._put("fun" if name != "pi" else "cmd", name)
                return self._letters(word[place + len(name) :])
        if len(word) > 1 and self.words_at == len(self.tokens) and not self.tight:
            raise UnreadableError(f"words: {word!r}")  # two words in a row are prose, not a product
        self._letters(word)
        if len(word) > 1:
            self.words_at = len(self.tokens)

    def _keyword(self, word: str, behind: bool) -> bool:
        """Put a word that has one meaning wherever it stands; whether it is one."""
        lower = word.lower()
        if lower in LOGIC:
            raise UnreadableError(f"the word {word!r}")
        if lower in ("and", "or", "to") or (lower == "in" and not behind):
            self._put("op", lower)
        elif word in FUNCTIONS and word not in COMMANDS_ONLY:
            self._put("fun", word)
        elif word in ("pi", "Pi"):
            self._put("cmd", "pi")
        elif lower in ("infinity", "inf", "oo"):
            self._put("op", "infty")
        elif word in GREEK and len(word) > 2:
            self._put("sym", word)
        else:
            return False
        return True

    def _letters(self, word: str) -> None:
        for letter in word:
            self._put("sym", letter)

    def _behind_value(self) -> bool:
        """Whether a unit may stand here: behind a number, another unit or a closing bracket."""
        if not self.tokens:
            return False
        last = self.tokens[-1]
        return last.kind in ("num", "text") or (last.kind == "op" and last.text in (")", "}", "]"))

    def _command(self, name: str) -> None:
        if name in DROPPED:
            self.tight = False
        elif name in FUNCTIONS and name not in ("deg", "mod"):
            self._put("fun", name)
        elif name in ALIASES:
            alias = ALIASES[name]
            if alias in ("frac", "binom", "sqrt", "i", "j"):
                self._put("sym" if alias in "ij" else "fun" if alias == "sqrt" else "cmd", alias)
            else:
                self._bracket(alias)
        elif name in GREEK:
            self._put("sym", name)
        elif name in STYLES:  # its argument has braces inside: read as maths
            self.tight = False
        else:
            self._put("cmd", name)

    def _sign(self, sign: str) -> None:
        sign = {"**": "^", "==": "=", "<>": "!=", "=<": "<=", "=>": ">=", "->": "to"}.get(sign, sign)
        if sign == "?":
            raise UnreadableError("a question mark")
        if sign == "!=" and self.tight and self.tokens and self.tokens[-1].kind == "num":
            self._put("op", "!")
            sign = "="
        if sign in "\u20ac\u00a3\u00a5\u20b9\u00a2%":
            return self._put("text", sign)
        self._bracket(sign)

    def _bracket(self, sign: str) -> None:
        self.depth += (sign in ("(", "[", "{{", "<<")) - (sign in (")", "]", "}}", ">>"))
        self._put("op", sign)

    def _escaped(self, character: str) -> None:
        if character in "$%":
            self._put("text", character)
        elif character == "#":
            raise UnreadableError("a hash")
        elif character == "_":
            raise UnreadableError("an underscore")
        else:
            self._bracket({"{": "{{", "}": "}}", "|": "|"}.get(character, character))

    def _styled(self, whole: str, content: str) -> None:
        r"""`\text{...}` and its kin: words become one token, anything else is read as maths."""
        words = content.replace("~", " ").replace("\\ ", " ").replace("\\,", " ").strip()
        if not words:
            self.tight = False
        elif "{" in words and "\\" not in words and _WORDS.match(words):
            self._phrases(words)
        elif re.fullmatch(r"[,;.: ]*(?:and|or)[,;.: ]*", words, re.IGNORECASE):
            self._put("op", "or" if "or" in words.lower() else "and")
        elif whole.startswith("\\operatorname") and words in FUNCTIONS:
            self._put("fun", words)
        elif len(words) == 1 and words.isalpha():
            self._put("sym" if _is_letter_style(whole) else "text", words)
        elif words in FUNCTIONS and words not in COMMANDS_ONLY and not self._behind_value():
            self._put("fun", words)
        elif "\\" in words or (
            not _WORDS.fullmatch(words)
            and not re.search(r"[A-Za-z]{2}", words)
            and not re.search(r"[A-Za-z].*/|/.*[A-Za-z]", words)
        ):
            self._scan(words, 0, len(words))
        else:
            self._phrases(words)

    def _phrases(self, words: str) -> None:
        """Words with "and", "or" or commas between them are several; numbers among them are numbers."""
        if LOGIC & set(words.lower().split()):
            raise UnreadableError(f"the words {words[:40]!r}")
        for piece in re.split(r"(\band\b|\bor\b|\bto\b|,(?!\d)|(?<![\w^{-])\d[\d,.]*)", words):
            piece = piece.strip()
            if piece in ("and", "or", "to", ","):
                self._put("op", piece)
            elif piece[:1].isdigit() and not re.search(r"[A-Za-z]", piece):
                self._scan(piece.rstrip(".,"), 0, len(piece.rstrip(".,")))
            elif piece:
                self._put("text", piece)


def _is_letter_style(whole: str) -> bool:
    r"""Whether a letter in this style is a variable: `\mathbf{x}` is, `\text{m}` and `\mathrm{m}` may be units."""
    return not whole.startswith(("\\text", "\\mathrm", "\\mbox", "\\hbox")) or whole[-2] in "dei"
