"""The calls of a deliberation: `cstp.openDeliberation`, `contribute`, `closeDeliberation`, `getDeliberation` and their kin."""

import dataclasses
from typing import Annotated, Any, Final, Literal

from pydantic import Field
from pydantic.alias_generators import to_camel

from moothall.app.deliberations import (
    DeliberationState,
    WaitResult,
    build_deliberation_state,
    find_council_rules,
)
from moothall.app.protocols import get_protocol, load_protocols
from moothall.app.session_list import SessionLine
from moothall.domain.dictionaries import BoundedDict
from moothall.domain.ids import KeyedCall, SeatId, SessionId, parse_seat_id, parse_session_id
from moothall.domain.roster import MAX_PATIENCE, MAX_SEATS, WEEK_SECONDS
from moothall.domain.safe_text import MARKS, compile_late, strip_control
from moothall.domain.stated_facts import FACTS_ASK
from moothall.domain.topic import MAX_TOPIC_LENGTH
from moothall.engine.outside_answers import OutstandingAsk
from moothall.engine.snapshot import Snapshot
from moothall.errors import NotAllowed, SessionClosed, WorldError
from moothall.memory.remembered_decision import RememberedObligation
from moothall.ports.runner import MAX_WAIT_SECONDS
from moothall.protocols.council.motions import list_challenges
from moothall.reading.schemas import build_brief_schema
from moothall.reports.timeline import format_time
from moothall.scoring.independence import is_same_family
from moothall.surfaces.api import fields, shapes, views
from moothall.surfaces.api.memory import find_decisions
from moothall.surfaces.api.method import Call, Caller, Operations, ServerContext
from moothall.surfaces.api.session_options import (
    DeliberationParams,
    Opening,
    build_seat,
    collect_options,
    open_once,
    take_settings,
)

METHODS = Operations()

MAX_RESULTS: Final = 16
CONSULTED = "You are being consulted: answer with answer_ask, not with contribute."
ASKED_ELSEWHERE: Final = {"consult": CONSULTED, FACTS_ASK: views.FACTS_ASKED}
"""The notes to seats that are asked for something else than a contribution."""


@take_settings("advisory", "owner", label="advisory_panel: ")
@take_settings("consensus", "threshold", "quorum", label="consensus: ")
@take_settings(
    "debate",
    "blind",
    "debate",
    "order",
    "rounds",
    "rebuttal",
    "panel",
    "panel_order",
    "carry_at",
    "choose",
    "judge",
)
class OpenParams(DeliberationParams):
    topic: Annotated[str, Field(min_length=1, max_length=MAX_TOPIC_LENGTH)]
    participants: Annotated[
        list[str | fields.ParticipantIn], Field(min_length=2, max_length=MAX_SEATS)
    ]
    protocol: Annotated[
        str,
        Field(
            max_length=100,
            description="structured_debate, advisory_panel, consensus, or any other installed protocol.",
        ),
    ] = "structured_debate"
    patience_seconds: Annotated[
        float, Field(gt=0, le=MAX_PATIENCE, description="How long outside participants may take.")
    ] = WEEK_SECONDS
    idempotency_key: fields.IdempotencyKey = ""


@METHODS.add("cstp.openDeliberation", "run", tool="open_deliberation", unbound=True)
async def open_deliberation(call: Call, params: OpenParams) -> shapes.OpenedOut:
    """Open a deliberation: a question that several participants decide together. Participants given by name come from outside
    and contribute by their own calls; those with a platform are models that Moot asks. Next: each participant calls
    wait_for_turn.
    """

    async def plan() -> Opening:
        plugin = get_protocol(params.protocol)
        options = await collect_options(call, params)
        options["protocol"], options["settings"] = plugin.name, params.collect_settings()
        options["seats"] = [build_seat(call, each) for each in params.participants]
        options["patience"] = params.patience_seconds
        return Opening(params.topic, options)

    earlier = await find_decisions(call, await call.moot.remembering.find_similar(params.topic))
    session = await open_once(call, "cstp.openDeliberation", params, params.idempotency_key, plan)
    return shapes.OpenedOut.collect(
        await build_session_standing(call, session), earlier_decisions=earlier
    )


async def build_session_standing(call: Call, session: SessionId) -> shapes.StandingOut:
    """Where a session stands, whatever its protocol."""
    snapshot = await call.moot.engine.load_snapshot(session)
    if find_council_rules(snapshot) is not None:
        return views.build_standing(await call.deliberations.load_state(session))
    return views.build_general_standing(snapshot, (await call.moot.load_plugin(session)).name)


@METHODS.add("cstp.contribute", "speak", tool="contribute")
async def contribute(call: Call, params: shapes.ContributeParams) -> shapes.ContributedOut:
    """Say something in a deliberation: propose, support, challenge, synthesize, vote, or pass. Speak when wait_for_turn says
    that it is your turn, with one of the types that it expects. Give an idempotencyKey, so that a retry counts once.
    """
    session = params.deliberation_id
    seat = call.caller.resolve_speaker(params.participant)
    said = params.model_dump(
        exclude={"deliberation_id", "participant", "idempotency_key"}, exclude_defaults=True
    )
    door = await call.find_door(session, seat)
    await state_family(call, session, seat)
    recorded = await call.deliberations.contribute(
        session, seat, said, params.idempotency_key, via=door
    )
    entry, place = recorded.entry, recorded.state
    number = None
    for line in place.council.lines:
        if line.seq == entry.seq:
            number = line.id
    return shapes.ContributedOut(
        deliberation_id=session,
        entry=entry.seq,
        id=number,
        phase=place.council.phase,
        waiting_for=list(place.waiting_for),
        status=views.find_status(place),
        note=views.describe_next_step(place, SeatId(seat)),
    )


@METHODS.add("cstp.closeDeliberation", "run", tool="close_deliberation")
async def close_deliberation(
    call: Call,
    deliberation_id: fields.DeliberationRef,
    force: Annotated[bool, Field(description="Close although no vote was cast.")] = False,
    idempotency_key: fields.IdempotencyKey = "",
) -> shapes.ResultOut:
    """Close a deliberation and compute its decision from the votes: decision, confidence, consensusType, participantVotes,
    dissent. One that has ended by itself answers with its result.
    """
    keyed = KeyedCall(
        call="close", by=call.caller.name, key=idempotency_key, words=(deliberation_id, force)
    )
    await call.moot.memory.find_keyed_result(keyed)
    await call.deliberations.close(deliberation_id, by=call.caller.name, force=force)
    result = await find_result(call, deliberation_id)
    if result is None:
        raise SessionClosed(f"{deliberation_id!r} was cancelled; it has no result")
    # Taken after the close: a close that was refused does not use its key up, and a second close changes nothing.
    await call.moot.memory.use_key(keyed)
    return result


@METHODS.add("cstp.getDeliberation", "read", tool="get_deliberation")
async def get_deliberation(
    call: Call,
    deliberation_id: fields.DeliberationRef,
    *,
    participant: fields.ParticipantRef = None,
    since: Annotated[
        int,
        Field(
            ge=0,
            le=fields.MAX_ENTRIES,
            description="Skip what could be read up to this entry (a cursor).",
        ),
    ] = 0,
    limit: fields.Limit = fields.PAGE,
    at: fields.EntryNumber = None,
) -> shapes.DeliberationOut:
    """Read a deliberation: everything that was said, who was silent and why, the challenges, and the result once it has ended."""
    seat = _find_reader(call.caller, participant)
    if at is not None:
        folded = await call.context.folded.load_at(deliberation_id, at)
        timeline, place = folded.timeline, build_deliberation_state(folded.snapshot)
    else:
        timeline = None
        if since == 0:
            timeline = await call.moot.load_timeline(deliberation_id)
        place = await call.deliberations.load_state(deliberation_id)
        if timeline is None and place.snapshot.is_closed:
            timeline = await call.moot.load_timeline(deliberation_id)
    # Before the next await: a timeline of an earlier entry may be folded on for somebody else.
    result: shapes.ResultOut | None = None
    silences: list[shapes.SilenceOut] = []
    obligations: list[RememberedObligation] = []
    if timeline is not None:
        silences = views.collect_silences(timeline)
        if place.snapshot.is_closed:
            result = views.build_result(timeline)
    if result is not None:
        obligations = result.obligations
    ballot = views.build_place_ballot(place, seat)
    lines = list(place.lines(seat, since))
    page, following = views.build_sized_page(
        lines, lambda line: place.find_reveal_entry(line, seat), limit
    )
    opened = place.council.opened
    challenges = [
        shapes.ChallengeOut(
            id=each.line.id, participant=each.line.seat, state=each.state, by=each.by
        )
        for each in list_challenges(place.council)
    ]
    return shapes.DeliberationOut.collect(
        views.build_standing(place),
        contributions=[each.out for each in page],
        next_since=following,
        challenges=challenges,
        silences=silences,
        options=list(opened.subject.options),
        frame=shapes.build_frame_out(opened),
        settings=fields.spell_fields(dataclasses.asdict(opened.settings)),
        candidates=views.build_candidates(ballot),
        motion=ballot.motion,
        tally=views.build_tallies(ballot.tally),
        deadlines=views.build_deadlines(place.snapshot),
        patience_seconds=opened.outside_patience,
        result=result,
        outcome=await _find_outcome(call, place.snapshot),
        obligations=obligations,
    )


async def _find_outcome(call: Call, snapshot: Snapshot) -> str | None:
    """How a decision turned out, as it was reviewed."""
    if not snapshot.is_closed:
        return None
    remembered = await call.moot.memory.get(snapshot.session)
    if remembered is None:
        return None
    return remembered.outcome


def _find_reader(caller: Caller, given: str | None) -> SeatId | None:
    """As whom a caller reads: what is sealed is open to its author alone. Where there are no tokens, as the seat that it names."""
    if caller.is_named:
        return SeatId(caller.seat)
    if given is not None and caller.role == "local":
        return parse_seat_id(given)
    return None


@METHODS.add("cstp.waitForTurn", "speak", tool="wait_for_turn", waits=True)
async def wait_for_turn(
    call: Call,
    deliberation_id: fields.DeliberationRef,
    participant: fields.ParticipantRef = None,
    cursor: Annotated[
        int | None,
        Field(
            ge=0,
            le=fields.MAX_ENTRIES,
            description="From the last answer. Default: since your own last contribution.",
        ),
    ] = None,
    timeout_seconds: Annotated[float, Field(ge=0, le=MAX_WAIT_SECONDS)] = 45.0,
) -> shapes.TurnOut:
    """Wait until it is your turn in a deliberation. Answers within timeoutSeconds (45): 'your_turn' with what is asked and what
    is new (then call contribute), 'pending' (nothing yet: call again with the cursor), or 'closed' with the result. With
    `more`, call again with the cursor for the rest of what is new.
    """
    seat = call.caller.resolve_speaker(participant)
    turn = await call.deliberations.wait(
        deliberation_id,
        seat,
        reader=_find_reader(call.caller, seat),
        cursor=cursor,
        timeout=timeout_seconds,
        progress=call.progress,
    )
    return await _build_turn_out(call, turn, SeatId(seat))


@METHODS.add("cstp.joinDeliberation", "speak", tool="join_deliberation")
async def join_deliberation(
    call: Call,
    deliberation_id: fields.DeliberationRef,
    *,
    participant: fields.ParticipantRef = None,
    family: fields.FamilyRef = "",
    cursor: Annotated[
        int, Field(ge=0, le=fields.MAX_ENTRIES, description="Where the last page ended.")
    ] = 0,
    limit: fields.Limit = fields.PAGE,
) -> shapes.TurnOut:
    """Take your seat in a deliberation, for the first time or after an absence: gives all that was said so far and, if it is
    your turn, what is asked of you. Say your model in `family`. With `more`, call again with the cursor. Next: contribute, or
    wait_for_turn.
    """
    seat = call.caller.resolve_speaker(participant)
    await state_family(call, deliberation_id, seat, family.strip())
    reader = _find_reader(call.caller, seat)
    turn = await call.deliberations.wait(
        deliberation_id, seat, reader=reader, cursor=cursor, timeout=0
    )
    return await _build_turn_out(call, turn, SeatId(seat), limit)


async def state_family(call: Call, session: SessionId, seat: str, given: str = "") -> None:
    """Record the model family of an agent from outside: what it says, or its token does; the two must not differ (D-20).

    Only deliberations record it.
    """
    known = call.caller.family
    if known and given and not is_same_family(known, given):
        raise NotAllowed(f"your token is for an agent of the family {known!r}, not of {given!r}")
    if (known or given) and find_council_rules(
        await call.moot.engine.load_snapshot(session)
    ) is not None:
        await call.deliberations.state_family(session, seat, known or given, via=call.caller.door)


async def _build_turn_out(
    call: Call, turn: WaitResult, seat: SeatId, limit: int = fields.PAGE
) -> shapes.TurnOut:
    ask, reader = turn.ask, _find_reader(call.caller, seat)
    page, following = views.build_page(
        turn.new, lambda line: turn.place.find_reveal_entry(line, reader), limit
    )
    shown = {each.id for each in page}
    note = views.describe_next_step(turn.place, seat)
    if ask is not None:
        note = ASKED_ELSEWHERE.get(ask.ask.kind, note)
    visible = [line for line in turn.new if line.id in shown]
    cursor = turn.cursor
    if following is not None:
        cursor = following
        # Said here as well, for clients that read the note and not the fields.
        left = len(turn.new) - len(visible)
        note = f"This is a part of what is new: {left} more contributions follow. To read on, call wait_for_turn with cursor {cursor}. {note}"
    asked = None
    if ask is not None:
        asked = _build_turn_ask(turn.place, seat, ask)
    result = None
    if turn.status == "closed":
        result = await find_result(call, turn.place.snapshot.session)
    return shapes.TurnOut(
        status=turn.status,
        cursor=cursor,
        more=following is not None,
        note=note,
        summary=views.summarize_lines(visible),
        new=page,
        ask=asked,
        result=result,
    )


def _build_turn_ask(
    place: DeliberationState, seat: SeatId, ask: OutstandingAsk
) -> shapes.TurnAskOut:
    """What a seat is asked, with the fields of a contribution spelled as on the wire."""
    schema, instructions = build_brief_schema(ask.brief), strip_control(ask.brief.own)
    expected = ["answer"]
    if ask.ask.kind not in ASKED_ELSEWHERE:
        schema, instructions = _spell_schema(schema), _spell_fields(instructions)
        expected = list(place.list_offered(seat))
    deadline = None
    if ask.pending.deadline is not None:
        deadline = format_time(ask.pending.deadline)
    return shapes.TurnAskOut(
        id=ask.ask.id,
        phase=ask.ask.kind,
        expected=expected,
        deadline=deadline,
        answer_schema=schema,
        instructions=instructions,
        briefing=strip_control(ask.brief.shared),
    )


_WIRE_STATUSES: Final = {"thinking": "open", "concluded": "closed"}
_WIRE_NAMES: Final = {
    name: to_camel(name) for name in shapes.ContributeParams.model_fields if to_camel(name) != name
}
_FIELD = compile_late(rf"\b(?:{'|'.join(_WIRE_NAMES)})\b")


def _spell_fields(instructions: str) -> str:
    """Instructions with the fields as `contribute` spells them; what participants said is left as it is."""
    lines = []
    for line in instructions.split("\n"):
        if line.startswith(MARKS):
            lines.append(line)
        else:
            lines.append(_FIELD.sub(lambda match: _WIRE_NAMES[match[0]], line))
    return "\n".join(lines)


def _spell_schema(schema: Any) -> Any:
    """A schema with its fields as `contribute` spells them; the values that it allows are left as they are."""
    if isinstance(schema, list):
        return [_spell_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    spelled = {}
    for name, each in schema.items():
        spelled[name] = each
        if name != "enum":
            spelled[name] = _spell_schema(each)
    if "properties" in spelled:
        spelled["properties"] = {
            to_camel(name): each for name, each in spelled["properties"].items()
        }
        spelled["required"] = [to_camel(name) for name in spelled.get("required", ())]
    return spelled


@METHODS.add("cstp.listDeliberations", "read", tool="list_deliberations")
async def list_deliberations(
    call: Call,
    status: Literal["open", "parked", "closed", "all"] = "all",
    participant: fields.ParticipantRef = None,
    query: Annotated[
        str, Field(max_length=1_000, description="Only those on such a topic, the best first.")
    ] = "",
    limit: fields.Limit = 100,
) -> shapes.ListOut:
    """List or search deliberations: open ones, closed ones, or those in which a participant has a seat; the newest first."""
    listed = []
    for line in await _search_sessions(call, query):
        # One of a protocol that is not installed, or that is damaged, must not hide the others.
        plugin = load_protocols().get(line.protocol)
        if (
            plugin is None
            or not plugin.wire_name
            or (call.caller.session and call.caller.session != line.session)
        ):
            continue
        if status not in {"all", _WIRE_STATUSES.get(line.status, line.status)}:
            continue
        if participant is not None and not await _has_seat(call, line.session, participant):
            continue
        listed.append(line)
        if len(listed) == limit:
            break
    rows = [
        shapes.ListedOut.collect(
            line,
            deliberation_id=line.session,
            protocol=get_protocol(line.protocol).wire_name,
            status=_WIRE_STATUSES.get(line.status, line.status),
            opened_at=format_time(line.opened_at),
            last_at=format_time(line.last_at),
        )
        for line in await call.moot.session_list.add_outcomes(listed)
    ]
    return shapes.ListOut(deliberations=rows)


async def _search_sessions(call: Call, query: str) -> list[SessionLine]:
    """The sessions that fit a query, the best first; without one all of them, the newest first."""
    if query:
        return await call.moot.session_list.search(query)
    return (await call.moot.sessions())[::-1]


async def _has_seat(call: Call, session: str, participant: str) -> bool:
    try:
        place = await call.deliberations.load_state(session)
    except WorldError:
        # One that cannot be read must not hide the others.
        return False
    return participant in {seat.id for seat in place.council.seats}


async def find_result(call: Call, session: str) -> shapes.ResultOut | None:
    """The result of a deliberation that has ended; None while it goes on, or if it was cancelled."""
    return await call.context.get_or_create(_Results).find(parse_session_id(session))


class _Results:
    """The results that were asked for last: when a deliberation ends, everyone who waited for its turn asks for the same one."""

    def __init__(self, context: ServerContext) -> None:
        self._folded = context.folded
        self._built: BoundedDict[SessionId, tuple[object, shapes.ResultOut | None]] = BoundedDict(
            MAX_RESULTS
        )

    async def find(self, session: SessionId) -> shapes.ResultOut | None:
        folded = await self._folded.load(session)
        timeline = folded.timeline
        # What became of its obligations, and of decisions like it, is not in the session: memory has it.
        version = (folded.seq, dict(timeline.settled), timeline.track_record)
        if session not in self._built or self._built[session][0] != version:
            self._built[session] = (version, views.build_result(timeline))
        return self._built[session][1]
