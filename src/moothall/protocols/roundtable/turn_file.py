"""`turn.json`: the state of a conference as its folder states it. Pure: text in, text out."""

import json
import re
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args

from moothall.locale.catalogues import ROUNDTABLE_PROMPT
from moothall.protocols.roundtable.facts import MAX_ROUNDS, MODERATOR
from moothall.protocols.roundtable.state import Conference, Status
from moothall.protocols.roundtable.turn_notes import add_notes, list_notes

MAX_PROMPT_LENGTH: Final = 2_000
MAX_SPEAKERS: Final = 63

KINDS: Final[dict[str, type]] = {
    "conference": str,
    "status": str,
    "round": int,
    "max_rounds": int,
    "speaker_order": list,
    "current_speaker_index": int,
    "current_speaker": str,
    "prompt_for_speaker": str,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFile:
    """The fields of the file, in its order."""

    conference: str
    status: Status
    round: int
    max_rounds: int
    speaker_order: tuple[str, ...]
    current_speaker_index: int
    current_speaker: str
    prompt_for_speaker: str

    @property
    def place(self) -> tuple[Status, int, int, str]:
        """What the rules determine: everything but the prompt."""
        return (self.status, self.round, self.current_speaker_index, self.current_speaker)

    @property
    def taken(self) -> int:
        """The number of finished turns according to this file, while it is open."""
        return (self.round - 1) * len(self.speaker_order) + self.current_speaker_index


@dataclass(frozen=True, slots=True)
class BadTurn(Exception):
    """What is wrong with the file, and in which line."""

    line: int
    why: str


def build_turn_file(conference: Conference) -> TurnFile:
    """Build the file that a conference should have."""
    settings = conference.opened.settings
    prompt = conference.prompt if conference.status == "open" else ROUNDTABLE_PROMPT[conference.opened.language].moderate
    prompt = add_notes(prompt, list_notes(conference), MAX_PROMPT_LENGTH)
    return TurnFile(
        conference=settings.conference,
        status=conference.status,
        round=conference.round,
        max_rounds=settings.max_rounds,
        speaker_order=conference.speakers,
        current_speaker_index=conference.index,
        current_speaker=conference.current,
        prompt_for_speaker=prompt,
    )


def render_turn_file(turn: TurnFile) -> str:
    return json.dumps(asdict(turn), ensure_ascii=False, indent=2) + "\n"


def parse_turn_file(text: str) -> TurnFile:
    """Parse the file; raises BadTurn."""
    try:
        fields = json.loads(text, object_pairs_hook=_reject_duplicates, parse_constant=_reject_constant)
    except _DuplicateField as twice:
        raise BadTurn(
            find_field_line(text, twice.name, nth=2), f"no valid JSON: the field {twice.name!r} stands in it twice"
        ) from twice
    except json.JSONDecodeError as cause:
        raise BadTurn(cause.lineno, f"no valid JSON: {cause.msg} (column {cause.colno})") from cause
    except (ValueError, RecursionError) as cause:
        raise BadTurn(1, f"no valid JSON: {cause or 'too deeply nested'}") from cause
    if not isinstance(fields, dict):
        raise BadTurn(1, f"a JSON object was expected, not {type(fields).__name__}")
    for name in fields:
        if name not in KINDS:
            raise BadTurn(
                find_field_line(text, name), f"the field {name[:80]!r} does not belong here; the fields are: {', '.join(KINDS)}"
            )
    for name, kind in KINDS.items():
        if name not in fields:
            raise BadTurn(1, f"the field {name!r} is missing")
        # `type(...) is not` and not `isinstance`: `true` is an int in Python, but not a round number.
        if type(fields[name]) is not kind:
            raise BadTurn(find_field_line(text, name), f"{name}: {_TYPE_NAMES[kind]} was expected, not {fields[name]!r:.60}")
    _validate_values(text, fields)
    return TurnFile(**{**fields, "speaker_order": tuple(fields["speaker_order"])})


_TYPE_NAMES: Final = {str: "a text", int: "a whole number", list: "a list of names"}


class _DuplicateField(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise _DuplicateField(name)
        fields[name] = value
    return fields


def _reject_constant(name: str) -> Literal[0]:
    raise ValueError(f"{name} is no number of JSON")


def find_field_line(text: str, name: str, nth: int = 1) -> int:
    """Return the line of a field (of its `nth` occurrence); 1 if it does not occur."""
    places = [match.start() for match in re.finditer(rf"{re.escape(json.dumps(name, ensure_ascii=False))}\s*:", text)]
    return text.count("\n", 0, places[nth - 1]) + 1 if len(places) >= nth else 1


def _validate_values(text: str, fields: dict[str, Any]) -> None:
    """Raise BadTurn for values that contradict each other."""
    order = fields["speaker_order"]
    faults = (
        ("status", fields["status"] in get_args(Status), f"expected one of {', '.join(get_args(Status))}"),
        ("max_rounds", 1 <= fields["max_rounds"] <= MAX_ROUNDS, f"expected 1 to {MAX_ROUNDS}"),
        ("round", 1 <= fields["round"] <= fields["max_rounds"] + 1, "expected 1 to max_rounds (one more when it is over)"),
        ("speaker_order", 1 <= len(order) <= MAX_SPEAKERS, f"expected 1 to {MAX_SPEAKERS} names"),
        ("speaker_order", all(type(name) is str for name in order), "expected names"),
        ("speaker_order", len({str(name).casefold() for name in order}) == len(order), "a name stands in it twice"),
        ("current_speaker_index", 0 <= fields["current_speaker_index"] < max(1, len(order)), "expected a place in speaker_order"),
        ("prompt_for_speaker", len(fields["prompt_for_speaker"]) <= MAX_PROMPT_LENGTH, f"at most {MAX_PROMPT_LENGTH} characters"),
    )
    for name, is_right, why in faults:
        if not is_right:
            raise BadTurn(find_field_line(text, name), f"{name}: {why}; it says {fields[name]!r:.60}")
    expected = order[fields["current_speaker_index"]] if fields["status"] == "open" else MODERATOR
    if fields["current_speaker"] != expected:
        fault = f"current_speaker: {expected!r} was expected by status and index; it says {fields['current_speaker']!r:.60}"
        raise BadTurn(find_field_line(text, "current_speaker"), fault)


_ORDER_MARK = re.compile(r"→|->|[,，、]")


def parse_speaking_order(text: str) -> tuple[str, ...]:
    """Parse the names in a line such as `a → b → c`."""
    return tuple(name.strip() for name in _ORDER_MARK.split(text) if name.strip())
