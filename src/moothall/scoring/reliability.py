"""How often decisions proved right, beside how sure they were said to be (D-25): counted as reviews come in, never refitted.

Decisions are alike if they come from one protocol by the same kind of agreement. A partial success is neither right nor wrong,
and what was abandoned was never tested: neither is counted.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, NamedTuple

from moothall.domain.replace import dataclass

MIN_ALIKE: Final = 10
"""With fewer reviewed cases nothing is said of decisions that are alike."""
BINS: Final = 10


class DecisionKind(NamedTuple):
    """What decisions are counted by."""

    protocol: str
    agreement: str
    """`agreed_blind` or `agreed_after_reading` where nobody is against it; else its consensusType, `no_vote` without one."""
    family: str
    """The model family of those who decided, `mixed` if they are of several, "" if that is not known."""


def name_agreement(agreement: str | None, consensus_type: str | None) -> str:
    """Return the kind of agreement behind a decision."""
    return f"agreed_{agreement}" if agreement else consensus_type or "no_vote"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackShare:
    """Of so many reviewed cases, so many were right."""

    cases: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityBin:
    """The reviewed decisions that were said to be right with a chance from `low` to below `high`."""

    low: float
    high: float
    cases: int
    right: int
    said: float
    """The mean of what was said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityGroup:
    """The reviewed decisions of one kind."""

    protocol: str
    agreement: str
    family: str
    cases: int
    right: int
    said: float | None
    """The mean confidence of those that have one."""
    brier: float | None
    """Their mean Brier score: 0 is perfect, 0.25 is knowing nothing."""
    bins: tuple[ReliabilityBin, ...]


@dataclass(frozen=True, slots=True)
class _Count:
    cases: int = 0
    right: int = 0
    said: float = 0.0
    squares: float = 0.0


@dataclass(slots=True)
class ReliabilityTable:
    """The counts, changed in place; reading them costs as much as there are kinds, however many decisions they count."""

    counts: dict[DecisionKind, dict[int | None, _Count]] = field(default_factory=dict)
    """By kind, then by bin: None for decisions without a figure."""

    def add(
        self, kind: DecisionKind, confidence: float | None, *, is_right: bool, times: int = 1
    ) -> None:
        """Count a case; with `times` −1 take it back."""
        place = None if confidence is None else min(int(confidence * BINS + 1e-9), BINS - 1)
        bins = self.counts.setdefault(kind, {})
        old = bins.get(place, _Count())
        said = confidence or 0.0
        outcome = 1 if is_right else 0
        bins[place] = _Count(
            cases=old.cases + times,
            right=old.right + times * outcome,
            said=old.said + times * said,
            squares=old.squares + times * (said - outcome) ** 2,
        )

    def count_alike(self, protocol: str, agreement: str) -> TrackShare | None:
        """Return how often decisions of this kind were right; None while too few are reviewed."""
        alike: list[_Count] = []
        for kind, bins in self.counts.items():
            if kind[:2] == (protocol, agreement):
                alike += bins.values()
        whole = _sum_counts(alike)
        if whole.cases < MIN_ALIKE:
            return None
        return TrackShare(cases=whole.cases, right=whole.right)

    def list_groups(self, protocol: str = "") -> tuple[ReliabilityGroup, ...]:
        """Return the counts of every kind, of one protocol if one is given."""
        groups = []
        for kind in sorted(self.counts):
            if protocol in {"", kind.protocol}:
                group = _build_group(kind, self.counts[kind])
                if group.cases:
                    groups.append(group)
        return tuple(groups)

    def list_bins(self, protocol: str = "") -> tuple[ReliabilityBin, ...]:
        by_place: dict[int | None, list[_Count]] = {}
        for kind, counts in self.counts.items():
            if protocol in {"", kind.protocol}:
                for place, count in counts.items():
                    by_place.setdefault(place, []).append(count)
        return _build_bins(by_place)


def _build_group(kind: DecisionKind, bins: dict[int | None, _Count]) -> ReliabilityGroup:
    whole = _sum_counts(bins.values())
    sure = _sum_counts(count for place, count in bins.items() if place is not None)
    said = brier = None
    if sure.cases:
        said = round(sure.said / sure.cases, 4)
        brier = round(sure.squares / sure.cases, 4)
    return ReliabilityGroup(
        **kind._asdict(),
        cases=whole.cases,
        right=whole.right,
        said=said,
        brier=brier,
        bins=_build_bins({place: [count] for place, count in bins.items()}),
    )


def _build_bins(counts: Mapping[int | None, Sequence[_Count]]) -> tuple[ReliabilityBin, ...]:
    """Return the bins that hold cases, in their order, from the counts of each."""
    bins = []
    for place in range(BINS):
        whole = _sum_counts(counts.get(place, ()))
        if whole.cases:
            bins.append(_build_bin(place, whole))
    return tuple(bins)


def _build_bin(place: int, whole: _Count) -> ReliabilityBin:
    return ReliabilityBin(
        low=place / BINS,
        high=(place + 1) / BINS,
        cases=whole.cases,
        right=whole.right,
        said=round(whole.said / whole.cases, 4),
    )


def _sum_counts(counts: Iterable[_Count]) -> _Count:
    listed = list(counts)
    cases = sum(count.cases for count in listed)
    right = sum(count.right for count in listed)
    said = math.fsum(count.said for count in listed)
    squares = math.fsum(count.squares for count in listed)
    return _Count(cases=cases, right=right, said=said, squares=squares)
