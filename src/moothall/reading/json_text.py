"""Finds the JSON object in a text (bare, fenced, in prose, or broken and repaired), the one of several that answers, and the
form of the answer that it means. No value is read here.
"""

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Self, SupportsIndex

from moothall.domain.effects import Schema
from moothall.domain.vocabulary import PATTERNS
from moothall.errors import BadAnswer
from moothall.reading.field_values import fold_name, fold_names, is_empty
from moothall.reading.stated import is_label_name

MAX_STARTS: Final = 200
"""At how many places of an answer parsing a JSON object is attempted: this bounds the work on hostile input."""
MAX_REPAIRED_LENGTH: Final = 30_000
MAX_REPAIR_STEPS: Final = 300_000
"""How often a repair may look at its text. A broken answer of that length needs a third of it; a hostile one has no end."""
MAX_REPAIRED: Final = 4
"""How many repaired answers are remembered."""
# The possessive `*+` prevents backtracking through a long run of spaces after the fence.
_FENCE: Final = re.compile(r"```(?:json)?[ \t]*+\n(.*?)(?:```|\Z)", re.DOTALL)
# An unquoted `#3` is a comment to a JSON repairer, which would drop the rest of the line.
_BARE_LINE: Final = re.compile(r'([:\[,]\s*)#(\d{1,6})(?=\s*(?:[,\]}]\s*["\]}]|[}\]]|,\s*#|\Z))')
# Braces within braces hold nothing, and the repairer takes seconds over thousands of them.
_FOLDED: Final = re.compile(r":\s*[|>][+-]?\s*$")
_TAG: Final = re.compile(r"<([A-Za-z_]\w{0,63})>([^<]*)</\1>")
_COLON: Final = re.compile(r"[:：=]")
_OWNERS: Final = frozenset(
    {
        "nodeid",
        "seat",
        "seatid",
        "agent",
        "agentid",
        "speaker",
        "voter",
        "author",
        "participant",
        "member",
    }
)
"""Folded names under which an item says whose answer it is."""
# What is said to be an example, a thought or another's words is not the answer.
_NO_ANSWER: Final = PATTERNS["no_answer"]
MAX_WRAPS: Final = 4
_NESTED: Final = re.compile(r"(?:[{\[]\s*+){30}")


class _TooCostly(Exception):
    """A text that a repair goes over again and again."""


class _CountedText(str):
    """A text for a repairer, which goes back and forth in it. It counts each look, and raises _TooCostly after too many.

    What is cut from it or joined with it shares its count.
    """

    looks: list[int]

    @classmethod
    def build(cls, text: str, looks: list[int]) -> Self:
        counted = cls(text)
        counted.looks = looks
        return counted

    def __getitem__(self, at: SupportsIndex | slice) -> str:
        piece = super().__getitem__(at)
        # A copy is faster than as many single looks.
        self.looks[0] += 1 + len(piece) // 50
        # For each escape the repairer goes over the text before it once more, also faster.
        if piece == "\\" and isinstance(at, int):
            self.looks[0] += at // 50
        if self.looks[0] > MAX_REPAIR_STEPS:
            raise _TooCostly
        return self.build(piece, self.looks) if isinstance(at, slice) else piece

    def __add__(self, more: str) -> Self:
        return self.build(super().__add__(more), self.looks)


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
        fields = _find_marked_fields(text, names) or _find_fields_by_line(text, names)
        return ParsedObject(fields=fields, broken=text) if fields else None
    objects, doubled = _list_objects(text, start)
    if objects:
        return ParsedObject(fields=choose_object(objects, names, seat), doubled=tuple(doubled))
    source = text
    for fence in _FENCE.finditer(text):
        if "{" in fence[1]:
            source = fence[1]
    return _repair(source[source.find("{") :])


def _find_marked_fields(text: str, names: Container[str]) -> dict[str, object]:
    """Return the fields of XML or a table that are known, with those that are called as a choice is; empty if none is known."""
    marked = _list_marked_fields(text, names)
    if not any(fold_name(name) in names for name, _ in marked):
        return {}
    fields: dict[str, object] = {}
    for name, value in marked:
        if fold_name(name) in names or is_label_name(name):
            fields[name] = value
    return fields


def _find_fields_by_line(text: str, names: Container[str]) -> dict[str, object]:
    """Return the fields of a text in which each line is a known name, a colon and a value; empty if one is not."""
    lines = _join_folded_lines(text)
    fields: dict[str, object] = {}
    for line in lines:
        name, *value = [part.strip(" *-") for part in _COLON.split(line, 1)]
        if value and fold_name(name) in names:
            fields[name] = value[0]
    if len(fields) != len(lines) or len(lines) < 2:
        return {}
    return fields


def split_labelled_lines(
    text: str, names: Container[str], texts: Container[str]
) -> tuple[list[tuple[str, str]], str]:
    """Return what a text says under known names (a line with a colon, a tag, a row below a head), and the other lines as one text.

    Lines below one of the `texts` go on with it.
    """
    tags = _TAG.findall(text)
    if tags:
        return [(name, value.strip()) for name, value in tags], _TAG.sub("", text)
    rows = _list_rows(text)
    labelled: list[tuple[str, str]] = []
    # A column with another head may say of whom a row is.
    is_of_fields = bool(rows) and all(fold_name(cell) in names for cell in rows[0])
    for row in rows[1:]:
        if is_of_fields and len(row) == len(rows[0]):
            labelled += zip(rows[0], row, strict=True)
    if labelled:
        return labelled, "\n".join(line for line in text.splitlines() if "|" not in line)
    others: list[str] = []
    for line in _join_folded_lines(text):
        name, *value = [part.strip(" *_#>-") for part in _COLON.split(line, 1)]
        if value and value[0] and fold_name(name) in names:
            labelled.append((name, value[0].strip('"')))
        elif labelled and fold_name(labelled[-1][0]) in texts:
            before, said = labelled[-1]
            labelled[-1] = (before, f"{said}\n{line}")
        else:
            others.append(line)
    # A fence around the lines says nothing.
    return labelled, "\n".join(line for line in others if not line.lstrip().startswith("```"))


def _join_folded_lines(text: str) -> list[str]:
    """Return the lines of a text; behind "name: |" the lines below it that begin with white space are its value, as in YAML."""
    lines: list[str] = []
    is_folded = False
    for line in text.splitlines():
        if is_folded and line.startswith((" ", "\t")):
            lines[-1] = f"{lines[-1]} {line.strip()}"
            continue
        is_folded = _FOLDED.search(line) is not None
        if line.strip():
            lines.append(_FOLDED.sub(":", line))
    return lines


def find_list(text: str) -> list[object] | None:
    """Return the JSON list that a whole text is, in a fence or without one; None if it is none."""
    fence = _FENCE.fullmatch(text.strip())
    if fence is not None:
        text = fence[1]
    decoded = _decode(text.strip())
    return decoded if isinstance(decoded, list) else None


def find_list_of(schema: Schema, objects: Sequence[dict[str, object]]) -> str:
    """Return the needed list that these objects are items of, where an answer is that list alone; empty if there is none."""
    fields: Mapping[str, Schema] = schema.get("properties", {})
    names, root = [fold_names(each) for each in objects], fold_names(fields)
    if any(root & given for given in names) or any(list_owners(objects)):
        return ""
    for name in schema.get("required", ()):
        of_item = fold_names(fields[name].get("items", {}).get("properties", {}))
        if all(of_item & given for given in names):
            return str(name)
    return ""


def choose_object(
    objects: Sequence[dict[str, object]], names: Container[str], seat: str
) -> dict[str, object]:
    """Return the object that answers: the one for this seat, then the one with the most of the folded names, then the last.

    What comes before the last one was a draft. Raises BadAnswer when several are for other seats and none for this one.
    """
    owners = list_owners(objects)
    if seat and len({*owners} - {""}) > 1:
        objects = [each for each in objects if _find_owner(each).casefold() == seat.casefold()]
        if not objects:
            raise BadAnswer(f"it answers for several seats, and {seat} is not one of them")
    return max(reversed(objects), key=lambda each: sum(fold_name(key) in names for key in each))


def list_owners(objects: Iterable[Mapping[str, object]]) -> list[str]:
    """Return the seat that each object names as its own; empty where it names none."""
    return [_find_owner(each) for each in objects]


def _find_owner(fields: Mapping[str, object]) -> str:
    for name, value in fields.items():
        if fold_name(name) in _OWNERS:
            return str(value)
    return ""


def _list_marked_fields(text: str, names: Container[str]) -> list[tuple[str, str]]:
    """Return the fields of a text that is XML, a table of names and values, or a table with a row of names and one of values."""
    if tags := _TAG.findall(text):
        return [(name, value.strip()) for name, value in tags]
    rows = _list_rows(text)
    is_head = len(rows) == 2 and len(rows[0]) == len(rows[1]) > 1
    if is_head and (len(rows[0]) > 2 or all(fold_name(cell) in names for cell in rows[0])):
        return list(zip(*rows, strict=True))
    return [(cells[0], cells[1]) for cells in rows if len(cells) == 2]


def _list_rows(text: str) -> list[list[str]]:
    """Return the rows of the tables in a text, without those of marks alone, which divide the others."""
    rows: list[list[str]] = []
    for line in text.splitlines():
        cells = [cell.strip(" *`") for cell in line.strip().strip("|").split("|")]
        if "|" in line and any(cell.strip("-: ") for cell in cells):
            rows.append(cells)
    return rows


def _decode(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def extract_object(text: str) -> dict[str, object] | None:
    """Return the fields of the JSON object in a text; None if there is none."""
    parsed = find_object(text)
    return None if parsed is None else parsed.fields


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
    value = _copy_plain(_repair_text(_BARE_LINE.sub(r"\1\2", source[:MAX_REPAIRED_LENGTH])))
    if isinstance(value, list):
        value = next((each for each in value if isinstance(each, dict) and each), None)
    if not isinstance(value, dict) or not value:
        return None
    _drop_half(value, source)
    return ParsedObject(fields=value, broken=source)


@lru_cache(maxsize=MAX_REPAIRED)
def _repair_text(text: str) -> Any:
    """Return what a broken text holds, None where it cannot be repaired. One answer is looked at several times over."""
    from json_repair import repair_json

    try:
        return repair_json(_CountedText.build(text, [0]), return_objects=True)
    except (RecursionError, ValueError, _TooCostly):
        return None


def _copy_plain(value: Any) -> Any:
    """Return the value with texts that count no longer: what the repairer cuts out still shares the count."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        return [_copy_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _copy_plain(each) for key, each in value.items()}
    return value


def _drop_half(value: Any, source: str) -> None:
    """Drop the last text of a cut-off answer, unless it holds a whole sentence: half a word is no choice, and "I" no decision."""
    key: Any = next(reversed(value), None) if isinstance(value, dict) else len(value) - 1
    last = value[key] if value else None
    if isinstance(last, list) and not last and source.rfind("[") > source.rfind("]"):
        # Cut off before its first item, a list does not say that there is none.
        del value[key]
    elif isinstance(last, dict | list):
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


def find_wrapped(
    fields: Mapping[str, Schema], value: object, seat: str, depth: int = 0
) -> Mapping[str, object] | None:
    """Return the one object around which others were put, as tool calls and lists of seats have them; None if there is none."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _decode(value)
    if not isinstance(value, dict) or depth > MAX_WRAPS:
        return None
    # A call has a `type` too.
    if fold_names(value) & (fold_names(fields) - {"type"}):
        return value if depth else None
    if seat in value:
        return find_wrapped(fields, value[seat], seat, depth + 1)
    wrapped: list[Mapping[str, object]] = []
    for each in value.values():
        inner = find_wrapped(fields, each, seat, depth + 1)
        if inner is not None:
            wrapped.append(inner)
    return wrapped[0] if len(wrapped) == 1 else None
