"""The conclusion of a meeting that was read back from a file: what of it a decision can show.

The file comes from outside: what has the expected form is taken, everything else is left out.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar

from moothall.domain.ids import SeatId
from moothall.domain.topic import MAX_LABEL_LENGTH
from moothall.reports.decision import AnsweredInput, Decision, Dissent, SourcedClaim

T = TypeVar("T")

_DISSENT: Final[Mapping[str, Literal["oppose", "conditional", "reported", "challenge"]]] = {
    "oppose": "oppose",
    "conditional": "conditional",
    "challenge": "challenge",
}


def apply_conclusion(decision: Decision, conclusion: str) -> Decision:
    """Return the decision with what an imported conclusion says: what was decided, who dissents, how it ended."""
    found = json.loads(conclusion)
    if not isinstance(found, dict):
        return replace(decision, decision=_parse_claim(found))
    return replace(
        decision,
        ended_by=_parse_text(found.get("ended_by")),
        decision=_parse_claim(found.get("decision")),
        author=_parse_seat(found.get("author")),
        confidence=_parse_share(found.get("confidence")),
        support=_parse_share(found.get("support")),
        turnout=_parse_share(found.get("turnout")),
        reasons=_parse_each(found.get("reasons"), _parse_claim),
        dissent=_parse_each(found.get("dissent"), _parse_dissent),
        open_questions=_parse_each(found.get("open_questions"), _parse_claim),
        overruled=found.get("overruled") is True,
        answers=_parse_each(found.get("answers"), _parse_answer),
        choice=(_parse_text(found.get("choice")) or "")[:MAX_LABEL_LENGTH],
    )


def _parse_text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _parse_seat(value: Any) -> SeatId | None:
    name = _parse_text(value)
    return None if name is None else SeatId(name)


def _parse_share(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= 1 else None


def _parse_entries(value: Any) -> tuple[int, ...]:
    listed = value if isinstance(value, list) else []
    return tuple(entry for entry in listed if isinstance(entry, int) and not isinstance(entry, bool) and entry > 0)


def _parse_each(value: Any, parse: Callable[[Any], T | None]) -> tuple[T, ...]:
    listed = value if isinstance(value, list) else []
    return tuple(parsed for item in listed if (parsed := parse(item)) is not None)


def _parse_claim(value: Any) -> SourcedClaim | None:
    if isinstance(value, dict):
        return SourcedClaim(text=str(value.get("text", "")), entries=_parse_entries(value.get("entries")))
    return SourcedClaim(text=value) if isinstance(value, str) and value else None


def _parse_dissent(value: Any) -> Dissent | None:
    if isinstance(value, str):
        return Dissent(seat=None, kind="reported", text=value)
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return None
    kind = _DISSENT.get(str(value.get("kind")), "reported")
    return Dissent(
        seat=_parse_seat(value.get("seat")), kind=kind, text=value["text"], entries=_parse_entries(value.get("entries"))
    )


def _parse_answer(value: Any) -> AnsweredInput | None:
    if not isinstance(value, dict) or type(value.get("input")) is not int or not isinstance(value.get("asked"), str):
        return None
    return AnsweredInput(
        input=value["input"],
        asked=value["asked"],
        answer=_parse_text(value.get("answer")),
        entries=_parse_entries(value.get("entries")),
    )
