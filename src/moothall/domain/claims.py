"""What a text claims, in a few of its own words: its stand, its figures and its reason, in English and Chinese.

Shallow on purpose: it marks the parts of a text by the words that stands, figures and reasons are written with, and keeps those
with the most marks in their order. Nothing is reworded, so that a digest never says what its speaker did not.
"""

import re
from functools import lru_cache
from typing import Final

from moothall.domain.safe_text import compile_late

MAX_CLAIM_LENGTH: Final = 240
_HEAD: Final = 3_000
_TAIL: Final = 1_000
"""How much of a text is looked at, from its beginning and from its end: this bounds the work on one entry."""

# A full stop ends a sentence before a space only, and not after a single letter or a common abbreviation. Each pattern begins
# with one set of characters, by which Python finds the next place quickly; what follows says which of them it was.
_SENTENCE: Final = compile_late(
    r"[。！？；.!?;](?:(?<=[。！？；])[。！？；]*[”’」』）)\"']*"
    r"|(?<=[.!?;])[.!?;]*[\"')\]]*"
    r"(?<!\b[A-Za-z]\.)(?<!\bvs\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\betc\.)(?<!\bMrs\.)(?<!\d\.)(?= |$))"
)
_CLAUSE: Final = compile_late(r"[，：、,: ](?:(?<=[，：、])|(?<=[,:])(?= )|(?<= )[–—-] )")

# The number of a list item is not a figure.
_ITEM: Final = compile_late(r"^\s*(?:\(?\d{1,3}[.)、]|[-*•])\s*")
_WORD: Final = compile_late(r"\w+")


class _Marks:
    """The words that something is written with: single words are looked up, and only for the rest a pattern is searched."""

    def __init__(self, words: str, phrases: str, chinese: str) -> None:
        self._words = frozenset(words.split())
        # A phrase is searched where its first word is: `can't` begins with the word `can`.
        self._first = frozenset(re.findall(r"(?:^|\|)(\w+)", phrases))
        self._phrases = compile_late(rf"\b(?:{phrases})\b")
        self._chinese = compile_late(chinese)

    def are_in(self, part: str, words: set[str]) -> bool:
        """Whether one is in a part, given in small letters and by its words."""
        return (
            not self._words.isdisjoint(words)
            or (not self._first.isdisjoint(words) and self._phrases.search(part) is not None)
            or (not part.isascii() and self._chinese.search(part) is not None)
        )


_STAND: Final = _Marks(
    "should must ought oppose support favor favour against reject accept recommend propose prefer suggest agree disagree cannot "
    "never instead yes no keep stop wait",
    "need to|needs to|needed to|have to|can't|won't|will not|do not|don't|rather than",
    "应|必须|需要|反对|支持|赞成|赞同|同意|建议|主张|拒绝|不能|不该|不宜|不要|不可|宁可|优先|保留|停止|只能|最好",
)
_DIGIT: Final = compile_late(r"\d")
_FIGURE: Final = _Marks(
    "half twice third quarter percent dozen hundred thousand million billion",
    "",
    "百分之|[二两三四五六七八九十百千半][个成倍年月天周人万亿元季分]|一[成倍半年季月周万亿]",
)
_REASON: Final = _Marks(
    "because since therefore hence thus otherwise unless if means cost costs risk risks but however",
    "due to|so that|lead to|leads to",
    "因为|由于|因此|所以|否则|如果|若|以免|导致|意味着|但|然而|风险|成本|代价",
)


_LEAST: Final = 2.0
"""The marks from which a part belongs to the claim; one without stays only where no part has any."""


# A session that is looked at is folded twice, by its rules and by its timeline.
@lru_cache(maxsize=1_024)
def extract_claim(text: str, longest: int = MAX_CLAIM_LENGTH) -> str:
    """Return what a text claims on one line: all of a short one, otherwise its stand, figures and reason; `…` marks what is left
    out."""
    read = text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]} … {text[-_TAIL:]}"
    line = " ".join(read.split())
    if len(line) <= longest:
        return line
    parts = list[str]()
    # Sentences, and the clauses of those that are too long.
    for sentence in _split_after(line, _SENTENCE):
        if len(sentence) <= longest // 2:
            parts.append(sentence)
        else:
            parts += _split_after(sentence, _CLAUSE)
    marks = [
        _count_marks(part, is_edge=place in (0, len(parts) - 1)) for place, part in enumerate(parts)
    ]
    claiming = [place for place in range(len(parts)) if marks[place] >= _LEAST] or range(len(parts))
    chosen: list[int] = []
    for place in sorted(claiming, key=lambda place: (-marks[place], place)):
        if len(_join_parts(parts, [*chosen, place])) <= longest:
            chosen.append(place)
    # Not one part fits: a text without any punctuation.
    return _join_parts(parts, chosen) if chosen else cut_text(line, longest)


def cut_text(text: str, longest: int) -> str:
    """Return the text cut to this many characters, at the end of a word where it has words, with `…` for the rest."""
    if len(text) <= longest:
        return text
    head = text[: max(0, longest - 1)]
    at = max(head.rfind(" "), head.rfind("\n"))
    # Chinese has no spaces, and one far back would throw away half of the text: then the cut is where the room ends.
    return f"{(head[:at] if at > longest // 2 else head).rstrip()}…"


def _split_after(text: str, end: re.Pattern[str]) -> list[str]:
    parts, start = [], 0
    for match in end.finditer(text):
        parts.append(text[start : match.end()])
        start = match.end()
    return [part for part in (*parts, text[start:]) if part.strip()]


def _count_marks(part: str, *, is_edge: bool) -> float:
    """How much of a claim a part is: a stand counts most; the first and the last part win ties, for texts open or end with it."""
    part = _ITEM.sub("", part).lower()
    words = set(_WORD.findall(part))
    marks = 0.0
    if _STAND.are_in(part, words):
        marks += 3.0
    if _DIGIT.search(part) is not None or _FIGURE.are_in(part, words):
        marks += 2.0
    if _REASON.are_in(part, words):
        marks += 2.0
    if is_edge:
        marks += 0.5
    return marks


def _join_parts(parts: list[str], places: list[int]) -> str:
    joined, last = "", -1
    for place in sorted(places):
        if place == last + 1:
            joined += parts[place]
        else:
            gap = " … " if joined else "… "
            joined += gap + parts[place].lstrip()
        last = place
    return f"{joined.rstrip()}{'' if last == len(parts) - 1 else ' …'}".strip()
