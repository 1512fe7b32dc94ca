"""Finds in a response what may be a deduction: claims with what they cite, suppositions, contradictions.

Only the frame is read here ("From 2 and 4: ...", "Suppose ...", "... contradiction, so ..."); whether what it frames is
a claim is for the puzzle to say. What stands in a box is the answer, and judged as that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from grpo_rewards.logic.reading import plain

LONGEST = 300
"""Characters of a sentence that may be a deduction; longer ones are prose."""

Kind = Literal["claim", "supposition", "contradiction"]


@dataclass(frozen=True)
class Sentence:
    """One sentence, or a part of one that stands alone.

    Attributes:
        kind: What it does.
        said: What is claimed or supposed, as text; empty for a contradiction.
        cited: The premises that it names, in order; none "by elimination", None where nothing is said of them.
        written: The sentence as it stands, for feedback.
        concludes: Whether it draws the conclusion of the contradiction before it: "contradiction, so ...".
        label: The number before its line, "1:", which may be a part of the claim: house 1.
        common: Whether it is said of all cases: "in both cases ...".
        under: The condition in front of the whole sentence: "if A, then B, so C" claims C under A.
    """

    kind: Kind
    said: str
    cited: tuple[str, ...] | None
    written: str
    concludes: bool = False
    label: str = ""
    common: bool = False
    under: str = ""


class Halves(NamedTuple):
    """A claim that rests on another: "if A, then B", "A => B => C", "B, since A".

    Attributes:
        ground: What it rests on.
        claims: What is claimed, in order.
        asserted: Whether the ground is claimed as well: "since A, B".
    """

    ground: str
    claims: tuple[str, ...]
    asserted: bool


_KINDS = r"(?:clue|premise|statement|rule|fact|hint|constraint|condition|line|item)s?"
_ONE = rf"(?:{_KINDS}\s+)?#?\(?\d{{1,3}}\)?"
_MANY = rf"{_ONE}(?:\s*(?:,\s*and\b|,|and\b|&|\+|with\b)\s*{_ONE}){{0,30}}"
_BECAUSE = r"(?:from|by|with|using|given|because of|due to|according to|combining|since)"
_SIGNS = r"=>|->|\u21d2|\u2192|\u22a2|\\Rightarrow|\\implies"
_VERBS = r"gives?\b|implies\b|imply\b|means?\b|yields?\b|shows?\b|tells? us\b|forces?\b"
_BEFORE = re.compile(
    rf"(?:{_BECAUSE}\s+(?:the\s+)?({_MANY})(?:\s*(?::|,|{_SIGNS}|{_VERBS})\s*|\s+)|"
    rf"(?:the\s+)?({_MANY})\s*(?:{_SIGNS}|{_VERBS})(?:\s+that\b)?)\s*(.+)",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    rf"(.+?)(?:,|\s)\s*(?:\(\s*(?:{_BECAUSE}\s+|see\s+)?(?:the\s+)?({_MANY})\s*\)|\[({_MANY})\]|"
    rf"{_BECAUSE}\s+(?:the\s+)?({_MANY}))",
    re.IGNORECASE,
)
_ELIMINATION = re.compile(r"by (?:elimination|exclusion)\b[:,]?\s*(.+)", re.IGNORECASE)
_FILLER = re.compile(
    r"(?:(?:so|then|now|but|and|yet|next|also|again|first|here|finally|lastly|hence|therefore|thus|consequently|"
    r"accordingly|similarly|likewise|indeed|however|moreover|furthermore|clearly|obviously|evidently|certainly|surely|"
    r"of course|in fact|in conclusion|in the end|as a result|in particular|\u2234|\\therefore|okay|ok|well|that|"
    r"that is|i\.e\.|conclusion|result|deduction|inference|(?:please )?(?:note|notice|observe)|"
    r"(?:we|i|you|one|let us|let's) (?:(?:now|also|then|thus|therefore|have|can|may|must|could) ){0,3}"
    r"(?:get|gets|see|know|have|conclude|find|infer|deduce|derive|obtain|establish|say|note|shown|proved|deduced|found)"
    r"(?!\s+(?:an?|the|some|any|another)\s+(?:\w+\s+)?(?:contradict|conflict|inconsist))|"
    r"(?:this|the|that) contradiction (?:shows|means|proves|implies|forces|tells us)|"
    r"it (?:(?:now|then|thus|therefore) )?follows|it must be|it is (?:clear|certain|true|the case|known)|"
    r"(?:this|that|which) (?:means|gives(?: us)?|shows|implies|leaves|proves|tells us|yields|forces)|meaning)"
    r"(?:\s*[,:]\s*|\s+))+",
    re.IGNORECASE,
)
_COMMON = re.compile(r"in (?:both|either|all|any|each|every)(?: of)?(?: the| these)?(?: \w+)? cases?\b,?\s*", re.I)
_ADVERB = re.compile(
    r"\s(?:therefore|thus|hence|also|indeed|definitely|certainly|necessarily|clearly|obviously|always|actually|really|"
    r"surely|in fact)(?=\s)",
    re.IGNORECASE,
)
_SO = re.compile(
    r"\s*(?:,\s*(?:and\s+)?|\u2014\s*|\s)"
    r"(?:so|hence|therefore|thus|consequently|it follows|which means|this means|meaning)\b"
    r"(?!\s+(?:(?:not\s+)?(?:an?|be|in|live)|true|false|lies|tells|knights?|knaves?)\b)(?:\s+that\b)?,?\s*",
    re.IGNORECASE,
)
_AIM = r"(?:for (?:the sake of )?(?:an? )?contradiction|towards? (?:an? )?contradiction|to the contrary)"
_SUPPOSE = re.compile(
    r"(?:(?:let us|let's|we|i|now|first|next|instead|then)\s+){0,3}"
    r"(?:suppose|supposing|assume|assumption|hypothesis|imagine|try|"
    r"consider(?: (?:the )?case(?: (?:that|where|in which))?)?|"
    r"case\s+(?:\d{1,2}|[a-d])\s*[:.,-]?\s*(?:suppose|assume|if)?|case(?=:)|case (?:that|where|in which))"
    rf"(?:,?\s+(?:now|first|instead|next|otherwise|{_AIM}))?,?(?:\s+that\b)?[:,]?\s*(.+)",
    re.IGNORECASE,
)
_HEAD = re.compile(r"(?:if|when|in case|case|assuming(?: that)?)\s+(.+)", re.IGNORECASE)
_CASE = re.compile(
    r"(?:if|when|assuming(?: that)?|(?:let us )?(?:suppose|assume)(?: that)?)\s+(.+?)(?::|,)\s*(?:then,?\s+)?(.+)",
    re.IGNORECASE,
)
_SUPPOSED_THEN = re.compile(r"(.+?)(?:,|:)\s*then,?\s+(.+)", re.IGNORECASE)

_PLAIN = r"(?:clear|direct|immediate|logical|plain|obvious|flat)\s+"
_BEHOLD = (
    r"(?:is|are|was|gives?(?: us)?|gave|leads?(?: us)? to|led(?: us)? to|yields?|results? in|causes?|makes?|produces?|"
    r"creates?|have|has|get|got|reach|reached|obtain|obtained|derived?|finds?|found|see|arrived? at|means?|implies|"
    r"runs? into|would be|ends? in|stands? in|comes? to)"
)
_POINTS = (
    r"(?:(?:all )?(?:this|that|these|those|which|it|both|they|the two|what we have)|(?:the|this|that|our) "
    r"(?:case|supposition|assumption|hypothesis|result|last|latter))"
)
_CLASH = r"(?:contradict(?:ions?|ory|ing)|conflict(?:ing)?|inconsisten(?:t|cy)|violation|violating|incompatible)"
_CLASHES = r"(?:contradict(?:s|ed)?|violate[sd]?|conflicts? with|clash(?:es)? with|breaks? (?=(?:clue|rule|statement)))"
_NOUN = re.compile(
    rf"(?:(.{{0,100}}?)\s*\b{_BEHOLD}\s+)?(?:(?:an?|(?<=\s)the|in|another|our)\s+){{0,2}}(?:{_PLAIN})?(?:self-)?"
    rf"{_CLASH}\b(.{{0,200}})",
    re.IGNORECASE,
)
_VERB = re.compile(rf"(.{{0,100}}?)\s*(?:\b\w+ly\s+)?(?:\bwould\s+)?\b{_CLASHES}(?!\w)(.{{0,200}})", re.IGNORECASE)
_IMPOSSIBLE = re.compile(
    rf"(?:{_POINTS}\s+)?(?:(?:is|are|would be)\s+)?(?:\w+ly\s+)?(?:impossible|absurd|not possible)|\u22a5|"
    rf"{_POINTS}\s+(?:cannot|can't|can not)\s+(?:be|happen|hold)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    rf"(?:but\s+|yet\s+)?(?:(?:{_POINTS})(?:\s+(?:is|are))?|(?:the\s+)?{_MANY}|.*\b(?:is|are|in|being|lies|truth)\b.*|)",
    re.IGNORECASE,
)
_SOUGHT = re.compile(
    r"\b(?:will|shall|can|could|may|might|should|must|to|let|let's|want|need|try|trying|look|looking|seek|hope|expect|if|"
    r"whether|unless|until|when|where|what|why|how|no|not|never|neither|cannot|without|avoid|any|possible|perhaps|"
    r"maybe)\b|n't\b",
    re.IGNORECASE,
)
_SOUGHT_BEHIND = re.compile(
    r"\s*(?:(?:will|would|shall|can|could|may|might|should|must|does|do|did|if|whether|unless|we|i|to be|yet)\b|"
    r":\s*(?:none|no|not)\b|"
    r"(?:is|are|was|has)(?: \w+)? (?:not|what|needed|wanted|sought|to|possible|expected|hoped)\b)",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"(.+)(?:,|\u2014|\s-\s|\s(?=which\b|contradicting\b|violating\b|in contradiction\b))\s*(?:(?:but|and|yet)\s+)?"
    rf"((?:which|this|that|it|an?|the|in|{_CLASH}|{_CLASHES}|impossible|absurd|clear|direct)(?!\w).*)",
    re.IGNORECASE,
)
_MENTIONED = re.compile(r"contradict", re.IGNORECASE)
_NUMBERED = re.compile(rf"(?<![\w-])(?:the\s+)?{_MANY}(?![\w-])", re.IGNORECASE)
_AGAINST = re.compile(
    rf"(?:{_CLASH}|{_CLASHES})\s*(?:{_BECAUSE}\s+|to\s+|in\s+|between\s+|of\s+)?(?:the\s+)?({_MANY})\b", re.IGNORECASE
)

_THEN = (
    re.compile(r"(?:if|when|whenever|assuming|supposing)(?: that)? (.+?)(?:,|:)? then,? (.+)", re.IGNORECASE),
    re.compile(r"(?:if|when|whenever|assuming|supposing)(?: that)? (.+?)(?:,|:) ?(.+)", re.IGNORECASE),
)
_SINCE = re.compile(r"(?:since|because|as|given that|seeing that|knowing that) (.+?),(?: then)? (.+)", re.IGNORECASE)
_SINCE_BEHIND = re.compile(r"(.+?),? \(?(?:since|because|as|given that|for) ([^()]+)\)?", re.IGNORECASE)
_ARROW = re.compile(rf"\s*(?:{_SIGNS}|\b(?:implies|means|forces)\b)(?:\s+that\b)?\s*", re.IGNORECASE)

_LABEL = re.compile(r"(?:[-*\u2022>#]+\s+)*(?:(?:step\s+)?\d{1,3}\s*[.:)]\s+)?(?:[-*\u2022]\s+)?", re.IGNORECASE)
_NUMBER = re.compile(r"[-*\u2022>#\s]*(\d{1,3}:)\s+")
_ENDS = re.compile(r"(?<=[.;!?])\s+|;")
_BOX = re.compile(r"\\boxed\s*\{[^{}]*\}")


def sentences(response: str) -> Iterator[Sentence]:
    """Yield what may be deductions, in the order in which they stand, thoughts included."""
    for line in _BOX.sub(" ", response).splitlines():
        line = line.strip()
        label = _LABEL.match(line)
        start = label.end() if label else 0
        number = _NUMBER.fullmatch(line[:start])
        for place, written in enumerate(_ENDS.split(line[start:])):
            if 1 < len(written) <= LONGEST and not written.endswith("?"):
                yield from _parts(plain(written), number[1] if number and not place else "")


def halves(said: str) -> Halves | None:
    """Take a claim apart that rests on another one; None for any other text."""
    for pattern in _THEN:
        if match := pattern.fullmatch(said):
            return Halves(match[1], (_unfilled(match[2]),), False)
    if match := _SINCE.fullmatch(said):
        return Halves(match[1], (_unfilled(match[2]),), True)
    ground, *claims = _ARROW.split(said)
    if claims:
        return Halves(ground, tuple(claims), False)
    match = _SINCE_BEHIND.fullmatch(said)
    return Halves(match[2], (match[1],), True) if match else None


def _parts(plainly: str, label: str) -> Iterator[Sentence]:
    """Cut a sentence at "so" and its like; each part is checked for itself."""
    written = plainly.rstrip(" .!,:;")
    head = _HEAD.fullmatch(_unfilled(written)) if plainly.rstrip().endswith(":") else None
    if head:
        yield Sentence("supposition", head[1], None, written)
        return
    concludes, under = False, ""
    for place, part in enumerate(_SO.split(written)):
        for found in _sentences(_ADVERB.sub("", part), written, concludes, label):
            if under and found.kind == "contradiction":
                yield Sentence("supposition", under, None, written)
                under = ""
            yield replace(found, under=under) if under else found
            concludes = found.kind == "contradiction"
        under = under if place else _condition(_unfilled(part))


def _condition(text: str) -> str:
    """Return the condition with which a sentence begins; nothing for another one, or a contradiction under one."""
    case = _CASE.fullmatch(text)
    if case and _conclusive(_unfilled(case[2])):
        return ""
    match = next((match for pattern in (*_THEN, _HEAD) if (match := pattern.fullmatch(text))), None)
    return match[1] if match else ""


def _sentences(part: str, written: str, concludes: bool, label: str) -> Iterator[Sentence]:
    """Read a part of a sentence: one thing, or a claim or supposition with the contradiction that it meets."""
    text = _unfilled(part)
    case = _CASE.fullmatch(text)
    if case and _conclusive(_unfilled(case[2])):
        yield Sentence("supposition", case[1], None, written)
        yield Sentence("contradiction", "", _against(case[2], None), written)
        return
    supposed = _SUPPOSE.fullmatch(text)
    if supposed:
        then = _SUPPOSED_THEN.fullmatch(supposed[1])
        yield Sentence("supposition", then[1] if then else supposed[1], None, written)
        if then:
            yield from _sentences(then[2], written, False, "")
        return
    common = _COMMON.match(text)
    cited, text = _cited(_unfilled(text[common.end() :]) if common else text)
    turn = _TURN.fullmatch(text)
    if turn and _conclusive(turn[2]):
        yield Sentence("claim", turn[1], cited, written, concludes, label)
        yield Sentence("contradiction", "", _against(turn[2], cited), written)
    elif _conclusive(text):
        yield Sentence("contradiction", "", _against(text, cited), written)
    elif text and not _MENTIONED.search(text):
        behind = _BEHIND.fullmatch(text) if cited is None else None
        if behind:
            cited, text = _numbers(behind[2] or behind[3] or behind[4]), behind[1]
        yield Sentence("claim", text.strip(), cited, written, concludes, label, bool(common))


def _cited(text: str) -> tuple[tuple[str, ...] | None, str]:
    """Return what is cited in front of a text, and the text behind it."""
    alone = _ELIMINATION.fullmatch(text)
    if alone:
        return (), _unfilled(alone[1])
    before = _BEFORE.fullmatch(text)
    return (_numbers(before[1] or before[2]), _unfilled(before[3])) if before else (None, text)


def _conclusive(text: str) -> bool:
    """Whether a text says that a contradiction is there, rather than sought, feared or excluded."""
    if _IMPOSSIBLE.fullmatch(text):
        return True
    noun = _NOUN.fullmatch(text)
    if noun:
        return not (_SOUGHT.search(noun[1] or "") or _SOUGHT_BEHIND.match(noun[2]))
    verb = _VERB.fullmatch(text)
    return bool(verb and _SUBJECT.fullmatch(verb[1]) and not _SOUGHT.search(verb[1]))


def _against(text: str, cited: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return what a contradiction cites, before the word or behind it."""
    against = _AGAINST.search(text)
    subject = _NUMBERED.match(text)
    more = (_numbers(subject[0]) if subject else ()) + (_numbers(against[1]) if against else ())
    return (cited or ()) + more if more else cited


def _unfilled(text: str) -> str:
    filler = _FILLER.match(text)
    return text[filler.end() :] if filler else text


def _numbers(cited: str) -> tuple[str, ...]:
    return tuple(str(int(number)) for number in re.findall(r"\d{1,3}", cited))
