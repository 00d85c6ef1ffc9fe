"""Reads one value of an answer, as people and models write it, into the schema of its field, and notes how it was read.

Each function returns the value, notes how it was read if it was not written so, and raises BadAnswer with what was expected.
A note is a code, the field, what was given and what it was read as.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from moothall.codec.choice_rule import PositionRead, build_choices, find_choice, has_meaning, is_line_mark, is_sentence
from moothall.codec.json_text import extract_object
from moothall.codec.value_words import is_blank, is_empty, read_flag, read_integer, read_share
from moothall.domain.claims import cut_text
from moothall.domain.effects import Schema
from moothall.domain.safe_text import one_line
from moothall.errors import BadAnswer

MAX_NOTES: Final = 20
MAX_GIVEN: Final = 60
NOT_GIVEN: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingNotes:
    """The notes on one answer. The codes are listed in `moothall.codec.lenient_parser`."""

    is_strict: bool = False
    """Whether an answer is refused rather than cut, or read without a part of it."""

    lines: list[str] = field(default_factory=list)

    def add(self, code: str, path: str, given: object = NOT_GIVEN, result: object = NOT_GIVEN) -> None:
        if len(self.lines) < MAX_NOTES:
            parts = [code, path or "the answer"]
            parts += [show_value(given)] if given is not NOT_GIVEN else []
            parts += ["→", show_value(result)] if result is not NOT_GIVEN else []
            self.lines.append(" ".join(parts))

    def drop_after(self, count: int) -> None:
        """Keep the first notes only: what came after them was a reading that failed."""
        del self.lines[count:]


def show_value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    line = one_line(text)
    line = line if len(line) <= MAX_GIVEN else f"{line[: MAX_GIVEN - 1]}…"
    return repr(line) if isinstance(value, str) else line


def join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def read_value(schema: Schema, value: object, path: str, notes: ReadingNotes) -> object:
    """Read a value that is neither an object nor a list."""
    if "const" in schema or "enum" in schema:
        return read_choice(schema.get("enum") or [schema["const"]], value, path, notes)
    match schema.get("type"):
        case "string":
            return read_text(schema, value, path, notes)
        case "number" | "integer":
            return read_number(schema, value, path, notes)
        case "boolean":
            return read_boolean(value, path, notes)
        case "null":
            if is_empty(value):
                return None
            raise BadAnswer(f"{path}: nothing was expected (given: {show_value(value)})")
        case _:
            return value


def read_choice(allowed: Sequence[object], value: object, path: str, notes: ReadingNotes) -> object:
    """Read one of the allowed values: "B. Postgres", "赞成", "#3"."""
    if any(value == each and type(value) is type(each) for each in allowed):
        return value
    value = _unwrap_one(value)
    chosen: object | None = None
    code = "read"
    if all(isinstance(each, int) for each in allowed):
        number = read_integer(value)
        chosen = number if number in allowed else None
    elif isinstance(value, str | int | float):
        read = find_allowed(str(value), allowed)
        chosen = None if read is None else read.value
        code = "words" if is_sentence(str(value), build_choices(tuple(map(str, allowed)))) else "read"
    if chosen is None:
        shown = ", ".join(str(each) for each in allowed[:12]) or "none"
        raise BadAnswer(f"{path}: expected one of: {shown} (given: {show_value(value)})")
    notes.add(code, path, value, chosen)
    return chosen


def read_text(schema: Schema, value: object, path: str, notes: ReadingNotes) -> str:
    """Read a text: also from a list of lines, an object that holds one, or a number; one that is too long is cut."""
    text = value
    if isinstance(value, list) and value and all(isinstance(each, str | int | float) for each in value):
        text = "\n".join(str(each) for each in value)
    elif isinstance(value, dict):
        inner = [each for each in value.values() if isinstance(each, str) and not is_blank(each)]
        text = max(inner, key=len, default=value)
    elif isinstance(value, bool | int | float):
        text = json.dumps(value)
    if not isinstance(text, str):
        raise BadAnswer(f"{path}: a text was expected (given: {show_value(value)})")
    if text is not value:
        notes.add("read", path, value)
    if schema.get("minLength") and is_blank(text):
        raise BadAnswer(f"{path}: a text was expected, and it is empty")
    longest = schema.get("maxLength")
    if longest is None or len(text) <= longest:
        return text
    if notes.is_strict:
        raise BadAnswer(f"{path}: a text of at most {longest} characters was expected, and it has {len(text)}")
    notes.add("cut", path, f"{len(text)} > {longest}")
    return cut_text(text, longest)


def read_number(schema: Schema, value: object, path: str, notes: ReadingNotes) -> float | int:
    """Read a number within its limits: "#3" and "three" for a whole one, "80%" and "high" for a share."""
    low, high = schema.get("minimum"), schema.get("maximum")
    low = schema.get("exclusiveMinimum") if low is None else low
    high = schema.get("exclusiveMaximum") if high is None else high
    plain = _unwrap_one(value)
    least, most = (-float("inf") if low is None else low), (float("inf") if high is None else high)
    number: float | int | None = read_integer(plain) if schema.get("type") == "integer" else read_share(plain, least, most)
    # NaN is within no limits, and infinity is not JSON.
    if number is None or not least <= number <= most or number in {float("inf"), -float("inf")}:
        limits = f" from {low:g} to {high:g}" if low is not None and high is not None else ""
        raise BadAnswer(f"{path}: a number{limits} was expected (given: {show_value(value)})")
    if number == value and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    notes.add("read", path, value, number)
    return number


def read_boolean(value: object, path: str, notes: ReadingNotes) -> bool:
    """Read true or false: "yes", "否"."""
    if isinstance(value, bool):
        return value
    flag = read_flag(_unwrap_one(value))
    if flag is None:
        raise BadAnswer(f"{path}: true or false was expected (given: {show_value(value)})")
    notes.add("read", path, value, flag)
    return flag


def find_allowed(text: str, allowed: Sequence[object]) -> PositionRead | None:
    """Return the allowed choice that a text makes. A line number counts where names without numbers are listed."""
    choices = build_choices(tuple(str(each) for each in allowed))
    is_numbered = not has_meaning(choices) and not any(re.search(r"\d", choice.text) for choice in choices)
    return find_choice(text, choices) if is_numbered or not is_line_mark(text, choices) else None


def is_pass(raw: object) -> bool:
    """Whether an answer says that it is none: the word for it, or an object with that word alone."""
    fields = extract_object(raw) if isinstance(raw, str) else raw
    words = [*fields.values()] if isinstance(fields, dict) else [raw]
    return len(words) == 1 and isinstance(words[0], str) and find_allowed(words[0], ("pass",)) is not None


def _unwrap_one(value: object) -> object:
    """Return the one item of a list, or the one number of a small object such as {"line": 3}."""
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    if isinstance(value, dict) and len(value) == 1:
        inner = next(iter(value.values()))
        return inner if isinstance(inner, int | float) else value
    return value
