"""The resolution of a deliberation, computed from the record alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from moothall.domain.ids import SeatId
from moothall.domain.protocol_state import list_lost_seats
from moothall.domain.topic import normalize_label
from moothall.protocols.council.ballots import (
    SIDES,
    CandidateVoices,
    build_voice,
    find_motion,
    find_voted_ids,
)
from moothall.protocols.council.facts import CandidateTally, CouncilBallot, DeliberationClosed, EndReason
from moothall.protocols.council.motions import find_blind_positions, is_overturned, list_challenges, list_proposals
from moothall.protocols.council.state import PASSED, Council, CouncilLine, CouncilVariant, find_accuracy
from moothall.scoring.independence import build_seat_correlations, compute_independence
from moothall.scoring.positions import VotePosition
from moothall.scoring.posterior import OPEN_OPTIONS, compute_posterior, compute_record_weight
from moothall.scoring.resolution import Resolution, SeatVote

ENOUGH_LEAD: Final = 3
"""How many more seats than for any other choice settle the question."""

ENOUGH_POSTERIOR: Final = 0.80
"""The posterior of a choice that settles it; measured with the lead in `bench/decisions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelLead:
    """The choice that leads, by how many seats, and how likely it is right."""

    choice: str
    lead: int
    posterior: float

    @property
    def is_settled(self) -> bool:
        return self.lead >= ENOUGH_LEAD or self.posterior >= ENOUGH_POSTERIOR


def find_panel_lead(state: Council) -> PanelLead | None:
    """Return the choice that leads among the blind positions so far; None without any, or if two lead alike."""
    named = {seat: choice for seat, line in find_blind_positions(state).items() if (choice := normalize_label(line.said.choice))}
    if not named:
        return None
    options = len(state.opened.subject.options) or OPEN_OPTIONS
    voters = [seat for seat in state.seats if seat.id in named]
    correlations = build_seat_correlations(state.opened.subject.error_correlations, voters)
    worths = compute_independence(len(voters), lambda i, j: correlations(voters[i].id, voters[j].id))
    counts: dict[str, int] = {}
    scores: dict[str, float] = {}
    for seat, worth in zip(voters, worths, strict=True):
        choice = named[seat.id]
        counts[choice] = counts.get(choice, 0) + 1
        scores[choice] = scores.get(choice, 0.0) + worth * compute_record_weight(find_accuracy(seat), options)
    posteriors = compute_posterior(scores, options)
    ranked = sorted(posteriors, key=lambda choice: (-round(posteriors[choice], 9), -counts[choice]))
    best = ranked[0]
    others = max((counts[choice] for choice in ranked[1:]), default=0)
    if len(ranked) > 1 and round(posteriors[best], 9) == round(posteriors[ranked[1]], 9) and counts[best] == counts[ranked[1]]:
        return None
    return PanelLead(choice=best, lead=counts[best] - others, posterior=posteriors[best])


Stand = tuple[VotePosition | None, float | None]
"""A position, and the confidence that was stated for it."""


def build_closing(variant: CouncilVariant, state: Council, reason: EndReason) -> DeliberationClosed:
    """Resolve the votes, and list the lost seats and the open challenges."""
    votes = CandidateVoices(state, find_voted_ids(variant, state))
    decided = find_decided_motion(variant, state, reason, votes)
    voices = build_voices(variant, state, reason, decided, votes)
    resolution = _resolve(variant, state, voices)
    if decided is None:
        resolution = _with_no_motion(resolution)
    if variant.owner(state.opened) is not None and reason not in {"decided", "agreed_blind"}:
        # Nobody decided: the owner's first proposal is not a decision.
        resolution = replace(resolution, consensus_type="no_consensus", carried=False)
    if reason == "settled" and (lead := find_panel_lead(state)) is not None:
        # The number that stopped the panel is the one that decides.
        kind = "contested" if resolution.consensus_type == "no_consensus" else resolution.consensus_type
        resolution = replace(resolution, consensus_type=kind, confidence=lead.posterior, carried=True, outcome_uncertain=False)
    silent = {voice.seat for voice in voices if voice.position is None}
    return DeliberationClosed(
        reason=reason,
        consensus_type=resolution.consensus_type,
        carried=resolution.carried,
        motion=None if decided is None else decided.id,
        confidence=resolution.confidence,
        support=resolution.support,
        turnout=resolution.turnout,
        voters=resolution.voters,
        effective_voters=resolution.effective,
        ballots=tuple(_build_ballot(voice, resolution) for voice in voices),
        outcome_uncertain=resolution.outcome_uncertain,
        open_challenges=tuple(challenge.line.id for challenge in list_challenges(state) if challenge.state == "open"),
        overturned=resolution.carried and is_overturned(variant, state, decided),
        lost=list_lost_seats(state, {seat.id for seat in state.seats} - silent),
        candidates=tally_candidates(variant, state, votes) if reason not in {"agreed_blind", "settled"} else (),
        unasked=tuple(seat.id for seat in state.seats if seat.id not in state.had) if reason == "settled" else (),
    )


def compute_outcome(variant: CouncilVariant, state: Council) -> Resolution:
    """Resolve the votes that were cast so far."""
    return _resolve(variant, state, build_voices(variant, state, "voted", find_decided_motion(variant, state, "voted")))


def _resolve(variant: CouncilVariant, state: Council, voices: Sequence[SeatVote]) -> Resolution:
    return variant.resolve(state, voices, build_seat_correlations(state.opened.subject.error_correlations, state.seats))


def find_decided_motion(
    variant: CouncilVariant, state: Council, reason: EndReason, votes: CandidateVoices | None = None
) -> CouncilLine | None:
    """Return the line that the votes are about; a panel that settled the question decides on the first proposal of its choice."""
    lead = find_panel_lead(state) if reason == "settled" else None
    if lead is None:
        return find_motion(variant, state, votes)
    authors = {line.seat: line for line in list_proposals(state) if normalize_label(line.said.choice) == lead.choice}
    return next(authors[seat.id] for seat in state.seats if seat.id in authors)


def tally_candidates(variant: CouncilVariant, state: Council, votes: CandidateVoices | None = None) -> tuple[CandidateTally, ...]:
    """Return what each candidate got, the motion first; nothing where votes do not choose among candidates, or none was cast."""
    if not state.votes:
        return ()
    votes = votes or CandidateVoices(state, find_voted_ids(variant, state))
    correlations = build_seat_correlations(state.opened.subject.error_correlations, state.seats)
    return tuple(
        _tally_candidate(number, voices, variant.resolve(state, voices, correlations))
        for number in votes.ranking
        if (voices := votes.list_voices(number))
    )


def _tally_candidate(number: int, voices: Sequence[SeatVote], resolution: Resolution) -> CandidateTally:
    def add(*positions: VotePosition) -> float:
        return sum(resolution.weights[voice.seat] for voice in voices if voice.position in positions)

    return CandidateTally(
        line=number,
        support=add("support", "conditional_support"),
        unconditional=add("support"),
        oppose=add("oppose"),
        confidence=resolution.confidence,
    )


def build_voices(
    variant: CouncilVariant, state: Council, reason: EndReason, motion: CouncilLine | None, votes: CandidateVoices | None = None
) -> tuple[SeatVote, ...]:
    """Return the vote of every seat: blind positions if those decided, the advice if a seat owns the decision, else the votes."""
    owner = variant.owner(state.opened)
    if reason in {"agreed_blind", "settled"}:
        asked = [seat for seat in state.seats if reason == "agreed_blind" or seat.id in state.had]
        return tuple(build_voice(seat, *_find_blind_stand(state, seat.id, motion)) for seat in asked)
    if owner is not None:
        return tuple(build_voice(seat, *_find_advisor_vote(state, seat.id, owner)) for seat in state.seats)
    votes = votes or CandidateVoices(state, find_voted_ids(variant, state))
    return votes.list_voices(0 if motion is None else motion.id)


def _find_blind_stand(state: Council, seat: SeatId, motion: CouncilLine | None) -> Stand:
    line = find_blind_positions(state).get(seat)
    if line is None or motion is None:
        return None, None
    is_same = normalize_label(line.said.choice) == normalize_label(motion.said.choice)
    return "support" if is_same else "oppose", line.said.confidence


def _find_advisor_vote(state: Council, seat: SeatId, owner: SeatId) -> Stand:
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


def _build_ballot(voice: SeatVote, resolution: Resolution) -> CouncilBallot:
    is_siding = voice.position in SIDES
    return CouncilBallot(
        seat=SeatId(voice.seat),
        position=voice.position,
        confidence=voice.confidence,
        weight=resolution.weights.get(voice.seat, 0.0),
        confidence_stated=voice.stated or not is_siding,
    )


def _with_no_motion(resolution: Resolution) -> Resolution:
    """Return the resolution of a deliberation without a motion."""
    return replace(resolution, consensus_type="no_consensus", carried=False, support=None, confidence=None)
