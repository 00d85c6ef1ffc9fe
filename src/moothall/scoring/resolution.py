"""The result of a vote on a motion: what is decided and its consensusType (D-11), and how likely that is right (D-12).

These are two figures. What is decided follows the votes: each weighs what its seat's record is worth in log-odds, beside the
others that err with it, times its bias weight; what a seat says of its own sureness weighs nothing. A conditional support is a
support, its condition an obligation. To take a side is to support, to support conditionally or to oppose; an abstention or a
missing vote takes none. The support is the share of the weight that took a side. Quorum: the seats that support it hold more
bias weight than those that took no side; an opponent never brings a quorum about.

How likely it is right comes from what the seats answered before they read each other (`scoring/posterior.py`). Votes after
reading are not fresh evidence: without blind answers they are one voice, worth at most what one vote is.

unanimous        every seat voted, and every vote is an unconditional support
convergent       quorum, nobody opposes, and it is not unanimous: there are conditions, abstentions or missing votes
majority         quorum, a seat opposes, the support is at least CLEAR_MAJORITY, and more seats support than oppose
contested        quorum, the support is above one half, but it is not a majority: too close, or the number of seats and the
                 weights disagree; or the two figures part: what was decided is less likely right than not, or it is not what most
                 had answered before they read each other
owner_decision   the owner decided, whatever the others advised
no_consensus     no quorum, nobody took a side, the support is not above one half, or the confidence is below the one that the
                 opener demands (`carry_at`); an abstention never wins

A motion is carried under each of them except `no_consensus`; an owner's decision is carried unless the owner opposes it or has
not voted. The `consensus` protocol reaches agreement if every seat supports, with or without a condition, and states the
threshold or more. With a `quorum` so many seats are enough, if none of the others opposes or supports below the threshold.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, Literal, TypeVar

from moothall.domain.replace import dataclass
from moothall.domain.roster import Seat
from moothall.scoring.independence import (
    compute_independence,
    count_effective_votes,
    find_seat_family,
    presume_correlation,
)
from moothall.scoring.positions import VotePosition
from moothall.scoring.posterior import MOTION_OPTIONS, compute_posterior, compute_record_weight
from moothall.scoring.trust import PRIOR_ACCURACY, find_accuracy

ConsensusType = Literal[
    "unanimous", "convergent", "majority", "owner_decision", "contested", "no_consensus"
]
Correlations = Callable[[str, str], float]

CLEAR_MAJORITY: Final = 0.6
"""The support from which an opposed motion has a majority."""

CONSENSUS_THRESHOLD: Final = 0.7
"""The default confidence that the `consensus` protocol requires of every vote."""

ORDINARY_CONFIDENCE: Final = 0.8
"""The confidence that is presumed of a vote that states none."""

SIDES: Final[tuple[VotePosition, ...]] = ("support", "conditional_support", "oppose")
_FOR: Final = SIDES[:2]
_HALF: Final = 0.5
_ROUNDING: Final = 1e-9
"""Shares that differ by less are equal: the order in which weights are summed must not decide."""

Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatVote:
    seat: str
    position: VotePosition | None
    """None if the seat did not vote."""
    confidence: float = 0.0
    """The stated confidence, 0 to 1. It weighs nothing; the `consensus` protocol compares it with its threshold."""
    weight: float = 1.0
    """The bias weight, positive."""
    family: str = ""
    """The model family behind the seat; an empty one makes the seat a family of its own."""
    accuracy: float = PRIOR_ACCURACY
    """How often the seat is right, by its track record."""
    stated: bool = True
    """Whether the seat itself said how sure it is; otherwise `confidence` is presumed."""


def build_vote(seat: Seat, position: VotePosition | None, confidence: float | None) -> SeatVote:
    """Build the vote of a seat as it is counted; a confidence that is not stated is presumed, and marked so."""
    is_stated = confidence is not None
    if confidence is None:
        confidence = ORDINARY_CONFIDENCE if position in SIDES else 0.0
    return SeatVote(
        seat=seat.id,
        position=position,
        confidence=confidence,
        weight=seat.weight,
        family=find_seat_family(seat),
        accuracy=find_accuracy(seat),
        stated=is_stated,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The outcome of a vote."""

    consensus_type: ConsensusType
    carried: bool
    """Whether the motion is accepted as the decision."""
    support: float | None
    """The weighted share of the supporting side among those who took a side; None if nobody did."""
    turnout: float
    """The share of the total bias weight whose seats took a side."""
    confidence: float | None
    """The chance that the motion is right; None if there is no figure."""
    voters: int
    """How many seats took a side."""
    effective: float
    """How many independent votes these seats are worth."""
    outcome_uncertain: bool
    """Whether the seats that did not vote could have changed the outcome."""
    weights: Mapping[str, float]
    """What each vote that took a side weighed, by seat."""


PairCorrelations = Callable[[int, int], float]


class CorrelationTable(tuple[tuple[float, ...], ...]):
    """The error correlation of every two of some votes, by their positions in a list."""

    __slots__ = ()
    # It is large, and cached: a cache compares the table itself.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, one: int, other: int) -> float:
        return self[one][other]


def weigh_votes(
    votes: Sequence[SeatVote],
    correlations: Correlations | None = None,
    options: int = MOTION_OPTIONS,
) -> list[float]:
    """Return what each of these votes weighs, whatever its position: record in log-odds, independence, bias weight."""
    return list(
        _weigh_records(_list_sources(votes, options), _build_pair_correlations(votes, correlations))
    )


def _list_sources(votes: Sequence[SeatVote], options: int = MOTION_OPTIONS) -> tuple[float, ...]:
    heaviest = max([vote.weight for vote in votes], default=1.0)
    return tuple(
        [vote.weight / heaviest * compute_record_weight(vote.accuracy, options) for vote in votes]
    )


# The candidates of one ballot are voted on by the same seats: what these weigh is computed once for all.
@lru_cache(maxsize=16)
def _weigh_records(sources: tuple[float, ...], pairs: PairCorrelations) -> tuple[float, ...]:
    def correlate(i: int, j: int) -> float:
        less, more = sources[i], sources[j]
        if less > more:
            less, more = more, less
        # A vote that weighs little takes little from those that err with it.
        return pairs(i, j) * less / more if more > 0 else 0.0

    worths = compute_independence(len(sources), correlate)
    return tuple([source * worth for source, worth in zip(sources, worths, strict=True)])


_count_effective = lru_cache(maxsize=16)(count_effective_votes)


def pool_one_voice(
    ballots: Mapping[Choice, Sequence[SeatVote]], options: int = MOTION_OPTIONS
) -> dict[Choice, float]:
    """Return how likely each of several choices is right by the votes on it, taken as one voice: they were cast after reading.

    The choices exclude each other and share one probability. A seat divides its voice among those that it supports; one that
    only opposes speaks for none of them.
    """
    cast = [vote for votes in ballots.values() for vote in votes]
    named = Counter(vote.seat for vote in cast if vote.position in _FOR)
    siding = {vote.seat: vote for vote in cast if vote.position in SIDES}
    count = max(options, len(ballots) + 1)
    total = math.fsum(vote.weight for vote in siding.values())

    def score(seats: Mapping[str, int]) -> float:
        parts = [
            compute_record_weight(siding[seat].accuracy, count) * siding[seat].weight / n
            for seat, n in seats.items()
        ]
        return math.fsum(parts) / total if total else 0.0

    scores: dict[Choice | None, float] = {
        None: score({seat: 1 for seat in siding if seat not in named})
    }
    for choice, votes in ballots.items():
        scores[choice] = score(
            {vote.seat: named[vote.seat] for vote in votes if vote.position in _FOR}
        )
    shares = compute_posterior(scores, count)
    return {choice: shares[choice] for choice in ballots}


def resolve_open_vote(
    votes: Sequence[SeatVote], *, correlations: Correlations | None = None
) -> Resolution:
    """Resolve an open vote; `correlations` replaces the presumed error correlation of two seats."""
    return _resolve_votes(votes, _classify_open_vote, correlations)


def resolve_consensus(
    votes: Sequence[SeatVote],
    *,
    threshold: float = CONSENSUS_THRESHOLD,
    quorum: int | None = None,
    correlations: Correlations | None = None,
) -> Resolution:
    """Resolve a vote under the `consensus` protocol; `quorum` is how many seats must agree, None for all."""

    def classify_consensus(votes: Sequence[SeatVote], support: float | None) -> ConsensusType:
        siding = _list_siding(votes)
        for vote in siding:
            if vote.position == "oppose" or vote.confidence < threshold - _ROUNDING:
                return "no_consensus"
        needed = len(votes) if quorum is None else quorum
        if len(siding) < needed or not _is_above_half(support):
            return "no_consensus"
        return _classify_unopposed(votes)

    return _resolve_votes(votes, classify_consensus, correlations)


def resolve_advisory(
    votes: Sequence[SeatVote], *, owner: str, correlations: Correlations | None = None
) -> Resolution:
    """Resolve a vote under the `advisory` protocol: the owner decides."""
    own = next((v.position for v in votes if v.seat == owner), None)
    resolution = _resolve_votes(votes, _classify_open_vote, correlations)
    return replace(
        resolution,
        consensus_type="owner_decision",
        carried=own not in (None, "oppose"),
        outcome_uncertain=own is None,
    )


def apply_confidence(
    resolution: Resolution,
    confidence: float | None,
    *,
    left_majority: bool = False,
    carry_at: float | None = None,
) -> Resolution:
    """Return the resolution with the confidence in it; `left_majority`: it is not what most had answered blind."""
    resolution = replace(resolution, confidence=confidence)
    if not resolution.carried:
        return resolution
    if carry_at is not None and (confidence or 0.0) < carry_at - _ROUNDING:
        return replace(resolution, consensus_type="no_consensus", carried=False)
    has_parted = left_majority or (confidence is not None and confidence < _HALF - _ROUNDING)
    if has_parted and resolution.consensus_type != "owner_decision":
        return replace(resolution, consensus_type="contested")
    return resolution


def _resolve_votes(
    votes: Sequence[SeatVote],
    classify: Callable[[Sequence[SeatVote], float | None], ConsensusType],
    correlations: Correlations | None,
) -> Resolution:
    siding = _list_siding(votes)
    weights = weigh_votes(siding, correlations)
    support = _compute_support(siding, weights)
    outcome = classify(votes, support)
    carried = outcome != "no_consensus"
    siding_weights = tuple([v.weight for v in siding])
    everyone = math.fsum([v.weight for v in votes])
    turnout = math.fsum(siding_weights) / everyone if everyone > 0 else 0.0
    has_missing = any(v.position is None for v in votes)
    return Resolution(
        consensus_type=outcome,
        carried=carried,
        support=support,
        turnout=turnout,
        confidence=pool_one_voice({"motion": siding})["motion"] if siding else None,
        voters=len(siding),
        effective=_count_effective(siding_weights, _build_pair_correlations(siding, correlations)),
        outcome_uncertain=has_missing and _can_turn(votes, classify, correlations, carried=carried),
        weights={v.seat: weight for v, weight in zip(siding, weights, strict=True)},
    )


def _can_turn(
    votes: Sequence[SeatVote],
    classify: Callable[[Sequence[SeatVote], float | None], ConsensusType],
    correlations: Correlations | None,
    *,
    carried: bool,
) -> bool:
    """Whether the outcome would be another one if every missing vote went against it, with full confidence."""
    against: VotePosition = "oppose" if carried else "support"
    turned = []
    for vote in votes:
        if vote.position is None:
            turned.append(replace(vote, position=against, confidence=1.0))
        else:
            turned.append(vote)
    siding = _list_siding(turned)
    support = _compute_support(siding, weigh_votes(siding, correlations))
    would_carry = classify(turned, support) != "no_consensus"
    return would_carry != carried


def _compute_support(siding: Sequence[SeatVote], weights: Sequence[float]) -> float | None:
    total = math.fsum(weights)
    if not siding:
        return None
    if not total > 0:
        # No vote weighs anything: both sides are even.
        return _HALF
    supporting = [w for v, w in zip(siding, weights, strict=True) if v.position in _FOR]
    return math.fsum(supporting) / total


def _is_above_half(support: float | None) -> bool:
    # Strictly above one half: a tie does not carry a motion.
    return support is not None and support > _HALF + _ROUNDING


def _classify_open_vote(votes: Sequence[SeatVote], support: float | None) -> ConsensusType:
    if support is None or not _is_above_half(support) or not _has_quorum(votes):
        return "no_consensus"
    against = sum(v.position == "oppose" for v in votes)
    if not against:
        return _classify_unopposed(votes)
    # Seats are counted as well as weights: a few heavy seats must not overrule the number without being marked as contested.
    outnumbered = len(_list_siding(votes)) - against > against
    return "majority" if outnumbered and support >= CLEAR_MAJORITY - _ROUNDING else "contested"


def _has_quorum(votes: Sequence[SeatVote]) -> bool:
    silent = math.fsum([v.weight for v in votes if v.position not in SIDES])
    return math.fsum([v.weight for v in votes if v.position in _FOR]) > silent * (1 + _ROUNDING)


def _classify_unopposed(votes: Sequence[SeatVote]) -> ConsensusType:
    return "unanimous" if all(v.position == "support" for v in votes) else "convergent"


def _list_siding(votes: Sequence[SeatVote]) -> list[SeatVote]:
    return [v for v in votes if v.position in SIDES]


def _build_pair_correlations(
    votes: Sequence[SeatVote], correlations: Correlations | None
) -> PairCorrelations:
    names = tuple(
        [v.seat if correlations is not None else v.family or f"seat:{v.seat}" for v in votes]
    )
    return _correlate_all(correlations or presume_correlation, names)


@lru_cache(maxsize=16)
def _correlate_all(correlations: Correlations, names: tuple[str, ...]) -> PairCorrelations:
    return CorrelationTable(tuple(correlations(one, other) for other in names) for one in names)
