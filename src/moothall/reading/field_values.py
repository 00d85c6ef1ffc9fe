"""Reads one value of an answer, as people and models write it in both languages, into the schema of its field.

First what a field may hold, and how its name is compared; then each kind of value, with a note on how it was read if it was not
written so; last the words for numbers, shares, yes and no. A note is a code, the field, what was given and what it was read as.
What cannot be read raises BadAnswer with what was expected.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NoReturn

from moothall.domain.claims import cut_text
from moothall.domain.effects import Schema
from moothall.domain.safe_text import compile_late, one_line
from moothall.domain.text.numerals import parse_number_words
from moothall.domain.topic import normalize_label
from moothall.domain.vocabulary import (
    CHOICE_WORDS,
    DEGREES,
    EMPTY_WORDS,
    PATTERNS,
)
from moothall.errors import BadAnswer, UnclearChoice
from moothall.reading.choices import build_choices, has_meaning, is_line_number
from moothall.reading.estimates import read_estimate
from moothall.reading.schemas import ESTIMATE, OPEN_LIST
from moothall.reading.stated import PositionRead, find_choice, is_sentence

MAX_CACHED_NAME_LENGTH: Final = 64
MAX_NUMBER: Final = 1e15
_NO_LETTERS: Final = compile_late(r"[\W_]+")


def fold_name(name: str) -> str:
    """Return the form in which names of fields are compared: `movedBy` is `moved_by`."""
    # Only short ones are kept: names of fields are, and what else stands in their place need not stay in memory.
    if len(name) > MAX_CACHED_NAME_LENGTH:
        return _NO_LETTERS.sub("", name).casefold()
    return _fold_short_name(name)


@lru_cache(maxsize=1_024)
def _fold_short_name(name: str) -> str:
    return _NO_LETTERS.sub("", name).casefold()


def fold_names(names: Mapping[str, object] | Sequence[str]) -> set[str]:
    return {fold_name(name) for name in names}


def is_free_text(schema: Schema) -> bool:
    return schema.get("type") == "string" and "enum" not in schema


MAX_NOTES: Final = 20
MAX_GIVEN: Final = 60
NOT_GIVEN: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingNotes:
    """The notes on one answer. The codes are listed in `moothall.reading.lenient_parser`."""

    is_strict: bool = False
    """Whether an answer is refused rather than cut, or read without a part of it."""

    lines: list[str] = field(default_factory=list)

    def add(
        self, code: str, path: str, given: object = NOT_GIVEN, result: object = NOT_GIVEN
    ) -> None:
        if len(self.lines) < MAX_NOTES:
            parts = [code, path or "the answer"]
            if given is not NOT_GIVEN:
                parts.append(show_value(given))
            if result is not NOT_GIVEN:
                parts += ["→", show_value(result)]
            self.lines.append(" ".join(parts))

    def drop_after(self, count: int) -> None:
        """Keep the first notes only: what came after them was a reading that failed."""
        del self.lines[count:]


def show_value(value: object) -> str:
    if isinstance(value, str):
        return repr(_cut_line(value))
    return _cut_line(json.dumps(value, ensure_ascii=False, default=str))


def _cut_line(text: str) -> str:
    line = one_line(text)
    if len(line) <= MAX_GIVEN:
        return line
    return f"{line[: MAX_GIVEN - 1]}…"


def join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def read_value(schema: Schema, value: object, path: str, notes: ReadingNotes) -> object:
    """Read a value that is neither an object nor a list."""
    if OPEN_LIST in schema:
        return _read_open_choice(schema, value, path, notes)
    if "const" in schema or "enum" in schema:
        return read_choice(schema.get("enum") or [schema["const"]], value, path, notes)
    if ESTIMATE in schema or _is_unlimited(schema):
        number = read_estimate(value, path, schema.get(ESTIMATE, ""))
        if number != value:
            notes.add("read", path, value, number)
        return number
    match schema.get("type"):
        case "string":
            return read_text(schema, value, path, notes)
        case "number" | "integer":
            return read_number(schema, value, path, notes)
        case "boolean" if isinstance(value, bool):
            return value
        case "boolean":
            flag = read_flag(_unwrap_one(value))
            if flag is None:
                raise BadAnswer(f"{path}: true or false was expected (given: {show_value(value)})")
            notes.add("read", path, value, flag)
            return flag
        case "null":
            if is_empty(value):
                return None
            raise BadAnswer(f"{path}: nothing was expected (given: {show_value(value)})")
        case _:
            return value


def _is_unlimited(schema: Schema) -> bool:
    """Whether a number may be any: an estimate, which is never a share that "40 %" stands for."""
    limits = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    return schema.get("type") == "number" and limits.isdisjoint(schema)


def _read_open_choice(schema: Schema, value: object, path: str, notes: ReadingNotes) -> object:
    """Read one of the listed values, else a few other words as they are."""
    try:
        return read_choice(schema["enum"], value, path, notes)
    except BadAnswer:
        if not isinstance(value, str) or len(value) > schema["maxLength"]:
            raise
        return one_line(value)


def read_choice(allowed: Sequence[object], value: object, path: str, notes: ReadingNotes) -> object:
    """Read one of the allowed values: "B. Postgres", "赞成", "#3"."""
    if any(value == each and type(value) is type(each) for each in allowed):
        return value
    value = _unwrap_one(value)
    chosen: object | None = None
    code = "read"
    if are_integers(allowed):
        number = read_integer(value)
        if number in allowed:
            chosen = number
    elif isinstance(value, str | int | float):
        read = find_allowed(str(value), allowed)
        if read is not None:
            chosen = read.value
        if is_sentence(str(value), build_choices(tuple(map(str, allowed)))):
            code = "words"
    if chosen is None:
        shown = ", ".join(str(each) for each in allowed[:12]) or "none"
        fault = f"{path}: expected one of: {shown} (given: {show_value(value)})"
        raise_unread_choice(fault, path, allowed, value)
    notes.add(code, path, value, chosen)
    return chosen


def raise_unread_choice(
    fault: str, path: str, allowed: Sequence[object], value: object
) -> NoReturn:
    """Raise UnclearChoice where words were said in place of a choice, and BadAnswer where there is nothing to ask about."""
    is_said = isinstance(value, str) and bool(_NO_LETTERS.sub("", value))
    if not is_said or len(allowed) < 2 or not all(isinstance(each, str) for each in allowed):
        raise BadAnswer(fault)
    raise UnclearChoice(
        fault, field=path, choices=tuple(map(str, allowed)), words=str(value).strip()
    )


def are_integers(values: Iterable[object]) -> bool:
    return all(isinstance(each, int) for each in values)


def _find_text(value: object) -> object:
    """Return the text that a list of lines, an object or a number holds; the value itself if it holds none."""
    if isinstance(value, list):
        if value and all(isinstance(each, str | int | float) for each in value):
            return "\n".join(map(str, value))
    elif isinstance(value, dict):
        inner = [each for each in value.values() if isinstance(each, str) and each.strip()]
        return max(inner, key=len, default=value)
    elif isinstance(value, bool | int | float):
        return json.dumps(value)
    return value


def read_text(schema: Schema, value: object, path: str, notes: ReadingNotes) -> str:
    """Read a text: also from a list of lines, an object that holds one, or a number; one that is too long is cut."""
    text = _find_text(value)
    if not isinstance(text, str):
        raise BadAnswer(f"{path}: a text was expected (given: {show_value(value)})")
    if text is not value:
        notes.add("read", path, value)
    if schema.get("minLength") and not text.strip():
        raise BadAnswer(f"{path}: a text was expected, and it is empty")
    longest = schema.get("maxLength")
    if longest is None or len(text) <= longest:
        return text
    if notes.is_strict:
        raise BadAnswer(
            f"{path}: a text of at most {longest} characters was expected, and it has {len(text)}"
        )
    notes.add("cut", path, f"{len(text)} > {longest}")
    return cut_text(text, longest)


def read_number(schema: Schema, value: object, path: str, notes: ReadingNotes) -> float | int:
    """Read a number within its limits: "#3" and "three" for a whole one, "80%" and "high" for a share."""
    least = _find_limit(schema, "minimum", "exclusiveMinimum", -math.inf)
    most = _find_limit(schema, "maximum", "exclusiveMaximum", math.inf)
    plain = _unwrap_one(value)
    number: float | int | None
    if schema.get("type") == "integer":
        number = read_integer(plain)
    else:
        number = read_share(plain, least, most)
    # NaN is within no limits, and infinity is not JSON.
    if number is None or not least <= number <= most or abs(number) == math.inf:
        limits = ""
        if math.isfinite(least) and math.isfinite(most):
            limits = f" from {least:g} to {most:g}"
        raise BadAnswer(f"{path}: a number{limits} was expected (given: {show_value(value)})")
    if number == value and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    notes.add("read", path, value, number)
    return number


def _find_limit(schema: Schema, name: str, exclusive: str, default: float) -> float:
    """Return a limit of a number by the name that the schema has for it."""
    for key in (name, exclusive):
        limit: float | None = schema.get(key)
        if limit is not None:
            return limit
    return default


def find_allowed(text: str, allowed: Sequence[object]) -> PositionRead | None:
    """Return the allowed choice that a text makes. A line number counts where names without numbers are listed."""
    choices = build_choices(tuple(map(str, allowed)))
    has_numbers = any(re.search(r"\d", choice.text) for choice in choices)
    is_numbered = not has_numbers and not has_meaning(choices)
    if is_line_number(text, choices) and not is_numbered:
        return None
    return find_choice(text, choices)


def _unwrap_one(value: object) -> object:
    """Return the one item of a list, or the one number of a small object such as {"line": 3}."""
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    if isinstance(value, dict) and len(value) == 1:
        inner = next(iter(value.values()))
        if isinstance(inner, int | float):
            return inner
    return value


MAX_VALUE_LENGTH: Final = 200
_TRUE: Final = frozenset({"yes", "1", *CHOICE_WORDS["yes"]})
_FALSE: Final = frozenset({"no", "0", *CHOICE_WORDS["no"]})
_DIGITS: Final = r"[-+]?(?:\d+(?:\.\d+|,\d{1,2})?|0,\d+|\.\d+)(?![\d,])"
_NUMBER: Final = compile_late(_DIGITS)
_SCALES: Final = frozenset({1.0, 5.0, 10.0, 100.0})
"""What a share is counted out of: "8/10"."""
_STATED_NUMBER: Final = compile_late(
    r"[\s*\"'(]*+(?:(?:my |the )?(?:confidence|probability|certainty|score|信心|把握|置信度|概率)?\s*(?:is|of|为|是|:|：|=)?\s*"
    rf"(?:about|around|roughly|~|≈|大约|约)?\s*)(?:百分之)?{_DIGITS}\s*(?:%|percent|"
    r"(?:/|out of|of)\s*\d+)?(?:\s*(?:sure|certain|confident))?[\s*\"').。!]*"
)
_LINE: Final = compile_late(
    r"(?:(?:lines?|entry|entries|finding|idea|number|no|nr|id|challenge|第|条目|编号)[ .:#-]{0,3}){0,2}"
    r"#?[ ]?(\d{1,9})(?:\.0{1,3})?[ ]?[条号]?",
    re.IGNORECASE,
)
_BULLET: Final = compile_late(r"^\s*(?:[-*•]|\d{1,2}[.)、])\s+")
_BETWEEN_NUMBERS: Final = compile_late(r"[,;、，；\s]+|\band\b|和")


def is_empty(value: object) -> bool:
    """Whether a value stands for nothing: null, an empty text or list, or a word for it."""
    if isinstance(value, str):
        return value.strip().casefold() in EMPTY_WORDS
    return value is None or value in ([], {})


def read_flag(value: object) -> bool | None:
    """Return yes or no; None if it says neither."""
    word = normalize_label(str(value))
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    return None


def read_integer(value: object) -> int | None:
    """Return a whole number: 3, 3.0, "#3", "line 3", "three", "第三条"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str) or len(value) > MAX_VALUE_LENGTH:
        return None
    match = _LINE.fullmatch(value.replace("＃", "#").strip(" \t\n\"'`*#()[]{}.,;:（）【】"))
    if match is not None:
        return int(match[1])
    spelled = _read_spelled(value)
    if spelled is None:
        return None
    return int(spelled)


def split_numbers(text: str) -> list[str]:
    """Return the parts of a list of numbers: "#3, #5", "3 and 5", or one such as "line 3"."""
    if read_integer(text) is not None:
        return [text]
    return [each for each in _BETWEEN_NUMBERS.split(text) if each]


def split_list(item: Schema, value: object) -> list[object]:
    """Return the items that one value stands for: "3, 5" are two lines, a text is one item."""
    kinds = item.get("enum", ())
    is_number = item.get("type") in {"integer", "number"} or (kinds and are_integers(kinds))
    if isinstance(value, str) and is_number:
        return list(split_numbers(value))
    return [value]


def split_bullets(text: str) -> list[str]:
    """Return the items of a list in words; a text without marks is one item."""
    lines = [_BULLET.sub("", line).strip() for line in text.strip().splitlines() if line.strip()]
    if any(map(_BULLET.match, text.splitlines())):
        return lines
    return [" ".join(lines)]


def says_something(value: object) -> bool:
    """Whether it is a sentence rather than a word for a choice."""
    return isinstance(value, str) and (len(value.split()) > 1 or len(value.encode()) >= 12)


def read_share(value: object, low: float, high: float) -> float | None:
    """Return a number within its limits: 0.8, "0.8", "80%", "8/10", "eighty percent", "high"."""
    number = _read_number(value)
    if number is None:
        return None
    if low <= number <= high:
        return number
    # More than ten can only be a percentage; between one and ten it could as well be a mark out of ten.
    if (
        (low, high) == (0, 1)
        and 10 < number <= 100
        and not (isinstance(value, str) and _is_percent(value))
    ):
        return number / 100
    return None


def split_sureness(text: str) -> tuple[str, float | None]:
    """Return a text without the words at its end that say how sure its writer is, and that share; None without such words."""
    sure = PATTERNS["sureness"].search(text)
    if sure is None:
        return text, None
    share = read_share(sure["share"] or sure["of"], 0, 1)
    if share is None:
        return text, None
    return text[: sure.start()].rstrip(), share


def _is_percent(text: str) -> bool:
    return any(sign in text for sign in ("%", "％", "percent", "百分之"))


def _read_number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # JSON knows whole numbers of any length, and no float holds those.
        return float(value) if abs(value) <= MAX_NUMBER else None
    if (
        not isinstance(value, str)
        or len(value) > MAX_VALUE_LENGTH
        or value.rstrip().endswith(("?", "？"))
    ):
        return None
    text = " ".join(unicodedata.normalize("NFKC", value).casefold().split())
    numbers = [float(each.replace(",", ".")) for each in _NUMBER.findall(text)]
    # The whole text is the number: "less than 20 %" is not 20 %, and "50/50" is not certain.
    stated = _STATED_NUMBER.fullmatch(text)
    if numbers and stated is None:
        return None
    if len(numbers) == 2:
        amount, scale = numbers
        return amount / scale if scale in _SCALES else None
    if len(numbers) == 1:
        return _divide_percent(numbers[0], text)
    if (degree := DEGREES.get(normalize_label(text))) is not None:
        return degree
    spelled = _read_spelled(text)
    if spelled is None:
        return None
    return _divide_percent(spelled, text)


def _divide_percent(number: float, text: str) -> float:
    """Return the share that a number is, where its text says that it is a percentage."""
    if _is_percent(text):
        return number / 100
    return number


def _read_spelled(text: str) -> float | None:
    """Return a number in words: "three", "eighty-five percent", "line three", "第三条", "百分之八十"."""
    plain = normalize_label(text).strip(" .。#第条号").removeprefix("百分之")
    words = [each for each in plain.split() if each not in {"percent", "line"}]
    return parse_number_words(" ".join(words))
