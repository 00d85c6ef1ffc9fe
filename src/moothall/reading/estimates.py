"""Reads a number that a seat estimates: one number, plainly said, in the unit of the question (Q-12).

A reason may follow it, as it may follow a choice: "8 days, because the port closes" (Q-5). What could be two numbers, a range, or a
size in letters ("1.5k", "3–5", "about 40") is not guessed at: its seat is asked back, in one line.
"""

import math
import unicodedata
from typing import Final

from moothall.domain.safe_text import compile_late
from moothall.domain.text.numerals import parse_number_words
from moothall.domain.vocabulary import PATTERNS
from moothall.errors import BadAnswer

MAX_ESTIMATE: Final = 1e15
MAX_LENGTH: Final = 60
_PLAIN: Final = compile_late(
    r"(?P<number>[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|[-+]?\.\d+|[-+]?\d+,\d{1,2})\s*(?P<unit>\D{0,30})"
)
_GROUPED: Final = compile_late(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_PERCENT: Final = frozenset({"%", "percent", "per cent", "prozent", "pct"})
_CURRENCIES: Final = {"€": "euros", "$": "dollars", "£": "pounds", "¥": "元"}
_PER_HUNDRED: Final = "百分之"
_REASON_LEAD: Final = compile_late(
    r"(?:[.。;；:：]|\s[–—-]|,(?!\d)|\n)(?=[\s\u3400-\u9fff])|\s(?=because\b|since\b|due to\b)|(?=因为|由于)"
)
"""What parts a number from the reason behind it; a comma within "1,500" does not."""
_WHY: Final = compile_late(r"because\b|since\b|due to\b|因为|由于|鉴于")
_DIGIT: Final = compile_late(r"\d")
MAX_GIVEN: Final = 2_000
"""A longer text is no number with its reason."""


def read_estimate(value: object, path: str, unit: str) -> float:
    """Return the number that a value plainly is; raises BadAnswer, in one line, for anything else."""
    number = _find_number(value, unit.strip().casefold())
    if number is None or not math.isfinite(number) or abs(number) > MAX_ESTIMATE:
        wanted = f"one number in {unit}" if unit else "one number"
        given = " ".join(str(value).split())[:MAX_LENGTH]
        raise BadAnswer(
            f"{path}: {wanted} was expected, such as 12, and no range (given: {given!r})"
        )
    return number


def _find_number(value: object, unit: str) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        # A whole number may be too long to be a float at all.
        return float(value) if abs(value) <= MAX_ESTIMATE else None
    if isinstance(value, float):
        return value
    if isinstance(value, list) and len(value) == 1:
        return _find_number(value[0], unit)
    if not isinstance(value, str):
        return None
    number = _find_plain_number(value, unit)
    if number is None:
        number = _find_explained_number(value, unit)
    return number


def _find_explained_number(given: str, unit: str) -> float | None:
    """Return the number that a text begins with, where what follows is its reason and names no other."""
    if len(given) > MAX_GIVEN:
        return None
    text = unicodedata.normalize("NFKC", given).strip().casefold()
    lead = _REASON_LEAD.search(text)
    if lead is None:
        return None
    reason = text[lead.end() :].strip()
    says_why = _WHY.match(reason) is not None
    if says_why and len(reason.split()) < 2 and reason.isascii():
        return None
    if not says_why and (_DIGIT.search(reason) or not PATTERNS["states"].match(reason)):
        return None
    return _find_plain_number(text[: lead.start()], unit)


def _find_plain_number(value: str, unit: str) -> float | None:
    if len(value) > MAX_LENGTH:
        return None
    text = " ".join(unicodedata.normalize("NFKC", value).casefold().split()).strip(" .。*`\"'")
    if text[:1] in _CURRENCIES:
        text = text[1:].strip()
    match = _PLAIN.fullmatch(text)
    if match is None:
        return _find_spelled(text, unit)
    if not _is_unit(match["unit"].strip(" ."), unit):
        return None
    digits = match["number"]
    # "1,500" groups its digits, "1,5" has a decimal comma.
    if _GROUPED.fullmatch(digits):
        return float(digits.replace(",", ""))
    return float(digits.replace(",", "."))


def _is_unit(said: str, unit: str) -> bool:
    """Whether what stands behind a number is its unit, in one of its forms."""
    if not said:
        return True
    if unit in _PERCENT:
        return said in _PERCENT
    own = {unit, unit.removesuffix("s"), f"{unit}s"}
    return said in own or _CURRENCIES.get(said, "") in own - {"", "s"}


def _find_spelled(text: str, unit: str) -> float | None:
    if text.startswith(_PER_HUNDRED):
        return parse_number_words(text.removeprefix(_PER_HUNDRED)) if unit in _PERCENT else None
    # "twelve days": the unit is no part of the number.
    words = text.removesuffix(unit).strip() if unit else text
    return parse_number_words(words)
