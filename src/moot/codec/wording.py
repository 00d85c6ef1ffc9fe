"""What words mean: numbers, choices and line references as people and models write them, in both languages."""

import re
from collections.abc import Sequence
from typing import Final

from moot.domain.topic import normalize_label

_SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    "support": ("agree", "agreed", "yes", "for", "in favor", "in favour", "approve", "accept", "支持", "赞成", "同意", "赞同"),
    "conditional_support": ("conditional", "yes if", "support with conditions", "有条件支持", "有条件"),
    "conditional": ("conditional support", "yes if", "有条件支持", "有条件"),
    "oppose": ("against", "disagree", "no", "reject", "object", "opposed", "反对", "不同意", "不支持"),
    "abstain": ("neutral", "undecided", "abstention", "弃权", "中立"),
    "challenge": ("oppose", "disagree", "object", "objection", "question", "contest", "against", "质疑", "反对"),
    "extend": ("add", "build", "补充", "扩展"),
    "propose": ("proposal", "suggest", "提议", "提案", "建议"),
    "synthesize": ("synthesis", "synthesise", "summary", "summarize", "resolution", "综合", "总结"),
    "vote": ("ballot", "投票"),
    "pass": ("skip", "nothing", "跳过"),
    "agree": ("support", "yes", "赞同", "同意", "支持"),
    "contest": ("disagree", "oppose", "challenge", "no", "反对", "质疑"),
    "none": ("neutral", "neither", "n/a", "无", "中立"),
    "adopted": ("adopt", "accept", "accepted", "yes", "采纳", "接受"),
    "partly": ("partial", "partially", "partly adopted", "in part", "部分采纳", "部分"),
    "declined": ("decline", "reject", "rejected", "no", "not adopted", "拒绝", "不采纳", "未采纳"),
    "confirmed": ("confirm", "true", "correct", "verified", "yes", "证实", "确认", "属实"),
    "refuted": ("refute", "false", "wrong", "incorrect", "no", "证伪", "反驳", "不实"),
    "unclear": ("unknown", "uncertain", "not sure", "不明", "不确定"),
    "APPROVED": ("approve", "accept", "accepted", "pass", "passed", "通过", "批准"),
    "REJECTED": ("reject", "not approved", "fail", "failed", "驳回", "不通过", "拒绝"),
    "high": ("sure", "very", "高"),
    "medium": ("moderate", "mid", "fair", "中", "中等"),
    "low": ("unsure", "slight", "低"),
    "yes": ("true", "是", "对"),
    "no": ("false", "否", "不"),
    "known": ("yes", "知道"),
    "unknown": ("no", "不知道"),
}
_TRUE: Final = frozenset({"true", "yes", "y", "1", "是", "对", "真"})
_FALSE: Final = frozenset({"false", "no", "n", "0", "否", "不", "假"})
_ONES: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_CHINESE: Final = "零一二三四五六七八九十"
_DEGREES: Final[dict[str, float]] = {
    **dict.fromkeys(("very high", "very sure", "certain", "很高", "非常确定"), 0.9),
    **dict.fromkeys(("high", "sure", "confident", "高", "确定"), 0.8),
    **dict.fromkeys(("medium", "moderate", "fair", "half", "fairly sure", "中", "中等", "一半"), 0.5),
    **dict.fromkeys(("low", "unsure", "低", "不确定"), 0.2),
    **dict.fromkeys(("very low", "very unsure", "很低"), 0.1),
}
# Words that turn what they stand beside into something else: a denial, or a condition.
_QUALIFIERS: Final = re.compile(
    r"\b(?:not|no|never|neither|against|don['’]?t|isn['’]?t|without|conditional|conditionally|if|unless|provided|but)\b"
    r"|不|非|别|否|有条件|如果|除非|前提|但",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"[-+]?\d+(?:[.,]\d+)?")
_LINE: Final = re.compile(
    r"(?:(?:lines?|entry|entries|finding|idea|number|no|nr|id|challenge|第|条目|编号)[ .:#-]{0,3}){0,2}"
    r"#?[ ]?(\d{1,9})(?:\.0{1,3})?[ ]?[条号]?",
    re.IGNORECASE,
)
_EMPTY: Final = frozenset({"", "null", "none", "nil", "n/a", "na", "undefined", "-", "—", "无", "没有", "空", "[]", "{}"})
LONGEST_CHOICE: Final = 200


def is_empty(value: object) -> bool:
    """Whether a value stands for nothing: null, an empty text or list, or a word for it."""
    if isinstance(value, str):
        return value.strip().casefold() in _EMPTY
    return value is None or value in ([], {})


def read_flag(value: object) -> bool | None:
    """Return yes or no; None if it says neither."""
    word = normalize_label(str(value)).strip(".!。！")
    return True if word in _TRUE else False if word in _FALSE else None


def read_integer(value: object) -> int | None:
    """Return a whole number: 3, 3.0, "#3", "line 3", "three", "第三条"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if not isinstance(value, str) or len(value) > LONGEST_CHOICE:
        return None
    match = _LINE.fullmatch(value.strip(" \t\n\"'`*#()[]{}.,;:（）【】"))
    if match is not None:
        return int(match[1])
    spelled = _read_spelled(value)
    return int(spelled) if spelled is not None else None


def read_share(value: object, low: float, high: float) -> float | None:
    """Return a number within its limits: 0.8, "0.8", "80%", "8/10", "eighty percent", "high"."""
    number = _read_number(value)
    if number is None:
        return None
    if low <= number <= high:
        return number
    # More than ten can only be a percentage; between one and ten it could as well be a mark out of ten.
    if (low, high) == (0, 1) and 10 < number <= 100:
        return number / 100
    return None


def _read_number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str) or len(value) > LONGEST_CHOICE:
        return None
    text = normalize_label(value).replace("％", "%")
    numbers = [float(each.replace(",", ".")) for each in _NUMBER.findall(text)]
    if len(numbers) == 1:
        return numbers[0] / 100 if "%" in text or "percent" in text or "百分之" in text else numbers[0]
    # "8/10" and "8 out of 10"
    if len(numbers) == 2 and numbers[1] > 0 and re.fullmatch(r"\D*\d[\d.,]*\s*(?:/|out of|of)\s*\d[\d.,]*\D*", text):
        return numbers[0] / numbers[1]
    if numbers:
        return None
    if text in _DEGREES:
        return _DEGREES[text]
    spelled = _read_spelled(text)
    if spelled is None:
        return None
    return spelled / 100 if "percent" in text or "%" in text or "百分之" in text else spelled


def _read_spelled(text: str) -> float | None:
    """Return a number in words: "three", "eighty-five percent", "zero point eight", "三"."""
    words = [each for each in re.split(r"[\s-]+", normalize_label(text).strip(" .。#第条号")) if each not in {"percent", "line"}]
    if len(words) == 1 and words[0] in _CHINESE and len(words[0]) == 1:
        return float(_CHINESE.index(words[0]))
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
        if word in _ONES:
            total += _ONES.index(word)
        elif word in _TENS:
            total += 10 * (_TENS.index(word) + 2)
        else:
            return None
    return total


def read_option(value: object, options: Sequence[str]) -> str | None:
    """Return the option that a value names: in other letters, with its label or without, or by a word for it."""
    if not isinstance(value, str) or is_blank(value):
        return None
    given = _fold(value)
    folded = {_fold(option): option for option in options}
    if given in folded:
        return folded[given]
    for option in options:
        if given in {_fold(word) for word in _SYNONYMS.get(option, ())}:
            return option
    by_label = [option for option in options if _starts_with(given, _fold(option)) or _names_label(given, _fold(option))]
    if len(by_label) == 1:
        return by_label[0]
    return _find_named(given, folded) if len(value) <= LONGEST_CHOICE else None


def find_option(text: str, options: Sequence[str]) -> str | None:
    """Return the one option that the first words of a text name; None if they name none, or more than one."""
    head = re.split(r"[.!?;:。！？；：\n]", text.strip(), maxsplit=1)[0][:LONGEST_CHOICE]
    return read_option(head, options) or _find_synonym(_fold(head), options)


def _find_synonym(head: str, options: Sequence[str]) -> str | None:
    if _QUALIFIERS.search(head):
        return None
    found = {option for option in options for word in (option, *_SYNONYMS.get(option, ())) if _holds(head, _fold(word))}
    return found.pop() if len(found) == 1 else None


def is_blank(text: str) -> bool:
    return not text.strip()


def _fold(text: str) -> str:
    return normalize_label(text.replace("_", " ")).strip("\"'`*.,;:!?()[]{}。，；：！？（）【】“”‘’ ")


def _starts_with(given: str, option: str) -> bool:
    """Whether it begins with the option as a label: "b. postgres" for "b"."""
    rest = given[len(option) :]
    if not option or not given.startswith(option) or not re.match(r"\s*[.):,;\-–—。、，：）]", rest):
        return False
    # A letter or a number is a label, whatever follows it; a word may be denied or made conditional.
    return len(option) <= 2 or not _QUALIFIERS.search(rest)


def _names_label(given: str, option: str) -> bool:
    """Whether the option has a label, and what was given is the label or the rest: "postgres" for "b. postgres"."""
    match = re.match(r"(\w{1,2})\s*[.):\-–—、：）]\s*(.+)", option)
    return match is not None and given in {match[1], match[2]}


def _find_named(given: str, folded: dict[str, str]) -> str | None:
    """Return the one option that a short text names without denying it."""
    named = [option for option in folded if option and (_holds(given, option) or (len(given) >= 3 and _holds(option, given)))]
    if len(named) > 1:
        # "conditional support" names "support" as well: the longest one is meant, if it holds the others.
        longest = max(named, key=len)
        named = [longest] if all(_holds(longest, option) for option in named) else named
    if len(named) != 1 or len(given.split()) > len(named[0].split()) + 4:
        return None
    outside = given.replace(named[0], " ")
    return None if _QUALIFIERS.search(outside) else folded[named[0]]


def _holds(text: str, part: str) -> bool:
    if not part.isascii():
        return part in text
    return re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) is not None
