"""Ways of deciding, compared on questions whose answers are known: how often each is right, how sure it is, what it costs."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from moothall.domain.replace import dataclass

CLEAR: Final = 1.96
"""How many standard errors a difference must have to count as one."""
MIN_QUESTIONS: Final = 10
"""With fewer, nothing is recommended."""
_BINS: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0 + 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One question, decided in one way."""

    said: str
    """The answer; empty where there was none."""
    right: bool
    confidence: float | None = None
    calls: int = 0
    tokens: int = 0
    cost: int | None = None
    """In millionths of a US dollar; None where a price is not known."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WayFigures:
    """What a way of deciding did on the questions that were put to it."""

    asked: int
    answered: int
    right: int
    brier: float | None
    """The mean square of confidence against outcome; None where fewer than two answers state one."""
    calibration: float | None
    """How far stated confidence is from the share right, on average over bins."""
    calls: int
    tokens: int
    cost: int | None
    seconds: float

    @property
    def share(self) -> float:
        return measure_share(self.right, self.asked)[0]

    @property
    def error(self) -> float:
        """The standard error of the share."""
        return measure_share(self.right, self.asked)[1]


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """By how much one way is right more often than another on the same questions, and the standard error of that."""

    mean: float
    error: float
    questions: int

    @property
    def is_clear(self) -> bool:
        return abs(self.mean) > CLEAR * self.error and self.mean != 0


def sum_up(trials: Sequence[Trial]) -> WayFigures:
    """Return the figures of a way: the same whatever the order in which the answers came."""
    stated = [
        (each.confidence, each.right)
        for each in trials
        if each.confidence is not None and each.said
    ]
    brier = calibration = None
    if len(stated) > 1:
        off = [abs(sure - right / count) * count for sure, count, right in list_bins(trials)]
        brier = math.fsum((sure - right) ** 2 for sure, right in stated) / len(stated)
        calibration = math.fsum(off) / len(stated)
    costs = [each.cost for each in trials]
    known_costs = [cost for cost in costs if cost is not None]
    return WayFigures(
        asked=len(trials),
        answered=sum(bool(each.said) for each in trials),
        right=sum(each.right for each in trials),
        brier=brier,
        calibration=calibration,
        calls=sum(each.calls for each in trials),
        tokens=sum(each.tokens for each in trials),
        cost=None if None in costs else sum(known_costs),
        seconds=math.fsum(each.seconds for each in trials),
    )


def list_bins(trials: Sequence[Trial]) -> list[tuple[float, int, int]]:
    """Return the mean confidence, the number and the number right of the answers in each bin of confidence that has some."""
    stated = [
        (each.confidence, each.right)
        for each in trials
        if each.confidence is not None and each.said
    ]
    bins: list[tuple[float, int, int]] = []
    for low, high in pairwise(_BINS):
        inside = [each for each in stated if low <= each[0] < high]
        if inside:
            mean = math.fsum(sure for sure, _ in inside) / len(inside)
            bins.append((mean, len(inside), sum(right for _, right in inside)))
    return bins


def compare_pairs(one: Mapping[str, Trial], other: Mapping[str, Trial]) -> PairedDifference:
    """Return by how much `one` is right more often than `other`, over the questions that both were asked."""
    shared = [float(one[key].right) - float(other[key].right) for key in one if key in other]
    if not shared:
        return PairedDifference(0.0, 0.0, 0)
    mean = sum(shared) / len(shared)
    spread = sum((each - mean) ** 2 for each in shared) / max(1, len(shared) - 1)
    return PairedDifference(mean, math.sqrt(spread / len(shared)), len(shared))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The way to use, the best single model, and how they compare."""

    way: str
    single: str
    difference: PairedDifference
    is_measured: bool
    """False where there are too few questions to tell."""

    @property
    def is_enough(self) -> bool:
        """Whether nothing is clearly better than that model."""
        return self.way == self.single


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFigures:
    """How far a judge of free answers is to be believed."""

    judge: str
    judged: int
    """Free answers that it judged, each twice."""
    split: int
    """Of these, how many its two seats judged differently; they count as not right."""
    known: int
    """Answers with an exact rule that it judged as well."""
    wrong: int
    """Of these, how many it judged against the rule."""


def measure_share(count: int, among: int) -> tuple[float, float]:
    """Return a share and its standard error."""
    share = count / among if among else 0.0
    return share, math.sqrt(share * (1 - share) / among) if among else 0.0


def recommend(ways: Mapping[str, Mapping[str, Trial]], singles: Sequence[str]) -> Recommendation:
    """Return which way to use: the best single model, unless another is clearly right more often on the same questions."""
    figures = {name: sum_up(list(trials.values())) for name, trials in ways.items()}

    def rank(name: str) -> tuple[float, float]:
        return figures[name].share, -figures[name].calls

    single = max(singles, key=rank)
    others = {
        name: compare_pairs(trials, ways[single])
        for name, trials in ways.items()
        if name not in singles
    }
    best = max(others, key=lambda name: (others[name].mean, *rank(name)), default=single)
    difference = others.get(best, PairedDifference(0.0, 0.0, figures[single].asked))
    is_better = difference.mean > 0 and difference.is_clear
    return Recommendation(
        way=best if is_better else single,
        single=single,
        difference=difference,
        is_measured=figures[single].asked >= MIN_QUESTIONS,
    )
