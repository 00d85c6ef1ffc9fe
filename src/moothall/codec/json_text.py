"""Finds the JSON object in a text (bare, fenced, in prose, or broken and repaired), and its place in a schema: which form is
meant, which name a field has, what the items of a list are. No value is read here.
"""

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from moothall.codec.value_words import is_blank, is_empty, read_integer, split_numbers
from moothall.domain.effects import Schema
from moothall.domain.vocabulary import PATTERNS
from moothall.errors import BadAnswer

MAX_STARTS: Final = 200
"""At how many places of an answer parsing a JSON object is attempted: this bounds the work on hostile input."""
MAX_REPAIRED_LENGTH: Final = 30_000
MAX_CACHED_NAME_LENGTH: Final = 64
_NO_LETTERS: Final = re.compile(r"[\W_]+")
# The possessive `*+` prevents backtracking through a long run of spaces after the fence.
_FENCE: Final = re.compile(r"```(?:json)?[ \t]*+\n(.*?)(?:```|\Z)", re.DOTALL)
# An unquoted `#3` is a comment to a JSON repairer, which would drop the rest of the line.
_BARE_LINE: Final = re.compile(r'([:\[,]\s*)#(\d{1,6})(?=\s*(?:[,\]}]\s*["\]}]|[}\]]|,\s*#|\Z))')
# Braces within braces hold nothing, and the repairer takes seconds over thousands of them.
_TAG: Final = re.compile(r"<([A-Za-z_]\w{0,63})>([^<]*)</\1>")
_OWNERS: Final = frozenset(
    {"nodeid", "seat", "seatid", "agent", "agentid", "speaker", "voter", "author", "participant", "member"}
)
"""Folded names under which an item says whose answer it is."""
# What is said to be an example, a thought or another's words is not the answer.
_NO_ANSWER: Final = PATTERNS["no_answer"]
MAX_WRAPS: Final = 4
_NESTED: Final = re.compile(r"(?:[{\[]\s*+){30}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedObject:
    """A JSON object; the names that stood in it twice; and the broken text, if it had to be repaired."""

    fields: dict[str, object]
    doubled: tuple[str, ...] = ()
    broken: str = ""


def find_object(text: str, names: Container[str] = (), seat: str = "") -> ParsedObject | None:
    """Return the JSON object in a text, or the fields of its XML or its table; None if there are none.

    Of several it is the one that `choose_object` takes. A text that is a JSON string is read as what the string holds.
    """
    if text.startswith('"') and isinstance(inner := _decode(text), str):
        return find_object(inner, names, seat)
    text = _NO_ANSWER.sub(lambda hit: f"{hit[0][:-1]}(", text)
    start = text.find("{")
    if start < 0:
        fields: dict[str, object] = {name: value for name, value in _list_marked_fields(text) if fold_name(name) in names}
        return ParsedObject(fields=fields, broken=text) if fields else None
    objects, doubled = _list_objects(text, start)
    if objects:
        return ParsedObject(fields=choose_object(objects, names, seat), doubled=tuple(doubled))
    fences = [fence[1] for fence in _FENCE.finditer(text) if "{" in fence[1]]
    source = fences[-1] if fences else text
    return _repair(source[source.find("{") :])


def choose_object(objects: Sequence[dict[str, object]], names: Container[str], seat: str) -> dict[str, object]:
    """Return the object that answers: the one for this seat, then the one with the most of the folded names, then the last.

    What comes before the last one was a draft. Raises BadAnswer when several are for other seats and none for this one.
    """
    owners = list_owners(objects)
    if seat and len({*owners} - {""}) > 1:
        own = [each for each, owner in zip(objects, owners, strict=True) if owner.casefold() == seat.casefold()]
        if not own:
            raise BadAnswer(f"it answers for several seats, and {seat} is not one of them")
        objects = own
    return max(reversed(objects), key=lambda each: sum(fold_name(key) in names for key in each))


def list_owners(objects: Iterable[Mapping[str, object]]) -> list[str]:
    """Return the seat that each object names as its own; empty where it names none."""
    return [next((str(each[key]) for key in each if fold_name(key) in _OWNERS), "") for each in objects]


def _list_marked_fields(text: str) -> list[tuple[str, str]]:
    """Return the fields of a text that is XML, a table of names and values, or a table with a row of names and one of values."""
    if tags := _TAG.findall(text):
        return [(name, value.strip()) for name, value in tags]
    rows = [[cell.strip(" *`") for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if "|" in line]
    rows = [cells for cells in rows if any(cell.strip("-: ") for cell in cells)]
    if len(rows) == 2 and len(rows[0]) == len(rows[1]) > 2:
        return list(zip(*rows, strict=True))
    return [(cells[0], cells[1]) for cells in rows if len(cells) == 2]


def _decode(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def extract_object(text: str) -> dict[str, object] | None:
    """Return the fields of the JSON object in a text; None if there is none."""
    parsed = find_object(text)
    return None if parsed is None else parsed.fields


def fold_name(name: str) -> str:
    """Return the form in which names of fields are compared: `movedBy` is `moved_by`."""
    # Only short ones are kept: names of fields are, and what else stands in their place need not stay in memory.
    return _fold_short_name(name) if len(name) <= MAX_CACHED_NAME_LENGTH else _NO_LETTERS.sub("", name).casefold()


@lru_cache(maxsize=1_024)
def _fold_short_name(name: str) -> str:
    return _NO_LETTERS.sub("", name).casefold()


def _list_objects(source: str, start: int) -> tuple[list[dict[str, object]], list[str]]:
    doubled: list[str] = []
    decoder = json.JSONDecoder(object_pairs_hook=lambda pairs: _join_pairs(pairs, doubled))
    objects: list[dict[str, object]] = []
    for _ in range(MAX_STARTS):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(source, start)
        # Thousands of nested brackets: every later start would fail in the same way.
        except RecursionError:
            break
        except ValueError:
            # A brace in prose: a valid object may still follow. Inside a broken one only parts would be objects.
            if re.match(r"\{\s*(?:[\"'“]|\w+\s*:|//|/\*|\})", source[start : start + 80]):
                break
            start = source.find("{", start + 1)
            continue
        objects.append(value)
        start = source.find("{", end)
    return objects, doubled


def _repair(source: str) -> ParsedObject | None:
    if _NESTED.search(source):
        return None
    from json_repair import repair_json

    try:
        value = repair_json(_BARE_LINE.sub(r"\1\2", source[:MAX_REPAIRED_LENGTH]), return_objects=True)
    except (RecursionError, ValueError):
        return None
    if isinstance(value, list):
        value = next((each for each in value if isinstance(each, dict) and each), None)
    if not isinstance(value, dict) or not value:
        return None
    _drop_half(value, source)
    return ParsedObject(fields=value, broken=source)


def _drop_half(value: Any, source: str) -> None:
    """Drop the last text of a cut-off answer, unless it holds a whole sentence: half a word is no choice, and "I" no decision."""
    key: Any = next(reversed(value), None) if isinstance(value, dict) else len(value) - 1
    last = value[key] if value else None
    if isinstance(last, dict | list):
        _drop_half(last, source)
    elif isinstance(last, str) and source.endswith(last) and not re.search(r"[.!?。！？]", last):
        del value[key]


def _join_pairs(pairs: Sequence[tuple[str, Any]], doubled: list[str]) -> dict[str, Any]:
    joined: dict[str, Any] = {}
    for key, value in pairs:
        if key in joined:
            doubled.append(key)
            # The last one that says something.
            if is_empty(value):
                continue
        joined[key] = value
    return joined


_NUMBERED: Final = re.compile(r"\s*(#?\d{1,6})\s*[:：.)、=–-]?\s*(\S.*)", re.DOTALL)
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)、])\s+")


def choose_branch(schema: Schema, value: object) -> Schema:
    """Return the form of the answer that a value means: the one whose choices it names, else the first."""
    branches = schema.get("anyOf")
    if not branches:
        return schema
    given: dict[str, object] = value if isinstance(value, dict) else {}
    branch: Schema = max(branches, key=lambda each: _count_matches(each, given))
    return branch


def _count_matches(branch: Schema, given: dict[str, object]) -> int:
    choices = {name: each["enum"] for name, each in branch.get("properties", {}).items() if "enum" in each and name in given}
    return sum(1 if given[name] in allowed else -1 for name, allowed in choices.items())


def fold_names(names: Mapping[str, object] | Sequence[str]) -> set[str]:
    return {fold_name(name) for name in names}


def list_field_names(schema: Schema) -> set[str]:
    """Return the folded names of all fields, in any form of the answer."""
    return {fold_name(name) for branch in schema.get("anyOf", [schema]) for name in branch.get("properties", {})}


def find_wrapped(fields: Mapping[str, Schema], value: object, seat: str, depth: int = 0) -> Mapping[str, object] | None:
    """Return the one object around which others were put, as tool calls and lists of seats have them; None if there is none."""
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    value = _decode(value) if isinstance(value, str) and value.lstrip().startswith("{") else value
    if not isinstance(value, dict) or depth > MAX_WRAPS:
        return None
    # A call has a `type` too.
    if fold_names(value) & (fold_names(fields) - {"type"}):
        return value if depth else None
    wrapped = [find_wrapped(fields, value[seat], seat, depth + 1)] if seat in value else []
    wrapped = wrapped or [inner for each in value.values() if (inner := find_wrapped(fields, each, seat, depth + 1)) is not None]
    return wrapped[0] if len(wrapped) == 1 else None


def is_free_text(schema: Schema) -> bool:
    return schema.get("type") == "string" and "enum" not in schema


def is_choice_of_words(schema: Schema) -> bool:
    return "enum" in schema and all(isinstance(each, str) for each in schema["enum"])


def says_something(value: object) -> bool:
    """Whether it is a sentence rather than a word for a choice."""
    return isinstance(value, str) and (len(value.split()) > 1 or len(value.encode()) >= 12)


def names_nothing(schema: Schema, value: object) -> bool:
    """Whether an object refers by number to something that is not there."""
    rows: Mapping[str, Schema] = schema.get("properties", {})
    listed = {name: row["enum"] for name, row in rows.items() if "enum" in row and not is_choice_of_words(row)}
    return isinstance(value, dict) and any(read_integer(value.get(name)) not in numbers for name, numbers in listed.items())


def find_one_text(schema: Schema) -> str | None:
    """Return the one text that an object needs; None if it needs more."""
    needed = schema.get("required", ())
    return needed[0] if len(needed) == 1 and is_free_text(schema["properties"][needed[0]]) else None


def split_bullets(text: str) -> list[str]:
    """Return the items of a list in words; a text without marks is one item."""
    lines = [_BULLET.sub("", line).strip() for line in text.strip().splitlines() if not is_blank(line)]
    return lines if any(_BULLET.match(line) for line in text.splitlines()) else [" ".join(lines)]


def name_items(item: Schema, value: object) -> list[object] | None:
    """Return items that were given by their number, as keys or on a line each; None if they were not."""
    fields, required = item.get("properties", {}), item.get("required", ())
    key = next((name for name in required if all(isinstance(each, int) for each in fields[name].get("enum", [""]))), None)
    rest = [name for name in required if name != key]
    if key is None or len(rest) != 1:
        return None
    if isinstance(value, Mapping) and not fold_names(value) & fold_names(fields):
        return [{key: name, **each} if isinstance(each, Mapping) else {key: name, rest[0]: each} for name, each in value.items()]
    if not isinstance(value, list | tuple) or not any(isinstance(each, str) for each in value):
        return None
    marks = [_NUMBERED.match(each) if isinstance(each, str) else None for each in value]
    return [each if mark is None else {key: mark[1], rest[0]: mark[2]} for each, mark in zip(value, marks, strict=True)]


def split_list(item: Schema, value: object) -> list[object]:
    """Return the items that one value stands for: "3, 5" are two lines, a text is one item."""
    kinds = item.get("enum", ())
    is_number = item.get("type") in {"integer", "number"} or (kinds and all(isinstance(each, int) for each in kinds))
    if isinstance(value, str) and is_number:
        return list(split_numbers(value))
    return [value]


def takes_empty(schema: Schema, value: object) -> bool:
    """Whether an empty value is a value of this field: an empty text or an empty list."""
    if any(takes_empty(each, value) for each in schema.get("anyOf", ())):
        return True
    if value in schema.get("enum", ()):
        return True
    if value == []:
        return schema.get("type") == "array"
    if value == {}:
        return schema.get("type") == "object" and not schema.get("required")
    return isinstance(value, str) and is_free_text(schema) and not schema.get("minLength")
