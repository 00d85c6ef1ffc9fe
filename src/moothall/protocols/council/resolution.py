"""The resolution of a deliberation, computed from the record alone."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from moothall.domain.context import extract_first_sentence
from moothall.domain.ids import SeatId
from moothall.domain.replace import copy_fields
from moothall.domain.session_state import list_lost_seats
from moothall.protocols.council import motions
from moothall.protocols.council.ballots import CandidateVotes, find_motion, find_voted_ids
from moothall.protocols.council.depth import BLIND_ENDINGS, count_spared, describe_depth
from moothall.protocols.council.facts import (
    CandidateTally,
    CouncilBallot,
    DeliberationClosed,
    EndReason,
)
from moothall.protocols.council.state import PASSED, Council, CouncilLine, CouncilVariant
from moothall.reports.decision import Decision, WouldChange
from moothall.scoring.independence import OTHER_FAMILY, build_seat_correlations
from moothall.scoring.positions import VotePosition
from moothall.scoring.posterior import Agreement, find_agreement
from moothall.scoring.reservations import ConfidenceBasis
from moothall.scoring.resolution import (
    ORDINARY_CONFIDENCE,
    SIDES,
    Correlations,
    Resolution,
    SeatVote,
    apply_confidence,
    build_vote,
    pool_one_voice,
)

HALF: Final = 0.5
MAX_VOICES: Final = 64
"""More than this no session has."""

_NEWCOMER: Final = "@more"
"""The seats of more voices; no real seat can be called so."""

Stand = tuple[VotePosition | None, float | None]
"""A position, and the confidence that was stated for it."""


def build_closing(variant: CouncilVariant, state: Council, reason: EndReason) -> DeliberationClosed:
    """Resolve the votes, say how likely it is right, and list the lost seats and the open challenges."""
    votes = CandidateVotes(state, find_voted_ids(variant, state))
    decided = find_decided_motion(variant, state, reason, votes)
    counted = list_counted_votes(variant, state, reason, decided, votes)
    resolution, basis = _resolve(variant, state, reason, decided, votes)
    silent = {vote.seat for vote in counted if vote.position is None}
    voices = {seat.id for seat in state.seats} - silent
    challenges = motions.list_challenges(state)
    unasked: tuple[SeatId, ...] = ()
    if reason in {"settled", "one_mind"}:
        unasked = tuple(seat.id for seat in state.seats if seat.id not in state.had)
    candidates: tuple[CandidateTally, ...] = ()
    spared = 0
    if reason in BLIND_ENDINGS:
        spared = count_spared(variant, state)
    else:
        candidates = tally_candidates(variant, state, votes)
    agreement = None
    if resolution.carried:
        agreement = _find_agreement(state, counted, decided, reason)
    return copy_fields(
        DeliberationClosed,
        resolution,
        reason=reason,
        motion=None if decided is None else decided.id,
        effective_voters=resolution.effective,
        ballots=tuple(_build_ballot(vote, resolution) for vote in counted),
        open_challenges=tuple(each.line.id for each in challenges if each.state == "open"),
        overturned=resolution.carried and motions.is_overturned(variant, state, decided),
        lost=list_lost_seats(state, voices),
        candidates=candidates,
        unasked=unasked,
        spared=spared,
        confidence_from=basis if resolution.confidence is not None else None,
        agreement=agreement,
        depth=describe_depth(variant, state, reason),
    )


def _find_agreement(
    state: Council, counted: Sequence[SeatVote], decided: CouncilLine | None, reason: EndReason
) -> Agreement | None:
    """Return whether all who took a side for it had written it blind; None if a seat is against it."""
    if reason == "one_mind":
        return "alone"
    if decided is None or any(vote.position == "oppose" for vote in counted):
        return None
    blind = {seat: line.said.choice for seat, line in motions.find_blind_positions(state).items()}
    return find_agreement(
        decided.said.choice,
        [SeatId(vote.seat) for vote in counted if vote.position in SIDES],
        blind,
        state.groups,
    )


def compute_outcome(variant: CouncilVariant, state: Council) -> Resolution:
    """Resolve the votes that were cast so far."""
    votes = CandidateVotes(state, find_voted_ids(variant, state))
    decided = find_decided_motion(variant, state, "voted", votes)
    return _resolve(variant, state, "voted", decided, votes)[0]


def _resolve(
    variant: CouncilVariant,
    state: Council,
    reason: EndReason,
    decided: CouncilLine | None,
    votes: CandidateVotes,
) -> tuple[Resolution, ConfidenceBasis]:
    """Resolve the votes on what is decided; return with it what its confidence comes from."""
    counted = list_counted_votes(variant, state, reason, decided, votes)
    resolution = variant.resolve(state, counted, _build_correlations(state))
    if decided is None:
        no_motion = replace(
            resolution, consensus_type="no_consensus", carried=False, support=None, confidence=None
        )
        return no_motion, "one_voice"
    evidence, choice = motions.weigh_blind_positions(state), votes.find_choice(decided.id)
    is_owned = variant.owner(state.opened) is not None
    if is_owned and reason not in {"decided", "agreed_blind"}:
        # Nobody decided: the owner's first proposal is not a decision.
        resolution = replace(resolution, consensus_type="no_consensus", carried=False)
    if reason in {"settled", "one_mind"} and not resolution.carried:
        # What settled the panel decides, also where fewer than half of all wrote it.
        resolution = replace(resolution, consensus_type="contested", carried=True)
    if evidence is not None and state.votes and state.opened.settings.choose == "both":
        share = votes.compute_shares(evidence.options)[choice]
        is_carried = share > HALF
        kind = resolution.consensus_type
        if is_carried != resolution.carried:
            kind = "contested" if is_carried else "no_consensus"
        resolution = replace(resolution, consensus_type=kind, carried=is_carried, support=share)
    demanded = state.opened.settings.carry_at
    has_left = False
    if evidence is not None and evidence.is_comparable(choice):
        has_left = evidence.majority not in {None, choice}
    if motions.is_new_answer(state, decided):
        resolution = apply_confidence(resolution, None, left_majority=has_left, carry_at=demanded)
        return resolution, "one_voice"
    confidence = evidence.find_confidence(decided.said.choice) if evidence is not None else None
    if evidence is None or confidence is None:
        voiced = None if is_owned else _find_one_voice(state, resolution, choice, votes)
        return apply_confidence(resolution, voiced, carry_at=demanded), "one_voice"
    resolution = apply_confidence(resolution, confidence, left_majority=has_left, carry_at=demanded)
    return resolution, "blind"


def _find_one_voice(
    state: Council, resolution: Resolution, choice: str, votes: CandidateVotes
) -> float | None:
    """Return how likely a choice is right by votes after reading alone; it shares that with the other candidates."""
    if not state.votes or not resolution.voters:
        return resolution.confidence
    return pool_one_voice(votes.by_choice, len(state.opened.subject.options)).get(
        choice, resolution.confidence
    )


def _build_correlations(state: Council) -> Correlations:
    return build_seat_correlations(state.opened.subject.error_correlations, state.seats)


def find_decided_motion(
    variant: CouncilVariant, state: Council, reason: EndReason, votes: CandidateVotes | None = None
) -> CouncilLine | None:
    """Return the line that the votes are about; a panel that settled the question decides on the first proposal of its choice."""
    settled = motions.find_blind_leader(state) if reason in {"settled", "one_mind"} else None
    if settled is None:
        return find_motion(variant, state, votes)
    authors = {
        line.seat: line
        for line in motions.list_proposals(state)
        if motions.find_label(state, line) == settled
    }
    return next(authors[seat.id] for seat in state.seats if seat.id in authors)


def tally_candidates(
    variant: CouncilVariant, state: Council, votes: CandidateVotes | None = None
) -> tuple[CandidateTally, ...]:
    """Return what each candidate got, the motion first; nothing where votes do not choose among candidates, or none was cast."""
    if not state.votes:
        return ()
    votes = votes or CandidateVotes(state, find_voted_ids(variant, state))
    evidence, correlations = motions.weigh_blind_positions(state), _build_correlations(state)
    one_voice = pool_one_voice(votes.by_choice, len(state.opened.subject.options))

    def rate_choice(choice: str) -> float | None:
        if evidence is None or choice.startswith("#"):
            return one_voice[choice]
        return evidence.compute_posterior(choice) if evidence.is_given(choice) else None

    tallies: list[CandidateTally] = []
    for number in votes.ranking:
        listed = votes.list_votes(number)
        if not listed:
            continue
        resolution = variant.resolve(state, listed, correlations)
        share = rate_choice(votes.find_choice(number))
        tallies.append(_tally_candidate(number, listed, resolution, share))
    return tuple(tallies)


def _tally_candidate(
    number: int, votes: Sequence[SeatVote], resolution: Resolution, confidence: float | None
) -> CandidateTally:
    def add(*positions: VotePosition) -> float:
        return sum(resolution.weights[vote.seat] for vote in votes if vote.position in positions)

    return CandidateTally(
        line=number,
        support=add("support", "conditional_support"),
        unconditional=add("support"),
        oppose=add("oppose"),
        confidence=confidence,
    )


def list_counted_votes(
    variant: CouncilVariant,
    state: Council,
    reason: EndReason,
    motion: CouncilLine | None,
    votes: CandidateVotes,
) -> tuple[SeatVote, ...]:
    """Return the vote of every seat: blind positions if those decided, the advice if a seat owns the decision, else the votes."""
    owner = variant.owner(state.opened)
    if reason in BLIND_ENDINGS:
        asked = [seat for seat in state.seats if reason == "agreed_blind" or seat.id in state.had]
        return tuple(build_vote(seat, *_find_blind_stand(state, seat.id, motion)) for seat in asked)
    if owner is not None:
        return tuple(
            build_vote(seat, *_find_advisor_vote(state, seat.id, owner, motion))
            for seat in state.seats
        )
    if motion is None:
        return votes.list_votes(0)
    return votes.by_choice.get(votes.find_choice(motion.id)) or votes.list_votes(motion.id)


def _find_blind_stand(state: Council, seat: SeatId, motion: CouncilLine | None) -> Stand:
    line = motions.find_blind_positions(state).get(seat)
    if line is None or motion is None:
        return None, None
    is_same = motions.find_label(state, line) == motions.find_label(state, motion)
    return "support" if is_same else "oppose", line.said.confidence


def _find_advisor_vote(
    state: Council, seat: SeatId, owner: SeatId, motion: CouncilLine | None
) -> Stand:
    """Return an advisor's position from its last advice: an accepted challenge is a condition, any other one opposition.

    Where the owner decided on another choice, who supported the one that it left opposes that; who challenged it takes no side.
    """
    own = [line for line in state.lines if line.seat == seat and line.said.type != "propose"]
    if seat == owner:
        own = [line for line in state.lines if line.seat == seat]
        return ("support", own[-1].said.confidence) if own else (None, None)
    if not own:
        # A pass is an abstention, silence is a missing vote: only the second can make the outcome uncertain.
        had = state.had if state.phase == "argue" else state.argued
        return ("abstain", None) if had.get(seat) == PASSED else (None, None)
    last = own[-1]
    is_left = motion is not None and not motions.is_about(
        state, last, motions.find_label(state, motion), owner
    )
    if last.said.type != "challenge":
        return "oppose" if is_left else "support", last.said.confidence
    met = next(
        challenge for challenge in motions.list_challenges(state) if challenge.line.id == last.id
    )
    if met.state == "accepted":
        return "conditional_support", last.said.confidence
    return ("abstain", None) if is_left else ("oppose", last.said.confidence)


def _build_ballot(vote: SeatVote, resolution: Resolution) -> CouncilBallot:
    return CouncilBallot(
        seat=SeatId(vote.seat),
        position=vote.position,
        confidence=vote.confidence,
        weight=resolution.weights.get(vote.seat, 0.0),
        confidence_stated=vote.stated or vote.position not in SIDES,
    )


# What would change a decision that was carried (D-27)


def find_what_would_change(
    variant: CouncilVariant, state: Council, reason: EndReason, decision: Decision
) -> WouldChange | None:
    """Return what would change a decision; None if nothing was decided, or nothing is known that would."""
    votes = CandidateVotes(state, find_voted_ids(variant, state))
    decided = find_decided_motion(variant, state, reason, votes)
    if decision.decision is None or decided is None:
        return None
    change = WouldChange(
        voices=count_turning_voices(variant, state, reason, decided, votes),
        next_answer=_find_next_answer(state, reason, decided, votes),
        open_point=_find_open_point(decision),
    )
    return None if change == WouldChange() else change


def count_turning_voices(
    variant: CouncilVariant,
    state: Council,
    reason: EndReason,
    decided: CouncilLine,
    votes: CandidateVotes,
) -> int | None:
    """Return how many more seats without a record, each a mind of its own, would have had to oppose it; None if none would do."""
    if variant.owner(state.opened) is not None or state.opened.settings.choose == "both":
        # Votes alone do not decide there.
        return None
    counted = list_counted_votes(variant, state, reason, decided, votes)
    correlations = build_seat_correlations(state.opened.subject.error_correlations, state.seats)

    def correlate(one: str, other: str) -> float:
        if _NEWCOMER in one or _NEWCOMER in other:
            return OTHER_FAMILY
        return correlations(one, other)

    def is_carried(more: int) -> bool:
        added = [_oppose(number) for number in range(more)]
        return variant.resolve(state, (*counted, *added), correlate).carried

    if not is_carried(0) or is_carried(MAX_VOICES):
        return None
    low, high = 0, MAX_VOICES
    while high - low > 1:
        middle = (low + high) // 2
        if is_carried(middle):
            low = middle
        else:
            high = middle
    return high


def _oppose(number: int) -> SeatVote:
    return SeatVote(
        seat=f"{_NEWCOMER}{number}", position="oppose", confidence=ORDINARY_CONFIDENCE, stated=False
    )


def _find_next_answer(
    state: Council, reason: EndReason, decided: CouncilLine, votes: CandidateVotes
) -> str:
    """Return the answer with the most support behind the one that was decided; empty if nobody supports another."""
    if reason in BLIND_ENDINGS:
        return _find_next_blind(state, decided)
    label = votes.find_choice(decided.id)
    for number in votes.ranking:
        line = state.line(number)
        if line is None or votes.find_choice(number) == label:
            continue
        listed = votes.list_votes(number)
        if any(vote.position in {"support", "conditional_support"} for vote in listed):
            return _name_answer(line)
    return ""


def _find_next_blind(state: Council, decided: CouncilLine) -> str:
    weights = dict(motions.weigh_blind_support(state))
    weights.pop(motions.find_label(state, decided), None)
    if not weights:
        return ""
    best = max(weights, key=lambda label: weights[label])
    for line in motions.find_blind_positions(state).values():
        if motions.find_label(state, line) == best:
            return _name_answer(line)
    return ""


def _name_answer(line: CouncilLine) -> str:
    return line.said.choice.strip() or extract_first_sentence(line.said.text)


def _find_open_point(decision: Decision) -> str:
    conditions = [each.text for each in decision.obligations if each.state == "open"]
    return _take_first(
        (
            *[claim.text for claim in decision.open_challenges],
            *conditions,
            *[claim.text for claim in decision.open_questions],
        )
    )


def _take_first(texts: Iterable[str]) -> str:
    for text in texts:
        if text.strip():
            return extract_first_sentence(text)
    return ""
