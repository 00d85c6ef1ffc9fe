"""Whether stated probabilities come true: the Brier score and the reliability table."""

from collections.abc import Sequence
from dataclasses import dataclass

from moot.scoring.trust import compute_brier


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityBin:
    """The forecasts within [low, high): how many, what they said on average, and how often it came true."""

    low: float
    high: float
    cases: int
    stated: float
    true: float


def compute_brier_score(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """The mean Brier score of (forecast, came true), None without any."""
    if not pairs:
        return None
    return sum(compute_brier(forecast, float(outcome)) for forecast, outcome in pairs) / len(pairs)


def build_reliability_table(pairs: Sequence[tuple[float, bool]], bins: int = 10) -> tuple[ReliabilityBin, ...]:
    """The reliability table of (forecast, came true) over equal bins; empty ones are left out, and 1 belongs to the last."""
    sorted_in: dict[int, list[tuple[float, bool]]] = {}
    for forecast, outcome in pairs:
        sorted_in.setdefault(min(int(forecast * bins), bins - 1), []).append((forecast, outcome))
    return tuple(_build_bin(number, bins, found) for number, found in sorted(sorted_in.items()))


def compute_calibration_gap(table: Sequence[ReliabilityBin]) -> float | None:
    """By how much the forecasts miss on average over the bins, whichever way; None for an empty table."""
    cases = sum(found.cases for found in table)
    return sum(found.cases * abs(found.stated - found.true) for found in table) / cases if cases else None


def _build_bin(number: int, bins: int, pairs: Sequence[tuple[float, bool]]) -> ReliabilityBin:
    return ReliabilityBin(
        low=number / bins,
        high=(number + 1) / bins,
        cases=len(pairs),
        stated=sum(forecast for forecast, _ in pairs) / len(pairs),
        true=sum(outcome for _, outcome in pairs) / len(pairs),
    )
