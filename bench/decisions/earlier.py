"""The two rules before: the shipped one is compared with them.

The last one before took the votes after reading for evidence, and what seats say of their sureness for what it says
(`average_stated`). The one before that counted votes in proportion to bias weight, stated confidence and trust.

A vote counts in ordinary votes: bias weight × stated confidence × trust, scaled so that a vote of bias weight 1, ordinary
confidence and neutral trust counts 1. The strength of a side is the sum W of its votes, times what they are worth together:

    strength = W · (ALONE + JOINED · ln n)      n = effective number of independent votes on that side
    log-odds = (strength for − strength against) / (sum of the bias weights of those who took a side)

Measured: ALONE and JOINED, on recorded votes (`bench/decisions`). They fit best over groups of every size drawn from the votes of
seven personas (who alone would give 0.7 and 1.1) and of ten judges (0.5 and 1.9), with both files weighted equally. One ordinary
vote is right in 65 cases of 100, which is e^0.6 to 1. For open answers, as in mathematics, they understate the value of
agreement.

Chosen: that the two sides mirror each other (an even split gives one half), and that stated confidence and trust scale a vote
proportionally. The recorded votes state no confidence, so nothing about it could be measured. Scaling by trust improved the
calibration on none of the files; it stays because a proven source should count for more.

With the presumed correlations, a supporting vote that gains confidence or trust never lowers the result, and one more opposing
vote never raises that of a leading motion. Nothing above CEILING is claimed: there are too few recorded cases to show it.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from moothall.domain.roster import NEUTRAL_TRUST
from moothall.scoring.independence import (
    compute_independence,
    count_effective_votes,
    presume_correlation,
)
from moothall.scoring.posterior import CEILING, STATED_CEILING, compute_record_weight
from moothall.scoring.resolution import ORDINARY_CONFIDENCE, SeatVote

ALONE: Final = 0.6
"""The log-odds that one ordinary vote gives."""

JOINED: Final = 1.6
"""The gain in log-odds for every e-fold more independent votes on the same side."""

_ORDINARY: Final = ORDINARY_CONFIDENCE * NEUTRAL_TRUST
"""The weight of an ordinary vote, in which votes are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedVote(SeatVote):
    """A vote for or against, with the trust in its seat."""

    trust: float = NEUTRAL_TRUST


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaning:
    """The factors of ALONE and JOINED: the net votes, and the net votes times the logarithm of their effective number."""

    net: float
    joint: float


def compute_leaning(
    support: Sequence[float],
    oppose: Sequence[float],
    heads: float,
    correlations: Callable[[int, int], float],
) -> Leaning:
    """Compute the leaning; `support` and `oppose` hold each seat's ordinary votes, `heads` is the sum of the bias weights."""
    if heads <= 0:
        return Leaning(net=0.0, joint=0.0)
    sides = ((1.0, support), (-1.0, oppose))
    return Leaning(
        # `fsum` is exact, so that the result does not depend on the order of the seats.
        net=math.fsum(sign * math.fsum(side) for sign, side in sides) / heads,
        joint=math.fsum(sign * _compute_joint(side, correlations) for sign, side in sides) / heads,
    )


def compute_probability(leaning: Leaning, *, alone: float = ALONE, joined: float = JOINED) -> float:
    """Return the probability that a motion with this leaning is right."""
    log_odds = alone * leaning.net + joined * leaning.joint
    # The logistic function of the log-odds, clamped to ±ln(CEILING / (1 − CEILING)) so that neither end claims certainty.
    limit = math.log(CEILING / (1 - CEILING))
    return 1 / (1 + math.exp(-min(max(log_odds, -limit), limit)))


def _compute_joint(side: Sequence[float], correlations: Callable[[int, int], float]) -> float:
    worth = count_effective_votes(side, correlations)
    # ln(1) = 0: a single effective vote gains nothing from JOINED, only from ALONE.
    return math.fsum(side) * math.log(worth) if worth > 0 else 0.0


def compute_in_proportion(votes: Sequence[TrustedVote]) -> float:
    """Return the confidence in proportion to trust; a vote that abstains does not count."""
    siding = [vote for vote in votes if vote.position in {"support", "oppose"}]
    worths = [vote.weight * vote.confidence * vote.trust / _ORDINARY for vote in siding]
    leaning = compute_leaning(
        [
            worth if vote.position == "support" else 0.0
            for vote, worth in zip(siding, worths, strict=True)
        ],
        [
            worth if vote.position == "oppose" else 0.0
            for vote, worth in zip(siding, worths, strict=True)
        ],
        math.fsum(vote.weight for vote in siding),
        lambda i, j: presume_correlation(
            siding[i].family or siding[i].seat, siding[j].family or siding[j].seat
        ),
    )
    return compute_probability(leaning)


def compute_motion_posterior(log_odds: float) -> float:
    """Return the probability that a motion is right, from the log-odds for it."""
    limit = math.log(CEILING / (1 - CEILING))
    return 1 / (1 + math.exp(-min(max(log_odds, -limit), limit)))


def average_stated(votes: Sequence[SeatVote]) -> float:
    """Return the mean of the stated log-odds by record and independence; a vote that states none says what all are worth."""
    siding = [vote for vote in votes if vote.position in {"support", "oppose"}]
    names = [vote.family or vote.seat for vote in siding]
    worths = compute_independence(len(siding), lambda i, j: presume_correlation(names[i], names[j]))
    sources = [
        compute_record_weight(vote.accuracy) * worth
        for vote, worth in zip(siding, worths, strict=True)
    ]
    total = math.fsum(sources)
    if total <= 0:
        return 0.5
    said = [
        compute_record_weight(min(vote.confidence, STATED_CEILING)) if vote.stated else total
        for vote in siding
    ]
    signed = [
        odds if vote.position == "support" else -odds
        for vote, odds in zip(siding, said, strict=True)
    ]
    return compute_motion_posterior(math.fsum(map(operator.mul, sources, signed)) / total)
