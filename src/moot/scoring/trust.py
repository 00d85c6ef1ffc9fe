"""Trust in a source, from how its stated confidences fared against outcomes reported later (D-14).

A reviewed forecast scores its Brier score, the square of how far it was from what happened: 0 is perfect, 0.25 is what always
saying one half gets, 1 is being sure of what is wrong. Trust is one minus the root of the mean score, so that 0.5 is neutral: a
source without a record, or one that knows nothing and says so.
"""

import math
from dataclasses import dataclass
from typing import Final

from moot.scoring.positions import VotePosition

NEUTRAL_BRIER: Final = 0.25
"""The score of a source that always says one half; where every record starts."""

NEUTRAL_TRUST: Final = 0.5
"""The trust that this score earns."""

STRENGTH: Final = 10.0
"""How many cases a record must hold to count as much as what is presumed without it."""

_LEAST_TRUST: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRecord:
    """A source's reviewed forecasts: how many, and the sum of their Brier scores."""

    cases: int = 0
    brier_sum: float = 0.0

    def plus(self, score: float) -> "TrackRecord":
        """The record with one more forecast of that Brier score."""
        return TrackRecord(cases=self.cases + 1, brier_sum=self.brier_sum + score)


def compute_brier(forecast: float, outcome: float) -> float:
    """The Brier score of one forecast: the square of its distance from the outcome (1 right, 0 wrong)."""
    return (forecast - outcome) ** 2


def compute_forecast(position: VotePosition | None, confidence: float) -> float | None:
    """The probability that a vote gives its motion; None when it took no side."""
    match position:
        case "support":
            return confidence
        case "conditional_support":
            return (confidence + 0.5) / 2
        case "oppose":
            return 1.0 - confidence
        case _:
            return None


def compute_trust(record: TrackRecord, prior: float = NEUTRAL_BRIER, strength: float = STRENGTH) -> float:
    """How far a source is trusted, 0 to 1: its mean Brier score drawn towards `prior` as if by `strength` cases."""
    return 1.0 - math.sqrt(_shrink_brier(record, prior, strength))


def compute_category_trust(category_record: TrackRecord, overall_record: TrackRecord, strength: float = STRENGTH) -> float:
    """Trust within a category: its record drawn towards the source's overall one, and that towards neutral."""
    return compute_trust(category_record, _shrink_brier(overall_record, NEUTRAL_BRIER, strength), strength)


def compute_evidence(trust: float) -> float:
    """What a vote of this trust weighs in a tally beside a neutral one, which weighs 1; always positive.

    In proportion to trust: on recorded votes its odds did no better, and powers of them or their logarithm worse.
    """
    return max(trust, _LEAST_TRUST) / NEUTRAL_TRUST


def _shrink_brier(record: TrackRecord, prior: float, strength: float) -> float:
    return (record.brier_sum + prior * strength) / (record.cases + strength)
