"""Connects sessions with memory: stores their decisions, and provides trust and error correlations for new ones."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from moothall.domain.facts import OWNER_ORIGIN
from moothall.domain.ids import SeatId
from moothall.domain.roster import MEASURE, NEUTRAL_TRUST, Seat, parse_kind
from moothall.domain.topic import ErrorCorrelation, normalize_label
from moothall.memory.decision_memory import DecisionMemory
from moothall.memory.facts import DecisionRecorded, Member, RecordedObligation
from moothall.ports.plugin import AnyPlugin
from moothall.reports.decision import Decision, SeatPosition
from moothall.reports.timeline import SessionTimeline
from moothall.scoring.independence import compute_correlation, find_seat_family, presume_correlation
from moothall.scoring.positions import VotePosition

MAX_TEXT_LENGTH: Final = 60_000
MAX_SOURCE_LENGTH: Final = 500
MAX_ITEMS: Final = 100
MAX_CORRELATED: Final = 16
"""Up to how many seats the shared records of all pairs are looked up."""

_VERDICTS: dict[str, VotePosition] = {
    "support": "support",
    "conditional": "conditional_support",
    "conditional_support": "conditional_support",
    "oppose": "oppose",
    "abstain": "abstain",
}


def build_decision_record(plugin: AnyPlugin, timeline: SessionTimeline, head: bytes) -> DecisionRecorded:
    """Build the memory record of an ended session."""
    decision, opened = plugin.decision(timeline), timeline.session_state.opened
    subject = opened.subject
    return DecisionRecorded(
        session=timeline.session,
        protocol=plugin.name,
        topic=opened.topic,
        category=subject.category,
        stakes=subject.stakes,
        tags=subject.tags,
        thread=subject.thread,
        text=None if decision.decision is None else decision.decision.text,
        choice=normalize_label(decision.choice),
        options=subject.options,
        confidence=decision.confidence,
        consensus_type=decision.consensus_type or "",
        members=_build_members(decision, timeline.session_state.seats, opened.neutral),
        dissent=tuple(voice.text for voice in decision.dissent[:MAX_ITEMS]),
        open_questions=tuple(claim.text for claim in (*decision.open_questions, *decision.open_challenges)[:MAX_ITEMS]),
        search_text="\n".join(line.content for line in timeline.lines)[:MAX_TEXT_LENGTH],
        built_on=subject.built_on,
        opened_at=timeline.opened_at,
        closed_at=timeline.last_at,
        head=head.hex(),
        strength=decision.strength,
        obligations=tuple(
            RecordedObligation(by=each.seat, text=each.text, due=each.due) for each in decision.obligations[:MAX_ITEMS]
        ),
    )


def _build_members(decision: Decision, seats: Sequence[Seat], neutral: frozenset[SeatId]) -> tuple[Member, ...]:
    positions = {position.seat: position for position in decision.positions}
    # A measure compares what others say; it has no part in the decision.
    return tuple(
        _build_member(seat, positions.get(seat.id), is_neutral=seat.id in neutral)
        for seat in seats
        if parse_kind(seat.platform) != MEASURE
    )


def _build_member(seat: Seat, position: SeatPosition | None, *, is_neutral: bool) -> Member:
    source, kind = seat.source[:MAX_SOURCE_LENGTH], find_seat_family(seat)[:MAX_SOURCE_LENGTH]
    member = Member(source=source, seat=seat.id, family=kind, is_neutral=is_neutral)
    if position is None:
        return member
    # What the owner said for a seat is not the seat's forecast: it neither earns nor costs its source any trust (M-12).
    if not position.via_before.startswith(OWNER_ORIGIN):
        first = normalize_label(position.choice_before)
        member = replace(member, first_choice=first, first_confidence=position.confidence_before)
    if not position.via.startswith(OWNER_ORIGIN):
        verdict = _VERDICTS.get(position.verdict or "")
        member = replace(member, position=verdict, confidence=position.confidence_after)
    return member


async def with_recorded_trust(memory: DecisionMemory, seats: Sequence[Seat], category: str) -> tuple[Seat, ...]:
    """Return the seats with the trust and accuracy of their track records; trust that was set by hand stays."""
    records = await memory.compute_standings([seat.source for seat in seats], category)
    return tuple(
        replace(seat, trust=records[seat.source].trust, accuracy=records[seat.source].accuracy)
        if seat.trust == NEUTRAL_TRUST
        else seat
        for seat in seats
    )


async def load_error_correlations(memory: DecisionMemory, seats: Sequence[Seat]) -> tuple[ErrorCorrelation, ...]:
    """Return the error correlations of the pairs of seats that have a shared record (D-20)."""
    if len(seats) > MAX_CORRELATED:
        return ()
    correlations = []
    pairs = await memory.pair_correlations([seat.source for seat in seats])
    for one, other in combinations(seats, 2):
        # The pair is stored in one order only.
        shared, observed = pairs.get((one.source, other.source)) or pairs.get((other.source, one.source)) or (0, None)
        if observed is not None:
            before = presume_correlation(find_seat_family(one), find_seat_family(other))
            correlations.append(
                ErrorCorrelation(one=one.id, other=other.id, correlation=round(compute_correlation(before, shared, observed), 4))
            )
    return tuple(correlations)
