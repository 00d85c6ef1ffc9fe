"""Export and import of `context_ledger.json`, in the shape of its source."""

import json
from dataclasses import asdict
from typing import Any, Final

from moothall.domain.facts import ImportSource, SessionImported
from moothall.domain.safe_text import fix_surrogates
from moothall.errors import BadImport
from moothall.features.persona.facts import (
    ImportedTurn,
    ImportedView,
    MeetingOpened,
    PersonaSettings,
    View,
)
from moothall.features.persona.timeline import PersonaTimeline, PersonaTimelineLine, build_decision
from moothall.locale.texts import detect_language
from moothall.plugins import (
    USER,
    Budget,
    MootError,
    Seat,
    SessionCancelled,
    compile_late,
    dump_json,
    parse_seat_id,
    validate_seats,
)

_STAMP = compile_late(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?")
_LINE_FIELDS: Final = (
    "id",
    "timestamp",
    "speaker",
    "platform",
    "content",
    "type",
    "relevance_score",
    "refers_to",
    "unaware_of",
)
_NOT_CONCLUDED: Final = frozenset(
    [
        "track_record",
        "session",
        "topic",
        "status",
        "parked",
        "cursor",
        "waiting_for",
        "no_confidence_note",
        "would_change",
        "chance_hidden",
        "strength",
        "reservations",
        "language",
        "standing",
        "opened_on",
        "review_on",
        "is_reviewed",
        "leaders",
        "tie_by",
        "near",
        "asked",
        "can_turn_out",
        "faults",
        "how",
        "backers_named",
    ]
)
"""What the file says elsewhere, and what follows from the other figures."""


def render_context_ledger(timeline: PersonaTimeline) -> str:
    """Render the session as JSON text; it is complete at any time."""
    meeting = timeline.state
    roles = [
        {
            "role_id": seat.id,
            "stance": seat.stance,
            "platform": seat.platform,
            "bias_weight": seat.weight,
            "instructions": seat.instructions,
        }
        for seat in meeting.seats
    ]
    document: dict[str, Any] = {
        "session_id": timeline.session,
        "topic": meeting.opened.topic,
        "status": "thinking" if timeline.closed is None else "concluded",
        "participants": [seat.id for seat in meeting.seats],
        "timeline": [_build_line(line) for line in timeline.lines],
        "current_consensus": _build_consensus(timeline),
        "conclusion": _build_conclusion(timeline),
        "roles": roles,
    }
    return dump_json(document, indent=2) + "\n"


def _build_line(line: PersonaTimelineLine) -> dict[str, Any]:
    values = {name: getattr(line, name) for name in _LINE_FIELDS}
    return {
        key: value
        for key, value in values.items()
        if value is not None and (value != "" or key == "content")
    }


def _build_consensus(timeline: PersonaTimeline) -> dict[str, Any]:
    seats = len(timeline.state.seats)
    points = [(point, point.compute_status(seats)) for point in timeline.state.points]
    return {
        wanted: [
            {
                "entry": point.entry,
                "speaker": point.speaker,
                "claim": point.claim,
                "by": list(getattr(point, wanted)),
            }
            for point, status in points
            if status == wanted
        ]
        for wanted in ("agreed", "contested")
    }


def _build_conclusion(timeline: PersonaTimeline) -> Any:
    if timeline.closed is None:
        return None
    if isinstance(timeline.closed, SessionImported):
        return json.loads(timeline.closed.conclusion)
    decision = asdict(build_decision(timeline))
    if isinstance(timeline.closed, SessionCancelled):
        return {"ended_by": "cancelled", "reason": timeline.closed.reason}
    claims = [*decision["reasons"], *decision["open_questions"], *decision["open_challenges"]]
    if decision["decision"] is not None:
        claims.append(decision["decision"])
    for claim in claims:
        # The form of the source: a claim of a conclusion is its text and its entries, and is its author's.
        del claim["seat"]
    return {key: value for key, value in decision.items() if key not in _NOT_CONCLUDED}


class ContextLedger:
    """A parsed context ledger: the opening of the session, and its conclusion, if it has one."""

    def __init__(
        self, text: str, seats: tuple[Seat, ...] = (), budget: Budget | None = None
    ) -> None:
        """Parse the text; `seats` replace those in the file. Raises BadImport with the place of the fault."""
        try:
            self._parse_fields(_parse_document(text), seats, budget)
        except BadImport:
            raise
        except (MootError, TypeError, ValueError, KeyError, AttributeError, OverflowError) as cause:
            raise BadImport(
                f"the file is not shaped like a context_ledger.json: {cause}"
            ) from cause

    def _parse_fields(
        self, document: dict[str, Any], seats: tuple[Seat, ...], budget: Budget | None
    ) -> None:
        self.session = str(document["session_id"])
        is_open = document["status"] == "thinking"
        self.conclusion = (
            None if is_open else json.dumps(document.get("conclusion"), ensure_ascii=False)
        )
        topic = document["topic"]
        if not isinstance(topic, str) or not topic.strip():
            raise BadImport("'topic' must be a text that is not empty")
        timeline = _parse_timeline(document)
        try:
            roster = validate_seats(seats or _parse_seats(document, timeline))
        except MootError as cause:
            raise BadImport(f"the file's participants cannot be seated: {cause}") from cause
        # Not blind: the imported contributions have been read by everyone.
        settings = PersonaSettings(blind=False)
        self.opened = MeetingOpened(
            topic=topic,
            language=detect_language(topic),
            seed=0,
            seats=roster,
            budget=budget or Budget(),
            imported_from=ImportSource(form="context", session=self.session),
            settings=settings,
            imported=timeline,
            views=_parse_views(document, len(timeline)),
        )


def _parse_document(text: str) -> dict[str, Any]:
    try:
        document = _fix_nested_surrogates(json.loads(text))
    except (ValueError, RecursionError) as cause:
        raise BadImport(f"the file is no JSON ({cause}); expected a context_ledger.json") from cause
    if not isinstance(document, dict):
        raise BadImport("the file holds no JSON object; expected a context_ledger.json")
    for key in ("session_id", "topic", "status", "participants", "timeline"):
        if key not in document:
            raise BadImport(f"the file has no {key!r}; expected a context_ledger.json")
    if document["status"] not in ("thinking", "concluded"):
        raise BadImport(f"status is {document['status']!r}; expected 'thinking' or 'concluded'")
    return document


def _fix_nested_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return fix_surrogates(value)
    if isinstance(value, list):
        return [_fix_nested_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {fix_surrogates(key): _fix_nested_surrogates(item) for key, item in value.items()}
    return value


def _read_optional_text(holder: dict[str, Any], key: str, missing: str = "") -> str:
    value = holder.get(key)
    if value is not None and not isinstance(value, str):
        raise BadImport(f"{key!r} is {value!r}; expected a text")
    return value or missing


def _parse_timeline(document: dict[str, Any]) -> tuple[ImportedTurn, ...]:
    lines = document["timeline"]
    if not isinstance(lines, list) or not lines:
        raise BadImport("'timeline' must be a list with at least one entry")
    turns = []
    for number, line in enumerate(lines, 1):
        try:
            turns.append(_parse_turn(line, number))
        except MootError as cause:
            raise BadImport(f"timeline entry {number}: {cause}") from cause
    return tuple(turns)


def _parse_turn(line: Any, number: int) -> ImportedTurn:
    if not isinstance(line, dict) or line.get("id") != number:
        raise BadImport(f"its id must be {number}; ids count from 1 without gaps")
    speaker, content = line.get("speaker"), line.get("content")
    if not isinstance(speaker, str) or not isinstance(content, str):
        raise BadImport("'speaker' and 'content' must be texts")
    if not isinstance(line.get("timestamp"), str) or not _STAMP.fullmatch(line["timestamp"]):
        raise BadImport(
            f"timestamp is {line.get('timestamp')!r}; expected such as 2026-11-15T10:00:01Z"
        )
    score = line.get("relevance_score")
    if score is not None and (
        isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1
    ):
        raise BadImport(f"relevance_score is {score!r}; expected 0 to 1")
    name = USER
    if speaker != USER:
        name = parse_seat_id(speaker)
    return ImportedTurn(
        timestamp=line["timestamp"],
        speaker=name,
        content=content,
        platform=_read_optional_text(line, "platform"),
        type=_read_optional_text(line, "type"),
        relevance_score=score,
        refers_to=_parse_earlier(line, "refers_to", number),
        unaware_of=_parse_earlier(line, "unaware_of", number),
    )


def _parse_earlier(line: dict[str, Any], key: str, number: int) -> int | None:
    """Return the id of an earlier entry that a line names; raises BadImport for any other."""
    entry = line.get(key)
    if entry is not None and (
        isinstance(entry, bool) or not isinstance(entry, int) or not 1 <= entry < number
    ):
        raise BadImport(f"{key} is {entry!r}; expected the id of an earlier entry")
    return entry


def _parse_views(document: dict[str, Any], entries: int) -> tuple[ImportedView, ...]:
    """Return who agreed with and who contested which entry, if the file says so."""
    views: list[ImportedView] = []
    consensus = document.get("current_consensus") or {}
    if not isinstance(consensus, dict):
        raise BadImport("'current_consensus' must be an object with 'agreed' and 'contested'")
    kinds: tuple[tuple[str, View], ...] = (("agreed", "agree"), ("contested", "contest"))
    for key, view in kinds:
        for point in consensus.get(key) or []:
            entry, seats = (
                (point.get("entry"), point.get("by")) if isinstance(point, dict) else (None, None)
            )
            if (
                not isinstance(entry, int)
                or not 1 <= entry <= entries
                or not isinstance(seats, list)
            ):
                raise BadImport(
                    f"current_consensus.{key}: each point names an 'entry' of the timeline and 'by' whom"
                )
            views += [
                ImportedView(entry=entry, seat=parse_seat_id(str(seat)), view=view)
                for seat in seats
            ]
    return tuple(views)


def _parse_seats(document: dict[str, Any], timeline: tuple[ImportedTurn, ...]) -> list[Seat]:
    """Return the seats from the file's roles; participants without a role become outside seats."""
    names = document["participants"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadImport("'participants' must be a list of role ids")
    roles = {
        str(role["role_id"]): role
        for role in document.get("roles") or []
        if isinstance(role, dict) and "role_id" in role
    }
    seats = []
    for name in names:
        role = roles.get(name, {})
        weight = role.get("bias_weight", 1.0)
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise BadImport(
                f"role {name!r}: bias_weight is {weight!r}; expected a number greater than 0"
            )
        seats.append(
            Seat(
                id=parse_seat_id(name),
                platform=_read_optional_text(role, "platform", "mailbox"),
                stance=_read_optional_text(role, "stance"),
                weight=float(weight),
                instructions=_read_optional_text(role, "instructions"),
            )
        )
    return seats
