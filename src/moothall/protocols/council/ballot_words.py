"""Reads a ballot from an answer that has none: a position and the line that it names, or positions beside numbers in words."""

import re
from collections.abc import Mapping
from typing import Final

from moothall.codec.choice_rule import build_choices, find_choice, is_silent, split_by_line_number
from moothall.codec.value_words import read_integer

_POSITIONS: Final = build_choices(("support", "conditional_support", "oppose", "abstain"))
_REFERENCES: Final = ("refers_to", "candidate", "motion", "line", "resolution")


def infer_vote_field(name: str, fields: Mapping[str, object]) -> object | None:
    """Return the ballot that a vote lacks, from what else it says; None if nothing says it."""
    if name != "ballot":
        return None
    by_line = {int(key.lstrip("#")): value for key, value in fields.items() if re.fullmatch(r"#?\d{1,6}", key)}
    if by_line:
        return [{"candidate": number, **_read(value)} for number, value in by_line.items() if _read(value)] or None
    about = next((number for key in _REFERENCES if (number := read_integer(fields.get(key))) is not None), None)
    said = _read(fields.get("position") or fields.get("vote"))
    if about is not None and said:
        return [{"candidate": about, **said}]
    return _find_in_words("\n".join(value for value in fields.values() if isinstance(value, str))) or None


def _find_in_words(words: str) -> list[dict[str, object]]:
    """Return the position on each line that the words name; none if a clause says something that cannot be read."""
    positions: dict[int, dict[str, object]] = {}
    for number, clause in split_by_line_number(words):
        said = {} if number is None else _read(clause)
        if number is not None and said and positions.setdefault(number, said) != said:
            return []
        if not said and not is_silent(clause, _POSITIONS):
            return []
    return [{"candidate": number, **said} for number, said in positions.items()]


def _read(value: object) -> dict[str, object]:
    read = find_choice(value, _POSITIONS) if isinstance(value, str) else None
    if read is None:
        return {}
    return {"position": read.value, "condition": read.condition} if read.condition else {"position": read.value}
