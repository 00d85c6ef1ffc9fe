"""Track records: how each source's forecasts fared against outcomes reported later, in all and by category (D-14).

A vote is a forecast that the decision will succeed. A success counts 1, a partial one a half, a failure 0; what was abandoned
was never put to the test and is not scored. Who decides alone supports what it decides.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from moot.domain.topic import normalize_label
from moot.memory.facts import Outcome
from moot.memory.remembered_decision import RememberedDecision
from moot.scoring.trust import TrackRecord, compute_brier, compute_category_trust, compute_forecast, compute_trust

CAME_TRUE: Final[Mapping[Outcome, float]] = {"success": 1.0, "partial": 0.5, "failure": 0.0}
FEWEST_SHARED: Final = 3
"""Below this number of shared cases a correlation says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How one source's forecast of one decision fared."""

    decision: str
    category: str
    brier: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryTrust:
    category: str
    cases: int
    trust: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTrust:
    """A source's record: how many forecasts were scored, their mean Brier score (None without any), and the trust in it."""

    source: str
    cases: int
    brier: float | None
    trust: float
    categories: tuple[CategoryTrust, ...]


def compute_score(source: str, kept: RememberedDecision) -> Score | None:
    """The score of a source on a decision; None when it made no forecast or none can be scored.

    A source that sits on several seats is one case: the mean over its seats.
    """
    came_true = CAME_TRUE.get(kept.outcome) if kept.outcome is not None else None
    if came_true is None or kept.record.decided is None:
        return None
    found = [
        compute_brier(said, came_true)
        for member in kept.record.members
        if member.source == source and member.confidence is not None
        if (said := compute_forecast(member.position, member.confidence)) is not None
    ]
    if not found:
        return None
    return Score(decision=kept.decision, category=normalize_label(kept.record.category), brier=math.fsum(found) / len(found))


def collect_scores(source: str, decisions: Iterable[RememberedDecision]) -> tuple[Score, ...]:
    """A source's scores on these decisions."""
    return tuple(found for kept in decisions if (found := compute_score(source, kept)) is not None)


def build_source_trust(source: str, found: Iterable[Score]) -> SourceTrust:
    """The record that these scores make."""
    listed = tuple(found)
    overall = _build_record(listed)
    names = sorted({one.category for one in listed if one.category})
    by_category = {name: _build_record(one for one in listed if one.category == name) for name in names}
    return SourceTrust(
        source=source,
        cases=overall.cases,
        brier=overall.brier_sum / overall.cases if overall.cases else None,
        trust=compute_trust(overall),
        categories=tuple(
            CategoryTrust(category=name, cases=record.cases, trust=compute_category_trust(record, overall))
            for name, record in by_category.items()
        ),
    )


def compute_source_trust(found: Iterable[Score], category: str = "") -> float:
    """The trust that these scores earn, within a category if one is given."""
    listed = tuple(found)
    overall = _build_record(listed)
    if not normalize_label(category):
        return compute_trust(overall)
    return compute_category_trust(_build_record(one for one in listed if one.category == normalize_label(category)), overall)


def compute_pair_correlation(one: Iterable[Score], other: Iterable[Score]) -> tuple[int, float | None]:
    """How many scored cases two sources share, and how far they were wrong on the same ones.

    The correlation is that of their Brier scores, not of their signed errors: those share the outcome, and would make strangers
    look alike. None with too few cases, or when either is always equally wrong.
    """
    theirs = {score.decision: score.brier for score in other}
    shared = [(score.brier, theirs[score.decision]) for score in one if score.decision in theirs]
    if len(shared) < FEWEST_SHARED:
        return len(shared), None
    return len(shared), _compute_pearson(shared)


def _compute_pearson(pairs: list[tuple[float, float]]) -> float | None:
    mean_x = math.fsum(x for x, _ in pairs) / len(pairs)
    mean_y = math.fsum(y for _, y in pairs) / len(pairs)
    over_x = math.fsum((x - mean_x) ** 2 for x, _ in pairs)
    over_y = math.fsum((y - mean_y) ** 2 for _, y in pairs)
    if min(over_x, over_y) < 1e-12:
        return None
    together = math.fsum((x - mean_x) * (y - mean_y) for x, y in pairs)
    return max(-1.0, min(1.0, together / math.sqrt(over_x * over_y)))


def _build_record(found: Iterable[Score]) -> TrackRecord:
    record = TrackRecord()
    for one in found:
        record = record.plus(one.brier)
    return record
