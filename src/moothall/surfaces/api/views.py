"""A deliberation as it crosses the wire: where it stands, what was said, what came of it."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Final, Literal, NamedTuple

from moothall.app.deliberations import DeliberationState
from moothall.app.moot import Moot
from moothall.app.protocols import find_plugin, get_protocol
from moothall.domain.claims import cut_text
from moothall.domain.dictionaries import BoundedDict
from moothall.domain.facts import Opened, Reply
from moothall.domain.ids import USER, SeatId, find_asked_seat, parse_ask_kind, parse_session_id
from moothall.domain.safe_text import one_line
from moothall.engine.snapshot import Snapshot
from moothall.memory.remembered_decision import RememberedObligation
from moothall.memory.tokens import Token
from moothall.ports.plugin import MEETING, AnyPlugin, CastVote, JoinGuide
from moothall.protocols.council.ballot_view import build_ballot, build_support
from moothall.protocols.council.facts import Contribution, DeliberationClosed, Line
from moothall.protocols.council.state import Council, CouncilLine
from moothall.protocols.council.timeline import (
    CouncilTimeline,
    build_decision,
    list_cast_votes,
    list_missing_votes,
)
from moothall.reports.ballot import Ballot, CandidateSupport
from moothall.reports.decision import Decision
from moothall.reports.timeline import SessionTimeline, TimelineLine, format_time
from moothall.surfaces.api import shapes
from moothall.surfaces.api.fields import PAGE
from moothall.surfaces.api.memo_shape import build_memo_out
from moothall.surfaces.invitations.agent_clients import JOIN_KINDS, build_join_prompt

MAX_PAGE_LENGTH: Final = 60_000
"""About how many characters of contributions one answer holds."""

MAX_CANDIDATE_LENGTH: Final = 2_000
MAX_SHORTENED: Final = 8
MAX_CACHED_LINES: Final = 512


def find_status(place: DeliberationState) -> Literal["open", "parked", "closed", "cancelled"]:
    if not place.snapshot.is_closed:
        if place.snapshot.session_state.parked is None:
            return "open"
        return "parked"
    if isinstance(place.snapshot.session_state.closed, DeliberationClosed):
        return "closed"
    return "cancelled"


def build_standing(place: DeliberationState) -> shapes.StandingOut:
    council, allowed = place.council, place.allowed
    participants = []
    for seat in council.seats:
        types = allowed[seat.id] if seat.is_outside else []
        participants.append(shapes.ParticipantOut.collect(seat, may_contribute=types))
    return _build_standing(
        place.snapshot,
        protocol=get_protocol(place.rules.name).wire_name,
        status=find_status(place),
        phase=council.phase,
        round=council.round,
        waiting_for=place.waiting_for,
        note=describe_next_step(place, None),
        participants=participants,
    )


def build_general_standing(snapshot: Snapshot, protocol: str) -> shapes.StandingOut:
    """Where a session of any protocol stands: its asks are answered with `moot.answer`."""
    state = snapshot.session_state
    status = "open"
    if snapshot.is_closed:
        status = "closed"
    elif state.parked is not None:
        status = "parked"
    participants = [shapes.ParticipantOut.collect(seat, may_contribute=[]) for seat in state.seats]
    return _build_standing(
        snapshot,
        protocol=protocol,
        status=status,
        phase="",
        round=0,
        waiting_for=sorted({find_asked_seat(ask) for ask in state.pending}),
        note=f"This is a session of the protocol '{protocol}': see what is asked with get_asks, answer with answer_ask.",
        participants=participants,
    )


def _build_standing(snapshot: Snapshot, **given: object) -> shapes.StandingOut:
    opened = snapshot.session_state.opened
    return shapes.StandingOut.collect(
        opened, opened.subject, deliberation_id=snapshot.session, cursor=snapshot.seq, **given
    )


def find_join_guide(opened: Opened) -> JoinGuide:
    """How a participant from outside takes part in a session. A kind that has no tools of its own has those of every protocol."""
    guide = find_plugin(opened).join(opened)
    if guide.kind in JOIN_KINDS:
        return guide
    return MEETING


def build_seat_prompt(snapshot: Snapshot, seat: str, *, has_token: bool = True) -> str:
    """What to tell a coding agent that was invited to a seat, once it is connected."""
    opened = snapshot.session_state.opened
    guide = find_join_guide(opened)
    # Without a seat's token the tools that serve every protocol are shown, not those of one; a session with a name of its own has
    # no others.
    if not has_token and not guide.session:
        guide = MEETING
    return build_join_prompt(
        guide.kind,
        opened.language,
        session=guide.session or snapshot.session,
        seat=seat,
        has_token=has_token,
        has_consultations=has_token and opened.consult is not None,
    )


async def build_token_prompt(moot: Moot, token: Token) -> str:
    """What to tell an agent that has joined with a seat's token; empty for any other token."""
    if token.role != "seat":
        return ""
    return build_seat_prompt(
        await moot.engine.load_snapshot(parse_session_id(token.session)), token.seat
    )


FACTS_ASKED: Final = (
    "Before positions you are asked what the others may not know: answer with answer_ask, "
    'as {"facts": [{"fact": "…", "source": "…"}]}, [] if nothing.'
)
"""The note to an agent that has a turn for its facts."""


def describe_next_step(place: DeliberationState, seat: SeatId | None) -> str:
    """What to do next, in a sentence."""
    if place.snapshot.is_closed:
        return "The deliberation has ended; its result is final."
    waiting = place.waiting_for
    if place.council.is_stating_facts and seat is not None and seat in waiting:
        return FACTS_ASKED
    if seat is not None and seat in waiting:
        types = ", ".join(place.list_offered(seat))
        return f"It is your turn in the phase '{place.council.phase}': contribute one of: {types}."
    parked = place.snapshot.session_state.parked
    if parked is not None:
        return f"Parked, nothing is lost: {one_line(parked.reason)}. It goes on when those seats can be asked (resume_session)."
    sealed = ""
    if place.council.is_sealed and place.council.phase == "vote":
        sealed = " Votes stay sealed until all are in."
    elif place.council.is_stating_facts:
        sealed = " Facts stay sealed until all are in."
    elif place.council.is_sealed:
        sealed = " Proposals stay sealed until all are in."
    return f"Phase '{place.council.phase}': waiting for {', '.join(waiting) or 'nobody'}.{sealed} Call wait_for_turn to wait for your turn."


def summarize_lines(lines: Sequence[CouncilLine]) -> str:
    """What came, in a sentence: how much of each kind, and where to find it."""
    kinds: dict[str, list[str]] = {}
    for line in lines:
        kinds.setdefault(_name_kind(line), []).append(f"#{line.id}")
    if not kinds:
        return "Nothing new."
    parts = [f"{len(ids)} × {kind} ({', '.join(ids)})" for kind, ids in kinds.items()]
    return f"New: {'; '.join(parts)}."


def _name_kind(line: CouncilLine) -> str:
    if line.seat == USER:
        return "input"
    return line.said.type


def build_contribution(line: CouncilLine) -> shapes.ContributionOut:
    return shapes.ContributionOut.collect(
        line.said,
        line,
        entry=line.seq,
        at=format_time(line.at),
        participant=line.seat,
        type=_name_kind(line),
        via=line.via or None,
        model=line.model or None,
        mends=line.mends or None,
    )


def build_page(
    lines: Sequence[CouncilLine], find_entry: Callable[[CouncilLine], int], limit: int
) -> tuple[list[shapes.ContributionOut], int | None]:
    """Return the first lines, in the order in which they came to light, and the entry behind which the next page begins.

    Lines that came to light together stay together: if they are too long for one answer, each is shortened and marked.
    """
    page, following = build_sized_page(lines, find_entry, limit)
    if sum(each.size for each in page) <= MAX_PAGE_LENGTH:
        return [each.out for each in page], following
    room = MAX_PAGE_LENGTH // len(page)
    shortened = []
    for each in page:
        if each.size <= room:
            shortened.append(each.out)
        else:
            shortened.append(_cut_contribution(each.out, room))
    return shortened, following


class _SizedLine(NamedTuple):
    """A line as it crosses the wire, and its length there."""

    line: CouncilLine
    out: shapes.ContributionOut
    size: int


_sized_lines: BoundedDict[int, _SizedLine] = BoundedDict(MAX_CACHED_LINES)
"""The lines that were built last, by identity: everyone at a table of many reads the same ones."""


def _build_sized_line(line: CouncilLine) -> _SizedLine:
    known = _sized_lines.get(id(line))
    if known is not None and known.line is line:
        return known
    out = build_contribution(line)
    built = _sized_lines[id(line)] = _SizedLine(line, out, len(out.model_dump_json()))
    return built


def build_sized_page(
    lines: Sequence[CouncilLine], find_entry: Callable[[CouncilLine], int], limit: int
) -> tuple[list[_SizedLine], int | None]:
    """The same with every line as it is: as long as a page may be, or as the lines that came to light together are."""
    page: list[_SizedLine] = []
    size, last = 0, 0
    for entry, group in groupby(
        sorted(lines, key=lambda line: (find_entry(line), line.id)), key=find_entry
    ):
        built = [_build_sized_line(line) for line in group]
        length = sum(each.size for each in built)
        if page and (len(page) + len(built) > limit or size + length > MAX_PAGE_LENGTH):
            return page, last
        page, size, last = [*page, *built], size + length, entry
    return page, None


def _cut_contribution(line: shapes.ContributionOut, room: int) -> shapes.ContributionOut:
    """Shorten a line: its text to a part of the room, and what comes beside it to almost nothing."""
    said, few = dict(line), slice(0, MAX_SHORTENED)
    lines = {}
    for field in dataclasses.fields(Contribution):
        if field.type is Line:
            lines[field.name] = cut_text(said[field.name], room // 8)
    evidence = [cut_text(each, room // 32) for each in said["evidence"][few]]
    taken = [each.model_copy(update={"why": ""}) for each in said["taken"][few]]
    ballot = [each.model_copy(update={"condition": ""}) for each in said["ballot"]]
    return line.model_copy(
        update={
            **lines,
            "text": cut_text(said["text"], room // 2),
            "evidence": evidence,
            "answers": said["answers"][few],
            "accepts": said["accepts"][few],
            "taken": taken,
            "ballot": ballot,
            "is_cut": True,
        }
    )


def build_trace_lines(
    plugin: AnyPlugin, timeline: SessionTimeline
) -> tuple[list[shapes.ContributionOut], bool]:
    """Who said what, in order, in a session of any protocol; whether there is more than one answer holds."""
    if plugin.contributions is not None:
        page, following = build_page(plugin.contributions(timeline), lambda line: line.seq, PAGE)
        return page, following is not None
    page, size = [], 0
    for line in timeline.lines:
        size += len(line.content)
        if page and (size > MAX_PAGE_LENGTH or len(page) == PAGE):
            return page, True
        page.append(_build_trace_line(line, timeline.origins.get(line.seq)))
    return page, False


def _build_trace_line(line: TimelineLine, reply: Reply | None) -> shapes.ContributionOut:
    """A line of a session of any protocol; `reply` is the answer that it came with, where that is known."""
    phase, via, model = "", None, None
    if reply is not None:
        phase = parse_ask_kind(reply.ask)
        via = reply.origin or None
        model = reply.model or None
    return shapes.ContributionOut.collect(
        id=line.id,
        entry=line.seq,
        at=line.timestamp,
        participant=line.speaker,
        type="input" if line.speaker == USER else "speech",
        text=cut_text(line.content, MAX_PAGE_LENGTH),
        is_cut=len(line.content) > MAX_PAGE_LENGTH,
        round=0,
        phase=phase,
        via=via,
        model=model,
    )


def build_place_ballot(place: DeliberationState, reader: SeatId | None) -> Ballot:
    """The vote of a deliberation, as far as a reader may see it."""
    closed = place.snapshot.session_state.closed
    resolution = closed if isinstance(closed, DeliberationClosed) else None
    return build_ballot(place.rules.variant, place.council, resolution, reader)


def build_candidates(ballot: Ballot) -> list[shapes.CandidateOut]:
    return [
        shapes.CandidateOut(
            candidate=each.line,
            participant=each.seat,
            choice=each.choice,
            text=cut_text(each.text, MAX_CANDIDATE_LENGTH),
        )
        for each in ballot.candidates
    ]


def build_tallies(tally: Sequence[CandidateSupport]) -> list[shapes.TallyOut]:
    return [shapes.TallyOut.collect(each, candidate=each.line) for each in tally]


def build_deadlines(snapshot: Snapshot) -> list[shapes.DeadlineOut]:
    """Until when each seat that is asked may answer."""
    deadlines = []
    for ask, pending in snapshot.session_state.pending.items():
        if pending.deadline is None:
            continue
        deadline = shapes.DeadlineOut(
            participant=find_asked_seat(ask),
            phase=parse_ask_kind(ask),
            deadline=format_time(pending.deadline),
        )
        deadlines.append(deadline)
    return deadlines


def build_obligations_out(decision: Decision) -> list[RememberedObligation]:
    """The conditions of a decision, as its session and memory know them."""
    return [
        RememberedObligation(
            decision_id=decision.session,
            number=number,
            by=each.seat,
            text=each.text,
            due=each.due,
            state=each.state,
        )
        for number, each in enumerate(decision.obligations, 1)
    ]


def build_result(timeline: CouncilTimeline) -> shapes.ResultOut | None:
    """Build the result of a deliberation from its decision; None while there is none."""
    closed = timeline.resolution
    if closed is None:
        return None
    decision, missing = build_decision(timeline), list_missing_votes(timeline)
    memo = build_memo_out(decision)
    notes = [each.text for each in memo.reservations]
    if missing:
        notes.append(f"Did not vote: {', '.join(missing)}.")
    text = None
    if decision.decision is not None:
        text = decision.decision.text
    motion, choice = None, ""
    line = timeline.state.line(closed.motion)
    if line is not None:
        motion, choice = line.said.text, line.said.choice
    voiced = [
        shapes.DissentOut.collect(
            voice, participant=voice.seat or "", id=next(iter(voice.entries), None)
        )
        for voice in decision.dissent
    ]
    return shapes.ResultOut.collect(
        decision,
        deliberation_id=timeline.session,
        memo=memo,
        note=" ".join(filter(None, notes)),
        choice=decision.short_choice,
        decision=text,
        participant_votes=build_votes(decision, list_cast_votes(timeline)),
        # The source lists a condition here too; what it is, an obligation, stands in `obligations`.
        dissent=[*(each.text for each in decision.obligations), *(voice.text for voice in voiced)],
        dissent_details=voiced,
        open_challenges=_list_open_challenges(decision, timeline.state),
        motion=motion,
        votes=decision.voters,
        effective_votes=round(decision.effective or 0.0, 2),
        overturned_blind_majority=decision.overturned,
        missing=missing,
        changed_minds=collect_changes(decision, choice),
        lost=[shapes.LostOut.collect(lost, participant=lost.seat) for lost in decision.lost],
        obligations=build_obligations_out(decision),
        tally=build_tallies([build_support(each) for each in closed.candidates]),
    )


def _list_open_challenges(decision: Decision, council: Council) -> list[shapes.DissentOut]:
    challenges = []
    for claim in decision.open_challenges:
        for number in claim.entries:
            line = council.line(number)
            if line is not None:
                challenge = shapes.DissentOut.collect(
                    line.said, line, participant=line.seat, kind="challenge"
                )
                challenges.append(challenge)
    return challenges


def build_votes(decision: Decision, cast: Mapping[SeatId, CastVote]) -> dict[str, shapes.VoteOut]:
    """Build the votes, by seat, with the condition of each and the model that cast it."""
    given: dict[str, shapes.VoteOut] = {}
    for position in decision.positions:
        if position.verdict is None:
            continue
        vote = cast.get(position.seat, CastVote())
        given[position.seat] = shapes.VoteOut.collect(
            vote,
            position=position.verdict,
            confidence=position.confidence_after,
            moved_by=position.moved_by,
            weight=position.weight,
            via=position.via or None,
            model=vote.model or None,
        )
    return given


def collect_changes(decision: Decision, after: str) -> list[shapes.MovedOut]:
    """Who wrote one choice blind and ended with another, or names a line that moved it. `after` is the choice that was decided on."""
    changes = []
    for position in decision.positions:
        supports = position.verdict in {"support", "conditional_support"}
        is_other = (
            bool(position.choice_before and after)
            and position.choice_before.casefold() != after.casefold()
        )
        if position.moved_by is None and not (supports and is_other):
            continue
        latest = position.verdict
        if supports:
            latest = after
        change = shapes.MovedOut(
            participant=position.seat,
            before=position.choice_before or position.before or "",
            after=latest,
            moved_by=position.moved_by,
            moved_after=position.moved_after,
        )
        changes.append(change)
    return changes


def collect_silences(timeline: CouncilTimeline) -> list[shapes.SilenceOut]:
    """Who passed or was lost, in order."""
    rows: list[tuple[int, str, str, str]] = []
    for turn in timeline.passes:
        why = "passed"
        if turn.is_implied:
            why = "went_on"
        rows.append((turn.seq, turn.seat, turn.phase, why))
    for loss in timeline.losses:
        rows.append((loss.seq, loss.seat, loss.asked_for, loss.reason))
    return [
        shapes.SilenceOut(participant=seat, phase=phase, entry=entry, why=why)
        for entry, seat, phase, why in sorted(rows)
    ]
