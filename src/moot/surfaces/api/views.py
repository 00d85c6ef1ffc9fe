"""A deliberation as it crosses the wire: where it stands, what was said, what came of it."""

from collections.abc import Sequence
from typing import Any, Literal

from moot.app.deliberations import DeliberationState
from moot.app.protocols import get_protocol
from moot.domain.ids import USER, SeatId
from moot.engine.snapshot import Snapshot
from moot.protocols.council.facts import DeliberationClosed
from moot.protocols.council.live_lines import describe_warning
from moot.protocols.council.state import CouncilLine
from moot.protocols.council.timeline import CouncilTimeline, build_dissent, build_positions
from moot.reports.timeline import format_time
from moot.surfaces.api.shapes import (
    ContributionOut,
    DissentOut,
    LostOut,
    MovedOut,
    ParticipantOut,
    ResultOut,
    SilenceOut,
    TakenIn,
    VoteOut,
)


def find_status(place: DeliberationState) -> Literal["open", "closed", "cancelled"]:
    """Whether a deliberation is open."""
    if not place.snapshot.is_closed:
        return "open"
    return "closed" if isinstance(place.snapshot.session_state.closed, DeliberationClosed) else "cancelled"


def build_standing(place: DeliberationState) -> dict[str, Any]:
    """The fields of `StandingOut`."""
    council, opened, allowed = place.council, place.council.opened, place.allowed
    return {
        "deliberation_id": place.snapshot.session,
        "topic": opened.topic,
        "protocol": get_protocol(place.rules.name).wire_name,
        "category": opened.subject.category,
        "stakes": opened.subject.stakes,
        "status": find_status(place),
        "phase": council.phase,
        "round": council.round,
        "waiting_for": list(place.waiting_for),
        "participants": [
            ParticipantOut(
                id=seat.id,
                platform=seat.platform,
                stance=seat.stance,
                trust=seat.trust,
                weight=seat.weight,
                may_contribute=list(allowed[seat.id]) if seat.is_outside else [],
            )
            for seat in council.seats
        ],
        "cursor": place.snapshot.seq,
        "note": describe_next_step(place, None),
    }


def build_general_standing(snapshot: Snapshot, protocol: str) -> dict[str, Any]:
    """The fields of `StandingOut` for a session of any protocol: its asks are answered with `moot.answer`."""
    state, opened = snapshot.session_state, snapshot.session_state.opened
    return {
        "deliberation_id": snapshot.session,
        "topic": opened.topic,
        "protocol": protocol,
        "category": opened.subject.category,
        "stakes": opened.subject.stakes,
        "status": "closed" if snapshot.is_closed else "open",
        "phase": "",
        "round": 0,
        "waiting_for": sorted({ask.split(".", 2)[2] for ask in state.pending}),
        "participants": [
            ParticipantOut(
                id=seat.id, platform=seat.platform, stance=seat.stance, trust=seat.trust, weight=seat.weight, may_contribute=[]
            )
            for seat in state.seats
        ],
        "cursor": snapshot.seq,
        "note": f"This is a session of the protocol '{protocol}': see what is asked with get_asks, answer with answer_ask.",
    }


def describe_next_step(place: DeliberationState, seat: SeatId | None) -> str:
    """What to do next, in a sentence."""
    if place.snapshot.is_closed:
        return "The deliberation has ended; its result is final."
    waiting = place.waiting_for
    if seat is not None and seat in waiting:
        types = ", ".join(place.allowed[seat])
        return f"It is your turn in the phase '{place.council.phase}': contribute one of: {types}."
    sealed = " Proposals stay sealed until all have written." if place.council.is_sealed else ""
    return f"Phase '{place.council.phase}': waiting for {', '.join(waiting) or 'nobody'}.{sealed} Call wait_for_turn to wait for your turn."


def summarize_lines(lines: Sequence[CouncilLine]) -> str:
    """What came, in a sentence: how much of each kind, and where to find it."""
    kinds: dict[str, list[int]] = {}
    for line in lines:
        kinds.setdefault("input" if line.seat == USER else line.said.type, []).append(line.id)
    if not kinds:
        return "Nothing new."
    parts = [f"{len(numbers)} × {kind} ({', '.join(f'#{number}' for number in numbers)})" for kind, numbers in kinds.items()]
    return f"New: {'; '.join(parts)}."


def build_contribution(line: CouncilLine) -> ContributionOut:
    """A line as it crosses the wire."""
    said = line.said
    return ContributionOut(
        id=line.id,
        entry=line.seq,
        at=format_time(line.at),
        participant=line.seat,
        type="input" if line.seat == USER else said.type,
        text=said.text,
        confidence=said.confidence,
        choice=said.choice,
        refers_to=said.refers_to,
        evidence=list(said.evidence),
        answers=list(said.answers),
        accepts=list(said.accepts),
        position=said.position,
        condition=said.condition,
        moved_by=said.moved_by,
        taken=[TakenIn(entry=taken.entry, how=taken.how, why=taken.why) for taken in said.taken],
        round=line.round,
        phase=line.phase,
    )


def build_result(timeline: CouncilTimeline, place: DeliberationState) -> ResultOut | None:
    """The result of a deliberation; None while it has none."""
    closed = timeline.resolution
    if closed is None:
        return None
    council = place.council
    motion = council.line(closed.motion)
    votes = {seat: line for seat, number in council.votes.items() if (line := council.line(number)) is not None}
    voiced = [
        DissentOut(participant=voice.seat or "", kind=voice.kind, text=voice.text, id=voice.entries[0] if voice.entries else None)
        for voice in build_dissent(timeline)
    ]
    missing = [ballot.seat for ballot in closed.ballots if ballot.position is None]
    return ResultOut(
        deliberation_id=timeline.session,
        note=_build_warning(timeline, missing),
        decision=motion.said.text if motion is not None and closed.carried else None,
        confidence=None if closed.confidence is None else round(closed.confidence, 4),
        consensus_type=closed.consensus_type,
        participant_votes={
            ballot.seat: VoteOut(
                position=ballot.position,
                confidence=ballot.confidence,
                condition=votes[ballot.seat].said.condition if ballot.seat in votes else "",
                moved_by=votes[ballot.seat].said.moved_by if ballot.seat in votes else None,
                weight=round(ballot.weight, 4),
            )
            for ballot in closed.ballots
            if ballot.position is not None
        },
        dissent=list(dict.fromkeys(voice.text for voice in voiced)),
        dissent_details=voiced,
        open_challenges=[
            DissentOut(participant=line.seat, kind="challenge", text=line.said.text, id=line.id)
            for number in closed.open_challenges
            if (line := council.line(number)) is not None
        ],
        motion=None if motion is None else motion.said.text,
        support=closed.support,
        turnout=closed.turnout,
        votes=closed.heads,
        effective_votes=round(closed.effective, 2),
        overturned_blind_majority=closed.overturned,
        missing=list(missing),
        could_differ=closed.could_differ,
        changed_minds=_collect_changes(timeline, motion),
        lost=[
            LostOut(participant=lost.seat, times=lost.times, last=lost.last, weight_share=lost.weight_share)
            for lost in closed.lost
        ],
        ended_by=closed.reason,
    )


def _build_warning(timeline: CouncilTimeline, missing: Sequence[SeatId]) -> str:
    found = [describe_warning(timeline)]
    if missing:
        found.append(f"Did not vote: {', '.join(missing)}.")
    return " ".join(line for line in found if line)


def _collect_changes(timeline: CouncilTimeline, motion: CouncilLine | None) -> list[MovedOut]:
    """Who wrote one choice blind and ended with another, or names a line that moved it."""
    after = motion.said.choice if motion is not None else ""
    found = []
    for position in build_positions(timeline):
        supports = position.verdict in {"support", "conditional_support"}
        is_other = bool(position.choice_before and after) and position.choice_before.casefold() != after.casefold()
        if position.moved_by is not None or (supports and is_other):
            found.append(
                MovedOut(
                    participant=position.seat,
                    before=position.choice_before or position.before or "",
                    after=after if supports else position.verdict,
                    moved_by=position.moved_by,
                )
            )
    return found


def collect_silences(timeline: CouncilTimeline) -> list[SilenceOut]:
    """Who passed or was lost, in order."""
    passed = [
        SilenceOut(participant=one.seat, phase=one.phase, entry=one.seq, why="went_on" if one.is_implied else "passed")
        for one in timeline.passes
    ]
    lost = [SilenceOut(participant=one.seat, phase=one.asked_for, entry=one.seq, why=one.reason) for one in timeline.losses]
    return sorted([*passed, *lost], key=lambda one: one.entry)
