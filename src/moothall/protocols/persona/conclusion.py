"""The figures of a conclusion, computed from the final positions of the seats."""

from moothall.domain.ids import SeatId
from moothall.domain.protocol_state import list_lost_seats
from moothall.protocols.persona.facts import MeetingConcluded, Stand, WeighedStand
from moothall.protocols.persona.state import Meeting, compute_confidence
from moothall.scoring.positions import compute_balance, compute_weight, is_outcome_uncertain


def build_conclusion(state: Meeting) -> MeetingConcluded:
    """Weigh the final positions, list the lost seats, and check whether they could have changed the outcome."""
    stands = collect_last_words(state)
    positions = tuple(
        WeighedStand(
            seat=seat.id,
            verdict=stands[seat.id].verdict,
            weight=compute_weight(seat.weight, compute_confidence(stands[seat.id].confidence), seat.trust),
        )
        for seat in state.seats
        if seat.id in stands
    )
    balance = compute_balance((position.verdict, position.weight) for position in positions)
    # A missing seat could have voted with full confidence, so its weight counts without one.
    missing = sum(seat.weight * seat.trust for seat in state.seats if seat.id not in stands)
    return MeetingConcluded(
        reason=state.ended_by or "seats_lost",
        author=state.author,
        support=balance.share,
        turnout=_compute_turnout(state, stands),
        positions=positions,
        lost=list_lost_seats(state, stands),
        outcome_uncertain=bool(state.losses) if state.draft is None else is_outcome_uncertain(balance, missing),
        overruled=balance.oppose > balance.support,
        unanswered=list_unanswered(state),
    )


def list_unanswered(state: Meeting) -> tuple[int, ...]:
    """Return the user's inputs that the conclusion says nothing to."""
    answered = {reply.input for reply in state.draft.answers} if state.draft is not None else set()
    return tuple(each.id for each in state.inputs if each.id not in answered)


def _compute_turnout(state: Meeting, stands: dict[SeatId, Stand]) -> float:
    took = sum(seat.weight for seat in state.seats if seat.id in stands and stands[seat.id].verdict != "abstain")
    return took / sum(seat.weight for seat in state.seats)


def collect_last_words(state: Meeting) -> dict[SeatId, Stand]:
    """Return the final position of every seat; the author counts as supporting its own draft."""
    stands = {seat: stand for seat, stand in state.stands.items() if stand is not None}
    if state.draft is not None and state.author is not None:
        stands[state.author] = Stand(
            verdict="support", confidence=state.draft.confidence, position=state.draft.decision.text[:2_000]
        )
    return stands
