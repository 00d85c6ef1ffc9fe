"""Compares the numbers, dates and names that stand beside a cited line with that line.

A claim in one's own words cannot be judged by code. What can: it names 30 days, and the line that it cites names 90. Where the text
reckons, proposes or denies, nothing is said.
"""

import re
from typing import Final

from moothall.domain.quoted_forms import blank_spans
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late

MAX_CLAIM_LENGTH: Final = 400
"""How much of a sentence is compared, before the place that it cites and behind it."""
MAX_LINES_LENGTH: Final = 4_000

_MONTHS: Final = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
)
_CJK: Final = r"\u3040-\u30ff\u3400-\u9fff"
_TIME: Final = compile_late(r"(?<![\d:])(?P<value>\d{1,2}:\d{2})(?![\d:])")
_DATE: Final = compile_late(r"(?<!\d)(?P<value>\d{4}-\d{2}-\d{2})(?!\d)")
_DAY_OF_MONTH: Final = compile_late(
    rf"(?<![\d.,])(?P<value>\d{{1,2}})(?:st|nd|rd|th|\.)? (?P<unit>{_MONTHS})\b", re.IGNORECASE
)
_MONTH_AND_DAY: Final = compile_late(
    rf"\b(?P<unit>{_MONTHS}) (?P<value>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])", re.IGNORECASE
)
_AMOUNT: Final = compile_late(
    r"(?P<sign>[€$£¥]?)\s?(?<![a-z0-9_.,#:/-])(?P<value>\d{1,12}(?:[.,'\u2009 ]\d{1,3}){0,4})(?![\d:])"
    rf"\s?(?P<unit>%|€|\$|£|[a-z]{{1,20}}|[{_CJK}])?",
    re.IGNORECASE,
)
_THOUSANDS: Final = compile_late(r"\d{1,3}(?:[.,'\u2009 ]\d{3})+")
_NUMBERED: Final = compile_late(
    r"(?:line|lines|page|section|clause|article|option|point|step|item|version|chapter|figure|table|no\.?|第)\s?$",
    re.IGNORECASE,
)
"""Before a number that is a name, and no amount."""
_PLAIN_UNITS: Final = compile_late(
    "a|all|an|and|are|as|at|by|for|from|has|in|is|it|of|on|or|per|so|than|that|the|then|this|to|was|were|which|with",
    re.IGNORECASE,
)
"""Words behind a number that are no unit of it."""
_UNITS: Final = {"percent": "%", "€": "euro", "$": "dollar", "£": "pound", "eur": "euro"}
_STATED: Final = compile_late(
    r"\b(?:says|states|shows|reads|gives|sets|puts|names|requires|demands|according to)\b"
    r"|规定|写明|写道|显示|载明|根据|按照",
    re.IGNORECASE,
)
_HEDGED: Final = compile_late(
    r"\b(?:not|no|never|\w+n't|nor|about|roughly|around|almost|nearly|more|less|least|most|(?:over|under)(?= \d)|up to|would|should"
    r"|could|might|may be|if|unless|instead|rather|in place of|propose[sd]?|suggest(?:s|ed)?|want|prefer|wish|total|sum|average|mean"
    r"|together|times|twice|half|minus|plus|difference)\b"
    r"|[=≈~<>×]|不|没|未|约|大约|超过|少于|至少|最多|如果|应|建议|希望|合计|平均",
    re.IGNORECASE,
)
"""A text that reckons, compares, proposes or denies names numbers that its source need not have."""
_TURN: Final = compile_late(
    r",? (?:so|and|but|which|while|hence|thus|therefore|because|since|whereas|who|i|we)\b|[;；]"
    r"|[，,](?=因此|所以|而|但|我|那么|即)",
    re.IGNORECASE,
)
"""Where a sentence goes on with something of its author's own."""
_SENTENCE_END: Final = compile_late(r"[.!?](?=\s|$)|[。！？\n]")
_WORD: Final = compile_late(r"[^\W\d_]{2,}")
_NAME: Final = compile_late(r"\b[A-Z][a-z]{2,}\b")
_COMMON: Final = compile_late(
    "the|that|this|these|those|says|states|shows|reads|gives|sets|puts|names|requires|demands|according|and|for|with|from|was|were|are"
    "|has|have|had|they|their|there|which|will|shall"
)
MIN_SHARED: Final = 2
"""So many words of a claim that has a name stand in the line as well; of the claim, at least two in three."""


@dataclass(frozen=True, slots=True)
class _Amount:
    value: str
    unit: str
    text: str


def cut_claim(text: str, start: int, end: int) -> str:
    """Return what stands beside a place in its sentence, up to where the author goes on with something of their own."""
    begin = max(0, start - MAX_CLAIM_LENGTH)
    for match in _SENTENCE_END.finditer(text, begin, start):
        begin = match.end()
    stop = _SENTENCE_END.search(text, end, end + MAX_CLAIM_LENGTH)
    last = stop.start() if stop else min(len(text), end + MAX_CLAIM_LENGTH)
    for turn in _TURN.finditer(text, begin, last):
        if turn.end() <= start:
            begin = turn.end()
        elif turn.start() >= end:
            last = turn.start()
            break
    return text[begin:last]


def find_differences(claim: str, cited: str, near: str) -> list[str]:
    """Return the numbers, dates and names of a claim that the cited lines have otherwise; `near` are the lines around them as well."""
    if _HEDGED.search(claim):
        return []
    cited = cited[:MAX_LINES_LENGTH]
    near = near[:MAX_LINES_LENGTH]
    amounts = _list_amounts(claim)
    differing: list[str] = []
    if amounts:
        differing += _compare_amounts(claim, amounts, cited, near)
    if _STATED.search(claim):
        differing += _compare_names(claim, cited, near)
    return differing


def _compare_amounts(claim: str, amounts: list[_Amount], cited: str, near: str) -> list[str]:
    there = _list_amounts(cited)
    units = {each.unit for each in there}
    values = {each.value for each in _list_amounts(near)}
    differing: list[str] = []
    for unit in dict.fromkeys(each.unit for each in amounts):
        group = [each for each in amounts if each.unit == unit]
        # What is reckoned from a number of the line stands beside that number.
        if any(each.value in values for each in group):
            continue
        is_same_kind = bool(unit) and unit in units
        if is_same_kind or _is_plain_statement(claim, amounts, there, cited):
            differing += [each.text for each in group]
    return differing


def _is_plain_statement(
    claim: str, amounts: list[_Amount], there: list[_Amount], cited: str
) -> bool:
    """Whether a claim says that its one number stands in the line, in words of that line."""
    if len(amounts) != 1 or not there or not _STATED.search(claim):
        return False
    return bool(_list_words(claim) & _list_words(cited))


def _compare_names(claim: str, cited: str, near: str) -> list[str]:
    """Names in a claim that repeats the words of a line which has another name in their place."""
    # The first word of a sentence has a capital letter whatever it is.
    first = _WORD.search(claim)
    names = set(_NAME.findall(claim, first.end() if first else 0))
    strange = [name for name in sorted(names) if name.casefold() not in near.casefold()]
    others = set(_NAME.findall(cited)) - names
    if not strange or not others:
        return []
    own = _list_words(claim) - set(map(str.casefold, names))
    shared = own & _list_words(cited)
    is_repeated = len(shared) >= MIN_SHARED and 3 * len(shared) >= 2 * len(own)
    return strange if is_repeated else []


def _list_words(text: str) -> set[str]:
    words: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if len(word) > 2 and not _COMMON.fullmatch(word):
            words.add(word)
    return words


def _list_amounts(text: str) -> list[_Amount]:
    """The numbers of a text, each with what it counts: days, euros, a month, a time; a number by itself counts nothing."""
    amounts: list[_Amount] = []
    for pattern, unit in (
        (_TIME, ":"),
        (_DATE, "-"),
        (_DAY_OF_MONTH, ""),
        (_MONTH_AND_DAY, ""),
        (_AMOUNT, ""),
    ):
        taken: list[tuple[int, int]] = []
        for match in pattern.finditer(text):
            amount = _read_amount(match, unit, text)
            if amount is not None:
                amounts.append(amount)
                taken.append(match.span())
        # What is part of a date is no amount as well.
        text = blank_spans(text, taken)
    return amounts


def _read_amount(match: re.Match[str], unit: str, text: str) -> _Amount | None:
    if _NUMBERED.search(text, max(0, match.start() - 12), match.start()):
        return None
    # "400,000" and "400000" are one number.
    value = match["value"]
    fields = match.groupdict()
    shown = match[0].strip()
    named = (fields.get("unit") or "").casefold()
    if _PLAIN_UNITS.fullmatch(named):
        shown = f"{fields.get('sign') or ''}{value}"
        named = ""
    named = named or fields.get("sign") or unit
    named = _UNITS.get(named, named)
    if len(named) > 2:
        named = named.removesuffix("s")
    if _THOUSANDS.fullmatch(value):
        value = re.sub(r"\D", "", value)
    if unit == "" and value.isdecimal():
        value = str(int(value))
    # A year by itself counts nothing, and is compared with years alone.
    if not named and re.fullmatch(r"(?:19|20)\d\d", value):
        named = "year"
    return _Amount(value.replace(",", "."), named, shown)
