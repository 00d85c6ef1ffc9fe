"""Who is right more often: the blind plurality, the debate, the tally weighed in proportion to trust or in log-odds."""

import functools
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.decisions.data import Case, Recording, Votes
from moothall.domain.roster import NEUTRAL_TRUST
from moothall.scoring.independence import (
    compute_independence,
    count_effective_votes,
    presume_correlation,
)
from moothall.scoring.posterior import compute_record_weight
from moothall.scoring.resolution import ORDINARY_CONFIDENCE
from moothall.scoring.trust import (
    PRIOR_ACCURACY,
    TrackRecord,
    compute_accuracy,
    compute_brier,
    compute_category_accuracy,
    compute_category_trust,
    compute_trust,
)

FOLDS: Final = 5
MIN_TRUST: Final = 0.01

LESS: Final = 0.4
"""Makes 0.2 of the presumed 0.5: how far open answers that are wrong are wrong alike."""

Trust = Callable[[str, str], float]
"""The trust in a seat within a category, or how often it is right there."""

Worths = Callable[[int, Callable[[int, int], float]], list[float]]
"""What each of so many votes is worth beside the others, by their error correlations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """How two ways of deciding differ on the same cases: those that only the one, and only the other, gets right."""

    gained: int
    lost: int
    cases: int

    @property
    def difference(self) -> float:
        return (self.gained - self.lost) / self.cases

    @property
    def standard_error(self) -> float:
        """By McNemar: only the cases on which they differ say anything."""
        return math.sqrt(self.gained + self.lost) / self.cases


@dataclass(frozen=True, slots=True, kw_only=True)
class Trusts:
    """The trust learned from some cases: by seat alone, and by seat within a category."""

    overall: Mapping[str, TrackRecord]
    by_category: Mapping[tuple[str, str], TrackRecord]

    def of(self, seat: str, _category: str) -> float:
        return compute_trust(self.overall.get(seat, TrackRecord()))

    def within(self, seat: str, category: str) -> float:
        found = self.by_category.get((seat, category), TrackRecord())
        return compute_category_trust(found, self.overall.get(seat, TrackRecord()))

    def accuracy_of(self, seat: str, _category: str) -> float:
        return compute_accuracy(self.overall.get(seat, TrackRecord()))

    def accuracy_within(self, seat: str, category: str) -> float:
        found = self.by_category.get((seat, category), TrackRecord())
        return compute_category_accuracy(found, self.overall.get(seat, TrackRecord()))


def compute_evidence(trust: float) -> float:
    """Return the weight of a vote of this trust in a tally, relative to a neutral one, which weighs 1; always positive.

    The rule before votes weighed in log-odds: in proportion to trust.
    """
    return max(trust, MIN_TRUST) / NEUTRAL_TRUST


def neutral(_seat: str, _category: str) -> float:
    """The trust in a seat that nobody has reviewed."""
    return NEUTRAL_TRUST


def presume_prior(_seat: str, _category: str) -> float:
    """How often a seat is right that nobody has reviewed."""
    return PRIOR_ACCURACY


def count_in_full(count: int, _correlations: Callable[[int, int], float]) -> list[float]:
    """Every vote is worth 1, as if no two erred together."""
    return [1.0] * count


def share_alike(count: int, correlations: Callable[[int, int], float]) -> list[float]:
    """Every vote is worth the effective number of votes over their number."""
    return [count_effective_votes([1.0] * count, correlations) / max(count, 1)] * count


def share_less(count: int, correlations: Callable[[int, int], float]) -> list[float]:
    """As votes share their worth with the presumed correlations, times LESS."""
    return compute_independence(count, lambda i, j: LESS * correlations(i, j))


def fold(case_id: str) -> int:
    """The fifth that a case belongs to."""
    return int(hashlib.sha256(case_id.encode()).hexdigest(), 16) % FOLDS


def folds(cases: Sequence[Case]) -> list[tuple[list[Case], list[Case]]]:
    """Each fifth with the four from which to learn for it: (learned from, scored)."""
    return [
        (
            [case for case in cases if fold(case.id) != number],
            [case for case in cases if fold(case.id) == number],
        )
        for number in range(FOLDS)
    ]


def learned(cases: Iterable[Case]) -> Trusts:
    """What the seats' blind choices earn them, each presumed to state the ordinary confidence."""
    overall: dict[str, TrackRecord] = {}
    by_category: dict[tuple[str, str], TrackRecord] = {}
    for case in cases:
        for seat, choice in case.blind.items():
            if choice is None:
                continue
            right = float(choice == case.truth)
            score = compute_brier(ORDINARY_CONFIDENCE, right)
            overall[seat] = overall.get(seat, TrackRecord()).plus(score, right)
            place = (seat, case.category)
            by_category[place] = by_category.get(place, TrackRecord()).plus(score, right)
    return Trusts(overall=overall, by_category=by_category)


def own_order(case: Case) -> list[str]:
    """The blind seats in an order that chance would give, the same for the same case."""
    return sorted(
        case.blind, key=lambda seat: hashlib.sha256(f"{case.id} {seat}".encode()).digest()
    )


def find_heaviest(votes: Iterable[tuple[str, float]]) -> str | None:
    """The choice of the most weight; of equals, the one first cast."""
    sums: dict[str, float] = {}
    for choice, weight in votes:
        sums[choice] = sums.get(choice, 0.0) + weight
    # To so many digits: the order of floating-point additions must not break a tie.
    return max(sums, key=lambda choice: round(sums[choice], 9), default=None)


def plurality(votes: Votes) -> str | None:
    """The choice of most seats; of equals, the one first cast."""
    return find_heaviest((choice, 1.0) for choice in votes.values() if choice is not None)


def weighed(case: Case, trusted: Trust) -> str | None:
    """The blind choice that weighs most when each seat weighs by its trust."""
    votes = [
        (choice, compute_evidence(trusted(seat, case.category)))
        for seat, choice in case.blind.items()
        if choice is not None
    ]
    return find_heaviest(votes)


def score_options(
    votes: Votes,
    recording: Recording,
    accurate: Trust,
    category: str,
    worths: Worths = compute_independence,
) -> dict[str, float]:
    """The log-odds that the votes add up to for each option, in the order in which they were cast: Σ w · f."""
    chosen = [(seat, choice) for seat, choice in votes.items() if choice is not None]
    found = _find_worths(worths, tuple(recording.families[seat] for seat, _ in chosen))
    scores: dict[str, float] = {}
    for (seat, choice), each in zip(chosen, found, strict=True):
        scores[choice] = (
            scores.get(choice, 0.0)
            + compute_record_weight(accurate(seat, category), recording.options) * each
        )
    return scores


@functools.cache
def _find_worths(worths: Worths, families: tuple[str, ...]) -> list[float]:
    return worths(len(families), lambda i, j: presume_correlation(families[i], families[j]))


def find_leader(scores: Mapping[str, float]) -> str | None:
    """The option with the highest score; of equals, the one first cast."""
    return find_heaviest(scores.items())


def debated(case: Case) -> str | None:
    """The plurality of the last round that was held."""
    return plurality(case.rounds[-1])


def latest(case: Case) -> str | None:
    """The plurality over every seat's latest choice, also of those who were not asked again."""
    last = {
        seat: choice
        for votes in case.rounds
        for seat, choice in votes.items()
        if choice is not None
    }
    return plurality(last)


def single(cases: Sequence[Case]) -> float:
    """How often a blind choice is right, over all seats and cases."""
    right = [
        choice == case.truth
        for case in cases
        for choice in case.blind.values()
        if choice is not None
    ]
    return sum(right) / len(right)


def rights(cases: Sequence[Case], decide: Callable[[Case], str | None]) -> dict[str, bool]:
    """Which cases a way of deciding gets right."""
    return {case.id: decide(case) == case.truth for case in cases}


def rights_by_trust(recording: Recording, *, by_category: bool = False) -> dict[str, bool]:
    """Which cases the weighed tally gets right, each with the trust learned on the other four fifths."""
    found: dict[str, bool] = {}
    for known, scored in folds(recording.cases):
        trusts = learned(known)
        trusted = trusts.within if by_category else trusts.of
        found |= {case.id: weighed(case, trusted) == case.truth for case in scored}
    return found


def rights_by_log_odds(
    recording: Recording, *, by_category: bool = False, worths: Worths = compute_independence
) -> dict[str, bool]:
    """Which cases the tally in log-odds gets right, each with the record learned on the other four fifths."""
    found: dict[str, bool] = {}
    for known, scored in folds(recording.cases):
        trusts = learned(known)
        accurate = trusts.accuracy_within if by_category else trusts.accuracy_of
        for case in scored:
            scores = score_options(case.blind, recording, accurate, case.category, worths)
            found[case.id] = find_leader(scores) == case.truth
    return found


def paired(found: Mapping[str, bool], baseline: Mapping[str, bool]) -> Paired:
    """How one way of deciding differs from a baseline."""
    return Paired(
        gained=sum(right and not baseline[case] for case, right in found.items()),
        lost=sum(baseline[case] and not right for case, right in found.items()),
        cases=len(found),
    )


def accuracy(found: Mapping[str, bool]) -> float:
    return sum(found.values()) / len(found)
