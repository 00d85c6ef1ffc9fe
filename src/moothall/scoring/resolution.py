"""The result of a vote on a motion: its consensusType (D-11) and the group's confidence (D-12).

One number decides: the posterior probability that the motion is right (`scoring/posterior.py`). A vote adds the log-odds that
it is worth to its side; a conditional support is a support, its condition an obligation. The support is the first side's share of
all log-odds, so that it is above one half exactly where the posterior is. To take a side is to support, to support conditionally
or to oppose; an abstention or a missing vote takes none. Quorum: those who took a side hold more than half of all seats' bias
weight.

unanimous        every seat voted, every vote is an unconditional support, and the posterior is above one half
convergent       quorum, nobody opposes, the posterior is above one half, and it is not unanimous: there are conditions,
                 abstentions or missing votes
majority         quorum, a seat opposes, the posterior is at least CLEAR_MAJORITY, and more seats support than oppose
contested        quorum, a seat opposes, and the posterior is above one half, but it is not a majority: too close,
                 or the number of seats and the weights disagree
owner_decision   the owner decided, whatever the others advised
no_consensus     no quorum, nobody took a side, or the posterior is not above one half; an abstention never wins

A motion is carried under each of them except `no_consensus`; an owner's decision is carried unless the owner opposes it or has
not voted. The `consensus` protocol reaches agreement if every seat supports, with or without a condition, at the threshold or
above; the result is then unanimous or convergent, otherwise `no_consensus`. With a `quorum` so many seats are enough, if none of
the others opposes or supports below the threshold.

Votes on the ideas of a swarm are counted by another rule, `measure_in_proportion`: a vote weighs bias weight × confidence ×
trust, a conditional one half on each side, the support decides in place of the posterior, and the confidence is that of
`moothall.scoring.confidence`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

from moothall.scoring.confidence import ORDINARY_CONFIDENCE, compute_leaning, compute_probability
from moothall.scoring.independence import compute_independence, count_effective_votes, presume_correlation
from moothall.scoring.positions import VotePosition, VoteSide, compute_balance, compute_weight
from moothall.scoring.posterior import WeighedVote, compute_motion_posterior, compute_record_weight, compute_vote_weights
from moothall.scoring.trust import NEUTRAL_TRUST, PRIOR_ACCURACY

ConsensusType = Literal["unanimous", "convergent", "majority", "owner_decision", "contested", "no_consensus"]
Correlations = Callable[[str, str], float]

CLEAR_MAJORITY: Final = 0.6
"""The posterior from which an opposed motion has a majority."""

CONSENSUS_THRESHOLD: Final = 0.7
"""The default confidence that the `consensus` protocol requires of every vote."""

_QUORUM: Final = 0.5
_EVEN: Final = 0.5
_ROUNDING: Final = 1e-9
"""Shares that differ by less are equal: the order in which weights are summed must not decide."""

# The weight of one ordinary vote: dividing by it gives the unit that `moothall.scoring.confidence` counts in.
_ORDINARY: Final = compute_weight(1.0, ORDINARY_CONFIDENCE, NEUTRAL_TRUST)

_SIDES: Final[dict[VotePosition, VoteSide]] = {
    "support": "support",
    "conditional_support": "conditional",
    "oppose": "oppose",
    "abstain": "abstain",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatVote:
    """The vote of one seat."""

    seat: str
    position: VotePosition | None
    """None if the seat did not vote."""
    confidence: float = 0.0
    """The stated confidence, 0 to 1."""
    weight: float = 1.0
    """The bias weight, positive."""
    trust: float = NEUTRAL_TRUST
    """0 to 1; neutral without a track record."""
    family: str = ""
    """The model family behind the seat; an empty one makes the seat a family of its own."""
    accuracy: float = PRIOR_ACCURACY
    """How often the seat is right, by its track record."""
    stated: bool = True
    """Whether the seat itself said how sure it is; otherwise `confidence` is presumed."""


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
    """The group's calibrated confidence that the motion is right; None if nobody took a side."""
    voters: int
    """How many seats took a side."""
    effective: float
    """How many independent votes these seats are worth."""
    outcome_uncertain: bool
    """Whether the seats that did not vote could have changed the outcome."""
    weights: Mapping[str, float]
    """What each vote that took a side weighed, by seat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The figures of the votes that took a side. `lead` is the one that decides; None if nobody took a side."""

    weights: tuple[float, ...]
    support: float | None
    confidence: float | None
    lead: float | None
    effective: float


PairCorrelations = Callable[[int, int], float]


class CorrelationTable(tuple[tuple[float, ...], ...]):
    """The error correlation of every two of some votes, by their positions in a list."""

    __slots__ = ()
    # It is large, and kept: whoever keeps something by it compares the table itself.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, one: int, other: int) -> float:
        return self[one][other]


Rule = Callable[[Sequence[SeatVote], PairCorrelations], Measure]


def measure_log_odds(siding: Sequence[SeatVote], pairs: PairCorrelations) -> Measure:
    """Measure votes by the log-odds that they are worth; the posterior decides."""
    silent = [at for at, vote in enumerate(siding) if not vote.stated]
    if not silent or len(silent) == len(siding):
        return _measure_log_odds(siding, pairs)
    voices = [siding[at] for at in silent]
    worths = _solve_independence(_list_records(voices), lambda i, j: pairs(silent[i], silent[j]))
    return _measure_log_odds(siding, pairs, math.fsum(_list_sources(voices, worths)))


def _measure_log_odds(siding: Sequence[SeatVote], pairs: PairCorrelations, presumed: float | None = None) -> Measure:
    if not siding:
        return Measure(weights=(), support=None, confidence=None, lead=None, effective=0.0)
    weights = _weigh_log_odds(siding, _compute_worths(siding, pairs), presumed)
    support = math.fsum([w for v, w in zip(siding, weights, strict=True) if v.position != "oppose"])
    oppose = math.fsum([w for v, w in zip(siding, weights, strict=True) if v.position == "oppose"])
    posterior = compute_motion_posterior(support, oppose)
    return Measure(
        weights=tuple(weights),
        # Nobody is any surer than chance: both sides are even.
        support=support / (support + oppose) if support + oppose > 0 else _EVEN,
        confidence=posterior,
        lead=posterior,
        effective=_count_effective(tuple([v.weight for v in siding]), pairs),
    )


def weigh_votes(voices: Sequence[SeatVote], worths: Sequence[float]) -> list[float]:
    """Return the log-odds of each of these votes, whichever side it is on, 0 for one on none; `worths` as `compute_worths`.

    What a vote weighs beside others does not depend on who of them states a confidence: it is the same for every candidate.
    """
    weights = _weigh_log_odds(voices, worths)
    return [0.0 if v.position in (None, "abstain") else weight for v, weight in zip(voices, weights, strict=True)]


def compute_worths(voices: Sequence[SeatVote], correlations: Correlations | None = None) -> Sequence[float]:
    """Return what each vote is worth beside the others that err with it, whatever its position."""
    return _compute_worths(voices, _build_pair_correlations(voices, correlations))


def _compute_worths(voices: Sequence[SeatVote], pairs: PairCorrelations) -> tuple[float, ...]:
    return _solve_worths(_list_records(voices), pairs)


def _list_records(voices: Sequence[SeatVote]) -> tuple[float, ...]:
    return tuple([v.weight * compute_record_weight(v.accuracy) for v in voices])


# The candidates of one ballot are voted on by the same seats: what these are worth beside each other is computed once for all.
@lru_cache(maxsize=16)
def _solve_worths(records: tuple[float, ...], pairs: PairCorrelations) -> tuple[float, ...]:
    return tuple(_solve_independence(records, pairs))


def _solve_independence(records: Sequence[float], pairs: PairCorrelations) -> Sequence[float]:
    def correlate(i: int, j: int) -> float:
        less, more = records[i], records[j]
        if less > more:
            less, more = more, less
        # A vote that weighs little takes little from those that err with it.
        return pairs(i, j) * less / more if more > 0 else 0.0

    return compute_independence(len(records), correlate)


@lru_cache(maxsize=16)
def _count_effective(weights: tuple[float, ...], pairs: PairCorrelations) -> float:
    return count_effective_votes(weights, pairs)


def _weigh_log_odds(voices: Sequence[SeatVote], worths: Sequence[float], presumed: float | None = None) -> list[float]:
    votes = zip(voices, _list_sources(voices, worths), strict=True)
    return compute_vote_weights([WeighedVote(source, v.confidence if v.stated else None) for v, source in votes], presumed)


def _list_sources(voices: Sequence[SeatVote], worths: Sequence[float]) -> list[float]:
    # Relative to the heaviest: a group is never surer than if all its seats weighed alike.
    heaviest = max([v.weight for v in voices], default=1.0)
    return [v.weight / heaviest * compute_record_weight(v.accuracy) * worth for v, worth in zip(voices, worths, strict=True)]


def measure_in_proportion(siding: Sequence[SeatVote], pairs: PairCorrelations) -> Measure:
    """Measure votes by bias weight, confidence and trust, multiplied; the support decides."""
    weights = _compute_weights(siding)
    support = compute_balance((_find_side(v), value) for v, value in zip(siding, weights, strict=True)).share
    confidence = _compute_confidence(siding, pairs) if siding else None
    effective = count_effective_votes(weights, pairs)
    return Measure(weights=tuple(weights), support=support, confidence=confidence, lead=support, effective=effective)


def resolve_open_vote(
    voices: Sequence[SeatVote], *, correlations: Correlations | None = None, rule: Rule = measure_log_odds
) -> Resolution:
    """Resolve an open vote; `correlations` replaces the presumed error correlation of two seats."""
    return _resolve_votes(voices, _classify_open_vote, correlations, rule)


def resolve_consensus(
    voices: Sequence[SeatVote],
    *,
    threshold: float = CONSENSUS_THRESHOLD,
    quorum: int | None = None,
    correlations: Correlations | None = None,
) -> Resolution:
    """Resolve a vote under the `consensus` protocol; `quorum` is how many seats must agree, None for all."""

    def classify_consensus(voices: Sequence[SeatVote], lead: float | None) -> ConsensusType:
        siding = _list_siding(voices)
        if not all(v.position != "oppose" and v.confidence >= threshold - _ROUNDING for v in siding):
            return "no_consensus"
        enough = len(siding) >= (len(voices) if quorum is None else quorum)
        return _classify_unopposed(voices) if enough and _is_above_half(lead) else "no_consensus"

    return _resolve_votes(voices, classify_consensus, correlations)


def resolve_advisory(voices: Sequence[SeatVote], *, owner: str, correlations: Correlations | None = None) -> Resolution:
    """Resolve a vote under the `advisory` protocol: the owner decides, and the confidence is that of all seats."""
    own = next((v.position for v in voices if v.seat == owner), None)
    resolution = _resolve_votes(voices, _classify_open_vote, correlations)
    return replace(
        resolution, consensus_type="owner_decision", carried=own not in (None, "oppose"), outcome_uncertain=own is None
    )


def _resolve_votes(
    voices: Sequence[SeatVote],
    kind: Callable[[Sequence[SeatVote], float | None], ConsensusType],
    correlations: Correlations | None,
    rule: Rule = measure_log_odds,
) -> Resolution:
    def measure(votes: Sequence[SeatVote]) -> Measure:
        return rule(votes, _build_pair_correlations(votes, correlations))

    siding = _list_siding(voices)
    measured = measure(siding)
    outcome = kind(voices, measured.lead)
    carried = outcome != "no_consensus"
    # The worst case: every missing vote goes, with full confidence, against the outcome as it is.
    turned = [
        replace(v, position="oppose" if carried else "support", confidence=1.0, stated=True) if v.position is None else v
        for v in voices
    ]
    return Resolution(
        consensus_type=outcome,
        carried=carried,
        support=measured.support,
        turnout=_compute_turnout(voices),
        confidence=measured.confidence,
        voters=len(siding),
        effective=measured.effective,
        outcome_uncertain=any(v.position is None for v in voices)
        and (kind(turned, measure(_list_siding(turned)).lead) != "no_consensus") != carried,
        weights={v.seat: weight for v, weight in zip(siding, measured.weights, strict=True)},
    )


def _is_above_half(lead: float | None) -> bool:
    # Strictly above one half: a tie does not carry a motion.
    return lead is not None and lead > _EVEN + _ROUNDING


def _classify_open_vote(voices: Sequence[SeatVote], lead: float | None) -> ConsensusType:
    if lead is None or not _is_above_half(lead) or _compute_turnout(voices) <= _QUORUM + _ROUNDING:
        return "no_consensus"
    against = sum(v.position == "oppose" for v in voices)
    if not against:
        return _classify_unopposed(voices)
    # Seats are counted as well as weights: a few heavy seats must not overrule the number without being marked as contested.
    outnumbered = len(_list_siding(voices)) - against > against
    return "majority" if outnumbered and lead >= CLEAR_MAJORITY - _ROUNDING else "contested"


def _classify_unopposed(voices: Sequence[SeatVote]) -> ConsensusType:
    return "unanimous" if all(v.position == "support" for v in voices) else "convergent"


def _list_siding(voices: Sequence[SeatVote]) -> list[SeatVote]:
    return [v for v in voices if v.position not in (None, "abstain")]


def _compute_turnout(voices: Sequence[SeatVote]) -> float:
    everyone = math.fsum([v.weight for v in voices])
    return math.fsum([v.weight for v in _list_siding(voices)]) / everyone if everyone > 0 else 0.0


def _compute_weights(siding: Sequence[SeatVote]) -> list[float]:
    """Return the weight of each vote. If all are 0, confidence is ignored; if trust is 0 as well, only the bias weights count."""
    stated = [compute_weight(v.weight, v.confidence, v.trust) for v in siding]
    unsure = [compute_weight(v.weight, 1.0, v.trust) for v in siding]
    return stated if any(stated) else unsure if any(unsure) else [v.weight for v in siding]


def _find_side(voice: SeatVote) -> VoteSide:
    return _SIDES[voice.position or "abstain"]


def _build_pair_correlations(siding: Sequence[SeatVote], correlations: Correlations | None) -> PairCorrelations:
    names = tuple([v.seat if correlations is not None else v.family or f"seat:{v.seat}" for v in siding])
    return _correlate_all(correlations or presume_correlation, names)


@lru_cache(maxsize=16)
def _correlate_all(correlations: Correlations, names: tuple[str, ...]) -> PairCorrelations:
    return CorrelationTable(tuple(correlations(one, other) for other in names) for one in names)


def _compute_confidence(siding: Sequence[SeatVote], pairs: Callable[[int, int], float]) -> float:
    # Per seat and not per side: a conditional vote contributes half of its strength to each side.
    parts = [compute_balance([(_find_side(v), compute_weight(v.weight, v.confidence, v.trust) / _ORDINARY)]) for v in siding]
    heads = math.fsum(v.weight for v in siding)
    return compute_probability(compute_leaning([part.support for part in parts], [part.oppose for part in parts], heads, pairs))
