"""Reads numbers, shares, line references, yes and no as people and models write them, in both languages."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from moothall.domain.topic import normalize_label
from moothall.domain.vocabulary import CHINESE_DIGITS, CHOICE_WORDS, DEGREES, EMPTY_WORDS, ONES, TENS

MAX_VALUE_LENGTH: Final = 200
_TRUE: Final = frozenset({"yes", "1", *CHOICE_WORDS["yes"]})
_FALSE: Final = frozenset({"no", "0", *CHOICE_WORDS["no"]})
_DIGITS: Final = r"[-+]?(?:\d+(?:\.\d+|,\d{1,2})?|0,\d+|\.\d+)(?![\d,])"
_NUMBER: Final = re.compile(_DIGITS)
_SCALES: Final = frozenset({1.0, 5.0, 10.0, 100.0})
"""What a share is counted out of: "8/10"."""
_STATED_NUMBER: Final = re.compile(
    r"[\s*\"'(]*+(?:(?:my |the )?(?:confidence|probability|certainty|score|信心|把握|置信度|概率)?\s*(?:is|of|为|是|:|：|=)?\s*"
    rf"(?:about|around|roughly|~|≈|大约|约)?\s*)(?:百分之)?{_DIGITS}\s*(?:%|percent|"
    r"(?:/|out of|of)\s*\d+)?(?:\s*(?:sure|certain|confident))?[\s*\"').。!]*"
)
_LINE: Final = re.compile(
    r"(?:(?:lines?|entry|entries|finding|idea|number|no|nr|id|challenge|第|条目|编号)[ .:#-]{0,3}){0,2}"
    r"#?[ ]?(\d{1,9})(?:\.0{1,3})?[ ]?[条号]?",
    re.IGNORECASE,
)
_BETWEEN_NUMBERS: Final = re.compile(r"[,;、，；\s]+|\band\b|和")


def is_empty(value: object) -> bool:
    """Whether a value stands for nothing: null, an empty text or list, or a word for it."""
    if isinstance(value, str):
        return value.strip().casefold() in EMPTY_WORDS
    return value is None or value in ([], {})


def is_blank(text: str) -> bool:
    return not text.strip()


def read_flag(value: object) -> bool | None:
    """Return yes or no; None if it says neither."""
    word = normalize_label(str(value))
    return True if word in _TRUE else False if word in _FALSE else None


def read_integer(value: object) -> int | None:
    """Return a whole number: 3, 3.0, "#3", "line 3", "three", "第三条"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if not isinstance(value, str) or len(value) > MAX_VALUE_LENGTH:
        return None
    match = _LINE.fullmatch(value.replace("＃", "#").strip(" \t\n\"'`*#()[]{}.,;:（）【】"))
    if match is not None:
        return int(match[1])
    spelled = _read_spelled(value)
    return int(spelled) if spelled is not None else None


def split_numbers(text: str) -> list[str]:
    """Return the parts of a list of numbers: "#3, #5", "3 and 5", or one such as "line 3"."""
    return [text] if read_integer(text) is not None else [each for each in _BETWEEN_NUMBERS.split(text) if each]


def read_share(value: object, low: float, high: float) -> float | None:
    """Return a number within its limits: 0.8, "0.8", "80%", "8/10", "eighty percent", "high"."""
    number = _read_number(value)
    if number is None:
        return None
    if low <= number <= high:
        return number
    # More than ten can only be a percentage; between one and ten it could as well be a mark out of ten.
    if (low, high) == (0, 1) and 10 < number <= 100 and not (isinstance(value, str) and _is_percent(value)):
        return number / 100
    return None


def _is_percent(text: str) -> bool:
    return any(sign in text for sign in ("%", "％", "percent", "百分之"))


def _read_number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str) or len(value) > MAX_VALUE_LENGTH or value.rstrip().endswith(("?", "？")):
        return None
    text = " ".join(unicodedata.normalize("NFKC", value).casefold().split())
    numbers = [float(each.replace(",", ".")) for each in _NUMBER.findall(text)]
    # The whole text is the number: "less than 20 %" is not 20 %, and "50/50" is not certain.
    stated = _STATED_NUMBER.fullmatch(text)
    if numbers and stated is None:
        return None
    if len(numbers) == 2:
        return numbers[0] / numbers[1] if numbers[1] in _SCALES else None
    if len(numbers) == 1:
        return numbers[0] / 100 if _is_percent(text) else numbers[0]
    if (degree := DEGREES.get(normalize_label(text))) is not None:
        return degree
    spelled = _read_spelled(text)
    if spelled is None:
        return None
    return spelled / 100 if _is_percent(text) else spelled


def _read_spelled(text: str) -> float | None:
    """Return a number in words: "three", "eighty-five percent", "zero point eight", "三"."""
    words = [each for each in re.split(r"[\s-]+", normalize_label(text).strip(" .。#第条号")) if each not in {"percent", "line"}]
    if len(words) == 1 and words[0] in CHINESE_DIGITS and len(words[0]) == 1:
        return float(CHINESE_DIGITS.index(words[0]))
    if "point" in words:
        at = words.index("point")
        whole, digits = _add_words(words[:at]), [_add_words([each]) for each in words[at + 1 :]]
        if whole is None or not digits or any(each is None or each > 9 for each in digits):
            return None
        return float(f"{whole}.{''.join(str(each) for each in digits)}")
    total = _add_words(words)
    return None if total is None else float(total)


def _add_words(words: Sequence[str]) -> int | None:
    if not 1 <= len(words) <= 2:
        return None
    total = 0
    for word in words:
        if word in ONES:
            total += ONES.index(word)
        elif word in TENS:
            total += 10 * (TENS.index(word) + 2)
        else:
            return None
    return total
