"""What numbers and chances say together that were given blind, and how they are scored once the outcome is known (Q-12).

A number is the median of the blind ones, with their range. A forecast is pooled in log-odds:

    logit(p) = a · Σ w·logit(p_i) / Σ w        w = record weight of the seat (D-12) / Σ r(i, j) over all seats j that gave a chance

so that who errs together counts for less than its number, one mind on several seats once. `a` draws the pool away from a half as far
as reviewed forecasts of the category show, and is 1 where there are none. Bias weights say who decides, and are not in it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Final

from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.roster import Seat
from moothall.domain.topic import ErrorCorrelation
from moothall.scoring.independence import AGREED_OTHER_FAMILY, build_seat_correlations
from moothall.scoring.posterior import CEILING, compute_record_weight
from moothall.scoring.trust import find_accuracy

MAX_EXTREMITY: Final = 2.5
EXTREMITY_CASES: Final = 20.0
"""How many reviewed forecasts make what they show count half."""
MIN_CASES: Final = 5
"""Fewer reviewed forecasts than this show nothing."""
_STEP: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberEstimate:
    """What blind numbers say together."""

    median: float
    low: float
    high: float
    count: int
    unit: str = ""
    decided: float | None = None
    """The number that the decision names, where it is another one: what reading each other made of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastEstimate:
    """The chance that something happens, by the blind forecasts."""

    chance: float
    low: float
    high: float
    count: int
    pooled: float
    """The same before it was drawn away from a half."""
    extremity: float = 1.0
    """How far it was; 1 without reviewed forecasts of the category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastScores:
    """How reviewed forecasts did, before they were drawn away from a half."""

    cases: int
    brier: float
    """The mean squared error: 0 is perfect, 0.25 is knowing nothing."""
    log_score: float
    """The mean logarithm of the chance that was given to what happened: 0 is perfect, -0.69 is knowing nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberScores:
    """How reviewed estimates of numbers did."""

    cases: int
    error: float
    """The median of how far off they were, as a share of the larger of estimate and outcome."""
    within: int
    """In how many cases the outcome lay within the range of the blind estimates."""


def score_forecasts(cases: Sequence[tuple[float, bool]]) -> ForecastScores | None:
    """Return how forecasts did, each a chance and whether it happened; None without cases."""
    if not cases:
        return None
    squares = [score_brier(chance, happened=happened) for chance, happened in cases]
    logs = [score_log(chance, happened=happened) for chance, happened in cases]
    count = len(cases)
    return ForecastScores(
        cases=count, brier=round(sum(squares) / count, 4), log_score=round(sum(logs) / count, 4)
    )


def score_numbers(cases: Sequence[tuple[float, float, float, float]]) -> NumberScores | None:
    """Return how estimates did, each a median, the range around it and what it proved to be; None without cases."""
    if not cases:
        return None
    errors: list[float] = []
    within = 0
    for middle, low, high, actual in cases:
        errors.append(measure_relative_error(middle, actual))
        within += low <= actual <= high
    return NumberScores(cases=len(cases), error=round(median(errors), 4), within=within)


def summarize_numbers(numbers: Sequence[float], unit: str = "") -> NumberEstimate | None:
    """Return the median of numbers and their range; None without numbers."""
    if not numbers:
        return None
    return NumberEstimate(
        median=float(median(numbers)),
        low=min(numbers),
        high=max(numbers),
        count=len(numbers),
        unit=unit,
    )


def pool_forecasts(
    seats: Sequence[Seat],
    chances: Mapping[SeatId, float],
    correlations: Sequence[ErrorCorrelation] = (),
    extremity: float = 1.0,
) -> ForecastEstimate | None:
    """Return the chance that these forecasts give together; None without forecasts."""
    given = [seat for seat in seats if seat.id in chances]
    if not given:
        return None
    correlate = build_seat_correlations(correlations, seats, other_family=AGREED_OTHER_FAMILY)
    weights: list[float] = []
    for seat in given:
        shared = sum(max(0.0, correlate(seat.id, other.id)) for other in given if other != seat)
        weights.append(compute_record_weight(find_accuracy(seat)) / (1.0 + shared))
    # Where no record says more than chance, all count alike.
    if not any(weights):
        weights = [1.0] * len(given)
    odds = [compute_log_odds(chances[seat.id]) for seat in given]
    pooled = sum(w * each for w, each in zip(weights, odds, strict=True)) / sum(weights)
    # The range is that of the forecasts as they were stated.
    stated = [chances[seat.id] for seat in given]
    return ForecastEstimate(
        chance=compute_chance(extremity * pooled),
        low=min(stated),
        high=max(stated),
        count=len(given),
        pooled=compute_chance(pooled),
        extremity=extremity,
    )


def compute_log_odds(chance: float) -> float:
    """Return a chance in log-odds; nothing surer than CEILING is believed."""
    share = min(max(chance, 1 - CEILING), CEILING)
    return math.log(share / (1 - share))


def compute_chance(log_odds: float) -> float:
    """Return the chance of log-odds, at most CEILING."""
    most = math.log(CEILING / (1 - CEILING))
    return 1 / (1 + math.exp(-min(max(log_odds, -most), most)))


def fit_extremity(cases: Sequence[tuple[float, bool]]) -> float:
    """Return how far reviewed forecasts, each a chance and what happened, ought to have been drawn away from a half.

    The likeliest factor between 1 and MAX_EXTREMITY, which counts as far as there are cases. Never less than 1: a pool that says
    too much shows in its score.
    """
    if len(cases) < MIN_CASES:
        return 1.0
    steps = round((MAX_EXTREMITY - 1) / _STEP)
    factors = [1 + _STEP * step for step in range(steps + 1)]
    # Of equals the smaller one: nothing is drawn further than the cases show.
    best = max(factors, key=lambda factor: (_score_factor(cases, factor), -factor))
    share = len(cases) / (len(cases) + EXTREMITY_CASES)
    return round(1 + (best - 1) * share, 4)


def _score_factor(cases: Iterable[tuple[float, bool]], factor: float) -> float:
    return sum(
        score_log(compute_chance(factor * compute_log_odds(chance)), happened=happened)
        for chance, happened in cases
    )


def score_brier(chance: float, *, happened: bool) -> float:
    """Return the squared error of a forecast: 0 is best."""
    return (chance - happened) ** 2


def score_log(chance: float, *, happened: bool) -> float:
    """Return the logarithm of the chance that a forecast gave to what happened: 0 is best."""
    share = min(max(chance, 1 - CEILING), CEILING)
    return math.log(share if happened else 1 - share)


def measure_relative_error(estimate: float, actual: float) -> float:
    """Return how far an estimate is off, as a share of the larger of both: 0 is best, 1 and more is another size or sign."""
    size = max(abs(estimate), abs(actual))
    return abs(estimate - actual) / size if size else 0.0
