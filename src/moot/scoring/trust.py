"""Trust in a source, computed from its stated confidences and the outcomes that were reported later (D-14).

A reviewed forecast has a Brier score, the square of its distance from what happened: 0 is perfect, 0.25 is the score of always
saying one half, 1 is certainty in the wrong answer. Trust is one minus the square root of the mean score, so that 0.5 is neutral:
a source without a record, or one that knows nothing and says so.
"""

import math
from dataclasses import dataclass
from typing import Final

from moot.scoring.positions import VotePosition

NEUTRAL_BRIER: Final = 0.25
"""The score of a source that always says one half; the prior of every record."""

NEUTRAL_TRUST: Final = 0.5
"""The trust that follows from this score."""

STRENGTH: Final = 10.0
"""How many cases a record needs to count as much as the prior."""

_LEAST_TRUST: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRecord:
    """The reviewed forecasts of a source: their number, and the sum of their Brier scores."""

    cases: int = 0
    brier_sum: float = 0.0

    def plus(self, score: float) -> "TrackRecord":
        """Return the record with one more forecast of this Brier score."""
        return TrackRecord(cases=self.cases + 1, brier_sum=self.brier_sum + score)


def compute_brier(forecast: float, outcome: float) -> float:
    """Return the Brier score of one forecast: the square of its distance from the outcome (1 right, 0 wrong)."""
    return (forecast - outcome) ** 2


def compute_forecast(position: VotePosition | None, confidence: float) -> float | None:
    """Return the probability that a vote gives its motion; None if it took no side."""
    match position:
        case "support":
            return confidence
        case "conditional_support":
            # Half way between the stated confidence and "don't know": the condition may not be met.
            return (confidence + 0.5) / 2
        case "oppose":
            return 1.0 - confidence
        case _:
            return None


def compute_trust(record: TrackRecord, prior: float = NEUTRAL_BRIER, strength: float = STRENGTH) -> float:
    """Return the trust in a source, 0 to 1: its mean Brier score shrunk towards `prior` as if by `strength` cases."""
    # The root of the mean Brier score is a typical error (RMSE), on the same scale as a probability.
    return 1.0 - math.sqrt(_shrink_brier(record, prior, strength))


def compute_category_trust(category_record: TrackRecord, overall_record: TrackRecord, strength: float = STRENGTH) -> float:
    """Return the trust within a category: its record shrunk towards the source's overall record, and that towards neutral."""
    return compute_trust(category_record, _shrink_brier(overall_record, NEUTRAL_BRIER, strength), strength)


def compute_evidence(trust: float) -> float:
    """Return the weight of a vote of this trust in a tally, relative to a neutral one, which weighs 1; always positive.

    Proportional to trust: on recorded votes the odds of trust did no better, and powers of them or their logarithm did worse.
    """
    return max(trust, _LEAST_TRUST) / NEUTRAL_TRUST


def _shrink_brier(record: TrackRecord, prior: float, strength: float) -> float:
    # Shrinkage (Bayesian with a pseudo-count): `strength` imaginary cases that all score `prior`.
    return (record.brier_sum + prior * strength) / (record.cases + strength)
