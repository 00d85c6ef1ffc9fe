"""Finds the JSON object in a text: bare, fenced, surrounded by prose, or broken and repaired."""

import json
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from moothall.codec.value_words import is_empty

MAX_STARTS: Final = 200
"""At how many places of an answer parsing a JSON object is attempted: this bounds the work on hostile input."""
MAX_REPAIRED_LENGTH: Final = 30_000
MAX_KEPT_NAME_LENGTH: Final = 64
_NO_LETTERS: Final = re.compile(r"[\W_]+")
# The possessive `*+` prevents backtracking through a long run of spaces after the fence.
_FENCE: Final = re.compile(r"```(?:json)?[ \t]*+\n(.*?)(?:```|\Z)", re.DOTALL)
# An unquoted `#3` is a comment to a JSON repairer, which would drop the rest of the line.
_BARE_LINE: Final = re.compile(r'([:\[,]\s*)#(\d{1,6})(?=\s*(?:[,\]}]\s*["\]}]|[}\]]|,\s*#|\Z))')
# Braces within braces hold nothing, and the repairer takes seconds over thousands of them.
_NESTED: Final = re.compile(r"(?:[{\[]\s*+){30}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundObject:
    """A JSON object; the names that stood in it twice; and the broken text, if it had to be repaired."""

    fields: dict[str, object]
    doubled: tuple[str, ...] = ()
    broken: str = ""


def find_object(text: str, names: Container[str] = ()) -> FoundObject | None:
    """Return the JSON object in a text, of several the one with the most of the folded names; None if there is none."""
    fenced = _FENCE.search(text)
    source = fenced[1] if fenced and "{" in fenced[1] else text
    start = source.find("{")
    if start < 0:
        return None
    found, doubled = _list_objects(source, start)
    if found:
        best = max(found, key=lambda each: sum(fold_name(key) in names for key in each))
        return FoundObject(fields=best, doubled=tuple(doubled))
    return _repair(source[start:])


def extract_object(text: str) -> dict[str, object] | None:
    """Return the fields of the JSON object in a text; None if there is none."""
    found = find_object(text)
    return None if found is None else found.fields


def fold_name(name: str) -> str:
    """Return the form in which names of fields are compared: `movedBy` is `moved_by`."""
    # Only short ones are kept: names of fields are, and what else stands in their place need not stay in memory.
    return _fold_short_name(name) if len(name) <= MAX_KEPT_NAME_LENGTH else _NO_LETTERS.sub("", name).casefold()


@lru_cache(maxsize=1_024)
def _fold_short_name(name: str) -> str:
    return _NO_LETTERS.sub("", name).casefold()


def _list_objects(source: str, start: int) -> tuple[list[dict[str, object]], list[str]]:
    doubled: list[str] = []
    decoder = json.JSONDecoder(object_pairs_hook=lambda pairs: _join_pairs(pairs, doubled))
    found: list[dict[str, object]] = []
    for _ in range(MAX_STARTS):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(source, start)
        # Thousands of nested brackets: every later start would fail in the same way.
        except RecursionError:
            break
        except ValueError:
            # A brace in prose: a valid object may still follow. Inside a broken one only parts would be found.
            if not found and _looks_like_object(source, start):
                break
            start = source.find("{", start + 1)
            continue
        found.append(value)
        start = source.find("{", end)
    return found, doubled


def _repair(source: str) -> FoundObject | None:
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
    return FoundObject(fields=value, broken=source)


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


def _looks_like_object(source: str, start: int) -> bool:
    return re.match(r"\{\s*(?:[\"'“]|\w+\s*:|//|/\*|\})", source[start : start + 80]) is not None
