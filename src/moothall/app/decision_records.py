"""What passes between sessions and memory: records of decisions; trust, error correlations and precedents for new sessions."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from moothall.domain.claims import cut_text
from moothall.domain.facts import OWNER_ORIGIN
from moothall.domain.groups import Groups
from moothall.domain.replace import copy_fields
from moothall.domain.roster import NEUTRAL_TRUST, Seat
from moothall.domain.safe_text import one_line
from moothall.domain.topic import ErrorCorrelation, Precedent, ReviewedKind, Topic
from moothall.memory.decision_memory import DecisionMemory
from moothall.memory.facts import DecisionRecorded, Member, RecordedNumber, RecordedObligation
from moothall.memory.remembered_decision import RememberedDecision
from moothall.ports.plugin import AnyPlugin
from moothall.reports.decision import Decision, SeatPosition, SeatQuotations
from moothall.reports.memo import summarize_decision
from moothall.reports.timeline import SessionTimeline
from moothall.scoring.depth import ALONE, BLIND
from moothall.scoring.estimates import fit_extremity
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
MAX_SIMILAR: Final = 3
MAX_BASES: Final = 4
MAX_TOPIC_LENGTH, MAX_DECIDED_LENGTH, MAX_LESSON_LENGTH = 120, 200, 100
"""The most characters of each text: together they stay under two thousand for the usual three decisions."""


def build_decision_record(
    plugin: AnyPlugin, timeline: SessionTimeline, head: bytes
) -> DecisionRecorded:
    decision, opened = plugin.decision(timeline), timeline.session_state.opened
    groups = timeline.session_state.groups
    seats = [timeline.speakers.get(seat.id, seat) for seat in timeline.session_state.seats]
    positions = {position.seat: position for position in decision.positions}
    quoted = {}
    if decision.evidence is not None:
        quoted = {each.seat: each for each in decision.evidence.seats}
    members = []
    for seat in seats:
        is_neutral = seat.id in opened.neutral
        position, own = positions.get(seat.id), quoted.get(seat.id)
        member = _build_member(seat, position, own, is_neutral=is_neutral)
        # One answer has one name here, that of the decision; the session's record has every seat's own words.
        first = name_first_choice(groups, decision.choice, member.first_choice)
        members.append(replace(member, first_choice=first))
    questions = (*decision.open_questions, *decision.open_challenges)[:MAX_ITEMS]
    obligations = tuple(
        RecordedObligation(by=each.seat, text=each.text, due=each.due)
        for each in decision.obligations[:MAX_ITEMS]
    )
    text = None
    if decision.decision is not None:
        text = decision.decision.text
    search_text = "\n".join(line.content for line in timeline.lines)[:MAX_TEXT_LENGTH]
    dissent = tuple(voice.text for voice in decision.dissent[:MAX_ITEMS])
    record = copy_fields(
        DecisionRecorded,
        opened.subject,
        session=timeline.session,
        protocol=plugin.name,
        topic=opened.topic,
        text=text,
        choice=one_line(decision.choice),
        confidence=decision.confidence,
        consensus_type=decision.consensus_type or "",
        agreement=decision.agreement or "",
        members=tuple(members),
        dissent=dissent,
        open_questions=tuple(claim.text for claim in questions),
        search_text=search_text,
        opened_at=timeline.opened_at,
        closed_at=timeline.last_at,
        head=head.hex(),
        strength=decision.strength,
    )
    forecast = None
    if decision.forecast is not None:
        forecast = decision.forecast.pooled
    record = replace(
        record, obligations=obligations, number=_record_number(decision), forecast=forecast
    )
    summary = summarize_decision(decision)
    return replace(
        record,
        leading=one_line(decision.leading_note),
        badge=summary.badge,
        what=summary.what,
        reservation=summary.reservation,
        review_on=decision.review_on,
    )


def _record_number(decision: Decision) -> RecordedNumber | None:
    """Return what was estimated, where the question asked for a number."""
    if decision.number is None:
        return None
    return copy_fields(RecordedNumber, decision.number)


def name_first_choice(groups: Groups, decided: str, first: str) -> str:
    """Return what a first choice is compared by later: the decision's own words where it is the same, else its group's name."""
    if groups.is_same(first, decided):
        return one_line(decided)
    return one_line(groups.name(first))


def _build_member(
    seat: Seat, position: SeatPosition | None, quoted: SeatQuotations | None, *, is_neutral: bool
) -> Member:
    source, kind = seat.source[:MAX_SOURCE_LENGTH], find_seat_family(seat)[:MAX_SOURCE_LENGTH]
    member = Member(source=source, seat=seat.id, family=kind, is_neutral=is_neutral)
    if quoted is not None:
        member = replace(member, quotations=quoted.checked, quotations_held=quoted.held)
    if position is None:
        return member
    # What the owner said for a seat is not the seat's forecast: it neither earns nor costs its source any trust (M-12).
    if not position.via_before.startswith(OWNER_ORIGIN):
        first = one_line(position.choice_before)
        member = replace(member, first_choice=first, first_confidence=position.confidence_before)
    if not position.via.startswith(OWNER_ORIGIN):
        verdict = _VERDICTS.get(position.verdict or "")
        member = replace(member, position=verdict, confidence=position.confidence_after)
    return member


async def with_recorded_trust(
    memory: DecisionMemory, seats: Sequence[Seat], category: str
) -> tuple[Seat, ...]:
    """Return the seats with the trust and accuracy of their track records; trust that was set by hand stays."""
    records = await memory.compute_standings([seat.source for seat in seats], category)
    trusted = []
    for seat in seats:
        if seat.trust != NEUTRAL_TRUST:
            trusted.append(seat)
        else:
            earned = records[seat.source]
            trusted.append(
                replace(seat, trust=earned.trust, accuracy=earned.accuracy, cases=earned.cases)
            )
    return tuple(trusted)


async def load_error_correlations(
    memory: DecisionMemory, seats: Sequence[Seat]
) -> tuple[ErrorCorrelation, ...]:
    """Return the error correlations of the pairs of seats that have a shared record (D-20)."""
    if len(seats) > MAX_CORRELATED:
        return ()
    correlations = []
    pairs = await memory.pair_correlations([seat.source for seat in seats])
    for one, other in combinations(seats, 2):
        # The pair is stored in one order only.
        shared, observed = (
            pairs.get((one.source, other.source))
            or pairs.get((other.source, one.source))
            or (0, None)
        )
        if observed is not None:
            before = presume_correlation(find_seat_family(one), find_seat_family(other))
            correlations.append(
                ErrorCorrelation(
                    one=one.id,
                    other=other.id,
                    correlation=round(compute_correlation(before, shared, observed), 4),
                )
            )
    return tuple(correlations)


async def load_extremity(memory: DecisionMemory, category: str) -> float:
    """Return how far a forecast of a category is drawn away from a half, by those of it that were reviewed (Q-12)."""
    if not category:
        return 1.0
    return fit_extremity(await memory.list_forecast_cases(category))


async def load_reviewed_kinds(memory: DecisionMemory, protocol: str) -> tuple[ReviewedKind, ...]:
    """Return how often decisions of a protocol proved right that one mind made, or that all had written blind (G-4)."""
    table = await memory.reliability()
    counted = {agreement: table.count_alike(protocol, agreement) for agreement in (ALONE, BLIND)}
    return tuple(
        ReviewedKind(agreement=agreement, cases=share.cases, right=share.right)
        for agreement, share in counted.items()
        if share is not None
    )


async def collect_precedents(
    memory: DecisionMemory, question: str, about: Topic, *, tells_unreviewed: bool
) -> tuple[Precedent, ...]:
    """Return what is known of the decisions that this one builds on, failures first, and of those on similar questions.

    What nobody has reviewed would anchor the seats: it is shown only to those whose opener asks for it (M-17).
    """
    bases = []
    for name in about.built_on:
        basis = await memory.get(name)
        if basis is not None and basis.is_decision:
            bases.append(basis)
    # A basis that failed must not be the one that is left out.
    bases.sort(key=lambda decision: decision.outcome not in {"failure", "abandoned"})
    precedents = {
        decision.decision: _build_precedent(decision, is_basis=True)
        for decision in bases[:MAX_BASES]
    }
    hits = await memory.find_similar(
        question, limit=MAX_SIMILAR + len(about.built_on), only_reviewed=not tells_unreviewed
    )
    for hit in hits:
        similar = await memory.get(hit.decision)
        if similar is not None and hit.decision not in about.built_on:
            precedents[hit.decision] = _build_precedent(similar, is_basis=False)
    return tuple(precedents.values())[: min(len(bases), MAX_BASES) + MAX_SIMILAR]


def _build_precedent(decision: RememberedDecision, *, is_basis: bool) -> Precedent:
    record, review = decision.record, decision.review
    lesson = ""
    if review is not None:
        lesson = cut_text(one_line(review.note), MAX_LESSON_LENGTH)
    text = one_line(record.text or "")
    return Precedent(
        decision_id=decision.decision,
        topic=cut_text(one_line(record.topic), MAX_TOPIC_LENGTH),
        text=cut_text(text, MAX_DECIDED_LENGTH),
        date=f"{record.closed_at:%Y-%m-%d}",
        outcome=decision.outcome or "",
        lesson=lesson,
        is_basis=is_basis,
    )
