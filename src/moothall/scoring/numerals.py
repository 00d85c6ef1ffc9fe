"""Finds numbers in a text, in digits or in words, and returns them in one form."""

import re
from collections.abc import Iterator
from typing import Final

# From two on: "one" and "一" are mostly articles, not numbers.
_SMALL: Final = "two three four five six seven eight nine ten eleven twelve"
_ENGLISH: Final = {word: str(value) for value, word in enumerate(_SMALL.split(), start=2)} | {
    "twenty": "20",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
}
_DIGITS: Final = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"两": 2}
_TENS: Final = {"十": 10, "百": 100, "千": 1_000}
_MYRIADS: Final = {"万": 10_000, "亿": 100_000_000}
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?|[a-z]+|[零一二两三四五六七八九十百千万亿]+")
_EMPTY: Final = frozenset({"一", "千万", "万一", "百", "千", "万", "亿", "零"})
"""Chinese words that look like numbers and mostly are not ("in case", "by all means")."""


def find_numbers(text: str) -> Iterator[str]:
    """Yield the numbers of a text, in digits or in words, without leading or trailing zeros."""
    for match in _NUMBER.finditer(text):
        piece = match.group()
        if piece[0].isdigit():
            yield piece.rstrip("0").rstrip(".") if "." in piece else piece.lstrip("0") or "0"
        elif piece in _ENGLISH:
            yield _ENGLISH[piece]
        elif not piece.isascii() and piece not in _EMPTY:
            yield str(_parse_chinese(piece))


def _parse_chinese(numeral: str) -> int:
    whole = section = digit = 0
    for sign in numeral:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        elif sign in _TENS:
            # A unit without a digit before it counts once: 十 is 10, 十五 is 15.
            section += (digit or 1) * _TENS[sign]
            digit = 0
        else:
            # 亿 (10⁸) multiplies everything read so far (一万亿), 万 (10⁴) only what stands after it (一亿二千万).
            read = section + digit or (0 if whole else 1)
            whole = (whole + read) * _MYRIADS[sign] if whole < _MYRIADS[sign] else whole + read * _MYRIADS[sign]
            section = digit = 0
    return whole + section + digit
