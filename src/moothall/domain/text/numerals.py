"""The one parser of numbers that are written in words, in English and in Chinese."""

from collections.abc import Sequence
from typing import Final

from moothall.domain.safe_text import compile_late

_SMALL: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen"),
    *("sixteen", "seventeen", "eighteen", "nineteen"),
)
_ROUND: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
ONES: Final = {word: value for value, word in enumerate(_SMALL)}
TENS: Final = {word: 10 * value for value, word in enumerate(_ROUND, start=2)}
_HUNDRED: Final = "hundred"
_POINT: Final = "point"
_BETWEEN_WORDS: Final = compile_late(r"[\s-]+")

_DIGITS: Final = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
}
_UNITS: Final = {"十": 10, "百": 100, "千": 1_000}
_MYRIADS: Final = {"万": 10_000, "亿": 100_000_000}
CHINESE_SIGNS: Final = "零〇一二两三四五六七八九十百千万亿"
_CHINESE: Final = compile_late(rf"[{CHINESE_SIGNS}]+")
_CHINESE_POINT: Final = "点"
_TENTHS: Final = compile_late(
    r"(?P<tenth>[一二三四五六七八九十])成(?P<hundredth>[一二三四五六七八九])?"
)


def parse_english(words: Sequence[str]) -> int | None:
    """Return a number of at most three digits in words: "eighty five", "one hundred"; None for anything else."""
    if _HUNDRED in words:
        at = words.index(_HUNDRED)
        hundreds = 1 if list(words[:at]) in ([], ["a"]) else _parse_digit(words[:at])
        rest = _parse_below_hundred(words[at + 1 :]) if words[at + 1 :] else 0
        if hundreds is None or rest is None:
            return None
        return 100 * hundreds + rest
    return _parse_below_hundred(words)


def _parse_below_hundred(words: Sequence[str]) -> int | None:
    if len(words) == 1:
        return ONES.get(words[0], TENS.get(words[0]))
    if len(words) != 2:
        return None
    ten, one = TENS.get(words[0]), _parse_digit(words[1:])
    if ten is None or not one:
        return None
    return ten + one


def _parse_digit(words: Sequence[str]) -> int | None:
    if len(words) != 1:
        return None
    value = ONES.get(words[0])
    if value is None or value > 9:
        return None
    return value


def parse_chinese(numeral: str) -> int:
    """Return a whole number that consists of Chinese numerals alone: 十五, 一百二十, 三万."""
    whole = section = digit = 0
    for sign in numeral:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        elif sign in _UNITS:
            # A unit without a digit before it counts once: 十 is 10, 十五 is 15.
            count = digit or 1
            section += count * _UNITS[sign]
            digit = 0
        else:
            # 亿 (10⁸) multiplies everything read so far (一万亿), 万 (10⁴) only what stands after it (一亿二千万).
            read = section + digit or (0 if whole else 1)
            if whole < _MYRIADS[sign]:
                whole = (whole + read) * _MYRIADS[sign]
            else:
                whole += read * _MYRIADS[sign]
            section = digit = 0
    return whole + section + digit


def parse_number_words(text: str) -> float | None:
    """Return the number that a text spells and nothing else: "eighty-five", "zero point eight", 十五, 零点八, 八成五."""
    tenths = _TENTHS.fullmatch(text)
    if tenths is not None:
        hundredth = tenths["hundredth"] or "零"
        return (10 * parse_chinese(tenths["tenth"]) + parse_chinese(hundredth)) / 100
    if text and not text.isascii():
        whole, point, digits = text.partition(_CHINESE_POINT)
        return _join_parts(_parse_chinese_part(whole), point, _spell_chinese(digits))
    words = [word for word in _BETWEEN_WORDS.split(text) if word]
    if _POINT not in words:
        return _join_parts(parse_english(words), "", "")
    at = words.index(_POINT)
    return _join_parts(parse_english(words[:at]), _POINT, _spell_english(words[at + 1 :]))


def _join_parts(whole: int | None, point: str, digits: str) -> float | None:
    """Return a number from its whole part and the digits behind its point; None where one of them is missing."""
    if whole is None or (point and not digits):
        return None
    return float(f"{whole}.{digits}" if digits else whole)


def _parse_chinese_part(numeral: str) -> int | None:
    if _CHINESE.fullmatch(numeral) is None:
        return None
    return parse_chinese(numeral)


def _spell_chinese(numerals: str) -> str:
    """Return the digits of numerals that are one digit each; empty if one of them is none."""
    digits = [_DIGITS.get(sign) for sign in numerals]
    if None in digits:
        return ""
    return "".join(map(str, digits))


def _spell_english(words: Sequence[str]) -> str:
    """Return the digits that words spell, each of them one; empty if one of them is none."""
    digits = [_parse_digit([word]) for word in words]
    if None in digits:
        return ""
    return "".join(map(str, digits))
