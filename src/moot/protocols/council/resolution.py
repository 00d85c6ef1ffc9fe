"""The resolution of a deliberation, computed from the record alone."""

from dataclasses import replace
from typing import Final

from moot.domain.ids import SeatId
from moot.domain.roster import Seat
from moot.protocols.council.facts import CouncilBallot, CouncilLostSeat, DeliberationClosed, EndReason
from moot.protocols.council.motions import find_blind_positions, find_motion, is_overturned, list_challenges
from moot.protocols.council.state import PASSED, Council, CouncilLine, Course
from moot.scoring.confidence import ORDINARY_CONFIDENCE
from moot.scoring.independence import build_seat_correlations, detect_family
from moot.scoring.positions import VotePosition, compute_weight
from moot.scoring.resolution import Resolution, SeatVote

_SIDING: Final = ("support", "conditional_support", "oppose")


def build_closing(course: Course, state: Council, reason: EndReason) -> DeliberationClosed:
    """Resolve the votes, and list the lost seats and the open challenges."""
    decided = find_decided_motion(course, state)
    votes = build_voices(course, state, reason)
    resolution = course.resolve(state, votes, build_seat_correlations(state.opened.subject.bonds, state.seats))
    if decided is None:
        resolution = _with_no_motion(resolution)
    if course.owner(state.opened) is not None and reason not in {"decided", "agreed_blind"}:
        # Nobody decided: the owner's first proposal is not a decision.
        resolution = replace(resolution, consensus_type="no_consensus", carried=False)
    return DeliberationClosed(
        reason=reason,
        consensus_type=resolution.consensus_type,
        carried=resolution.carried,
        motion=None if decided is None else decided.id,
        confidence=resolution.confidence,
        support=resolution.support,
        turnout=resolution.turnout,
        heads=resolution.heads,
        effective=resolution.effective,
        ballots=tuple(_build_ballot(voice, is_stated=_is_stated(course, state, voice, reason)) for voice in votes),
        could_differ=resolution.could_differ,
        open_challenges=tuple(challenge.line.id for challenge in list_challenges(state) if challenge.state == "open"),
        overturned=resolution.carried and is_overturned(course, state, decided),
        lost=_list_lost_seats(state),
    )


def compute_outcome(course: Course, state: Council) -> Resolution:
    """Resolve the votes that were cast so far."""
    return course.resolve(
        state, build_voices(course, state, "voted"), build_seat_correlations(state.opened.subject.bonds, state.seats)
    )


def find_decided_motion(course: Course, state: Council) -> CouncilLine | None:
    """Return the line that the votes were about: a vote that has begun keeps its motion."""
    return state.line(state.motion) or find_motion(course, state)


def build_voices(course: Course, state: Council, reason: EndReason) -> tuple[SeatVote, ...]:
    """Return the vote of every seat: blind positions if those agreed, the advice if a seat owns the decision, else the votes."""
    owner = course.owner(state.opened)
    return tuple(_build_voice(seat, _find_vote(state, seat.id, owner, reason)) for seat in state.seats)


def _build_voice(seat: Seat, stand: tuple[VotePosition | None, float | None]) -> SeatVote:
    position, confidence = stand
    # Not stated: it weighs as an ordinary one, and the ballot says that it was not stated.
    presumed = ORDINARY_CONFIDENCE if position in _SIDING else 0.0
    return SeatVote(
        seat=seat.id,
        position=position,
        confidence=presumed if confidence is None else confidence,
        weight=seat.weight,
        trust=seat.trust,
        family=detect_family(seat.platform, seat.id),
    )


def _find_vote(state: Council, seat: SeatId, owner: SeatId | None, reason: EndReason) -> tuple[VotePosition | None, float | None]:
    if reason == "agreed_blind":
        line = find_blind_positions(state).get(seat)
        return ("support", line.said.confidence) if line is not None else (None, None)
    if owner is not None:
        return _find_advisor_vote(state, seat, owner)
    vote = state.line(state.votes.get(seat))
    return (vote.said.position, vote.said.confidence) if vote is not None else (None, None)


def _find_advisor_vote(state: Council, seat: SeatId, owner: SeatId) -> tuple[VotePosition | None, float | None]:
    """Return an advisor's position from its last advice: an accepted challenge is a condition, any other one opposition."""
    own = [line for line in state.lines if line.seat == seat and line.said.type != "propose"]
    if seat == owner:
        own = [line for line in state.lines if line.seat == seat]
        return ("support", own[-1].said.confidence) if own else (None, None)
    if not own:
        # A pass is an abstention, silence is a missing vote: only the second can make the outcome uncertain.
        had = state.had if state.phase == "argue" else state.argued
        return ("abstain", None) if had.get(seat) == PASSED else (None, None)
    last = own[-1]
    if last.said.type != "challenge":
        return "support", last.said.confidence
    met = next(challenge for challenge in list_challenges(state) if challenge.line.id == last.id)
    return "conditional_support" if met.state == "accepted" else "oppose", last.said.confidence


def _is_stated(course: Course, state: Council, voice: SeatVote, reason: EndReason) -> bool:
    """Whether a seat that took a side also said how sure it is."""
    stand = _find_vote(state, SeatId(voice.seat), course.owner(state.opened), reason)
    return stand[0] not in _SIDING or stand[1] is not None


def _build_ballot(voice: SeatVote, *, is_stated: bool) -> CouncilBallot:
    weighs = 0.0 if voice.position in {None, "abstain"} else compute_weight(voice.weight, voice.confidence, voice.trust)
    return CouncilBallot(
        seat=SeatId(voice.seat), position=voice.position, confidence=voice.confidence, weight=weighs, stated=is_stated
    )


def _with_no_motion(resolution: Resolution) -> Resolution:
    """Return the resolution of a deliberation without a motion."""
    return replace(resolution, consensus_type="no_consensus", carried=False, support=None, confidence=None)


def _list_lost_seats(state: Council) -> tuple[CouncilLostSeat, ...]:
    total = sum(seat.weight for seat in state.seats)
    return tuple(
        CouncilLostSeat(
            seat=seat.id,
            times=state.losses[seat.id].times,
            last=state.losses[seat.id].last,
            weight_share=seat.weight / total,
        )
        for seat in state.seats
        if seat.id in state.losses
    )
