"""Track records: how each source's forecasts compare with outcomes that were reported later, overall and by category (D-14).

A vote is a forecast that the decision will succeed. A success counts 1, a partial success a half, a failure 0; an abandoned
decision was never tested and is not scored. A source that decides alone supports its decision.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from moothall.domain.topic import normalize_label
from moothall.memory.facts import Outcome
from moothall.memory.remembered_decision import RememberedDecision
from moothall.scoring.trust import (
    TrackRecord,
    compute_accuracy,
    compute_brier,
    compute_category_accuracy,
    compute_category_trust,
    compute_forecast,
    compute_rightness,
    compute_trust,
)

CAME_TRUE: Final[Mapping[Outcome, float]] = {"success": 1.0, "partial": 0.5, "failure": 0.0}
MIN_SHARED: Final = 3
"""With fewer shared cases a correlation says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How one source did on one decision: its Brier score, None if it stated no confidence, and 1 where it was right."""

    decision: str
    category: str
    brier: float | None
    right: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryTrust:
    category: str
    cases: int
    trust: float
    accuracy: float
    brier: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTrust:
    """A source's record: the number of scored forecasts, their mean Brier score (None without any), and the trust in it.

    `accuracy` is how often it is on the side that proves right, shrunk towards what one vote of an unknown source is worth.
    """

    source: str
    cases: int
    brier: float | None
    trust: float
    accuracy: float
    categories: tuple[CategoryTrust, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStanding:
    """What a source's votes count by, within a category if one was asked for."""

    trust: float
    accuracy: float


def compute_score(source: str, kept: RememberedDecision) -> Score | None:
    """Return the score of a source on a decision; None if it made no forecast, or none that can be scored.

    A source with several seats counts as one case: the mean over its seats.
    """
    came_true = CAME_TRUE.get(kept.outcome) if kept.outcome is not None else None
    if came_true is None or kept.record.text is None:
        return None
    own = [member for member in kept.record.members if member.source == source]
    briers = [
        compute_brier(forecast, came_true)
        for member in own
        if member.confidence is not None and (forecast := compute_forecast(member.position, member.confidence)) is not None
    ]
    rights = [right for member in own if (right := compute_rightness(member.position, came_true)) is not None]
    if not rights:
        return None
    return Score(
        decision=kept.decision,
        category=normalize_label(kept.record.category),
        brier=_compute_mean(briers),
        right=_compute_mean(rights),
    )


def collect_scores(source: str, decisions: Iterable[RememberedDecision]) -> tuple[Score, ...]:
    """Return a source's scores on these decisions."""
    return tuple(score for kept in decisions if (score := compute_score(source, kept)) is not None)


def build_source_trust(source: str, scores: Iterable[Score]) -> SourceTrust:
    """Build the record from these scores."""
    listed = tuple(scores)
    overall = _build_record(listed)
    names = sorted({one.category for one in listed if one.category})
    by_category = {name: _build_record(one for one in listed if one.category == name) for name in names}
    return SourceTrust(
        source=source,
        cases=int(overall.sides),
        brier=overall.brier_sum / overall.cases if overall.cases else None,
        trust=compute_trust(overall),
        accuracy=compute_accuracy(overall),
        categories=tuple(
            CategoryTrust(
                category=name,
                cases=int(record.sides),
                trust=compute_category_trust(record, overall),
                accuracy=compute_category_accuracy(record, overall),
                brier=record.brier_sum / record.cases if record.cases else None,
            )
            for name, record in by_category.items()
        ),
    )


def compute_standing(scores: Iterable[Score], category: str = "") -> SourceStanding:
    """Return what these scores earn, within a category if one is given."""
    listed = tuple(scores)
    overall, wanted = _build_record(listed), normalize_label(category)
    if not wanted:
        return SourceStanding(trust=compute_trust(overall), accuracy=compute_accuracy(overall))
    own = _build_record(one for one in listed if one.category == wanted)
    return SourceStanding(trust=compute_category_trust(own, overall), accuracy=compute_category_accuracy(own, overall))


def compute_pair_correlation(one: Iterable[Score], other: Iterable[Score]) -> tuple[int, float | None]:
    """Return how many scored cases two sources share, and the correlation of their errors.

    It is the correlation of their Brier scores, not of their signed errors: those share the outcome, and would make unrelated
    sources look similar. None with too few cases, or if the error of either never varies.
    """
    theirs = {score.decision: score.brier for score in other if score.brier is not None}
    shared = [(score.brier, theirs[score.decision]) for score in one if score.brier is not None and score.decision in theirs]
    if len(shared) < MIN_SHARED:
        return len(shared), None
    return len(shared), _compute_pearson(shared)


def _compute_pearson(pairs: list[tuple[float, float]]) -> float | None:
    # Pearson's r = Σ(x−x̄)(y−ȳ) / √(Σ(x−x̄)² · Σ(y−ȳ)²), clamped against rounding errors.
    mean_x = math.fsum(x for x, _ in pairs) / len(pairs)
    mean_y = math.fsum(y for _, y in pairs) / len(pairs)
    over_x = math.fsum((x - mean_x) ** 2 for x, _ in pairs)
    over_y = math.fsum((y - mean_y) ** 2 for _, y in pairs)
    if min(over_x, over_y) < 1e-12:
        return None
    together = math.fsum((x - mean_x) * (y - mean_y) for x, y in pairs)
    return max(-1.0, min(1.0, together / math.sqrt(over_x * over_y)))


def _compute_mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _build_record(scores: Iterable[Score]) -> TrackRecord:
    record = TrackRecord()
    for one in scores:
        record = record.plus(one.brier, one.right)
    return record
