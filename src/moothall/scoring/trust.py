"""Trust in a source, computed from its stated confidences and the outcomes that were reported later (D-14).

A reviewed forecast has a Brier score, the square of its distance from what happened: 0 is perfect, 0.25 is the score of always
saying one half, 1 is certainty in the wrong answer. Trust is one minus the square root of the mean score, so that 0.5 is neutral:
a source without a record, or one that knows nothing and says so.

Accuracy is how often a source was on the side that proved right, which is what its votes weigh by. Its prior, 6.5 of 10 cases, is
what one vote was worth on recorded votes.

Within a category, a case of another one counts as OTHER_SHARE of a case, and all of them as at most MAX_OTHER_CASES: a hundred
wins elsewhere do not make an authority here.
"""

import math
from typing import Final

from moothall.domain.replace import dataclass
from moothall.domain.roster import NEUTRAL_TRUST, Seat
from moothall.scoring.positions import VotePosition

NEUTRAL_BRIER: Final = 0.25
"""The score of a source that always says one half; the prior of every record."""

STRENGTH: Final = 10.0
"""How many cases a record needs to count as much as the prior."""

PRIOR_RIGHT: Final = 6.5
PRIOR_CASES: Final = 10.0
PRIOR_ACCURACY: Final = PRIOR_RIGHT / PRIOR_CASES
"""How often one vote of an unknown source is right."""

OTHER_SHARE: Final = 0.5
MAX_OTHER_CASES: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRecord:
    """The reviewed positions of a source.

    `cases` stated a confidence, and `brier_sum` is the sum of their Brier scores; `sides` took a side, `right` of these the right
    one.
    """

    cases: float = 0
    brier_sum: float = 0.0
    sides: float = 0
    right: float = 0.0

    def plus(self, score: float | None, right: float | None = None) -> "TrackRecord":
        """Return the record with one more case: its Brier score, and 1 if it was right, a half for a partial success."""
        cases, brier_sum = self.cases, self.brier_sum
        if score is not None:
            cases += 1
            brier_sum += score
        sides, rights = self.sides, self.right
        if right is not None:
            sides += 1
            rights += right
        return TrackRecord(cases=cases, brier_sum=brier_sum, sides=sides, right=rights)

    def minus(self, other: "TrackRecord") -> "TrackRecord":
        """Return the record without a part of it."""
        return TrackRecord(
            cases=_take_off(self.cases, other.cases),
            brier_sum=_take_off(self.brier_sum, other.brier_sum),
            sides=_take_off(self.sides, other.sides),
            right=_take_off(self.right, other.right),
        )

    def thin_out(self, share: float, most: float) -> "TrackRecord":
        """Return the same averages over a share of the cases, and at most so many."""
        scored = min(share, most / self.cases) if self.cases > 0 else share
        sided = min(share, most / self.sides) if self.sides > 0 else share
        return TrackRecord(
            cases=self.cases * scored,
            brier_sum=self.brier_sum * scored,
            sides=self.sides * sided,
            right=self.right * sided,
        )


def compute_brier(forecast: float, outcome: float) -> float:
    """Return the Brier score of one forecast: the square of its distance from the outcome (1 right, 0 wrong)."""
    return (forecast - outcome) ** 2


def compute_forecast(position: VotePosition | None, confidence: float) -> float | None:
    """Return the probability that a vote gives its motion; None if it took no side."""
    match position:
        case "support" | "conditional_support":
            # A condition is an obligation beside the support, not half an opposition (D-12).
            return confidence
        case "oppose":
            return 1.0 - confidence
        case _:
            return None


def compute_trust(
    record: TrackRecord, prior: float = NEUTRAL_BRIER, strength: float = STRENGTH
) -> float:
    """Return the trust in a source, 0 to 1: its mean Brier score shrunk towards `prior` as if by `strength` cases."""
    # The root of the mean Brier score is a typical error (RMSE), on the same scale as a probability.
    return 1.0 - math.sqrt(_shrink_brier(record, prior, strength))


def compute_category_trust(
    category_record: TrackRecord, overall_record: TrackRecord, strength: float = STRENGTH
) -> float:
    """Return the trust within a category: its record shrunk towards the source's record elsewhere, and that towards neutral."""
    return compute_trust(
        category_record,
        _shrink_brier(_limit_others(category_record, overall_record), NEUTRAL_BRIER, strength),
        strength,
    )


def compute_accuracy(record: TrackRecord) -> float:
    """Return how often a source is right, 0.65 without a record."""
    return (record.right + PRIOR_RIGHT) / (record.sides + PRIOR_CASES)


def compute_category_accuracy(category_record: TrackRecord, overall_record: TrackRecord) -> float:
    """Return how often a source is right within a category."""
    others = _limit_others(category_record, overall_record)
    return compute_accuracy(
        TrackRecord(
            sides=category_record.sides + others.sides, right=category_record.right + others.right
        )
    )


def presume_accuracy(trust: float) -> float:
    """Return the accuracy that stands for a trust that was set by hand: linear, 0.65 where the trust is neutral."""
    return PRIOR_ACCURACY + (trust - NEUTRAL_TRUST) * 2 * (1 - PRIOR_ACCURACY)


def find_accuracy(seat: Seat) -> float:
    """Return how often a seat is right: by its record, or by the trust that was set by hand."""
    return presume_accuracy(seat.trust) if seat.accuracy is None else seat.accuracy


def _limit_others(category_record: TrackRecord, overall_record: TrackRecord) -> TrackRecord:
    """Return the record of all other categories; a case counts in its own category alone."""
    return overall_record.minus(category_record).thin_out(OTHER_SHARE, MAX_OTHER_CASES)


def _shrink_brier(record: TrackRecord, prior: float, strength: float) -> float:
    # Shrinkage (Bayesian with a pseudo-count): `strength` imaginary cases that all score `prior`.
    return (record.brier_sum + prior * strength) / (record.cases + strength)


def _take_off(whole: float, part: float) -> float:
    return max(whole - part, 0.0)
